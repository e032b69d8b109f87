"""Whether the product does its work: one finding per part, with what was found, and whether all of it is ready.

Every limit stands here by name, and in docs/operations.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from monitoring.models import Process
from monitoring.services import brokers, canaries, heartbeat, readings, storeprobe

SLOW_DATABASE = timedelta(milliseconds=500)
TICKER_WARNING, TICKER_PROBLEM = timedelta(seconds=30), timedelta(minutes=2)
WORKER_WARNING, WORKER_PROBLEM = timedelta(minutes=1), timedelta(minutes=5)
LATE_WARNING, LATE_PROBLEM = timedelta(minutes=10), timedelta(hours=1)
LEASE_WARNING, LEASE_PROBLEM = timedelta(minutes=1), timedelta(minutes=10)
MAIL_WARNING, MAIL_PROBLEM = timedelta(minutes=15), timedelta(hours=24)
CLOCK_WARNING, CLOCK_PROBLEM = timedelta(seconds=2), timedelta(seconds=30)
ROOM_WARNING, ROOM_PROBLEM = 2 << 30, 512 << 20


class State(StrEnum):
    """How a part is; `unknown`: it could not be asked."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the product. `said` is for those who run it: it may name hosts and paths."""

    name: str
    state: State
    said: str


@dataclass(frozen=True, slots=True)
class Health:
    """All findings."""

    at: datetime
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> list[Finding]:
        """What keeps it from being ready."""
        return [finding for finding in self.findings if finding.state == State.PROBLEM]

    def is_ready(self, only: frozenset[str] | None = None) -> bool:
        """Whether nothing (of these parts) is a problem."""
        return not any(only is None or finding.name in only for finding in self.problems)


# What a web process needs to answer people; a balancer that asks for no more keeps it when only workers are gone.
WEB = frozenset({"database", "migrations"})


def collect(*, now: datetime) -> Health:
    """The findings at this moment. Asks database, broker and store; never raises for what they do."""
    database = _guarded("database", _database, now)
    findings = [database]
    for name, look in _LOOKS.items():
        if database.state == State.PROBLEM and name not in _WITHOUT_DATABASE:
            findings.append(Finding(name, State.UNKNOWN, "not asked: the database is away"))
        else:
            findings.append(_guarded(name, look, now))
    return Health(now, tuple(findings))


def away(why: str, *, now: datetime) -> Health:
    """What is said when the database did not answer in time."""
    rest = (Finding(name, State.UNKNOWN, "not asked: the database is away") for name in _LOOKS)
    return Health(now, (Finding("database", State.PROBLEM, why), *rest))


def look(name: str, *, now: datetime) -> Finding:
    """The finding of one part; KeyError for an unknown name."""
    return _guarded(name, _LOOKS[name], now)


type Look = Callable[[datetime], tuple[State, str]]


def _guarded(name: str, look: Look, now: datetime) -> Finding:
    try:
        return Finding(name, *look(now))
    except (DatabaseError, InterfaceError) as problem:
        return Finding(name, State.PROBLEM, f"the database refused: {type(problem).__name__}: {problem}".strip())


def _graded(value: timedelta, warning: timedelta, problem: timedelta) -> State:
    if value > problem:
        return State.PROBLEM
    return State.WARNING if value > warning else State.OK


# -- one look each ---------------------------------------------------------------------------


def _database(now: datetime) -> tuple[State, str]:
    began = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
    took = timezone.now() - began
    state = State.WARNING if took > SLOW_DATABASE else State.OK
    return state, f"{connection.vendor} answers in {took / timedelta(milliseconds=1):.0f} ms"


@cache
def _leaves() -> tuple[tuple[str, str], ...]:
    """The last migration of each application, as this release has them."""
    return tuple(sorted(MigrationLoader(None, ignore_no_migrations=True).graph.leaf_nodes()))


def _migrations(now: datetime) -> tuple[State, str]:
    applied = set(MigrationRecorder(connection).applied_migrations())
    missing = [f"{app}.{name}" for app, name in _leaves() if (app, name) not in applied]
    if missing:
        return State.PROBLEM, f"not applied: {', '.join(missing)}; run manage.py migrate"
    return State.OK, "all applied"


def _storage(now: datetime) -> tuple[State, str]:
    if why := storeprobe.why_unfit():
        return State.PROBLEM, f"page bytes can't be stored: {why}"
    return State.OK, "takes and gives back"


def _disk(now: datetime) -> tuple[State, str]:
    rooms = storeprobe.rooms()
    least = min(rooms, key=lambda room: room.free_bytes, default=None)
    if least is None:
        return State.PROBLEM, "the folders of the data are not there"
    said = f"{least.free_bytes / (1 << 30):.1f} GiB free for {least.path}"
    if least.free_bytes < ROOM_PROBLEM:
        return State.PROBLEM, said
    return (State.WARNING if least.free_bytes < ROOM_WARNING else State.OK), said


def _broker(now: datetime) -> tuple[State, str]:
    if why := brokers.why_away():
        return State.PROBLEM, why
    return State.OK, brokers.name()


def _ticker(now: datetime) -> tuple[State, str]:
    ages = [seen.age_s for seen in readings.processes() if seen.kind == Process.Kind.TICKER]
    if not ages:
        return State.PROBLEM, f"none was seen for {span(heartbeat.FORGOTTEN)}; start manage.py tick"
    age = timedelta(seconds=min(ages))
    return _graded(age, TICKER_WARNING, TICKER_PROBLEM), f"last turn {span(age)} ago"


def _workers(now: datetime) -> tuple[State, str]:
    """The worst of all classes: those that the settings name, and those seen lately."""
    seen = [row for row in readings.processes() if row.kind == Process.Kind.WORKER]
    worst, said = State.OK, []
    for queue in sorted({*heartbeat.expected(), *(row.queue for row in seen)}):
        ages = [row.age_s for row in seen if row.queue == queue]
        if not ages:
            state, words = State.PROBLEM, f"no worker of class {queue} was seen for {span(heartbeat.FORGOTTEN)}"
        else:
            age = timedelta(seconds=min(ages))
            state = _graded(age, WORKER_WARNING, WORKER_PROBLEM)
            alive = sum(age_s <= WORKER_WARNING.total_seconds() for age_s in ages)
            words = f"{alive} of class {queue}" if alive else f"no worker of class {queue} was seen for {span(age)}"
        said.append(words)
        worst = max(worst, state, key=_RANK.index)
    return worst, "; ".join(said)


def _due(now: datetime) -> tuple[State, str]:
    due = readings.due(now=now)
    late = timedelta(seconds=due.late_s(now))
    return _graded(late, LATE_WARNING, LATE_PROBLEM), f"{counted(due.count)} due, the longest for {span(late)}"


def _leases(now: datetime) -> tuple[State, str]:
    leases = readings.leases(now=now)
    if leases.oldest_expired is None:
        return State.OK, f"{counted(leases.held)} held"
    late = now - leases.oldest_expired
    said = f"{counted(leases.expired)} ran out and were not freed, the first {span(late)} ago"
    return _graded(late, LEASE_WARNING, LEASE_PROBLEM), said


def _outbox(now: datetime) -> tuple[State, str]:
    """Mail that fails is told and is a problem after a day: the server holds its messages, and pages are still watched."""
    mail = readings.mail()
    late = now - mail.oldest if mail.oldest else timedelta(0)
    state = _graded(late, MAIL_WARNING, MAIL_PROBLEM)
    if mail.failing:
        state = max(state, State.WARNING, key=_RANK.index)
        return state, f"{counted(mail.waiting)} wait, {mail.failing} fail, since {span(late)}: {mail.last_error}"
    return state, f"{counted(mail.waiting)} wait, the first for {span(late)}"


def _clock(now: datetime) -> tuple[State, str]:
    own = abs(timezone.now() - heartbeat.database_clock())
    others = max(readings.processes(), key=lambda seen: abs(seen.clock_off_s), default=None)
    if others is not None and timedelta(seconds=abs(others.clock_off_s)) > own:
        off = timedelta(seconds=abs(others.clock_off_s))
        said = f"{others.kind} {others.pid} on {others.host} is off by {others.clock_off_s:+.1f} s"
    else:
        off, said = own, f"off by {own.total_seconds():.1f} s"
    return _graded(off, CLOCK_WARNING, CLOCK_PROBLEM), said


def _canaries(now: datetime) -> tuple[State, str]:
    """A missed canary is a warning: people can work, but what they are shown may not be all there is."""
    found = canaries.summary(now=now)
    if found is None:
        return State.OK, "off" if not settings.CANARY_S else "not made yet"
    said = f"{found.seen} of {found.tried} noticed the last time" if found.tried else "none was planted on yet"
    if found.last_seen_at is not None:
        said += f", the last one {span(now - found.last_seen_at)} ago"
    if found.asleep:
        return State.WARNING, f"nobody has looked for {span(canaries.RESTED)} or more; {said}"
    if found.failed:
        return State.WARNING, f"{found.failed} missed or noticed as something else; {said}"
    return State.OK, said


_LOOKS: dict[str, Look] = {
    "migrations": _migrations,
    "storage": _storage,
    "disk": _disk,
    "broker": _broker,
    "ticker": _ticker,
    "workers": _workers,
    "due": _due,
    "leases": _leases,
    "outbox": _outbox,
    "clock": _clock,
    "canaries": _canaries,
}
_WITHOUT_DATABASE = frozenset({"storage", "disk"}) | ({"broker"} if settings.REDIS_URL else set())
_RANK = [State.OK, State.UNKNOWN, State.WARNING, State.PROBLEM]


def counted(number: int) -> str:
    return f"{number}+" if number >= readings.MOST else str(number)


def span(length: timedelta) -> str:
    """A length of time in short: 12 s, 5 min, 3 h, 2 days."""
    seconds = length.total_seconds()
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
