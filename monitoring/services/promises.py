"""Looking after promises: which are broken or in danger, why, and when that is told.

A job looks once a minute. It sorts what is late or about to be by team and cause, keeps an alarm for each, and sends
a signal when there is something to tell; the human side writes the mail in the same transaction. The pages read what
a look left, so that none of them counts a million rows.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, CharField, Count, F, Min, Q, QuerySet, Value, When

from monitoring.models import (
    Cause,
    Check,
    Monitor,
    Outage,
    Process,
    PromiseAlarm,
    PromiseAlarmEvent,
    PromiseLook,
    PromiseState,
    Site,
    Team,
)
from monitoring.scheduling.alarms import Event, Patience, Seen, after_look
from monitoring.services import outbox, purses, schedule
from monitoring.services.alerts import promise_told
from monitoring.services.heartbeat import ALIVE
from monitoring.services.politeness import LONGEST_REST

logger = logging.getLogger(__name__)

JOB = "promises"
EVERY_S = 60.0
GRACE = timedelta(minutes=1)  # a visit that is under way at the very moment breaks no promise
AHEAD = timedelta(hours=3)  # a promise whose time is over within this is looked at for what endangers it
MOST = 100_000  # promises looked at in one run, those broken for longest first
STILL = timedelta(minutes=10)  # so long without a look was an outage, so long without the end of a visit no worker
UNLOOKED = timedelta(minutes=2)  # so long without a look, and nobody seems to be there who would
CATCHING_UP = timedelta(days=1)  # after an outage promises are still broken by it
KEPT = timedelta(days=400)  # alarms and outages that are over
PATIENCE = Patience()


@dataclass(slots=True)
class _Found:
    """What one look found for a team and a cause."""

    broken: int = 0
    at_risk: int = 0
    oldest: datetime | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_trouble(self) -> bool:
        return bool(self.broken or self.at_risk or self.facts)


type _All = dict[tuple[int, str], _Found]


def look(*, now: datetime) -> str:
    """Look at all promises once; says shortly what came of it."""
    outage = _mind_the_gap(now)
    found = _sorted_by_cause(now)
    _add_full_hosts(found)
    _add_dear_teams(found)
    _write_states(found, now)
    purses.count_waiting(schedule.due(now), now=now)
    events = _settle(found, now)
    return f"alarms={len(found)} events={events}" + (" after an outage" if outage else "")


def last_look() -> datetime | None:
    """When promises were last looked at; None before the first look."""
    return PromiseLook.objects.order_by("pk").values_list("at", flat=True).first()


def stand_in(*, now: datetime) -> bool:
    """Look, and send what there is to tell, where no worker does; whether that was needed.

    For the ticker: without it nobody would say that there are no workers, because only they look and send mail.
    """
    at = last_look()
    if at is None or now - at < UNLOOKED or Process.objects.filter(kind=Process.Kind.WORKER, seen_at__gte=now - ALIVE):
        return False
    look(now=now)
    outbox.send_due(now=now)
    return True


def is_blind(*, now: datetime) -> bool:
    """Whether nobody has looked for so long that no worker can be at work."""
    at = last_look()
    return at is not None and not now - STILL <= at <= now + STILL


def forget(*, now: datetime) -> int:
    """Delete alarms and outages that are long over. Gives how many rows."""
    alarms, _ = PromiseAlarm.objects.filter(cleared_at__lt=now - KEPT).delete()
    outages, _ = Outage.objects.filter(ended_at__lt=now - KEPT).delete()
    return alarms + outages


# -- outages -----------------------------------------------------------------------------


def _mind_the_gap(now: datetime) -> Outage | None:
    """Note that we looked; the outage that this look ends, if the last one is too long ago.

    Nothing is learned about spend on the day after one.
    """
    row = PromiseLook.objects.order_by("pk").first()
    if row is None:
        PromiseLook.objects.create(pk=1, at=now)
        return None
    if not PromiseLook.objects.filter(pk=row.pk, at=row.at).update(at=now) or now - row.at <= STILL:
        return None
    outage = Outage.objects.create(began_at=row.at, ended_at=now)
    steady = now + timedelta(days=1)
    Team.objects.filter(Q(steady_at__isnull=True) | Q(steady_at__lt=steady)).update(steady_at=steady)
    logger.error(
        "nothing was at work from=%s to=%s", row.at.isoformat(timespec="seconds"), now.isoformat(timespec="seconds")
    )
    return outage


# -- what is broken or in danger, and why -------------------------------------------------


def cause_of(now: datetime, *, waits: str) -> Case:
    """The cause for which a promise is broken or endangered, as an expression over monitors; "" for none.

    `waits` is the cause of those that are due and that nobody has come to. A promise that will be broken unless
    something ends is in danger; one that is planned in time is not.
    """
    broken = Q(deadline_at__lt=now - GRACE)
    stuck = broken | Q(next_check_at__lt=now - schedule.LATE) | Q(next_check_at__gt=F("deadline_at"))
    refused = Q(last_ok_at__isnull=True) | Q(last_checked_at__gt=F("last_ok_at"))
    outages = Q(pk__in=[])
    for began, ended in Outage.objects.filter(ended_at__gt=now - CATCHING_UP).values_list("began_at", "ended_at"):
        outages |= Q(deadline_at__gte=began, deadline_at__lte=ended + schedule.SAVABLE_WITHIN / 4)
    return Case(
        When(quarantined_at__isnull=False, then=Value(Cause.QUARANTINE.value)),
        When(fail_no__gt=0, then=Value(Cause.ERRORS.value)),
        When(refused & Q(last_checked_at__isnull=False), then=Value(Cause.ROBOTS.value)),
        When(
            stuck & Q(site__rest_until__gt=now, site__rest_until__lte=now + LONGEST_REST),
            then=Value(Cause.REST.value),
        ),
        When(broken & outages, then=Value(Cause.OUTAGE.value)),
        When(stuck & Q(site__least_load__gt=1), then=Value(Cause.HOST.value)),
        When(stuck, then=Value(waits)),
        default=Value(""),
        output_field=CharField(),
    )


def what_waits(now: datetime) -> str:
    """Why due pages wait: the workers are behind, or there are none."""
    ended = Check.objects.order_by("-pk").values_list("started_at", flat=True).first()
    if (ended is not None and ended >= now - STILL) or not schedule.due(now - STILL).exists():
        return Cause.QUEUE
    alive = Process.objects.filter(kind=Process.Kind.WORKER, seen_at__gte=now - ALIVE).exists()
    return Cause.QUEUE if alive or Monitor.objects.filter(lease_until__gt=now).exists() else Cause.STOPPED


def near_end(now: datetime) -> QuerySet[Monitor]:
    """Monitors whose promise is broken or ends soon, the oldest first; our own pages are not among them."""
    return Monitor.objects.real().filter(enabled=True, deadline_at__lt=now + AHEAD).order_by("deadline_at")


def _sorted_by_cause(now: datetime) -> _All:
    chosen = near_end(now).values("pk")[:MOST]
    rows = (
        Monitor.objects.filter(pk__in=chosen)
        .annotate(cause=cause_of(now, waits=what_waits(now)))
        .exclude(cause="")
        .order_by()
        .values("team", "cause")
        .annotate(
            broken=Count("pk", filter=Q(deadline_at__lt=now - GRACE)),
            near=Count("pk", filter=Q(deadline_at__gte=now - GRACE)),
            oldest=Min("deadline_at"),
        )
        .values_list("team", "cause", "broken", "near", "oldest")
    )
    return {(team, cause): _Found(broken, near, oldest) for team, cause, broken, near, oldest in rows}


def _add_full_hosts(found: _All) -> None:
    """Hosts that cannot bear what is promised: those promises will be broken, whoever waits."""
    pairs = (
        Monitor.objects.real()
        .filter(site__least_load__gt=1, enabled=True, quarantined_at__isnull=True)
        .order_by()
        .values_list("team", "site")
        .distinct()
    )
    sites: dict[int, list[int]] = defaultdict(list)
    for team, site in pairs:
        sites[team].append(site)
    for team, ids in sites.items():
        worst = Site.objects.filter(pk__in=ids[:500]).order_by("-least_load", "pk").values_list("pk", flat=True)[:20]
        found.setdefault((team, Cause.HOST.value), _Found()).facts |= {"sites": list(worst), "count": len(ids)}


def _add_dear_teams(found: _All) -> None:
    """Teams whose promises alone cost more than their budget; they are kept all the same."""
    dear = Team.objects.filter(budget__isnull=False, least_spend__gt=F("budget") * 1.01)
    for team, needed, budget in dear.values_list("pk", "least_spend", "budget"):
        found[team, Cause.BUDGET.value] = _Found(facts={"needed": round(needed), "budget": budget})


# -- what is kept of a look ----------------------------------------------------------------


def _write_states(found: _All, now: datetime) -> None:
    """How each team's promises stand; a row is written where something moved, and every ten minutes."""
    late = schedule.due(now - schedule.LATE).order_by("next_check_at").values("pk")[:MOST]
    due = {
        team: (count, oldest)
        for team, count, oldest in Monitor.objects.filter(pk__in=late)
        .order_by()
        .values("team")
        .annotate(n=Count("pk"), oldest=Min("next_check_at"))
        .values_list("team", "n", "oldest")
    }
    sums: dict[int, _Found] = defaultdict(_Found)
    for (team, _cause), one in found.items():
        row = sums[team]
        row.broken, row.at_risk = row.broken + one.broken, row.at_risk + one.at_risk
        if one.broken and one.oldest is not None:
            row.oldest = min(row.oldest or one.oldest, one.oldest)
    known = {state.team_id: state for state in PromiseState.objects.all()}
    for pk in Team.objects.values_list("pk", flat=True):
        count, oldest_due = due.get(pk, (0, None))
        values = {
            "broken": sums[pk].broken, "at_risk": sums[pk].at_risk, "oldest_broken_at": sums[pk].oldest,
            "due": count, "oldest_due_at": oldest_due,
        }  # fmt: skip
        state = known.get(pk)
        same = state is not None and all(getattr(state, name) == value for name, value in values.items())
        if not same or state is None or now - state.looked_at >= STILL:
            PromiseState.objects.update_or_create(team_id=pk, defaults=values | {"looked_at": now})


def _settle(found: Mapping[tuple[int, str], _Found], now: datetime) -> int:
    """Bring every alarm up to this look and tell what there is to tell; the number of things told."""
    open_ones = {(alarm.team_id, alarm.cause): alarm for alarm in PromiseAlarm.objects.filter(cleared_at__isnull=True)}
    events = 0
    for key in sorted({*open_ones, *(key for key, one in found.items() if one.is_trouble)}):
        try:
            with transaction.atomic():
                events += _step(key, open_ones.get(key), found.get(key, _Found()), now)
        except IntegrityError:  # another worker looked at the same moment
            logger.info("alarm team=%d cause=%s was written by another worker", *key)
    return events


def _step(key: tuple[int, str], known: PromiseAlarm | None, one: _Found, now: datetime) -> bool:
    """One look at one alarm; whether it was told."""
    pages = one.broken + one.at_risk + int(one.facts.get("count", 0))
    before = _seen(known) if known is not None else Seen()
    seen, event = after_look(before, trouble=one.is_trouble, pages=pages, now=now.timestamp(), p=PATIENCE)
    if not one.is_trouble and not seen.raised and event is None:
        if known is not None:
            known.delete()  # it went away before it was told
        return False
    alarm = known or PromiseAlarm(team_id=key[0], cause=key[1], began_at=now)
    looked_at = alarm.looked_at
    _bring_up(alarm, seen, one, event, now)
    if known is None:
        alarm.save()
    else:  # where somebody else has looked in between, this look is not counted
        values = {f.attname: getattr(alarm, f.attname) for f in alarm._meta.concrete_fields if not f.primary_key}
        if not PromiseAlarm.objects.filter(pk=alarm.pk, looked_at=looked_at, cleared_at__isnull=True).update(**values):
            return False
    return event is not None and _tell(alarm, event, one, now)


def _tell(alarm: PromiseAlarm, event: Event, one: _Found, now: datetime) -> bool:
    row = PromiseAlarmEvent.objects.create(
        alarm=alarm, at=now, what=event.value, broken=one.broken, at_risk=one.at_risk, facts=alarm.facts
    )
    logger.log(
        logging.INFO if event is Event.CLEARED else logging.WARNING,
        "promises team=%d cause=%s %s broken=%d at_risk=%d",
        alarm.team_id, alarm.cause, event.value, one.broken, one.at_risk,
    )  # fmt: skip
    promise_told.send(sender=PromiseAlarm, alarm=alarm, event=row, now=now)
    return True


def _seen(alarm: PromiseAlarm) -> Seen:
    return Seen(
        raised=alarm.raised_at is not None,
        trouble=alarm.trouble,
        since=alarm.since.timestamp(),
        looks=alarm.looks,
        at=alarm.looked_at.timestamp(),
        told_at=alarm.told_at.timestamp() if alarm.told_at else 0.0,
        told=alarm.told,
    )


def _bring_up(alarm: PromiseAlarm, seen: Seen, one: _Found, event: Event | None, now: datetime) -> None:
    alarm.trouble, alarm.looks, alarm.looked_at = seen.trouble, seen.looks, now
    alarm.since = datetime.fromtimestamp(seen.since, UTC)
    if one.is_trouble:  # an alarm that is over keeps what it was last about
        alarm.broken, alarm.at_risk, alarm.oldest_at, alarm.facts = one.broken, one.at_risk, one.oldest, one.facts
    if event is None:
        return
    alarm.told_at, alarm.told = now, seen.told
    if event is Event.RAISED:
        alarm.raised_at = now
    elif event is Event.CLEARED:
        alarm.cleared_at = now
