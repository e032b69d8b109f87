"""A monitor's past: checks by kind with quiet runs collapsed, scores for its chart, changes of settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.utils.formats import date_format
from django.utils.timezone import localtime

from monitoring.models import Change, Check, Monitor, Outcome, SettingChange, Snapshot
from review import charts, wording
from review.models import Verdict

YEAR = timedelta(days=365)
CHART_POINTS = 400
SNAPSHOTS = 8


COUNTED = 10_000  # checks; more of one page are not counted at each look


def counts_by_outcome(monitor: Monitor, *, since: datetime) -> dict[str, int]:
    """How many checks came to each outcome, of the newest COUNTED."""
    newest = monitor.checks.filter(started_at__gte=since, check_no__gt=monitor.check_no - COUNTED)
    rows = newest.values_list("outcome").annotate(n=Count("pk")).order_by()
    return {**dict.fromkeys(Outcome.values, 0), **{str(outcome): n for outcome, n in rows}}


def month_labels(*, now: datetime, span: timedelta) -> list[tuple[datetime, str]]:
    """Where the axis gets a word: every few months, or every few days on a short range."""
    step = max(1, span.days // 6)
    labels = []
    for index in range(1, 6):
        at = localtime(now - span + timedelta(days=step * index))
        labels.append((at, date_format(at, "M") if span.days > 120 else wording.day_words(at)))
    return labels


@dataclass(frozen=True, slots=True)
class Plotted:
    """One check of a chart: both of its measures with their limits, and what people made of it."""

    at: datetime
    score: float | None
    cut: float | None
    distance: int | None
    threshold: int | None
    kind: str
    current: bool = False


def plotted(monitor: Monitor, *, now: datetime, span: timedelta = YEAR, current: Change | None = None) -> list[Plotted]:
    """The comparisons of the newest COUNTED checks that found a difference, oldest first, at most CHART_POINTS; two queries."""
    checks = (
        monitor.checks.filter(
            started_at__gte=now - span,
            check_no__gt=monitor.check_no - COUNTED,
            score__isnull=False,
            outcome__in=[Outcome.NOISE, Outcome.CONTENT],
        )
        .order_by("-check_no")
        .values_list("pk", "started_at", "score", "cut", "distance", "threshold", "outcome")[:CHART_POINTS]
    )
    states = dict(monitor.changes.filter(opened_at__gte=now - span).values_list("check_row_id", "state"))
    found = []
    for pk, at, score, cut, distance, threshold, outcome in reversed(checks):
        kind = "noise"
        if outcome == Outcome.CONTENT:
            state = states.get(pk, "")
            kind = state if state in ("approved", "dismissed") else "waiting"
        is_current = current is not None and current.check_row_id == pk
        found.append(Plotted(at, score, cut, distance, threshold, kind, is_current))
    return found


def _steps(
    values: Sequence[tuple[datetime, float | None]], otherwise: float, start: datetime
) -> list[tuple[datetime, float]]:
    """Where a limit took a new value."""
    steps: list[tuple[datetime, float]] = []
    for at, value in values:
        if value is not None and (not steps or steps[-1][1] != value):
            steps.append((at, value))
    return steps or [(start, otherwise)]


def chart_of(
    monitor: Monitor,
    *,
    now: datetime,
    span: timedelta = YEAR,
    current: Change | None = None,
    width: int = 264,
    height: int = 150,
    rows: Sequence[Plotted] | None = None,
) -> charts.Chart:
    """The monitor's scores over time, the cut in force as a step, this change ringed."""
    rows = plotted(monitor, now=now, span=span, current=current) if rows is None else rows
    points = [charts.Point(row.at, row.score or 0.0, row.kind, current=row.current) for row in rows]
    return charts.scores_over_time(
        points,
        cuts=_steps([(row.at, row.cut) for row in rows], monitor.effective_cut, now - span),
        now=now,
        span=span,
        width=width,
        height=height,
        write=wording.decimal,
        months=month_labels(now=now, span=span),
    )


def distance_chart_of(
    monitor: Monitor, rows: Sequence[Plotted], *, now: datetime, span: timedelta = YEAR
) -> charts.Chart | None:
    """The same checks by distance in bits on a logarithmic axis, the threshold as a step; None where none has one."""
    measured = [row for row in rows if row.distance is not None]
    if not measured:
        return None
    points = [
        charts.Point(
            row.at, charts.bit_height(row.distance or 0), row.kind, label=str(row.distance), current=row.current
        )
        for row in measured
    ]
    steps = _steps([(row.at, row.threshold) for row in measured], monitor.effective_threshold, now - span)
    return charts.scores_over_time(
        points,
        cuts=[(at, charts.bit_height(bits)) for at, bits in steps],
        now=now,
        span=span,
        months=month_labels(now=now, span=span),
        heights=[(charts.bit_height(bits), str(bits)) for bits in charts.BIT_LINES],
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a history: a check that found something, a run of quiet ones, or a changed setting."""

    at: datetime
    kind: str
    check: Check | None = None
    change: Change | None = None
    verdict: Verdict | None = None
    setting: SettingChange | None = None
    runs: int = 1
    until: datetime | None = None


HISTORY_KINDS: dict[str, tuple[str, ...]] = {
    "": (),
    "content": (Outcome.CONTENT, Outcome.FIELD, Outcome.GONE),
    "noise": (Outcome.NOISE,),
    "failed": (Outcome.BLOCKED, Outcome.ERROR, Outcome.GONE),
}


def collapse(checks: Sequence[Check], changes: dict[int, Change], standing: dict[int, Verdict]) -> list[Entry]:
    """Checks (newest first) as entries; neighbours with nothing to tell become one."""
    entries: list[Entry] = []
    for check in checks:
        if check.outcome == Outcome.NONE and entries and entries[-1].kind == Outcome.NONE:
            last = entries[-1]
            entries[-1] = Entry(last.at, last.kind, last.check, runs=last.runs + 1, until=check.started_at)
            continue
        change = changes.get(check.pk)
        entries.append(
            Entry(
                check.started_at,
                str(check.outcome),
                check,
                change=change,
                verdict=standing.get(change.pk) if change else None,
                until=check.started_at,
            )
        )
    return entries


def history(monitor: Monitor, *, kind: str, before: int | None, size: int = 200) -> tuple[list[Entry], int | None]:
    """The monitor's entries, newest first, below the visit of that number; and the number below which more are (None at the end)."""
    checks = monitor.checks.defer("delta", "fields").order_by("-check_no")
    if wanted := HISTORY_KINDS.get(kind):
        checks = checks.filter(outcome__in=wanted)
    if before is not None:
        checks = checks.filter(check_no__lt=before)
    rows = list(checks[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    changes = {
        c.check_row_id: c
        for c in monitor.changes.filter(check_row__in=[row.pk for row in rows]).defer("diff", "search_text")
    }
    standing = {
        v.change_id: v
        for v in Verdict.objects.filter(change__in=[c.pk for c in changes.values()], action__in=["approve", "dismiss"])
        .standing()
        .select_related("actor")
    }
    entries = collapse(rows, changes, standing)
    if not kind:
        settings = monitor.setting_changes.select_related("actor")
        if before is not None:
            told = monitor.checks.filter(check_no__gte=before).order_by("check_no").values_list("started_at", flat=True)
            if (until := told.first()) is not None:
                settings = settings.filter(at__lt=until)
        if more and rows:
            settings = settings.filter(at__gte=rows[-1].started_at)
        entries += [Entry(s.at, "setting", setting=s) for s in settings[:size]]
        entries.sort(key=lambda entry: entry.at, reverse=True)
    return entries, rows[-1].check_no if more and rows else None


def kept_snapshots(monitor: Monitor) -> list[Snapshot]:
    """The newest snapshots; what noise left for a while never crowds out a baseline or a change."""
    rows = monitor.snapshots.select_related("payload")
    lasting = list(rows.exclude(role=Snapshot.Role.NOISE)[:SNAPSHOTS])
    return lasting + list(rows.filter(role=Snapshot.Role.NOISE)[: SNAPSHOTS - len(lasting)])


def field_rows(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Every field of two snapshots side by side, the changed ones first."""
    names = sorted({*old, *new})
    rows = [{"name": n, "old": old.get(n), "new": new.get(n), "changed": old.get(n) != new.get(n)} for n in names]
    return sorted(rows, key=lambda row: not row["changed"])
