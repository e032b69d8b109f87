"""Canaries: made by themselves, looked at every minute; a planting that is not seen as it was meant raises an alarm at once.

A canary is a monitor like any other, fetched, read, judged and recorded by the same code; `Monitor.is_canary` keeps what it
brings out of people's queue and of everything that is learned (docs/adr/0024).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Prefetch

from monitoring.calibrating.drift import Sign
from monitoring.canaries.pages import BY_KEY
from monitoring.canaries.schedule import Schedule, Sight, Verdict, judged
from monitoring.models import Alarm, Canary, Change, Check, FieldChange, Monitor, Outcome, Planting
from monitoring.scheduling.alarms import Patience
from monitoring.services import memories
from monitoring.services.canary_setup import VISITS, ensure, put_away
from monitoring.services.watching import look_at

logger = logging.getLogger(__name__)

SHOWN = 30  # plantings kept and shown of each
SEEN_WITHIN = 0.5  # of the time until the next planting, for our own; what somebody else plants has all of it
RESTED = timedelta(minutes=10)  # two looks further apart than this: nothing of ours ran in between
KEPT = timedelta(days=7)
AT_ONCE = Patience(raise_after_s=0.0, raise_looks=1, clear_after_s=0.0, clear_looks=1)
_FAILED = frozenset({Planting.State.WRONG, Planting.State.MISSED})
_DECIDED = _FAILED | {Planting.State.SEEN}


def schedule() -> Schedule:
    """When our own canaries are planted on."""
    return Schedule(settings.CANARY_S)


def schedule_of(canary: Canary) -> Schedule:
    """When a canary is planted on."""
    return Schedule(canary.every_s, canary.phase_s)


def is_wanted(*, now: datetime) -> bool:
    """Whether `look` has something to do: canaries are on, or were and have to be put away."""
    return bool(settings.CANARY_S) or Monitor.objects.filter(is_canary=True, enabled=True).exists()


# -- looking ------------------------------------------------------------------------------


def look(*, now: datetime) -> int:
    """Make what is missing, judge the plantings of all canaries, raise and clear alarms; how many were told."""
    if not settings.CANARY_S:
        put_away(now=now)
        return 0
    ensure(now=now)
    return sum(_look_at(canary, now) for canary in Canary.objects.select_related("monitor__site"))


def _look_at(canary: Canary, now: datetime) -> bool:
    """One canary: the planting that stands and the one before it; whether there was something to tell."""
    times, rests = schedule_of(canary), canary.looked_at is not None and now - canary.looked_at > RESTED
    turn = times.turn(now.timestamp())
    rested_since = canary.looked_at if rests else None
    for number in (turn - 1, turn):
        planted = datetime.fromtimestamp(times.planted_at(number), UTC)
        if planted >= canary.begins_at + _settling(canary):
            _judge(canary, planted, rested_since, now)
    Canary.objects.filter(pk=canary.pk).update(looked_at=now)
    last = canary.plantings.filter(state__in=_DECIDED).first()
    failed = last is not None and last.state in _FAILED
    facts = {"expected": canary.expected, "seen": last.seen, "planted_at": last.planted_at.isoformat()} if last else {}
    site = canary.monitor.site_id
    alarm = Alarm.objects.filter(site=site, kind=Alarm.Kind.CANARY, cleared_at__isnull=True).first()
    sign = Sign(Alarm.Kind.CANARY, failed, failed, {})
    return look_at(site, sign, alarm, now=now, patience=AT_ONCE, facts=facts)


def _settling(canary: Canary) -> timedelta:
    """After it was made a canary has this long for its first visit, which is nothing to compare with."""
    return timedelta(seconds=canary.every_s / VISITS)


def _due_at(canary: Canary, planted: datetime) -> datetime:
    share = SEEN_WITHIN if canary.key in BY_KEY else 1.0
    return planted + timedelta(seconds=canary.every_s * share)


def _judge(canary: Canary, planted: datetime, rested_since: datetime | None, now: datetime) -> None:
    """Decide on a planting once: what a later visit finds changes nothing."""
    row, _ = Planting.objects.get_or_create(canary=canary, planted_at=planted)
    if row.state != Planting.State.WAITING:
        return
    due = _due_at(canary, planted)
    rested = rested_since is not None and rested_since < due
    verdict, sight = judged(
        canary.expected,
        _sights(canary, planted),
        due=due.timestamp(),
        now=now.timestamp(),
        rested=rested,
    )
    if verdict is Verdict.WAITING:
        return
    Planting.objects.filter(pk=row.pk, state=Planting.State.WAITING).update(
        state=verdict,
        seen=sight.outcome if sight else "",
        seen_at=datetime.fromtimestamp(sight.at, UTC) if sight else None,
        score=sight.score if sight else None,
        recorded=sight.recorded if sight else True,
    )
    surplus = canary.plantings.values_list("pk", flat=True)[SHOWN : SHOWN + 50]
    Planting.objects.filter(pk__in=list(surplus)).delete()
    if verdict in (Verdict.WRONG, Verdict.MISSED):
        logger.error("canary=%s planting=%s verdict=%s", canary.key, planted.isoformat(timespec="seconds"), verdict)


def _sights(canary: Canary, planted: datetime) -> Iterable[Sight]:
    """The visits since a planting until the next one, oldest first."""
    until = planted + timedelta(seconds=canary.every_s)
    checks = Check.objects.filter(monitor=canary.monitor_id, started_at__gte=planted, started_at__lt=until)
    for check in checks.order_by("check_no"):
        yield Sight(
            check.outcome,
            check.started_at.timestamp(),
            recorded=_is_recorded(check),
            anew=check.reason in memories.RESTARTS,
            score=check.score,
        )


def _is_recorded(check: Check) -> bool:
    """Whether what a visit found stands where people would see it: in a change, or in the dataset."""
    if check.outcome == Outcome.CONTENT:
        return Change.objects.filter(check_row=check, state=Change.State.CANARY).exists()
    return check.outcome != Outcome.FIELD or FieldChange.objects.filter(check_row=check).exists()


def forget(*, now: datetime) -> int:
    """Let go of the changes that canaries brought a while ago, and so of the snapshots behind them; how many."""
    old = Change.objects.filter(state=Change.State.CANARY, opened_at__lt=now - KEPT, monitor__is_canary=True)
    ids = list(old.values_list("pk", flat=True)[:5_000])
    FieldChange.objects.filter(monitor__is_canary=True, at__lt=now - KEPT).delete()
    return Change.objects.filter(pk__in=ids).delete()[0]


# -- telling ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """A canary and what came of its plantings, the newest first. `last`: the newest that is decided."""

    canary: Canary
    plantings: tuple[Planting, ...]
    next_at: datetime

    @property
    def every(self) -> timedelta:
        """How often something is planted."""
        return timedelta(seconds=self.canary.every_s)

    @property
    def last(self) -> Planting | None:
        """The newest planting of which it is known whether it was seen."""
        return next((row for row in self.plantings if row.state in _DECIDED), None)

    @property
    def delay(self) -> timedelta | None:
        """How long after the last planting it was noticed; None where it was not."""
        row = self.last
        return row.seen_at - row.planted_at if row and row.state == Planting.State.SEEN and row.seen_at else None

    @property
    def failed(self) -> bool:
        """Whether that one was missed, or seen as something else."""
        return self.last is not None and self.last.state in _FAILED


@dataclass(frozen=True, slots=True)
class Summary:
    """All canaries in short. `asleep`: nobody has looked at them for a while, so that nothing is proved."""

    total: int
    failed: int
    untried: int
    asleep: bool
    last_seen_at: datetime | None

    @property
    def seen(self) -> int:
        """How many were noticed the last time that they were planted on."""
        return self.tried - self.failed

    @property
    def tried(self) -> int:
        """How many have been planted on, and it is known what came of it."""
        return self.total - self.untried


def standings(*, now: datetime) -> list[Standing]:
    """All canaries that are looked at, our own first; two queries."""
    plantings = Prefetch("plantings", Planting.objects.order_by("-planted_at"))
    rows = Canary.objects.filter(monitor__enabled=True).select_related("monitor__site").prefetch_related(plantings)
    found = []
    for canary in rows:
        times = schedule_of(canary)
        next_at = datetime.fromtimestamp(times.planted_at(times.turn(now.timestamp()) + 1), UTC)
        found.append(Standing(canary, tuple(canary.plantings.all())[:SHOWN], next_at))
    return sorted(found, key=lambda standing: (standing.canary.key not in BY_KEY, standing.canary.pk))


def summary(*, now: datetime) -> Summary | None:
    """All canaries in short; None where they are off or not made yet."""
    found = standings(now=now)
    if not found or not settings.CANARY_S:
        return None
    looks = [one.canary.looked_at or one.canary.begins_at for one in found]
    seen = [row.seen_at for one in found for row in one.plantings if row.state == Planting.State.SEEN and row.seen_at]
    return Summary(
        total=len(found),
        failed=sum(one.failed for one in found),
        untried=sum(one.last is None for one in found),
        asleep=now - max(looks) > RESTED,
        last_seen_at=max(seen, default=None),
    )
