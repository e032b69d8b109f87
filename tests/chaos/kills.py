"""SIGKILL at chosen points and at random ones; SIGSTOP past the lease. Run in a process of its own by `python -m tests.chaos`."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.chaos import faults, lives
from tests.chaos.lives import Life
from tests.chaos.world import RESUMED_WITHIN_S, World

type Row = dict[str, Any]

QUIET = frozenset({"ledger", "ledger committed"})  # what these do happens where pages are as they were
IN_CLUSTER = ("claim", "task done", "acknowledge")
SOLO = tuple(point for point in faults.POINTS if point not in {"task done", "acknowledge"})
STOPS = ("fetch", "judge", "payload file")
STOPS_QUIET = ("fetch", "judge")
# On SQLite a process that stands still in a transaction keeps everybody from writing until it goes on.
IN_TRANSACTION = ("payload row", "snapshot row", "check row", "change row", "outbox row", "reschedule")
IN_TRANSACTION_QUIET = ("ledger",)
SLEEPERS = 8


def points(
    world: World, log: Path, *, kills: int, seed: int, cluster: bool, redis: bool, only: list[str] | None
) -> list[Row]:
    """Rows of the table: so many kills at each point, then the account."""
    chosen = [point for point in IN_CLUSTER if not (redis and point == "acknowledge")] if cluster else list(SOLO)
    chosen = [point for point in chosen if not only or point in only]
    return [
        _at(world, log, point, kills=kills, rng=random.Random(f"{seed}/{point}"), cluster=cluster) for point in chosen
    ]


class _Crew:
    """The processes that do the work, each started anew when it ends."""

    def __init__(self, log: Path, *, cluster: bool) -> None:
        bodies: list[Callable[[], object]] = [lives.workers, lives.ticking] if cluster else [lives.solo]
        self._log, self._bodies = log, bodies
        self.lives = [Life(body, log) for body in bodies]

    def tend(self) -> int:
        """Start anew who has ended; how many that were."""
        ended = [n for n, life in enumerate(self.lives) if life.ended()]
        for n in ended:
            self.lives[n].kill()  # what is left of its session
            self.lives[n] = Life(self._bodies[n], self._log)
        return len(ended)

    def kill(self) -> None:
        for life in self.lives:
            life.kill()


def _at(world: World, log: Path, point: str, *, kills: int, rng: random.Random, cluster: bool) -> Row:
    """Kill whoever comes by a point, again and again, while the rounds go on; then let it be finished."""
    edited = point not in QUIET
    before = world.account()["repeated"]
    world.open_round(edited=edited)
    faults.happened.value = 0
    crew = _Crew(log, cluster=cluster)
    slowest, died, seen, rounds = 0.0, time.monotonic(), world.visits(), 1
    is_armed, is_waiting = False, False
    began = time.monotonic()
    try:
        while faults.happened.value < kills and time.monotonic() - began < (60 + 15 * kills) * world.patience_s / 33:
            if not is_armed and not world.has_suspects():
                faults.arm(point, rng.randint(1, 2 if cluster or not edited else 4))
                is_armed = True
            if faults._armed.value < 0:
                is_armed, is_waiting, died, seen = False, True, time.monotonic(), world.visits()
            crew.tend()
            if is_waiting and world.visits() > seen:
                slowest, is_waiting = max(slowest, time.monotonic() - died), False
            if not world.left():
                world.open_round(edited=edited)
                rounds += 1
            time.sleep(0.02)
        faults.disarm()
        ends = time.monotonic() + world.patience_s
        while world.left() and time.monotonic() < ends:
            crew.tend()
            if is_waiting and world.visits() > seen:
                slowest, is_waiting = max(slowest, time.monotonic() - died), False
            time.sleep(0.05)
        drained = time.monotonic() - died
    finally:
        faults.disarm()
        crew.kill()
    done = faults.happened.value
    # Who dies takes along whoever of its group just hands over a mail; it goes out again under the same Message-ID.
    world.repeats += done if point == "mail accepted" or cluster else 0
    account = world.account()
    account["repeated"] -= before
    return {"what": f"SIGKILL: {point}", "times": done, "wanted": kills, "rounds": rounds, "resumed": max(slowest, 0.0), "drained": drained, **account}  # fmt: skip


def at_random(world: World, log: Path, *, kills: int, seed: int) -> list[Row]:
    """Kills of whatever process at whatever moment: workers, who watches over them, the ticker, or all at once."""
    rng = random.Random(seed)
    world.open_round(edited=True)
    crew = _Crew(log, cluster=True)
    hit: dict[str, int] = {}
    rounds = 1
    try:
        for _ in range(kills):
            ends = time.monotonic() + rng.uniform(0.1, 1.2)
            while time.monotonic() < ends or world.has_suspects(2):
                crew.tend()
                if not world.left():
                    world.open_round(edited=rounds % 3 > 0)
                    rounds += 1
                time.sleep(0.02)
            name = _hit(crew, rng)
            hit[name] = hit.get(name, 0) + 1
        died = time.monotonic()
        while world.left() and time.monotonic() < died + world.patience_s:
            crew.tend()
            time.sleep(0.05)
        drained = time.monotonic() - died
    finally:
        crew.kill()
    world.repeats += kills
    account = world.account()
    victims = " ".join(f"{name} {count}" for name, count in sorted(hit.items()))
    return [{"what": f"SIGKILL at random ({victims})", "times": kills, "wanted": kills, "rounds": rounds, "resumed": drained, "drained": drained, **account}]  # fmt: skip


def _hit(crew: _Crew, rng: random.Random) -> str:
    """Kill somebody; who that was."""
    kind = rng.choices(["all", "child", "watcher", "main", "ticker"], [4, 4, 1, 1, 2])[0]
    main, ticker = crew.lives
    if kind == "all":
        crew.kill()
        return kind
    if kind in {"ticker", "main"}:
        (ticker if kind == "ticker" else main).send(signal.SIGKILL)
        return kind
    try:
        (watcher,) = psutil.Process(main.pid).children()
        victim = watcher if kind == "watcher" else rng.choice(watcher.children())
        victim.kill()
    except (psutil.Error, ValueError, IndexError):  # none is there yet
        main.send(signal.SIGKILL)
        return "main"
    return kind


def stopped(world: World, log: Path, *, stops: int, seed: int, locks_rows: bool) -> list[Row]:
    """Workers that are stopped past their lease with monitors in hand, and go on after others have visited those.

    Where the database locks rows they are stopped in the middle of their transactions too.
    """
    rng = random.Random(seed)
    faults.refused.value = 0
    written = rounds = slept = 0
    slowest = resumed = 0.0
    while slept < stops and rounds < stops:
        rounds += 1
        edited = rounds % 4 > 0
        world.open_round(edited=edited)
        chosen: tuple[str, ...] = STOPS if edited else STOPS_QUIET
        if locks_rows:
            chosen += IN_TRANSACTION if edited else IN_TRANSACTION_QUIET
        sleepers = []
        for _ in range(min(SLEEPERS, world.count // 8, stops - slept)):
            faults.arm(rng.choice(chosen), rng.randint(1, 3 if edited else 1), signum=signal.SIGSTOP)
            life = Life(lives.unwatched, log)
            if _stops(life):
                sleepers.append(life)
            else:
                life.kill()
        faults.disarm()
        slept += len(sleepers)
        awake = _Crew(log, cluster=False)
        began, first, seen = time.monotonic(), 0.0, world.visits()
        while world.left() and time.monotonic() - began < 4 * world.patience_s:
            awake.tend()
            if not first and world.visits() > seen:
                first = time.monotonic() - began
            time.sleep(0.05)
        slowest, resumed = max(slowest, time.monotonic() - began), max(resumed, first)
        before = world.visits()
        for life in sleepers:
            life.send(signal.SIGCONT)
        _settle(slept)
        written += world.visits() - before
        for life in (*sleepers, *awake.lives):
            life.kill()
        if world.left():
            break
    account = world.account()
    what = f"SIGSTOP past the lease, then SIGCONT: {slept} stopped"
    return [{"what": what, "times": faults.refused.value, "wanted": max(stops, slept), "rounds": rounds, "resumed": resumed, "drained": slowest, "within": (RESUMED_WITHIN_S, 4 * RESUMED_WITHIN_S), **account, "double": account["double"] + written}]  # fmt: skip


def _settle(wanted: int) -> None:
    """Wait until that many were refused, and a second longer: they have nothing better to do than to write what they have."""
    ends = time.monotonic() + 20
    while faults.refused.value < wanted and time.monotonic() < ends:
        time.sleep(0.05)
    time.sleep(1.0)


def _stops(life: Life, within_s: float = 10.0) -> bool:
    """Whether the process stands still soon."""
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        pid, status = os.waitpid(life.pid, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            return True
        if pid:
            life.status = status
            return False
        time.sleep(0.01)
    return False
