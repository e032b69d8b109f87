"""Teams' budgets and what hosts bear: one price per team and one factor per host, found again every hour.

A price moves intervals at the monitors' next visits. Where it moved far (a new budget, the first hours) visits that lie
ahead are planned anew, spread as they were: nothing here makes many monitors due at one moment.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, FloatField, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Least, Mod

from monitoring.models import Check, Counts, Monitor, PeriodicJob, Site, Team
from monitoring.scheduling import (
    Rate,
    Terms,
    hash01,
    host_factor,
    host_load,
    measured_spend,
    plan,
    solve_price,
    trimmed,
)
from monitoring.services import rates, rows, schedule
from monitoring.services.monitors import Actor, log_entry

logger = logging.getLogger(__name__)

JOB = "prices"
SAMPLE = 2_000  # monitors by which a team's price is found
SETTLING = timedelta(days=1)  # after a new budget or an outage a day's spend says nothing
EDIT = 1.2  # a budget edited by more than a fifth plans anew all visits that lie ahead, once
FAR = 1.5  # a price so much higher or lower than the one a visit was planned at plans it anew
REPLAN_S = 120.0  # for one run; the rest follows with the next, or at the monitors' next visits
_CHUNK = 500
_DAY_S = 86_400.0
_ENDLESS = 1e6  # price at which only promises are kept


@dataclass(frozen=True, slots=True)
class _Rows:
    """A team's monitors, each standing for `scale` of them: those that the price moves, those that their host bounds, and
    what all others spend.

    A cheaper fetch brings no more visits to a full host. Were its pages priced with the others, price and factor would
    chase each other without end.
    """

    free: tuple[tuple[Rate, Terms], ...]
    bound: tuple[tuple[Rate, Terms], ...]
    pinned: float
    scale: float

    def bound_spend(self, price: float) -> float:
        """What pages of full hosts spend a day."""
        return self.scale * _spend(self.bound, price)

    def spend(self, price: float) -> float:
        """What all spend a day."""
        return self.pinned + self.scale * _spend((*self.free, *self.bound), price)

    def forced(self, price: float) -> float:
        """What pages spend a day that are visited only because it is promised."""
        plans = (plan(rate, terms, price, 0.5, rates.SETTINGS) for rate, terms in (*self.free, *self.bound))
        return self.scale * sum(one.spend for one in plans if one.reason == "max-age")


def set_budget(team: Team, budget: int | None, *, actor: Actor, now: datetime) -> bool:
    """Give a team another budget, or None for fixed intervals, and ask for its price; whether it is another one."""
    before = Team.objects.values_list("budget", flat=True).get(pk=team.pk)
    if before == budget:
        return False
    with transaction.atomic():
        far = before is None or budget is None or not before / EDIT <= budget <= before * EDIT
        values = {"budget": budget, "trim": 1.0, "steady_at": now + SETTLING, "replan": far, "tokens": None}
        Team.objects.filter(pk=team.pk).update(**values)
        log_entry(actor, "budget", before, budget, team=team).save()
        PeriodicJob.objects.filter(name=JOB).update(next_at=now)
    team.budget = budget
    return True


def set_counts(team: Team, counts: str, *, actor: Actor, now: datetime) -> bool:
    """Count visits or what they cost in a team's budget from now on, and ask for its price; whether it counted otherwise."""
    before = Team.objects.values_list("budget_counts", flat=True).get(pk=team.pk)
    if before == counts:
        return False
    with transaction.atomic():
        Team.objects.filter(pk=team.pk).update(budget_counts=counts, trim=1.0, steady_at=now + SETTLING, tokens=None)
        log_entry(actor, "budget_counts", before, counts, team=team).save()
        PeriodicJob.objects.filter(name=JOB).update(next_at=now)
    team.budget_counts = counts
    return True


def reprice(*, now: datetime, replan_s: float = REPLAN_S) -> int:
    """Weigh hosts, price teams, plan anew what was planned at quite another price. Gives how many were planned anew."""
    weigh_hosts(now=now)
    ends = time.monotonic() + replan_s
    count = 0
    for team in Team.objects.order_by("pk"):
        price(team, now=now)
        count += replan(team, now=now, ends=ends)
    return count


# -- prices ------------------------------------------------------------------------------


def price(team: Team, *, now: datetime) -> None:
    """Find the price at which a team keeps to its budget, and write it down with what was found on the way.

    Of a team without a budget what it plans and spends is written down.
    """
    measured = measured_of(team, now=now)
    if team.budget is None:
        found = _rows(team, now)
        team.planned_spend, team.measured_spend, team.priced_at = found.pinned, measured, now
        team.save(update_fields=["planned_spend", "measured_spend", "priced_at"])
        return
    if _is_late(team, now):
        team.steady_at = max(team.steady_at or now, now + SETTLING)
    steady = team.steady_at is None or team.steady_at <= now
    if steady and team.priced_at is not None:
        days = min((now - team.priced_at) / timedelta(days=1), 1.0)
        team.trim = trimmed(team.trim, budget=team.budget, measured=measured, days=max(days, 0.0))
    rows_found = _rows(team, now)
    if rows_found.free:
        wanted = max(team.budget * team.trim - rows_found.pinned - rows_found.bound_spend(team.price), 1e-3)
        team.price = solve_price(list(rows_found.free), wanted, team.price, rates.SETTINGS, rows_found.scale, 12)
    planned, least = rows_found.spend(team.price), rows_found.spend(_ENDLESS)
    team.planned_spend, team.least_spend, team.measured_spend, team.priced_at = planned, least, measured, now
    team.forced_spend = rows_found.forced(team.price)
    team.save(
        update_fields=[
            "price", "trim", "steady_at", "planned_spend", "least_spend", "forced_spend", "measured_spend", "priced_at",
        ]
    )  # fmt: skip
    logger.info(
        "team=%d price=%.4g budget=%d planned=%.1f least=%.1f measured=%.1f trim=%.3f",
        team.pk, team.price, team.budget, planned, least, measured, team.trim,
    )  # fmt: skip


def measured_of(team: Team, *, now: datetime) -> float:
    """What the team's visits of the last 24 hours cost, in what its budget counts."""
    found = Check.objects.filter(started_at__gt=now - timedelta(days=1), monitor__team=team).aggregate(
        all=Count("pk"),
        same=Count("pk", filter=Q(not_modified=True)),
        rendered=Count("pk", filter=Q(monitor__by_browser=True)),
    )
    if team.budget_counts == Counts.CHECKS:
        return float(found["all"])
    dearer: int = found["rendered"] * (settings.BROWSER_COST - 1)
    return measured_spend(found["all"], found["same"]) + dearer


def _is_late(team: Team, now: datetime) -> bool:
    oldest = _watched(team).filter(lease_until__isnull=True).aggregate(at=Min("next_check_at"))["at"]
    return oldest is not None and oldest < now - schedule.LATE


def _watched(team: Team) -> QuerySet[Monitor]:
    return Monitor.objects.filter(team=team, enabled=True, quarantined_at__isnull=True)


def _sample(team: Team, now: datetime) -> tuple[list[Monitor], float]:
    """Some of the team's monitors, others every hour, and how many each stands for."""
    watched, number = _watched(team), _watched(team).count()
    step = max(1, -(-number // SAMPLE))
    if step > 1:
        watched = watched.annotate(turn=Mod(F("pk"), step)).filter(turn=int(now.timestamp() // 3600) % step)
    found = list(watched.select_related("site", "page_type", "team").defer("mould", "fields", "steps"))
    return found, number / len(found) if found else 1.0


def _rows(team: Team, now: datetime) -> _Rows:
    sample, scale = _sample(team, now)
    free: list[tuple[Rate, Terms]] = []
    bound: list[tuple[Rate, Terms]] = []
    pinned = 0.0
    for monitor in sample:
        if not schedule.follows_rate(monitor):
            pinned += schedule.plan_for(monitor, monitor.rate, price=1.0, u=0.5, now=now).spend
            continue
        row = (monitor.rate, schedule.terms_of(monitor, now=now))
        (bound if monitor.site.host_factor > 1 else free).append(row)
    return _Rows(tuple(free), tuple(bound), scale * pinned, scale)


def _spend(rows_of_plan: Iterable[tuple[Rate, Terms]], at_price: float) -> float:
    return sum(plan(rate, terms, at_price, 0.5, rates.SETTINGS).spend for rate, terms in rows_of_plan)


# -- planning anew -----------------------------------------------------------------------


def replan(team: Team, *, now: datetime, ends: float) -> int:
    """Plan anew the visits of a team that lie ahead and were planned at quite another price, until `ends`.

    Each keeps to its own jitter and counts from its own last visit; whoever would be late by that has its visit spread
    over half an interval from now.
    """
    count = 0
    far = 1.01 if team.replan else FAR
    for chunk in _outdated(team, now, far):
        planned = [(monitor.check_no, monitor.next_check_at) for monitor in chunk]
        for monitor in chunk:
            _plan_anew(monitor, now)
        count += _save(chunk, planned)
        if time.monotonic() > ends:
            break
    else:
        if team.replan:
            Team.objects.filter(pk=team.pk, budget=team.budget).update(replan=False)
    if count:
        logger.info("team=%d planned anew=%d price=%.4g", team.pk, count, team.price)
    return count


def _outdated(team: Team, now: datetime, far: float) -> Iterator[list[Monitor]]:
    ahead = _watched(team).filter(lease_until__isnull=True, next_check_at__gt=now, last_ok_at__isnull=False, fail_no=0)
    ahead = ahead.exclude(plan_reason__in=["signal", "confirm", "asked", "first"])
    if team.budget is None:
        ahead = ahead.filter(plan_price__isnull=False)
    else:
        elsewhere = Q(plan_price__isnull=True) | Q(plan_price__gt=team.price * far) | Q(plan_price__lt=team.price / far)
        ahead = ahead.filter(elsewhere, interval_s__isnull=True)
    last = 0
    while chunk := list(
        ahead.filter(pk__gt=last)
        .select_related("site", "page_type", "team")
        .defer("mould", "fields", "steps")
        .order_by("pk")[:_CHUNK]
    ):
        last = chunk[-1].pk
        yield chunk


def _save(chunk: list[Monitor], before: list[tuple[int, datetime | None]]) -> int:
    """Write the plans of those that nobody planned or took in the meantime; how many."""
    changes = [
        (
            {name: getattr(monitor, name) for name in ("next_check_at", "plan_reason", "plan_price", "planned_s")},
            {"id": monitor.pk, "check_no": number, "next_check_at": at, "lease_token": ""},
        )
        for monitor, (number, at) in zip(chunk, before, strict=True)
    ]
    with transaction.atomic():
        return rows.update_many(Monitor, changes)


def _plan_anew(monitor: Monitor, now: datetime) -> None:
    last = monitor.last_checked_at or now
    visit = schedule.plan_next(monitor, now=last, check_no=monitor.check_no)
    at = visit.at
    if at <= now:
        spread = timedelta(seconds=(visit.planned_s or 0) * 0.5 * hash01(monitor.pk, monitor.check_no, "anew"))
        at = now + spread
        if monitor.deadline_at is not None and monitor.deadline_at > now:
            at = min(at, now + (monitor.deadline_at - now) * 0.9)
    monitor.next_check_at, monitor.plan_reason = at, visit.reason
    monitor.plan_price, monitor.planned_s = visit.price, visit.planned_s


# -- hosts -------------------------------------------------------------------------------


def weigh_hosts(*, now: datetime) -> int:
    """How much of what each host bears is planned on it, and the factor on its pages' price. Gives how many are too full."""
    per_day = Value(_DAY_S, output_field=FloatField()) / Cast(F("planned_s"), FloatField())
    promised = Least(F("max_interval_s"), Coalesce(F("page_type__max_interval_s"), F("max_interval_s")))
    needed = Value(_DAY_S, output_field=FloatField()) / (Cast(promised, FloatField()) * (1 - rates.SETTINGS.slack))
    sums = (
        Monitor.objects.filter(enabled=True, quarantined_at__isnull=True, planned_s__gt=0, max_interval_s__gt=0)
        .order_by()
        .values("site")
        .annotate(planned=Sum(per_day), needed=Sum(needed))
        .values_list("site", "planned", "needed")
    )
    found = {site: (planned, needed) for site, planned, needed in sums}
    full, moved = 0, []
    for site in Site.objects.iterator(
        chunk_size=2000
    ):  # nothing is written while rows are read: SQLite would refuse it
        planned, least = found.get(site.pk, (0.0, 0.0))
        load, least_load = (host_load(visits, site.effective_gap_s) for visits in (planned, least))
        factor = host_factor(site.host_factor, load)
        full += load > 1
        if _moved(site.load, load) or _moved(site.least_load, least_load) or _moved(site.host_factor, factor):
            moved.append(({"load": load, "least_load": least_load, "host_factor": factor}, {"id": site.pk}))
    for chunk in batched(moved, 500):
        with transaction.atomic():
            rows.update_many(Site, chunk)
    return full


def _moved(old: float, new: float) -> bool:
    """Whether a figure is worth a write: 1 % and more."""
    return abs(new - old) > 0.01 * max(abs(old), 1e-3)
