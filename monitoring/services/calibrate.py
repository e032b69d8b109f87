"""Calibration: thresholds from quiet re-fetches of one monitor, and from verdicts on a page type.

A run proposes and shows what it saw; a person applies it, with a reason, and can take it back. What moved between two
quiet fetches moved by itself: that also goes into the monitor's memory.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, pairwise
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from monitoring.detection.blocks import Reading
from monitoring.detection.fingerprint import distance, fingerprint
from monitoring.detection.judge import observe
from monitoring.fetching.capture import Capture, Failure
from monitoring.models import CalibrationRun, Monitor, MonitorMemory, PageType
from monitoring.queueing import enqueue_calibration
from monitoring.services.monitors import change_page_type, change_settings

logger = logging.getLogger(__name__)

FETCHES = 5
FIRST_LOOK = 3  # quiet re-fetches after a first capture: what moves by itself is known before the second visit
FEWEST, MOST = 2, 20
ENOUGH = 30  # verdicts of each kind before a proposal is made from them
KEEP_BELOW = 0.95  # a proposed cut stays under this share of the smallest approved score
WIDE_BITS = 16  # above this, two quiet fetches differ more than an edited page does: the proposal says so

type Read = Callable[[Capture], Reading]
type Fetch = Callable[[], Capture | Failure]


@dataclass(frozen=True, slots=True)
class Sample:
    """One verdict that counts: the change's score and distance as they were, and what was decided."""

    score: float
    distance: int
    approved: bool


def start_run(
    monitor: Monitor, *, fetches: int = FETCHES, actor: User | None = None, enqueue: bool = True
) -> CalibrationRun:
    """A run that waits for a worker; raises ValidationError when one is under way or the number makes no sense."""
    if not FEWEST <= fetches <= MOST:
        raise ValidationError(_("Choose between %(low)d and %(high)d fetches.") % {"low": FEWEST, "high": MOST})
    active = [CalibrationRun.State.WAITING, CalibrationRun.State.RUNNING]
    with transaction.atomic():
        if CalibrationRun.objects.filter(monitor=monitor, state__in=active).exists():
            raise ValidationError(_("A calibration of this monitor is already under way."))
        run = CalibrationRun.objects.create(
            monitor=monitor,
            basis=CalibrationRun.Basis.REFETCH,
            fetches=fetches,
            before_threshold=monitor.threshold,
            before_cut=monitor.cut,
            requested_by=actor,
        )
        if enqueue:
            transaction.on_commit(lambda: enqueue_calibration(run.pk))
    return run


def first_look(monitor: Monitor) -> None:
    """Quiet re-fetches of a page that was just read for the first time; they propose nothing, the memory learns from them.

    Call it inside the transaction that records the first capture. A periodic job works them off: after an import
    there are thousands, which must not stand before the checks in the broker.
    """
    CalibrationRun.objects.create(monitor=monitor, basis=CalibrationRun.Basis.FIRST_LOOK, fetches=FIRST_LOOK)


def run(
    run_id: int,
    *,
    fetch: Fetch,
    read: Read,
    pause: Callable[[], None],
    now: Callable[[], datetime],
    before: tuple[Reading, datetime] | None = None,
) -> str:
    """Work a waiting run off: fetch, measure, propose. Returns a short text for the log; progress is saved as it goes.

    A fetch that brings no good page ends the run with its reason: a threshold is not made from failures.
    before: a reading taken moments ago, to be compared as well.
    """
    waiting = CalibrationRun.objects.filter(pk=run_id, state=CalibrationRun.State.WAITING)
    if not waiting.update(state=CalibrationRun.State.RUNNING):
        return f"calibration={run_id} is not waiting"
    row = CalibrationRun.objects.select_related("monitor__page_type").get(pk=run_id)
    readings: list[Reading] = [before[0]] if before else []
    times: list[datetime] = [before[1]] if before else []
    for number in range(row.fetches):
        if readings:
            pause()
        fetched = fetch()
        if isinstance(fetched, Failure):
            return _fail(row, fetched.message, now())
        try:
            readings.append(read(fetched))
        except ValueError as error:
            return _fail(row, str(error), now())
        times.append(fetched.started_at)
        CalibrationRun.objects.filter(pk=run_id).update(fetched=number + 1)
    _finish(row, readings, times, now())
    return f"calibration={run_id} proposed threshold={row.proposed_threshold}"


def _fail(row: CalibrationRun, problem: str, now: datetime) -> str:
    CalibrationRun.objects.filter(pk=row.pk).update(
        state=CalibrationRun.State.FAILED, problem=problem[:300], finished_at=now
    )
    return f"calibration={row.pk} failed: {problem}"


def _finish(row: CalibrationRun, readings: Sequence[Reading], times: Sequence[datetime], now: datetime) -> None:
    prints = [fingerprint(reading) for reading in readings]
    row.distances = [distance(a, b) for a, b in combinations(prints, 2)]
    if row.basis == CalibrationRun.Basis.REFETCH:
        row.proposed_threshold = threshold_above(row.distances)
    row.statistics = {"quiet": quiet_deltas(readings, times), "wide": max(row.distances, default=0) > WIDE_BITS}
    row.state, row.finished_at = CalibrationRun.State.DONE, now
    with transaction.atomic():
        row.save(update_fields=["distances", "proposed_threshold", "statistics", "state", "finished_at"])
        # The memory is a fold over checks and quiet fetches: throwing it away makes the next judgement build it anew.
        MonitorMemory.objects.filter(monitor=row.monitor).delete()


def threshold_above(distances: Sequence[int]) -> int:
    """The threshold just above the distances that quiet fetches showed: one bit more than the largest, at most 64."""
    return min(64, max(distances, default=0) + 1)


def quiet_deltas(readings: Sequence[Reading], times: Sequence[datetime]) -> list[list[Any]]:
    """What moved between quiet fetches, as `[seconds since 1970, block delta in hex]`, ready for the memory.

    The first fetch is told as seen from the second, so that its variants count as shown too.
    """
    if len(readings) < FEWEST:
        return []
    steps = [(readings[1], readings[0], times[0])]
    steps += [(old, new, at) for (old, new), at in zip(pairwise(readings), times[1:], strict=True)]
    return [[int(at.timestamp()), observe(old, new).hex()] for old, new, at in steps]


def propose_from_verdicts(
    page_type: PageType,
    samples: Sequence[Sample],
    *,
    noise_scores: Sequence[float] = (),
    actor: User | None,
    now: datetime,
) -> CalibrationRun:
    """A proposal for a page type from what people decided. Raises ValidationError where there are too few verdicts.

    It never passes the smallest approved score or distance: no approved change would have been missed.
    """
    approved = [s for s in samples if s.approved]
    dismissed = [s for s in samples if not s.approved]
    if len(approved) < ENOUGH or len(dismissed) < ENOUGH:
        raise ValidationError(
            _("A proposal needs %(n)d approvals and %(n)d dismissals; there are %(a)d and %(d)d.")
            % {"n": ENOUGH, "a": len(approved), "d": len(dismissed)}
        )
    cut = proposed_cut(page_type.cut, [s.score for s in approved], [s.score for s in dismissed])
    bits = proposed_threshold(page_type.threshold, [s.distance for s in approved], [s.distance for s in dismissed])
    return CalibrationRun.objects.create(
        page_type=page_type,
        basis=CalibrationRun.Basis.VERDICTS,
        state=CalibrationRun.State.DONE,
        fetches=0,
        before_threshold=page_type.threshold,
        before_cut=page_type.cut,
        proposed_threshold=bits,
        proposed_cut=cut,
        distances=[s.distance for s in samples],
        scores=[s.score for s in samples],
        statistics={
            "approved": len(approved),
            "dismissed": len(dismissed),
            "spared": sum(s.score < cut for s in dismissed),
            "missed": sum(s.score < cut for s in approved),
            "noise": len(noise_scores),
        },
        requested_by=actor,
        finished_at=now,
    )


def proposed_cut(current: float, approved: Sequence[float], dismissed: Sequence[float]) -> float:
    """The cut that spares the most dismissals while staying under 95 % of the smallest approved score.

    Where an approved change lies at or under the current cut, the proposal goes down to meet it.
    """
    ceiling = math.floor(min(approved) * KEEP_BELOW * 1000) / 1000
    if ceiling <= current:
        return ceiling
    spared = [score for score in dismissed if current <= score < ceiling]
    return min(ceiling, math.ceil((max(spared) + 0.001) * 1000) / 1000) if spared else current


def proposed_threshold(current: int, approved: Sequence[int], dismissed: Sequence[int]) -> int:
    """The distance above which to speak for content, always under the smallest approved distance (and never negative)."""
    ceiling = max(0, min(approved) - 1)
    if ceiling <= current:
        return ceiling
    spared = [bits for bits in dismissed if current < bits <= ceiling]
    return max(spared) if spared else current


def apply_run(row: CalibrationRun, *, actor: User, reason: str, now: datetime) -> None:
    """Put a proposal in force; raises ValidationError without a reason, or when it was applied or overtaken already."""
    if not reason.strip():
        raise ValidationError(_("Say why: the reason stands in the record beside the new value."))
    with transaction.atomic():
        taken = CalibrationRun.objects.filter(pk=row.pk, state=CalibrationRun.State.DONE).update(
            state=CalibrationRun.State.APPLIED, applied_by=actor, applied_at=now, reason=reason[:300]
        )
        if not taken:
            raise ValidationError(_("This proposal is not waiting any more."))
        _set(row, threshold=row.proposed_threshold, cut=row.proposed_cut, actor=actor, reason=reason)


def revert_run(row: CalibrationRun, *, actor: User, reason: str, now: datetime) -> None:
    """Put the values from before an applied proposal back in force."""
    with transaction.atomic():
        taken = CalibrationRun.objects.filter(pk=row.pk, state=CalibrationRun.State.APPLIED).update(
            state=CalibrationRun.State.REVERTED
        )
        if not taken:
            raise ValidationError(_("Only an applied proposal can be taken back."))
        _set(row, threshold=row.before_threshold, cut=row.before_cut, actor=actor, reason=reason, back=True)


def _set(
    row: CalibrationRun, *, threshold: int | None, cut: float | None, actor: User, reason: str, back: bool = False
) -> None:
    values: dict[str, Any] = {}
    if row.proposed_threshold is not None:
        values["threshold"] = threshold
    if row.proposed_cut is not None:
        values["cut"] = cut
    note = (_("calibration taken back: %s") if back else _("calibration: %s")) % reason
    if row.monitor is not None:
        change_settings(Monitor.objects.get(pk=row.monitor.pk), values, actor=actor, reason=note[:300])
    elif row.page_type is not None:
        change_page_type(PageType.objects.get(pk=row.page_type.pk), values, actor=actor, reason=note[:300])
