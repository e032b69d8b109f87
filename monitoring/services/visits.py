"""Visits of the last day by outcome: hours that are over from their tallies, the last minutes from the checks themselves.

A day of a million monitors is a million rows; a tally of it is a few hundred. Until the first tally everything is
counted from the checks, so that figures are right on the first day as well.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, F, QuerySet, Sum

from monitoring.models import Check, HourTally, Monitor, TallyMark

DAY = timedelta(hours=24)
KEPT = timedelta(days=8)
STEP = timedelta(minutes=5)
# A visit is written some time after it began: a batch has 180 s, and its results wait half a second.
GRACE = timedelta(minutes=5)
RUN_S = 20.0  # for one run; a long gap is closed over several
_HOUR = timedelta(hours=1)


def counts(*, now: datetime, teams: Sequence[int] | None) -> dict[str, int]:
    """Visits of the last 24 hours by outcome, of some teams or (None) of all; those of canaries are not counted.

    Where hours are tallied the day begins with the first whole one of them: at most an hour less is counted.
    """
    since = now - DAY
    mark = TallyMark.objects.filter(pk=1).values_list("until", flat=True).first()
    found: Counter[str] = Counter()
    if mark is not None and mark > since:
        hours = HourTally.objects.filter(start__gte=_hour_from(since), start__lt=mark)
        if teams is not None:
            hours = hours.filter(team__in=teams)
        found.update({row["outcome"]: row["n"] for row in hours.order_by().values("outcome").annotate(n=Sum("n"))})
        since = mark
    recent = _without_canaries(Check.objects.filter(started_at__gte=since))
    if teams is not None:
        recent = recent.filter(monitor__team__in=teams)
    found.update(dict(recent.order_by().values_list("outcome").annotate(n=Count("pk"))))
    return dict(found)


def tally(*, now: datetime) -> int:
    """Add what is over to the tallies; how many visits. Two at once do not count anything twice: one waits or gives way."""
    ends, counted = time.monotonic() + RUN_S, 0
    while (added := _step(now)) is not None:
        counted += added
        if time.monotonic() > ends:
            break
    HourTally.objects.filter(start__lt=now - KEPT).delete()
    return counted


def _step(now: datetime) -> int | None:
    """Add the next few minutes; None where nothing is over yet."""
    last = _floor(now - GRACE, STEP)
    with transaction.atomic():
        mark = TallyMark.objects.select_for_update().filter(pk=1).first()
        if mark is None:
            _begin(last - DAY)
            return 0
        # A mark in the future was set by a clock that was wrong; a mark long past is older than anybody asks for.
        start = max(mark.until, last - DAY) if mark.until <= now else last
        until = min(start + STEP, last) if last - start < _HOUR else min(_floor(start, _HOUR) + _HOUR, last)
        if until <= start:
            if mark.until > now:
                TallyMark.objects.filter(pk=1).update(until=last)
            return None
        rows = (
            _without_canaries(Check.objects.filter(started_at__gte=start, started_at__lt=until))
            .order_by()
            .values_list("monitor__team", "outcome")
            .annotate(n=Count("pk"))
        )
        added = 0
        for team, outcome, n in rows:
            row, made = HourTally.objects.get_or_create(
                start=_floor(start, _HOUR), team_id=team, outcome=outcome, defaults={"n": n}
            )
            if not made:
                HourTally.objects.filter(pk=row.pk).update(n=F("n") + n)
            added += n
        TallyMark.objects.filter(pk=1).update(until=until)
    return added


def _without_canaries(checks: QuerySet[Check]) -> QuerySet[Check]:
    """Left out by the list of the few there are: of a join with all monitors SQLite reads a million first."""
    return checks.exclude(monitor__in=Monitor.objects.filter(is_canary=True).values("pk"))


def _begin(at: datetime) -> None:
    try:
        with transaction.atomic():
            TallyMark.objects.create(pk=1, until=at)
    except IntegrityError:
        return  # another worker began


def _floor(at: datetime, step: timedelta) -> datetime:
    return at - (at - datetime.min.replace(tzinfo=at.tzinfo)) % step


def _hour_from(at: datetime) -> datetime:
    """The first whole hour from a moment on."""
    floor = _floor(at, _HOUR)
    return floor if floor == at else floor + _HOUR
