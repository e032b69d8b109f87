"""Due work: claiming it, keeping it, giving it back, and planning the next visit.

A monitor is due when `next_check_at` has come and nobody holds its lease. A claim writes a lease and a fencing
token in one conditional UPDATE; whoever writes the visit's result must still hold the token. A worker that dies
holds nothing for longer than its lease. Nothing here depends on the broker keeping its messages.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from monitoring.models import Counts, Monitor, Site
from monitoring.scheduling import (
    LATE_DAYS,
    Overdue,
    Plan,
    Rate,
    Settings,
    Terms,
    hash01,
    order_overdue,
    plan,
    retry_days,
    unchanged_cost,
)
from monitoring.services import rates, rows, tallies
from monitoring.services.politeness import ENOUGH_FAILURES, LONGEST_REST
from monitoring.services.purses import Purses

logger = logging.getLogger(__name__)

MAX_STAGE_FAILURES = 3
BATCH_MOST = 200
BATCH_LEAST = 50
# Of pages for the browser, which take seconds each: what a worker does within its budget.
RENDERS_MOST = 24
RENDERS_LEAST = 4
CLAIM_PASSES = 4
# Stages of a monitor after a worker died over its batch. Nobody knows yet at which one: the next worker takes such
# monitors a few at a time (GROUP while it is at them); whoever is in a group that dies is visited by itself (ALONE).
CAREFUL, GROUP, ALONE = "careful", "group", "alone"
_UNMARKED = ("", CAREFUL, GROUP, ALONE)  # nothing is known against the monitor itself
WAITING = "w"  # begins the token of a batch that no worker has taken yet
LOOKAHEAD = timedelta(seconds=15)  # how far ahead of time a site's slots may be promised to one batch
LATE = timedelta(days=LATE_DAYS)  # when the longest due is later than this, order is by what can still be saved
CANDIDATES = 3  # times as many as are wanted are looked at then
_TO_WEIGH = ("last_ok_at", "created_at", "deadline_at", "max_interval_s", "worth", "rate_a", "rate_b", "gives_304")
SAVABLE_WITHIN = timedelta(days=1)  # promises whose time is over later than this can wait
# A lease or slot that ends later than this was written by a clock that was wrong.
FAR = timedelta(hours=2)
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A batch of monitors under one lease. `ids` keep the order in which they were due.

    `starts` says of some sites from when on, in POSIX seconds, the batch may ask them: what lies before belongs to others.
    """

    ids: tuple[int, ...]
    token: str
    lease_until: datetime
    starts: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Slots:
    """Requests that a site has room for: how many, when the first may begin, and the gap between two."""

    count: int
    first_at: datetime
    gap: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class _Place:
    """A due monitor with its turn at its site."""

    pk: int
    site_id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class NextVisit:
    """When the next visit is, and why then: the rate as it is known, the price (None: by interval), what was planned.

    `planned_s` is the interval of the last plan: that of this visit, or where it is a retry the one before.
    """

    at: datetime
    reason: str
    rate: Rate
    price: float | None = None
    planned_s: int | None = None


def lease_length() -> timedelta:
    """How long a claim holds without a sign of life."""
    return timedelta(seconds=settings.LEASE_S)


def due(now: datetime) -> QuerySet[Monitor]:
    """Monitors that want a visit and that nobody is at; expired leases count only once `reconcile` has freed them."""
    return Monitor.objects.filter(
        lease_until__isnull=True, enabled=True, quarantined_at__isnull=True, next_check_at__lte=now
    )


def claim_due(
    *, now: datetime, limit: int, lease_s: float, by_browser: bool | None = None, workers: int = 0
) -> list[Claim]:
    """At most `limit` due monitors in batches, leased to the caller for `lease_s` seconds.

    Only those that are for the browser, or only those that are not, unless `by_browser` is None. `workers` is for how many
    workers batches are made; 0: as many as this machine has.

    Per site no more are taken than its gap lets through within `LOOKAHEAD`; their slots are reserved with the
    claim. Safe against other claimers: each monitor is in one claim at most.
    """
    taken = _choose(now, limit, by_browser)
    claims = []
    for places in _split(taken, workers or settings.WORKERS, RENDERS_LEAST if by_browser else BATCH_LEAST):
        claim = _lease([place.pk for place in places], now=now, until=now + timedelta(seconds=lease_s))
        if claim.ids:
            claims.append(replace(claim, starts=_starts(places, now)))
    return claims


def _starts(places: Iterable[_Place], now: datetime) -> dict[int, float]:
    """From when on each site may be asked by this batch, where that is not at once."""
    first: dict[int, datetime] = {}
    for place in places:
        first[place.site_id] = min(place.at, first.get(place.site_id, place.at))
    return {site_id: at.timestamp() for site_id, at in first.items() if at > now}


def _choose(now: datetime, limit: int, by_browser: bool | None) -> list[_Place]:
    """Due monitors in order, within what their sites can take; their slots are reserved."""
    chosen: list[_Place] = []
    full: set[int] = set()
    purses = Purses(now)
    wanted = due(now) if by_browser is None else due(now).filter(by_browser=by_browser)
    for _ in range(CLAIM_PASSES):
        open_rows = (
            wanted.filter(
                Q(site__next_free_at__isnull=True)
                | Q(site__next_free_at__lte=now + LOOKAHEAD)
                | Q(site__next_free_at__gt=now + FAR),
                Q(site__rest_until__isnull=True)
                | Q(site__rest_until__lte=now)
                | Q(site__rest_until__gt=now + LONGEST_REST),
            )
            .exclude(site_id__in=full)
            .exclude(pk__in=[place.pk for place in chosen])
        )
        due_rows = _in_order(purses.affordable(open_rows), limit - len(chosen), now)
        paid = purses.within([pk for pk, _ in due_rows])
        by_site: dict[int, list[int]] = {}
        for pk, site_id in due_rows:
            if pk in paid:
                by_site.setdefault(site_id, []).append(pk)
        slots = _reserve_slots({site_id: len(ids) for site_id, ids in by_site.items()}, now)
        at = {
            pk: slots[site_id].first_at + slots[site_id].gap * number
            for site_id, ids in by_site.items()
            for number, pk in enumerate(ids[: slots[site_id].count])
        }
        full |= {site_id for site_id, ids in by_site.items() if slots[site_id].count < len(ids)}
        taken = [_Place(pk, site_id, at[pk]) for pk, site_id in due_rows if pk in at]
        purses.pay([place.pk for place in taken])
        chosen += taken
        # A crowded site, or a team that has spent all it may, must not hide the others that are due behind it.
        if len(chosen) >= limit or not due_rows or (not full and len(paid) == len(due_rows)):
            break
    purses.close()
    return chosen


def _in_order(rows_due: QuerySet[Monitor], limit: int, now: datetime) -> list[tuple[int, int]]:
    """Ids and sites of whom to visit first: the longest due, or where visits are late what is savable and worth most."""
    rows_due = rows_due.annotate(worth=Coalesce("weight", "page_type__weight"))
    oldest = rows_due.order_by("next_check_at", "pk").values_list("pk", "site_id", "next_check_at", *_TO_WEIGH)
    first = list(oldest[:limit])
    if not first or first[0][2] is None or first[0][2] >= now - LATE:
        return [(pk, site_id) for pk, site_id, *_ in first]
    found = {row[0]: row for row in first}
    if len(first) == limit:
        near = oldest.filter(deadline_at__gte=now, deadline_at__lte=now + SAVABLE_WITHIN).order_by("deadline_at")
        for rows_more in (near[: CANDIDATES * limit], oldest[limit : CANDIDATES * limit]):
            found |= {row[0]: row for row in rows_more}
    late = (_overdue(pk, *figures) for pk, _site_id, _at, *figures in found.values())
    ordered = order_overdue(late, now.timestamp() / _DAY_S)
    return [(row.key, found[row.key][1]) for row in ordered[:limit]]


def _overdue(
    pk: int, last_ok: datetime | None, created: datetime, deadline: datetime | None, longest_s: int,
    weight: float, a: float, b: float, gives_304: bool,
) -> Overdue:  # fmt: skip
    last = last_ok or created
    return Overdue(
        key=pk,
        last=last.timestamp() / _DAY_S,
        deadline=(deadline or last + timedelta(seconds=longest_s)).timestamp() / _DAY_S,
        weight=max(weight, 0.01),
        rate=Rate(a, b),
        cost=unchanged_cost(trusted=gives_304),
    )


@transaction.atomic
def _reserve_slots(wanted: dict[int, int], now: datetime) -> dict[int, _Slots]:
    """What each site has room for soon of the requests that are wanted; the slots are taken. None where somebody has the site locked."""
    slots = dict.fromkeys(wanted, _Slots(0, now))
    taken: list[tuple[rows.Values, rows.Values]] = []
    for site in Site.objects.select_for_update(skip_locked=True).filter(pk__in=wanted).order_by("pk"):
        if site.failures >= ENOUGH_FAILURES:
            wanted[site.pk] = 1  # it answered nobody: one page finds out whether it does again
        if site.effective_gap_s <= 0:
            slots[site.pk] = _Slots(wanted[site.pk], now)
            continue
        gap = timedelta(seconds=site.effective_gap_s)
        free = site.next_free_at
        start = free if free is not None and now < free <= now + FAR else now
        count = max(0, min(wanted[site.pk], 1 + (now + LOOKAHEAD - start) // gap))
        if count:
            slots[site.pk] = _Slots(count, start, gap)
            taken.append(({"next_free_at": start + gap * count}, {"id": site.pk}))
    rows.update_many(Site, taken)
    return slots


def reserve(site: Site, wanted: int, *, now: datetime, after_s: float) -> float:
    """Seconds from now at which `wanted` requests in a row may begin, not before `after_s`; their slots are taken."""
    earliest = now + timedelta(seconds=after_s)
    if site.effective_gap_s <= 0:
        return after_s
    for _ in range(CLAIM_PASSES):
        free = Site.objects.values_list("next_free_at", flat=True).get(pk=site.pk)
        start = max(earliest, free or earliest)
        later = start + timedelta(seconds=site.effective_gap_s * wanted)
        if Site.objects.filter(pk=site.pk, next_free_at=free).update(next_free_at=later):
            return (start - now).total_seconds()
    return (start - now).total_seconds()


def _split(places: list[_Place], workers: int, least: int) -> Iterable[list[_Place]]:
    """Batches for the workers there are: few and large, but one for each worker when there is enough work."""
    if not places:
        return
    size = min(max(-(-len(places) // workers), least), BATCH_MOST)
    for start in range(0, len(places), size):
        yield places[start : start + size]


def _lease(ids: Sequence[int], *, now: datetime, until: datetime) -> Claim:
    """Lease those of `ids` that are still free; one UPDATE decides."""
    token = WAITING + secrets.token_hex(15)
    count = _update_open(due(now).filter(pk__in=ids), lease_until=until, lease_token=token)
    if count == len(ids):
        return Claim(tuple(ids), token, until)
    held = set(Monitor.objects.filter(pk__in=ids, lease_token=token).values_list("pk", flat=True))
    return Claim(tuple(pk for pk in ids if pk in held), token, until)


def take_over(ids: Sequence[int], token: str, *, now: datetime) -> str:
    """A token of the worker's own in exchange for the batch's, or "" when nothing is held by it any more.

    A broker that delivers the same batch twice finds nothing to do the second time.
    """
    own = secrets.token_hex(16)
    count = Monitor.objects.filter(pk__in=ids, lease_token=token, lease_until__gt=now).update(
        lease_token=own, lease_until=now + lease_length()
    )
    return own if count else ""


def renew(token: str, *, now: datetime) -> int:
    """A sign of life: what the token still holds is kept for another lease. Gives how many."""
    return Monitor.objects.filter(lease_token=token).update(lease_until=now + lease_length())


def enter_stage(pk: int, token: str, stage: str, *, now: datetime) -> bool:
    """Mark the monitor as the one being worked at; False when the lease was lost and the work is not ours."""
    held = Monitor.objects.filter(pk=pk, lease_token=token)
    return held.update(stage=stage, lease_until=now + lease_length()) == 1


def enter_group(pks: Sequence[int], token: str, *, now: datetime) -> list[int]:
    """Mark monitors as those being worked at together; those of them that the token still holds."""
    held = Monitor.objects.filter(pk__in=pks, lease_token=token)
    held.update(stage=GROUP, lease_until=now + lease_length())
    return list(held.values_list("pk", flat=True))


def hand_over(pks: Sequence[int], token: str) -> int:
    """Give monitors that turned out to need a browser to the workers that have one; due at once. Gives how many."""
    held = Monitor.objects.filter(pk__in=pks, lease_token=token)
    held.exclude(stage__in=["", CAREFUL, ALONE]).update(stage=CAREFUL)
    return held.update(by_browser=True, lease_until=None, lease_token="")


def adopt(claim: Claim, token: str) -> int:
    """Take a claim under a token that is at work already. Gives how many monitors came with it."""
    return Monitor.objects.filter(pk__in=claim.ids, lease_token=claim.token).update(lease_token=token)


def release(token: str) -> int:
    """Give back whatever the token still holds; it is due again at once. Gives how many."""
    held = Monitor.objects.filter(lease_token=token)
    held.exclude(stage__in=["", CAREFUL, ALONE]).update(stage=CAREFUL)
    return held.update(lease_until=None, lease_token="")


def reconcile(*, now: datetime) -> int:
    """Free what dead workers held, and set aside monitors at which workers died too often. Gives how many were freed.

    Only a monitor whose own stage marker stands counts as a suspect. Markers cost a write per visit, so workers set
    them only where there is cause: the monitors of a batch that died unmarked are taken a few at a time next, and
    those of a few that died one by one. So a page that kills its worker while it is fetched is found too.

    A row that somebody has locked is left for the next time: who stands still in the middle of a write holds up nobody else.
    """
    over = Monitor.objects.filter(Q(lease_until__lte=now) | Q(lease_until__gt=now + FAR))
    # Of a batch that waited in the queue, or was lost there, nothing is known but that it is due.
    waited = {"lease_token__startswith": WAITING, "stage__in": _UNMARKED}
    if not over.exists():
        return 0
    freed = _update_open(over.filter(**waited), lease_until=None, lease_token="")
    expired = over.exclude(**waited)
    marked = expired.exclude(stage__in=_UNMARKED)
    for pk, stage, failures, token in marked.values_list("pk", "stage", "stage_failures", "lease_token"):
        last = failures + 1 >= MAX_STAGE_FAILURES
        count = _update_open(
            expired.filter(pk=pk, lease_token=token, stage=stage),
            lease_until=None,
            lease_token="",
            stage_failures=failures + 1,
            stage=stage if last else ALONE,  # a quarantined monitor shows where its workers died
            quarantined_at=now if last else None,
        )
        if count:
            logger.warning("monitor=%d worker died at stage=%s times=%d quarantined=%s", pk, stage, failures + 1, last)
            tallies.count("quarantined", by=last)
        freed += count
    after = Case(When(stage="", then=Value(CAREFUL)), When(stage=GROUP, then=Value(ALONE)), default=F("stage"))
    freed += _update_open(expired.filter(stage__in=_UNMARKED), lease_until=None, lease_token="", stage=after)
    if freed:
        tallies.count("leases_expired", by=freed)
    return freed


@transaction.atomic
def _update_open(wanted: QuerySet[Monitor], **values: Any) -> int:  # Any: what the named columns take
    """Number of rows updated: those of `wanted` that nobody has locked."""
    return Monitor.objects.filter(pk__in=wanted.select_for_update(skip_locked=True).values("pk")).update(**values)


def mend_plans(*, now: datetime) -> int:
    """Make monitors due whose next visit lies further away than their longest interval. Gives how many.

    That happens when the clock had run ahead and was set back.
    """
    far = Monitor.objects.filter(next_check_at__gt=now + timedelta(days=1)).values_list(
        "pk", "next_check_at", "max_interval_s"
    )
    wrong = [
        pk
        for pk, at, longest_s in far.iterator(chunk_size=2000)
        if at is not None and at > now + timedelta(seconds=max(longest_s, _DAY_S))
    ]
    for start in range(0, len(wrong), 500):
        Monitor.objects.filter(pk__in=wrong[start : start + 500]).update(next_check_at=now, plan_reason="retry")
    return len(wrong)


def stage_failed(pk: int, token: str, stage: str, *, now: datetime) -> None:
    """A bug of ours ended the work at one monitor: try again later, and set it aside after too many."""
    with transaction.atomic():
        monitor = Monitor.objects.select_related("page_type").filter(pk=pk, lease_token=token).first()
        if monitor is None:
            return
        failures = monitor.stage_failures + 1
        wait = retry_days(failures, monitor.usual_interval_s / _DAY_S)
        Monitor.objects.filter(pk=pk, lease_token=token).update(
            lease_until=None,
            lease_token="",
            stage=stage if failures >= MAX_STAGE_FAILURES else ALONE,
            stage_failures=failures,
            quarantined_at=now if failures >= MAX_STAGE_FAILURES else None,
            next_check_at=now + timedelta(days=wait),
            plan_reason="retry",
        )
    if failures >= MAX_STAGE_FAILURES:
        tallies.count("quarantined")


def batches_under_way(*, now: datetime, by_browser: bool | None = None) -> int:
    """Number of batches that are leased at this moment, of one class of workers or of both."""
    leased = Monitor.objects.filter(lease_until__gt=now)
    if by_browser is not None:
        leased = leased.filter(by_browser=by_browser)
    return leased.values("lease_token").distinct().count()


def follows_rate(monitor: Monitor) -> bool:
    """Whether visits follow rate and price: the team has a budget, and the monitor no interval of its own."""
    return monitor.interval_s is None and monitor.team.budget is not None


def costs_of(monitor: Monitor, *, now: datetime) -> tuple[float, float]:
    """What a visit that finds nothing costs, and one that finds a change, in what the team's budget counts."""
    if monitor.team.budget_counts == Counts.CHECKS:
        return 1.0, 1.0
    if monitor.by_browser:
        return settings.BROWSER_COST, settings.BROWSER_COST
    distrusted = monitor.distrusted_until is not None and monitor.distrusted_until > now
    return unchanged_cost(trusted=monitor.gives_304 and not distrusted), 1.0


def terms_of(monitor: Monitor, *, now: datetime) -> Terms:
    """What owner and site allow."""
    cost_check, cost_full = costs_of(monitor, now=now)
    return Terms(
        weight=max(monitor.effective_weight, 0.01),
        cost_check=cost_check,
        cost_full=cost_full,
        min_days=max(monitor.effective_min_s, 1) / _DAY_S,
        max_days=max(monitor.effective_max_s, 1) / _DAY_S,
        host_factor=monitor.site.host_factor,
    )


@lru_cache(maxsize=256)
def _every(seconds: int) -> Settings:
    return Settings(fixed_days=max(seconds, 1) / _DAY_S)


def plan_for(monitor: Monitor, rate: Rate, *, price: float, u: float, now: datetime) -> Plan:
    """The plan by rate and price, or by the interval where that is the monitor's."""
    settings_of_plan = rates.SETTINGS if follows_rate(monitor) else _every(monitor.effective_interval_s)
    return plan(rate, terms_of(monitor, now=now), price, u, settings_of_plan)


def plan_next(monitor: Monitor, *, now: datetime, check_no: int, rate: Rate | None = None) -> NextVisit:
    """The visit after a successful one, with the rate as it is known after that."""
    known = monitor.rate if rate is None else rate
    price = monitor.team.price
    found = plan_for(monitor, known, price=price, u=hash01(monitor.pk, check_no), now=now)
    return NextVisit(
        at=now + timedelta(days=found.interval),
        reason="politeness" if found.reason == "expected-change" and monitor.site.host_factor > 1 else found.reason,
        rate=known,
        price=price if follows_rate(monitor) else None,
        planned_s=max(1, round(found.interval * _DAY_S)),
    )


def plan_retry(monitor: Monitor, *, now: datetime, fails: int, retry_after_s: float = 0.0) -> NextVisit:
    """The visit after one that brought nothing to compare; `fails` counts them in a row, this one included.

    A retry does not wait beyond the time at which the monitor's promise is broken, unless the site asked for that.
    """
    days = retry_days(fails, monitor.usual_interval_s / _DAY_S, retry_after_days=retry_after_s / _DAY_S)
    at = now + timedelta(days=days)
    deadline = deadline_of(monitor)
    if not retry_after_s and now < deadline < at:
        at = max(now + (deadline - now) * 0.9, min(at, now + timedelta(days=retry_days(1, 1.0))))
    return NextVisit(at, "retry", monitor.rate, monitor.plan_price, monitor.planned_s)


def deadline_of(monitor: Monitor, *, since: datetime | None = None) -> datetime:
    """When the promise "at least every" is broken, counted from `since` or the last good visit."""
    return (since or monitor.last_ok_at or monitor.created_at) + timedelta(seconds=monitor.effective_max_s)


def keep_promise(monitor: Monitor, *, now: datetime) -> set[str]:
    """Bring a monitor's plan in line with a new promise; the names of what was set, not saved yet."""
    monitor.deadline_at = deadline_of(monitor)
    latest = max(now, monitor.deadline_at - timedelta(seconds=monitor.effective_max_s * rates.SETTINGS.slack))
    if monitor.next_check_at is not None and monitor.next_check_at > latest:
        monitor.next_check_at, monitor.plan_reason = latest, "max-age"
    return {"deadline_at", "next_check_at", "plan_reason"}


def keep_promises(monitors: QuerySet[Monitor], *, now: datetime) -> None:
    """The same for many, saved."""
    wanted = monitors.select_related("page_type").only(
        "min_interval_s", "max_interval_s", "next_check_at", "plan_reason", "last_ok_at", "created_at", "deadline_at",
        "page_type__min_interval_s", "page_type__max_interval_s",
    )  # fmt: skip
    rows_changed = []
    for monitor in wanted.iterator(chunk_size=2000):
        keep_promise(monitor, now=now)
        rows_changed.append(monitor)
    Monitor.objects.bulk_update(rows_changed, ["deadline_at", "next_check_at", "plan_reason"], batch_size=500)
