"""The database or the broker away for a while, or emptied, while everything is due; run like the kill loops."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.product import Product
from tests.chaos.servers import Postgres, Redis
from tests.chaos.world import LEASE_S, World

type Row = dict[str, Any]

RECOVERED_WITHIN_S = 60.0
DONE_WITHIN_S = 600.0
_SAID = "reach its database"


def _begin(world: World, log: Path) -> tuple[Product, int]:
    """Everything due and the three processes at work; they, and the visits made before."""
    product = Product(log)
    product.sign_in()
    product.start("web", "workers", "ticker")
    product.wait_for_page(90)
    seen = world.visits()
    world.open_round(edited=False)
    _until(lambda: world.visits() > seen, within_s=60)
    return product, seen


def _until(condition: Callable[[], bool], *, within_s: float) -> float:
    began = time.monotonic()
    while not condition() and time.monotonic() - began < within_s:
        time.sleep(0.05)
    return time.monotonic() - began


def _row(world: World, what: str, product: Product, *, recovered: float, done: float, **more: Any) -> Row:
    account = world.account()
    stopped = product.ended()
    return {
        "what": what, "times": 1, "wanted": 1, "rounds": 1, "resumed": recovered, "drained": done,
        "within": (RECOVERED_WITHIN_S, DONE_WITHIN_S), **account, **more, **({"lost processes": len(stopped)} if stopped else {}),
    }  # fmt: skip


def database_away(world: World, log: Path, server: Postgres, *, away_s: float) -> list[Row]:
    """The database is cut off and comes back; pages say so meanwhile, and everything goes on by itself."""
    from tests.chaos.world import alone

    product, _ = _begin(world, log)
    try:
        left = world.left()
        alone()
        server.stop()
        began = time.monotonic()
        told = wrong = 0
        while time.monotonic() - began < away_s:
            status, again, text, _seconds = product.get()
            right = status == 503 and again.isdigit() and 0 < int(again) <= 60 and _SAID in text.replace("&#x27;", "'")
            told, wrong = told + right, wrong + (not right)
            time.sleep(0.5)
        lines = log.read_text(errors="replace").count("ticker failed")
        server.start()
        page = product.wait_for_page(RECOVERED_WITHIN_S)
        seen = world.visits()
        recovered = max(
            page, _until(lambda: world.visits() > seen or not world.left(), within_s=RECOVERED_WITHIN_S * 2)
        )
        done = world.wait(within_s=DONE_WITHIN_S)
        what = f"database away {away_s:.0f} s, {left} due: {told} pages said so, {lines} turns tried"
        return [_row(world, what, product, recovered=recovered, done=done, **({"lost words": wrong} if wrong else {}))]
    finally:
        product.kill()


def broker_away(world: World, log: Path, server: Redis, *, away_s: float) -> list[Row]:
    """Redis is killed and comes back empty. The interface does without; workers go on with what they have."""
    product, _ = _begin(world, log)
    try:
        left = world.left()
        server.stop()
        began = time.monotonic()
        pages = [product.get()[0]]
        while time.monotonic() - began < away_s:
            time.sleep(0.5)
            pages.append(product.get()[0])
        server.start()
        seen = world.visits()
        recovered = _until(lambda: world.visits() > seen or not world.left(), within_s=RECOVERED_WITHIN_S * 2)
        done = world.wait(within_s=DONE_WITHIN_S)
        wrong = len([status for status in pages if status != 200])
        what = f"Redis away {away_s:.0f} s, {left} due; {len(pages) - wrong} of {len(pages)} pages as ever"
        return [_row(world, what, product, recovered=recovered, done=done, **({"lost pages": wrong} if wrong else {}))]
    finally:
        product.kill()


def flushed(world: World, log: Path, redis_url: str) -> list[Row]:
    """The broker is emptied while its messages wait for workers, and twice more while they are at work."""
    import redis

    product = Product(log)
    product.sign_in()
    with redis.Redis.from_url(redis_url) as broker:
        world.open_round(edited=False)
        product.start("ticker")
        try:
            _until(lambda: int(broker.llen("django_q:tideline:q")) > 1, within_s=60)
            gone = int(broker.llen("django_q:tideline:q"))
            broker.flushdb()
            product.start("workers")
            seen = world.visits()
            recovered = _until(lambda: world.visits() > seen, within_s=RECOVERED_WITHIN_S)
            for share in (3, 2):
                _until(lambda share=share: world.left() < world.count * (share - 1) // share, within_s=120)  # type: ignore[misc]
                gone += int(broker.llen("django_q:tideline:q"))
                broker.flushdb()
            done = world.wait(within_s=120 + LEASE_S)
            what = f"broker emptied three times, {world.count} due, {gone} messages gone"
            return [_row(world, what, product, recovered=recovered, done=done)]
        finally:
            product.kill()
