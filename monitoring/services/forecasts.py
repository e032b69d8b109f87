"""Foreseen against found: of the checks with a chance of about so much, how many found a change.

This is the live test of what plans are made by. A day's sums are made anew from a sample of its checks until the day is
over, so that a job that runs twice counts nothing twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import OuterRef, Subquery

from monitoring.models import Check, ForecastBin, Outcome
from monitoring.scheduling import Rate, chance_of_change
from monitoring.services.findings import GOOD
from monitoring.services.memories import RESTARTS

TENTHS = 10
SLICES = 48  # of a day; from each the first checks are taken, so that a sample has all hours
PER_SLICE = 400
KEPT = timedelta(days=400)
_CHANGED = frozenset({Outcome.CONTENT, Outcome.FIELD})
_DAY_S = 86_400.0


@dataclass(slots=True)
class _Sum:
    checks: int = 0
    expected: float = 0.0
    found: int = 0


def tally(*, now: datetime) -> int:
    """Sum up today's checks, and yesterday's while it may have had checks since the last time. Gives how many counted."""
    today = now.astimezone(UTC).date()
    count = _tally_day(today, now)
    if now.astimezone(UTC).hour < 3:
        count += _tally_day(today - timedelta(days=1), now)
    ForecastBin.objects.filter(on__lt=today - KEPT).delete()
    return count


def _tally_day(day: date, now: datetime) -> int:
    sums: dict[tuple[int, int], _Sum] = defaultdict(_Sum)
    for team, chance, changed in _foreseen(day, now):
        row = sums[team, min(int(chance * TENTHS), TENTHS - 1)]
        row.checks, row.expected, row.found = row.checks + 1, row.expected + chance, row.found + changed
    rows = [
        ForecastBin(team_id=team, on=day, tenth=tenth, checks=one.checks, expected=one.expected, found=one.found)
        for (team, tenth), one in sums.items()
    ]
    with transaction.atomic():
        ForecastBin.objects.filter(on=day).delete()
        ForecastBin.objects.bulk_create(rows, ignore_conflicts=True)  # another worker may be at the same day
    return sum(one.checks for one in sums.values())


def _foreseen(day: date, now: datetime) -> Iterator[tuple[int, float, bool]]:
    """Team, the chance as it was known before, and whether there was a change, for a sample of a day's comparisons."""
    start = datetime.combine(day, time(), UTC)
    length = timedelta(days=1) / SLICES
    before = Check.objects.filter(monitor=OuterRef("monitor"), check_no=OuterRef("check_no") - 1)
    for number in range(SLICES):
        begin = start + number * length
        if begin > now:
            return
        rows = (
            Check.objects.filter(started_at__gte=begin, started_at__lt=begin + length)
            .order_by("started_at")
            .annotate(
                a=Subquery(before.values("rate_a")), b=Subquery(before.values("rate_b")),
                since=Subquery(before.values("started_at")), was=Subquery(before.values("outcome")),
            )
            .values_list("monitor__team", "started_at", "outcome", "reason", "a", "b", "since", "was")[:PER_SLICE]
        )  # fmt: skip
        for team, at, outcome, reason, a, b, since, was in rows:
            if outcome not in GOOD or was not in GOOD or reason in RESTARTS or a is None or b is None:
                continue
            days = (at - since).total_seconds() / _DAY_S
            if days > 0:
                yield team, chance_of_change(Rate(a, b), days), outcome in _CHANGED
