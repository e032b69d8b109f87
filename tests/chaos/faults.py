"""Where a process can be made to die or stop: named points, put around functions of the product in the tests' own processes.

The product knows nothing of them: this module replaces functions by name in a process that asks for it (`install`), and a
point that is not armed passes the call on. What is armed lies in memory shared with every process forked afterwards, so that
one of many comes by at the chosen passage and no other does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

POINTS: Final = (
    "claim", "take over", "fetch", "judge", "payload file", "payload row", "snapshot row", "check row", "change row", "outbox row",
    "reschedule", "committed", "ledger", "ledger committed", "task done", "acknowledge", "periodic job", "mail claimed", "mail accepted",
)  # fmt: skip
"""Every point; at each the process dies with this done and nothing after it."""

_context = multiprocessing.get_context("fork")
_armed = _context.Value("i", -1)  # the point's number
_left = _context.Value("i", 0)  # passages until it happens
_signal = _context.Value("i", signal.SIGKILL)
happened = _context.Value("i", 0)
refused = _context.Value("i", 0)  # processes that were stopped, went on and could not write what they had
_was_stopped = False  # this process, and nothing was refused to it since


def arm(point: str, passage: int, *, signum: int = signal.SIGKILL) -> None:
    """From now on the process that comes by `point` for the so-manieth time, counted over all processes, gets the signal."""
    _signal.value, _left.value = signum, passage
    _armed.value = POINTS.index(point)


def disarm() -> None:
    """Nothing happens any more."""
    _armed.value = -1


def passing(point: str) -> None:
    """Come by a point."""
    if _armed.value < 0 or POINTS[_armed.value] != point:
        return
    with _left.get_lock():
        _left.value -= 1
        is_mine = _left.value == 0
        if is_mine:
            _armed.value = -1
            happened.value += 1
    if is_mine:
        globals()["_was_stopped"] = True
        os.kill(os.getpid(), _signal.value)


def refuse() -> None:
    """Count this process, where it was stopped, as one whose write was refused."""
    if _was_stopped:
        globals()["_was_stopped"] = False
        with refused.get_lock():
            refused.value += 1


def _after(module: Any, name: str, point: str, wanted: Callable[..., bool] = lambda *_a, **_k: True) -> None:
    inner = getattr(module, name)

    def wrapped(*args: Any, **more: Any) -> Any:
        result = inner(*args, **more)
        if wanted(*args, **more):
            passing(point)
        return result

    wrapped.__module__ = getattr(inner, "__module__", "")  # the queue calls only what belongs to a module of tasks
    setattr(module, name, wrapped)


def _before(module: Any, name: str, point: str) -> None:
    inner = getattr(module, name)

    def wrapped(*args: Any, **more: Any) -> Any:
        passing(point)
        return inner(*args, **more)

    setattr(module, name, wrapped)


def _is_payload(handle: int) -> bool:
    return "/payloads/" in str(Path(f"/proc/self/fd/{handle}").readlink())


def install() -> None:
    """Put the points in place, in this process and those it forks."""
    from django.db.models.signals import post_save

    from monitoring import broker, queueing, tasks
    from monitoring.models import Change, Monitor, OutboxMessage, Payload, Snapshot
    from monitoring.services import capture, handover, ledger, outbox, rows, schedule

    _after(schedule, "_lease", "claim")
    _after(schedule, "take_over", "take over")
    _before(handover.Fetcher, "_hand_over", "fetch")
    _after(capture, "judge_capture", "judge")
    _after(os, "fsync", "payload file", _is_payload)
    _after(rows, "insert", "check row")
    _after(rows, "update", "reschedule", lambda model, *_a, **_k: model is Monitor)
    _after(ledger, "record", "committed")
    _after(rows, "insert_many", "ledger")
    _after(ledger, "_write", "ledger committed")
    _after(tasks, "run_batch", "task done")
    _before(broker.DatabaseBroker, "acknowledge", "acknowledge")
    _after(queueing, "run_job", "periodic job")
    _after(outbox, "claim", "mail claimed")
    _before(outbox, "_settle", "mail accepted")
    _count_refusals(capture)
    for model, point in (
        (Payload, "payload row"),
        (Snapshot, "snapshot row"),
        (Change, "change row"),
        (OutboxMessage, "outbox row"),
    ):
        post_save.connect(_saved(point), sender=model, weak=False)


def _count_refusals(capture: Any) -> None:
    inner = capture._Batch._lose

    def lose(batch: Any, pk: int) -> None:
        refuse()
        inner(batch, pk)

    capture._Batch._lose = lose


def _saved(point: str) -> Callable[..., None]:
    def saved(*, created: bool, **_: Any) -> None:
        if created:
            passing(point)

    return saved
