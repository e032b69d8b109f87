"""How the work stands at this moment, by queries whose cost does not grow with the number of monitors.

Counts stop at `MOST`: who has ten thousand pages due need not know by how many more. What takes a look at whole tables
is in the census.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Min, Model, QuerySet

from monitoring.models import Change, Monitor, OutboxMessage, Process, Team
from monitoring.services import heartbeat, schedule

MOST = 10_000
LOOKED = 500  # due monitors that are looked at for one which no site holds back
PASSES = 4
TEAMS = 200
FAILING = 3  # attempts after which a mail is failing
GRACE = timedelta(minutes=1)  # a visit that is under way at the very moment breaks no promise


@dataclass(frozen=True, slots=True)
class Due:
    """Due work. `oldest` is the longest due that neither rest nor gap of its site holds back."""

    count: int
    oldest: datetime | None

    def late_s(self, now: datetime) -> float:
        """How long the oldest has been due."""
        return max((now - self.oldest).total_seconds(), 0.0) if self.oldest else 0.0


@dataclass(frozen=True, slots=True)
class Leases:
    """What workers hold, and what they held longer than they may and nobody freed."""

    held: int
    batches: int
    expired: int
    oldest_expired: datetime | None


@dataclass(frozen=True, slots=True)
class Promises:
    """Pages that were not read as often as promised."""

    broken: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for people."""

    open: int
    snoozed: int
    oldest_open: datetime | None


@dataclass(frozen=True, slots=True)
class Mail:
    """What waits in the outbox."""

    waiting: int
    oldest: datetime | None
    failing: int
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """A team's fetches a day; `limit` None: it has none."""

    team: int
    name: str
    limit: int | None
    planned: float
    measured: float
    least: float


@dataclass(frozen=True, slots=True)
class Seen:
    """A process that gave a sign of life lately, and how long ago."""

    kind: str
    queue: str
    host: str
    pid: int
    version: str
    age_s: float
    up_s: float
    clock_off_s: float
    facts: dict[str, Any] = field(default_factory=dict)  # Any: JSON

    @property
    def is_alive(self) -> bool:
        """Whether it is there, as far as one can tell."""
        return self.age_s <= heartbeat.ALIVE.total_seconds()


def capped[M: Model](rows: QuerySet[M], most: int = MOST) -> int:
    """Number of rows, at most `most`."""
    return rows.order_by()[:most].count()


def due(*, now: datetime) -> Due:
    """Due work."""
    return Due(capped(schedule.due(now)), _oldest_due(now))


def leases(*, now: datetime) -> Leases:
    """Leases."""
    leased = Monitor.objects.filter(lease_until__isnull=False)
    expired = leased.filter(lease_until__lte=now)
    return Leases(
        held=capped(leased),
        batches=schedule.batches_under_way(now=now),
        expired=capped(expired),
        oldest_expired=expired.aggregate(at=Min("lease_until"))["at"],
    )


def promises(*, now: datetime) -> Promises:
    """Promises."""
    broken = Monitor.objects.filter(enabled=True, deadline_at__lt=now - GRACE)
    return Promises(capped(broken), broken.aggregate(at=Min("deadline_at"))["at"])


def _oldest_due(now: datetime) -> datetime | None:
    held: set[int] = set()
    for _ in range(PASSES):
        found = list(
            schedule.due(now)
            .exclude(site_id__in=held)
            .order_by("next_check_at", "pk")
            .values_list("next_check_at", "site_id", "site__rest_until", "site__next_free_at")[:LOOKED]
        )
        for at, _site, rest_until, free_at in found:
            if not (rest_until and rest_until > now) and not (free_at and free_at > now + schedule.LOOKAHEAD):
                return at
        held |= {site for _at, site, _rest, _free in found}
        if len(found) < LOOKED:
            return None
    return None


def queue() -> Queue:
    """Changes that wait, without what the brake holds. The oldest is found by the queue's own index, sorted by priority first."""
    waiting = Change.objects.filter(state=Change.State.OPEN, hold__isnull=True)
    oldest = [
        at
        for priority in range(4)
        for at in waiting.filter(priority=priority).order_by("opened_at").values_list("opened_at", flat=True)[:1]
    ]
    snoozed = Change.objects.filter(state=Change.State.SNOOZED)
    return Queue(open=capped(waiting), snoozed=capped(snoozed), oldest_open=min(oldest, default=None))


def mail() -> Mail:
    """The outbox."""
    waiting = OutboxMessage.objects.filter(state=OutboxMessage.State.WAITING)
    recent = list(waiting.order_by("next_attempt_at").values_list("created_at", "attempts", "last_error")[:MOST])
    failing = [error for _at, attempts, error in recent if attempts >= FAILING]
    return Mail(
        waiting=len(recent),
        oldest=min((at for at, _attempts, _error in recent), default=None),
        failing=len(failing),
        last_error=failing[-1] if failing else "",
    )


def budgets() -> list[Budget]:
    """What teams plan and spend."""
    rows = Team.objects.order_by("pk").values_list(
        "pk", "name", "budget", "planned_spend", "measured_spend", "least_spend"
    )
    return [Budget(*row) for row in rows[:TEAMS]]


def processes() -> list[Seen]:
    """The processes that were seen within the last quarter of an hour, the last seen first."""
    now = heartbeat.database_clock()
    rows = Process.objects.filter(seen_at__gt=now - heartbeat.FORGOTTEN).order_by("kind", "queue", "-seen_at")
    return [
        Seen(
            kind=row.kind,
            queue=row.queue,
            host=row.host,
            pid=row.pid,
            version=row.version,
            age_s=(now - row.seen_at).total_seconds(),
            up_s=(row.seen_at - row.started_at).total_seconds(),
            clock_off_s=row.clock_off_s,
            facts=row.facts,
        )
        for row in rows[:1000]
    ]
