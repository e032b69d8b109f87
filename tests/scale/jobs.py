"""What runs by the clock, once each at the full size, beside its period."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from unittest import mock

from monitoring import queueing
from monitoring.services import schedule, ticker

SHARE = 0.05  # of its period a job may take
TICK_S = 2.0
_LEFT_OUT = {"hints", "first-looks", "first-looks-browser", "outbox"}  # they wait for sites or a mail server


def measure(now: datetime) -> Iterator[tuple[str, float, float]]:
    """Name, period and seconds of each job; the ticker's turn hands its batches to nobody."""

    def timed(work: Callable[[], Any]) -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    yield "reconcile", TICK_S, timed(lambda: schedule.reconcile(now=now))
    with (
        mock.patch.object(queueing, "enqueue_batch"),
        mock.patch.object(queueing, "enqueue_job"),
    ):
        yield "ticker turn", TICK_S, timed(lambda: ticker.turn(now=now))
    for job in queueing.jobs():
        if job.name in _LEFT_OUT:
            continue
        yield job.name, job.every_s, timed(lambda name=job.name: queueing.run_job(name, now=now))  # type: ignore[misc]
