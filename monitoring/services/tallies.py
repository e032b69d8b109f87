"""What this process counts, and where the counts of all processes are added up.

Counting is a dictionary in memory; `flush` adds it to the row of one of a few slots, every few seconds and when the process
ends. One that is killed takes what it counted since then with it: counts tell how things go, the checks' rows are the truth.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, transaction

from monitoring.models import Monitor, Tally

logger = logging.getLogger(__name__)

SLOTS = 16
FLUSH_S = 10.0
SEPARATOR: Final = "\t"
# Upper ends of the classes that durations and delays are counted in, seconds; the last class has no end.
DURATION_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
LATENESS_S: Final = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)

_counts: dict[str, float] = {}
_counting = threading.Lock()  # a thread of its own flushes in workers
_flushed_at = 0.0


def count(name: str, *labels: str, by: float = 1) -> None:
    """Add to a series of this process."""
    key = SEPARATOR.join((name, *labels)) if labels else name
    with _counting:
        _counts[key] = _counts.get(key, 0) + by


@cache
def _classes(name: str, bounds: tuple[float, ...], *labels: str) -> tuple[tuple[str, ...], str]:
    """The series of a histogram: one for each class, and the one of the sum."""
    inner = SEPARATOR.join(("", *labels))
    return tuple(f"{name}_class{inner}{SEPARATOR}{place}" for place in range(len(bounds) + 1)), f"{name}_sum{inner}"


@cache
def _checks(by: str, outcome: str) -> str:
    return SEPARATOR.join(("checks", by, outcome))


def visit(check: Mapping[str, Any], monitor: Monitor) -> None:
    """Count a visit that was written, from the columns of its row; `monitor` as it was when the visit began."""
    by = "browser" if monitor.uses_browser else "http"
    took_s = check["duration_ms"] / 1000
    took, took_sum = _classes("duration", DURATION_S, by)
    fresh = [(_checks(by, check["outcome"]), 1), (took[bisect_left(DURATION_S, took_s)], 1), (took_sum, took_s)]
    if check["not_modified"]:
        fresh.append(("not_modified", 1))
    if check["size_bytes"]:
        fresh.append(("page_bytes", check["size_bytes"]))
    if monitor.next_check_at is not None:
        late_s = max((check["started_at"] - monitor.next_check_at).total_seconds(), 0.0)
        late, late_sum = _classes("lateness", LATENESS_S)
        fresh += ((late[bisect_left(LATENESS_S, late_s)], 1), (late_sum, late_s))
    with _counting:
        for key, number in fresh:
            _counts[key] = _counts.get(key, 0) + number


def flush() -> bool:
    """Add what was counted to the common sums; whether nothing is left. Where the database is away it is kept for later."""
    global _counts, _flushed_at
    _flushed_at = time.monotonic()
    if not _counts:
        return True
    with _counting:
        fresh, _counts = _counts, {}
    try:
        _add(os.getpid() % SLOTS, fresh)
    except (DatabaseError, InterfaceError) as problem:
        logger.warning("counts kept for later: %s", problem)
        with _counting:
            for key, number in fresh.items():
                _counts[key] = _counts.get(key, 0) + number
        return False
    return True


def flush_due() -> None:
    """The same, when the last time is a while ago."""
    if time.monotonic() - _flushed_at > FLUSH_S:
        flush()


def _add(slot: int, fresh: Mapping[str, float]) -> None:
    with transaction.atomic():
        row = Tally.objects.select_for_update().filter(slot=slot).first()
        if row is None:
            Tally.objects.get_or_create(slot=slot)
            row = Tally.objects.select_for_update().get(slot=slot)
        for key, number in fresh.items():
            row.counts[key] = round(row.counts.get(key, 0) + number, 6)
        row.save(update_fields=["counts"])


def totals() -> dict[str, float]:
    """The sums of all processes, this one's unwritten counts left out."""
    found: dict[str, float] = {}
    for counts in Tally.objects.order_by("slot").values_list("counts", flat=True):
        for key, number in counts.items():
            found[key] = found.get(key, 0) + number
    return found


# -- processor time by stage -----------------------------------------------------------------


class _Stages(threading.local):
    """Processor time of this thread by what it was at; nothing is measured outside of `begin` and `end`."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._stage = ""
        self._at = 0.0

    def begin(self, stage: str = "other") -> None:
        """Measure from now on."""
        self.spent, self._stage, self._at = {}, stage, time.thread_time()

    def switch(self, stage: str) -> str:
        """What follows belongs to `stage`; the stage before, to come back to."""
        before = self._stage
        if not before or before == stage:
            return before
        now = time.thread_time()
        self.spent[before] = self.spent.get(before, 0.0) + now - self._at
        self._stage, self._at = stage, now
        return before

    def end(self) -> None:
        """Count what was spent, and measure no longer."""
        if self._stage:
            self.switch("-")
            for stage, seconds in self.spent.items():
                count("cpu", stage, by=seconds)
        self.spent, self._stage = {}, ""


stages = _Stages()
