"""The fleet: promises that are broken or at risk, and what plans come to, read from what jobs have summed up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet, Sum

from monitoring.models import ForecastBin, Monitor, Outage, PromiseState, Site, Team
from monitoring.services import promises
from monitoring.services.forecasts import TENTHS
from review.charts import Tenth

if TYPE_CHECKING:
    from django.contrib.auth.models import User

WINDOW = 5_000  # promises near their end that are searched for one at risk; the nearest come first


@dataclass(frozen=True, slots=True)
class State:
    """How the promises of the user's teams stood at the last look."""

    looked_at: datetime | None
    broken: int
    at_risk: int
    oldest_broken_at: datetime | None
    due: int
    oldest_due_at: datetime | None


def teams(user: User) -> QuerySet[Team]:
    """The user's teams; all of them for a superuser."""
    return Team.objects.all() if user.is_superuser else Team.objects.filter(members=user.pk)


def state(user: User) -> State:
    """Sums over the user's teams."""
    found = PromiseState.objects.filter(team__in=teams(user).values("pk")).aggregate(
        looked=Max("looked_at"), broken=Sum("broken"), risk=Sum("at_risk"), oldest=Min("oldest_broken_at"),
        due=Sum("due"), since=Min("oldest_due_at"),
    )  # fmt: skip
    return State(
        found["looked"], found["broken"] or 0, found["risk"] or 0, found["oldest"], found["due"] or 0, found["since"]
    )


def broken(user: User, *, now: datetime, cause: str = "") -> QuerySet[Monitor]:
    """Pages that were not read in time."""
    rows = Monitor.objects.visible_to(user).filter(enabled=True, deadline_at__lt=now - promises.GRACE)
    return _of_cause(rows, now, cause).select_related("site", "team", "page_type")


def at_risk(user: User, *, now: datetime, cause: str = "") -> QuerySet[Monitor]:
    """Pages whose promise will be broken unless something ends; among those whose time is over first."""
    near = promises.near_end(now).filter(deadline_at__gte=now - promises.GRACE).values("pk")[:WINDOW]
    rows = Monitor.objects.visible_to(user).filter(pk__in=near)
    return _of_cause(rows, now, cause, needed=True).select_related("site", "team", "page_type")


def full_sites(user: User, *, most: int = 20) -> list[Site]:
    """Sites of the user's pages that are planned to their limit, or that cannot bear what is promised, the fullest first."""
    mine = Monitor.objects.visible_to(user).filter(site=OuterRef("pk"), enabled=True)
    full = Site.objects.filter(Q(load__gt=1) | Q(least_load__gt=1) | Q(host_factor__gt=1))
    return list(full.filter(Exists(mine)).order_by("-least_load", "-load", "pk")[:most])


def tenths(user: User, *, since: date) -> list[Tenth]:
    """Foreseen against found, by tenths of the chance, since a day."""
    sums = {
        row["tenth"]: row
        for row in ForecastBin.objects.filter(team__in=teams(user).values("pk"), on__gte=since)
        .order_by()
        .values("tenth")
        .annotate(n=Sum("checks"), hoped=Sum("expected"), met=Sum("found"))
    }
    return [
        Tenth(sums[n]["n"], sums[n]["hoped"], sums[n]["met"]) if n in sums else Tenth(0, 0.0, 0) for n in range(TENTHS)
    ]


def outages(*, most: int = 5) -> list[Outage]:
    """Times in which nothing was at work, the latest first."""
    return list(Outage.objects.order_by("-ended_at")[:most])


def _of_cause(rows: QuerySet[Monitor], now: datetime, cause: str, *, needed: bool = False) -> QuerySet[Monitor]:
    if not cause and not needed:
        return rows
    found = rows.annotate(cause=promises.cause_of(now, waits=promises.what_waits(now)))
    return found.filter(cause=cause) if cause else found.exclude(cause="")
