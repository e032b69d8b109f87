"""What somebody else put into the queue, and many tickers at one table; run like the kill loops."""

from __future__ import annotations

import json
import sys
import time
import types
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from tests.chaos.lives import Life
from tests.chaos.product import Product
from tests.chaos.world import World

type Row = dict[str, Any]

TICKERS = 20


def poisoned(world: World, log: Path, *, old: int) -> list[Row]:
    """Messages that nobody can read or run, of an attacker and of an older release, before and between those of ours."""
    from django.utils import timezone
    from django_q.brokers import get_broker
    from django_q.signing import SignedPackage
    from django_q.tasks import async_task

    broker = get_broker()
    plain = {
        "id": "1",
        "name": "n",
        "args": (),
        "kwargs": {},
        "started": timezone.now(),
        "func": "monitoring.tasks.run_batch",
    }
    bad = [
        "gASVBAAAAAAAAABLAS4:1:forged",
        "x" * 5_000_000,
        SignedPackage.dumps(plain | {"args": (_gone(),)}),
        SignedPackage.dumps(plain | {"func": "os.abort"}),
        SignedPackage.dumps(plain | {"func": "monitoring.tasks.gone_since_the_last_release"}),
        SignedPackage.dumps(plain | {"args": ("x" * 1_000_000,)}),
        SignedPackage.dumps(17),
    ]
    product = Product(log)
    product.start("workers")
    try:
        watcher = _watcher(product)
        before = {child.pid for child in watcher.children()}
        for package in bad:
            broker.enqueue(package)
        for number in range(old):
            async_task("monitoring.tasks.run_batch", number, priority="high", task_name=f"old-{number}", save=False)
        for package in bad:
            broker.enqueue(package)
        world.open_round(edited=True)
        product.start("ticker")
        done = world.wait(within_s=300)
        waiting = broker.queue_size()
        ends = time.monotonic() + 60
        while waiting and time.monotonic() < ends:
            time.sleep(0.2)
            waiting = broker.queue_size()
        restarts = len(before - {child.pid for child in watcher.children()}) if watcher.is_running() else len(before)
        ended = product.ended()
    finally:
        product.kill()
    dropped = log.read_text(errors="replace").count(" dropped: it ")
    account = world.account()
    return [{
        "what": f"{2 * len(bad)} poisoned and {old} outdated messages; {dropped} dropped", "times": dropped, "wanted": 2 * len(bad),
        "rounds": 1, "resumed": 0.0, "drained": done, "within": (0.0, 300.0), **account,
        **({"lost processes": restarts + len(ended)} if restarts or ended else {}), **({"lost messages": waiting} if waiting else {}),
    }]  # fmt: skip


def _gone() -> object:
    """An object of a class that no worker can import."""
    module = types.ModuleType("monitoring.gone_since_the_last_release")
    kind = type("Gone", (), {"__module__": module.__name__})
    vars(module)["Gone"] = kind
    sys.modules[module.__name__] = module
    return kind()


def _watcher(product: Product) -> psutil.Process:
    """The process that watches over the workers, once all of them are there."""
    main = psutil.Process(product.processes["workers"].pid)
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        children = main.children()
        if len(children) == 1 and len(children[0].children()) == 4:
            return children[0]
        time.sleep(0.1)
    raise RuntimeError("the workers did not start")


def tickers(world: World, log: Path, *, turns: int) -> list[Row]:
    """Many tickers at once: each monitor and each job is handed out by one of them."""
    from monitoring import queueing
    from monitoring.models import Monitor

    started = time.monotonic()
    lost: Counter[str] = Counter()
    double: Counter[str] = Counter()
    folder = log.parent
    for turn in range(turns):
        world.open_round(edited=False)
        Monitor.objects.update(lease_until=None, lease_token="")
        queueing.periodic(f"race-{turn}", 3600, "monitoring.services.outbox.send_due")
        crowd = [Life(lambda place=place: _race(folder / f"turn-{place}.json"), log) for place in range(TICKERS)]  # type: ignore[misc]
        for life in crowd:
            while not life.ended():
                time.sleep(0.01)
        found = [json.loads((folder / f"turn-{place}.json").read_text()) for place in range(TICKERS)]
        visits = Counter(pk for handed in found for path, ids in handed if path.endswith("run_batch") for pk in ids)
        jobs = Counter(name for handed in found for path, name in handed if path.endswith("run_periodic"))
        double["visits"] += sum(visits.values()) - len(visits)
        lost["visits"] += world.count - len(visits)
        lost["jobs"] += int(not jobs[f"race-{turn}"])
        double["jobs"] += max(0, jobs[f"race-{turn}"] - 1)
    Monitor.objects.update(lease_until=None, lease_token="")
    return [{
        "what": f"{TICKERS} tickers at once", "times": turns, "wanted": turns, "rounds": turns, "lost": lost.total(), "double": double.total(),
        "repeated": 0, "held": 0, "resumed": 0.0, "drained": time.monotonic() - started, "within": (0.0, 600.0),
        **{f"double {name}": count for name, count in double.items() if count}, **{f"lost {name}": count for name, count in lost.items() if count},
    }]  # fmt: skip


def _race(told: Path) -> None:
    """One ticker: turns until nothing is due, and what it handed out."""
    from django.conf import settings
    from django.utils import timezone

    from monitoring import queueing
    from monitoring.models import Monitor
    from monitoring.services import ticker

    settings.WORKERS = 64
    settings.LEASE_S = 300
    handed: list[tuple[str, Any]] = []
    vars(queueing)["async_task"] = lambda path, first, *_args, **_: handed.append((path, first))
    for _ in range(50):
        now = timezone.now()
        ticker.turn(now=now)
        if not Monitor.objects.filter(lease_until=None, next_check_at__lte=now).exists():
            break
    told.write_text(json.dumps(handed))
