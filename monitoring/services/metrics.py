"""What Prometheus is told: sums of what all processes counted, and how the work stands.

Nothing is kept in this process: counters come from the tallies, so that they go on over restarts and any web process can
be asked; everything else is asked of the database when it is wanted, at a cost that does not grow with the monitors.
"""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime

from django.conf import settings
from django.db import connection

from monitoring.services import brokers, census, health, readings, storeprobe, tallies
from monitoring.services.exposition import Family, render

_STATES = {health.State.OK: 0, health.State.WARNING: 1, health.State.PROBLEM: 2, health.State.UNKNOWN: -1}

# Of the tallies: series to metric, help, and its labels in the order in which they are counted.
_COUNTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "checks": ("checks_total", "Visits that were recorded.", ("class", "outcome")),
    "not_modified": ("checks_not_modified_total", "Visits that the site answered with 304.", ()),
    "page_bytes": ("page_bytes_total", "Bytes of pages that were read.", ()),
    "unwritten": ("visits_unwritten_total", "Visits of which nothing was written: lease lost, or a bug of ours.", ("why",)),
    "cpu": ("stage_cpu_seconds_total", "Processor time of workers, by what they were at.", ("stage",)),
    "renders": ("browser_renders_total", "Pages that a browser was asked for.", ("result",)),
    "leases_expired": ("leases_expired_total", "Monitors whose worker gave no sign of life any more.", ()),
    "quarantined": ("monitors_quarantined_total", "Monitors set aside because work on them broke off too often.", ()),
    "mail": ("mails_total", "Attempts to send a mail.", ("result",)),
}  # fmt: skip
_HISTOGRAMS: dict[str, tuple[str, str, tuple[str, ...], tuple[float, ...]]] = {
    "duration": ("check_duration_seconds", "How long fetches took.", ("class",), tallies.DURATION_S),
    "lateness": ("check_lateness_seconds", "How long after its time a visit began.", (), tallies.LATENESS_S),
}


def text(*, now: datetime) -> str:
    """The whole answer. Raises where the database is away."""
    return render(families(now=now))


def families(*, now: datetime) -> list[Family]:
    """All metrics."""
    return [
        _info(),
        *_counted(tallies.totals()),
        *_work(now),
        *_people(now),
        *_budgets(),
        *_processes(),
        *_census(),
        *_rooms(),
        *_health(now),
    ]


def _named(name: str, help_text: str) -> Family:
    return Family(f"tideline_{name}", "gauge", help_text)


def _info() -> Family:
    return _named("info", "Version of the product; always 1.").add(
        1,
        version=settings.VERSION,
        python=platform.python_version(),
        database=connection.vendor,
        broker="redis" if settings.REDIS_URL else "database",
    )


def _counted(totals: Mapping[str, float]) -> Iterator[Family]:
    by_name: dict[str, list[tuple[list[str], float]]] = defaultdict(list)
    for key, number in sorted(totals.items()):
        name, *labels = key.split(tallies.SEPARATOR)
        by_name[name].append((labels, number))
    for name, (metric, help_text, names) in _COUNTERS.items():
        family = Family(f"tideline_{metric}", "counter", help_text)
        for labels, number in by_name[name]:
            family.add(number, **{f"{label}_": value for label, value in zip(names, labels, strict=False)})
        if not names and not family.samples:
            family.add(0)
        yield family
    for name, (metric, help_text, names, bounds) in _HISTOGRAMS.items():
        family = Family(f"tideline_{metric}", "histogram", help_text)
        classes: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
        for (*labels, place), number in by_name[f"{name}_class"]:
            classes[tuple(labels)][int(place)] = number
        sums = {tuple(labels): number for labels, number in by_name[f"{name}_sum"]}
        for labels_of, counts in classes.items():
            named = {f"{label}_": value for label, value in zip(names, labels_of, strict=False)}
            family.add_classes(bounds, counts, sums.get(labels_of, 0.0), **named)
        yield family


def _work(now: datetime) -> Iterator[Family]:
    due, leases, promises = readings.due(now=now), readings.leases(now=now), readings.promises(now=now)
    yield _named("due", f"Monitors that are due and that nobody is at; counted to {readings.MOST}.").add(due.count)
    yield _named(
        "due_oldest_seconds", "For how long the oldest of them is due that no site's rest or gap holds back."
    ).add(due.late_s(now))
    yield (
        _named("leases", f"Monitors that workers hold, counted to {readings.MOST}.")
        .add(leases.held - leases.expired, state="held")
        .add(leases.expired, state="expired")
    )
    yield _named("batches", "Batches under way.").add(leases.batches)
    yield _named("promises_broken", f"Pages not read as often as promised, counted to {readings.MOST}.").add(
        promises.broken
    )
    yield _named("promises_broken_oldest_seconds", "For how long the oldest of these promises is broken.").add(
        _since(promises.oldest, now)
    )
    if (waiting := brokers.waiting()) is not None:
        family = _named("broker_messages", "Messages that wait in the broker, by class of workers.")
        for queue, number in waiting.items():
            family.add(number, queue=queue)
        yield family


def _people(now: datetime) -> Iterator[Family]:
    queue, mail = readings.queue(), readings.mail()
    yield (
        _named("changes_waiting", f"Changes that want a verdict, counted to {readings.MOST}.")
        .add(queue.open, state="open")
        .add(queue.snoozed, state="snoozed")
    )
    yield _named("changes_oldest_seconds", "For how long the oldest open change waits.").add(
        _since(queue.oldest_open, now)
    )
    yield _named("outbox_waiting", f"Mails that wait, counted to {readings.MOST}.").add(mail.waiting)
    yield _named("outbox_failing", f"Of these, mails that failed {readings.FAILING} times or more.").add(mail.failing)
    yield _named("outbox_oldest_seconds", "For how long the oldest mail waits.").add(_since(mail.oldest, now))


def _budgets() -> Iterator[Family]:
    family = _named("team_budget_fetches", "Fetches a day of a team: its limit, planned, measured, needed by promises.")
    for row in readings.budgets():
        if row.limit is not None:
            family.add(row.limit, team=row.team, kind="limit")
            family.add(row.planned, team=row.team, kind="planned")
            family.add(row.measured, team=row.team, kind="measured")
            family.add(row.least, team=row.team, kind="promised")
    yield family


def _processes() -> Iterator[Family]:
    groups: dict[tuple[str, str], list[readings.Seen]] = defaultdict(list)
    for row in readings.processes():
        groups[row.kind, row.queue].append(row)
    alive = _named("processes", "Processes that gave a sign of life within the last minute.")
    seen = _named("process_seen_seconds", "How long ago the last of them gave a sign of life.")
    off = _named("process_clock_offset_seconds", "How far the clock that is most wrong is from the database's.")
    memory = _named("process_memory_bytes", "Most memory that they held, summed.")
    for (kind, queue), rows in sorted(groups.items()):
        here = [row for row in rows if row.is_alive]
        labels = {"kind": kind, "queue": queue}
        alive.add(len(here), **labels)
        seen.add(min(row.age_s for row in rows), **labels)
        off.add(max((abs(row.clock_off_s) for row in rows), default=0.0), **labels)
        memory.add(sum(row.facts.get("memory_mb", 0) for row in here) * 1024 * 1024, **labels)
    yield from (alive, seen, off, memory)


def _census() -> Iterator[Family]:
    last = census.latest()
    if last is None:
        return
    figures = last.figures
    yield _named("census_timestamp_seconds", "When the figures that need a look at whole tables were counted.").add(
        last.at.timestamp()
    )
    for name, help_text in (("monitors", "Monitors by state."), ("changes", "Changes by state.")):
        family = _named(name, f"{help_text} From the census.")
        for state, number in sorted(figures.get(name, {}).items()):
            family.add(number, state=state)
        yield family
    for name, help_text in (
        ("payloads", "Stored pages and pictures."),
        ("stored_bytes", "Bytes that they take."),
        ("page_bytes", "Bytes that they stand for."),
        ("mail_given_up", "Mails that no server took."),
    ):
        yield _named(f"census_{name}", f"{help_text} From the census.").add(figures.get(name, 0))


def _rooms() -> Iterator[Family]:
    family = _named("disk_free_bytes", "Free space of this machine's disks that hold data.")
    for room in storeprobe.rooms():
        family.add(room.free_bytes, path=room.path)
    yield family


def _health(now: datetime) -> Iterator[Family]:
    family = _named("part_state", "As /health/ready has it: 0 ok, 1 warning, 2 problem, -1 not asked.")
    found = health.collect(now=now)
    for finding in found.findings:
        family.add(_STATES[finding.state], part=finding.name)
    yield family
    yield _named("ready", "Whether no part has a problem.").add(int(found.is_ready()))


def _since(at: datetime | None, now: datetime) -> float:
    return max((now - at).total_seconds(), 0.0) if at else 0.0
