"""The whole installation at one look, as text and as JSON: what `manage.py status` shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from config.logs import escaped
from monitoring.services import brokers, census, health, readings
from monitoring.services.health import State, counted, span

ERRORS_SHOWN = 3
TEAMS_SHOWN = 5
_SIGNS = {State.OK: "ok", State.WARNING: "WARNING", State.PROBLEM: "PROBLEM", State.UNKNOWN: "?"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What was found; where the database is away, only health."""

    health: health.Health
    due: readings.Due | None = None
    leases: readings.Leases | None = None
    promises: readings.Promises | None = None
    queue: readings.Queue | None = None
    mail: readings.Mail | None = None
    budgets: tuple[readings.Budget, ...] = ()
    processes: tuple[readings.Seen, ...] = ()
    broker: dict[str, int] | None = None
    figures: dict[str, Any] | None = None  # Any: JSON; of the census
    counted_at: datetime | None = None

    @property
    def errors(self) -> list[dict[str, str]]:
        """The last errors that processes logged, the newest first."""
        found = [
            {**error, "process": f"{row.kind} {row.pid}"}
            for row in self.processes
            for error in row.facts.get("errors", ())
        ]
        return sorted(found, key=lambda error: error["at"], reverse=True)


def look(*, now: datetime) -> Standing:
    """Ask for everything once; never raises for a database that is away."""
    found = health.collect(now=now)
    if any(finding.name == "database" for finding in found.problems):
        return Standing(found)
    try:
        last = census.latest()
        return Standing(
            health=found,
            due=readings.due(now=now),
            leases=readings.leases(now=now),
            promises=readings.promises(now=now),
            queue=readings.queue(),
            mail=readings.mail(),
            budgets=tuple(readings.budgets()),
            processes=tuple(readings.processes()),
            broker=brokers.waiting(),
            figures=last.figures if last else None,
            counted_at=last.at if last else None,
        )
    except (DatabaseError, InterfaceError):
        return Standing(found)  # half migrated: health says so


def as_json(standing: Standing) -> dict[str, Any]:  # Any: JSON
    """The same for programs."""
    found = asdict(standing)
    found["health"] = [asdict(finding) for finding in standing.health.findings]
    found |= {
        "ready": standing.health.is_ready(),
        "at": standing.health.at,
        "version": settings.VERSION,
        "errors": standing.errors,
    }
    return found


def lines(standing: Standing, *, now: datetime) -> list[str]:
    """The same for people, a line each."""
    ready = "ready" if standing.health.is_ready() else "NOT READY"
    told = [f"Tideline {settings.VERSION}   {now:%Y-%m-%d %H:%M:%S} UTC   {ready}", ""]
    told += [f"{_SIGNS[row.state]:<8} {row.name:<11} {row.said}" for row in standing.health.findings]
    told += ["", *_work(standing, now), *_people(standing, now), *_stored(standing, now)]
    told += ["", *_processes(standing)]
    if budgets := [_budget(row) for row in standing.budgets if row.limit is not None]:
        told += ["", *budgets[:TEAMS_SHOWN]]
        if len(budgets) > TEAMS_SHOWN:
            told.append(f"budget       {len(budgets) - TEAMS_SHOWN} teams more")
    if standing.errors:
        told.append("")
        told += [f"error        {e['at']} {e['process']}: {e['event']}" for e in standing.errors[:ERRORS_SHOWN]]
    return [escaped(line) for line in told]  # a mail server's words must not move a terminal's cursor


def _work(standing: Standing, now: datetime) -> list[str]:
    if standing.due is None or standing.leases is None or standing.promises is None:
        return []
    due, leases, promises = standing.due, standing.leases, standing.promises
    late = f", the longest for {span_of(due.oldest, now)}" if due.oldest else ""
    told = [
        f"due          {counted(due.count)}{late}",
        f"under way    {counted(leases.held)} monitors in {leases.batches} batches, {counted(leases.expired)} leases ran out",
        f"promises     {counted(promises.broken)} broken"
        + (f", the oldest for {span_of(promises.oldest, now)}" if promises.oldest else ""),
    ]
    if standing.broker is not None:
        told.append("broker       " + ", ".join(f"{n} for {kind}" for kind, n in standing.broker.items()))
    return told


def _people(standing: Standing, now: datetime) -> list[str]:
    told = []
    if (queue := standing.queue) is not None:
        oldest = f", the oldest for {span_of(queue.oldest_open, now)}" if queue.oldest_open else ""
        told.append(f"queue        {counted(queue.open)} open{oldest}, {counted(queue.snoozed)} snoozed")
    if (mail := standing.mail) is not None:
        fails = f", {mail.failing} fail: {mail.last_error}" if mail.failing else ""
        told.append(f"mail         {counted(mail.waiting)} wait{fails}")
    return told


def _stored(standing: Standing, now: datetime) -> list[str]:
    if standing.figures is None or standing.counted_at is None:
        return ["monitors     not counted yet; a worker does that within a minute"]
    figures = standing.figures
    states = ", ".join(f"{n} {state}" for state, n in sorted(figures["monitors"].items()) if n)
    stored = figures["stored_bytes"] / (1 << 20)
    return [
        f"monitors     {states or 'none'} ({span_of(standing.counted_at, now)} ago)",
        f"stored       {figures['payloads']} pages and pictures in {stored:.1f} MiB",
    ]


def _processes(standing: Standing) -> list[str]:
    told = []
    for row in standing.processes:
        if not row.is_alive:
            continue
        at = row.facts.get("at") or ("idle" if row.kind == "worker" else "")
        words = [f"{row.pid} on {row.host}", f"up {_seconds(row.up_s)}", f"{row.facts.get('memory_mb', 0)} MB", at]
        told.append(f"{row.kind:<8} {row.queue if row.kind == 'worker' else '':<8} " + ", ".join(w for w in words if w))
    gone = sum(not row.is_alive for row in standing.processes)
    if gone:
        told.append(f"{gone} more were seen within the last quarter of an hour")
    return told or ["processes    none gave a sign of life"]


def _budget(row: readings.Budget) -> str:
    share = round(100 * row.measured / row.limit) if row.limit else 0
    return (
        f"budget       {row.name}: {row.measured:.0f} of {row.limit} spent a day ({share} %), {row.planned:.0f} planned"
    )


def span_of(at: datetime | None, now: datetime) -> str:
    """How long ago that was."""
    return span(now - at) if at else ""


def _seconds(seconds: float) -> str:
    return span(timedelta(seconds=seconds))
