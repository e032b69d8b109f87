"""Calibration: thresholds from quiet re-fetches of one monitor, and from verdicts on a page type.

A run proposes and shows what it saw; a person applies it, with a reason, and can take it back. What moved between two
quiet fetches moved by itself: that also goes into the monitor's memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from monitoring.calibrating.evidence import SHORT_WORDS, Sample, quiet_threshold
from monitoring.calibrating.proposal import ENOUGH, Proposal, propose
from monitoring.calibrating.whatif import curve
from monitoring.detection.blocks import Reading
from monitoring.detection.fingerprint import distance, fingerprint, length
from monitoring.detection.judge import observe
from monitoring.fetching.capture import Capture, Failure
from monitoring.models import CalibrationRun, Monitor, PageType
from monitoring.queueing import enqueue_calibration
from monitoring.services import memories, pools
from monitoring.services.monitors import change_page_type, change_settings

logger = logging.getLogger(__name__)

FETCHES = 5
FIRST_LOOK = 3  # quiet re-fetches after a first capture: what moves by itself is known before the second visit
FEWEST, MOST = 2, 20
QUIET_RUNS = 2_000  # runs that the quiet noise of a page type is taken from
AUTO_EVERY = timedelta(days=7)
AUTO_UPPER = 0.05  # of what a rise applied by itself leaves out, at most so much may matter
QUIET_CYCLE_H = 60 * 24  # each page is fetched quietly once in so many hours
WIDE_BITS = 16  # above this, two quiet fetches differ more than an edited page does: the proposal says so

type Owner = Monitor | PageType
type Read = Callable[[Capture], Reading]
type Fetch = Callable[[], Capture | Failure]


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
            kind = pools.class_for(monitor, now=timezone.now())
            transaction.on_commit(lambda: enqueue_calibration(run.pk, kind))
    return run


def first_look(monitor: Monitor) -> None:
    """Quiet re-fetches of a page that was just read for the first time; they propose nothing, the memory learns from them.

    Call it inside the transaction that records the first capture. A periodic job works them off: after an import
    there are thousands, which must not stand before the checks in the broker.
    """
    CalibrationRun.objects.create(monitor=monitor, basis=CalibrationRun.Basis.FIRST_LOOK, fetches=FIRST_LOOK)


def schedule_quiet(*, now: datetime) -> int:
    """Quiet re-fetches for the pages whose hour it is: each once in `QUIET_CYCLE_H` hours. Gives how many were planned.

    Nothing is remembered for it: a page's hour follows from its number, so a page whose hour fell into an outage waits
    for its next one.
    """
    hour = int(now.timestamp() // 3600) % QUIET_CYCLE_H
    waiting = [CalibrationRun.State.WAITING, CalibrationRun.State.RUNNING]
    due = (
        Monitor.objects.real()
        .annotate(hour=F("pk") % QUIET_CYCLE_H)
        .filter(hour=hour, enabled=True, quarantined_at__isnull=True, baseline__isnull=False)
        .exclude(calibration_runs__state__in=waiting)
    )
    runs = [CalibrationRun(monitor=m, basis=CalibrationRun.Basis.QUIET, fetches=FIRST_LOOK) for m in due]
    CalibrationRun.objects.bulk_create(runs)
    return len(runs)


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
    words = max((length(reading) for reading in readings), default=0)
    if row.basis == CalibrationRun.Basis.REFETCH:
        row.proposed_threshold = quiet_threshold(row.distances, words)
    row.statistics = {
        "quiet": quiet_deltas(readings, times),
        "wide": max(row.distances, default=0) > WIDE_BITS,
        "words": words,
    }
    row.state, row.finished_at = CalibrationRun.State.DONE, now
    with transaction.atomic():
        row.save(update_fields=["distances", "proposed_threshold", "statistics", "state", "finished_at"])
        # The memory is a fold over checks and quiet fetches: throwing it away makes the next judgement build it anew.
        memories.forget(row.monitor_id)


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
    owner: Owner, samples: Sequence[Sample], *, actor: User | None, now: datetime, by_itself: bool = False
) -> CalibrationRun:
    """A proposal for a page type or a monitor from what people decided on its pages.

    Raises ValidationError where there are too few verdicts, or where there is nothing to change. No cut and no threshold
    passes an approved change; docs/calibration.md says what the figures mean.
    """
    approved = sum(s.approved and not s.reported for s in samples)
    dismissed = sum(not s.approved for s in samples)
    if approved < ENOUGH or dismissed < ENOUGH:
        raise ValidationError(
            _("A proposal needs %(n)d approvals and %(n)d dismissals; there are %(a)d and %(d)d.")
            % {"n": ENOUGH, "a": approved, "d": dismissed}
        )
    cut, threshold = limits_of(owner)
    proposal = propose(samples, cut=cut, threshold=threshold, quiet=quiet_distances(owner))
    run = CalibrationRun.objects.create(
        **({"monitor": owner} if isinstance(owner, Monitor) else {"page_type": owner}),
        basis=CalibrationRun.Basis.VERDICTS,
        state=CalibrationRun.State.DONE if proposal.moves else CalibrationRun.State.UNCHANGED,
        fetches=0,
        before_threshold=owner.threshold,
        before_cut=owner.cut,
        proposed_threshold=proposal.threshold,
        proposed_cut=proposal.cut,
        distances=[s.distance for s in samples],
        scores=[s.score for s in samples],
        statistics=statistics_of(samples, proposal) | ({"by_itself": True} if by_itself else {}),
        requested_by=actor,
        finished_at=now,
    )
    older = CalibrationRun.objects.filter(
        monitor=run.monitor, page_type=run.page_type, basis=run.basis, state=CalibrationRun.State.DONE, pk__lt=run.pk
    )
    older.update(state=CalibrationRun.State.UNCHANGED)  # what was proposed before rests on fewer verdicts
    return run


def limits_of(owner: Owner) -> tuple[float, int]:
    """Cut and threshold in force for a page type or a monitor."""
    if isinstance(owner, Monitor):
        return owner.effective_cut, owner.effective_threshold
    return owner.cut, owner.threshold


def statistics_of(samples: Sequence[Sample], proposal: Proposal) -> dict[str, Any]:
    """What a proposal rests on and says, as it is stored with the run."""
    found = [s for s in samples if not s.audit]
    return {
        "approved": sum(s.approved and not s.reported for s in samples),
        "reported": sum(s.reported for s in samples),
        "dismissed": sum(not s.approved for s in samples),
        "audited": len(samples) - len(found),
        "spared": sum(
            s.queued(proposal.before_cut, proposal.before_threshold) and not s.queued(proposal.cut, proposal.threshold)
            for s in found
            if not s.approved
        ),
        "between": asdict(proposal.between),
        "notes": [{"code": note.code, "data": note.data} for note in proposal.notes],
        "curve": curve(samples, threshold=proposal.threshold),
        "old_curve": curve(samples, threshold=proposal.before_threshold),
    }


def quiet_distances(owner: Owner) -> list[int]:
    """Of each monitor the largest distance between its quiet fetches at the last run; short pages are left out."""
    states = [CalibrationRun.State.DONE, CalibrationRun.State.APPLIED, CalibrationRun.State.REVERTED]
    runs = CalibrationRun.objects.filter(state__in=states).exclude(basis=CalibrationRun.Basis.VERDICTS)
    mine = {"monitor": owner} if isinstance(owner, Monitor) else {"monitor__page_type": owner}
    rows = runs.filter(**mine).order_by("-pk").values_list("monitor", "distances", "statistics__words")[:QUIET_RUNS]
    last: dict[int, int] = {}
    for monitor, distances, words in rows:
        if distances and (words is None or words >= SHORT_WORDS):
            last.setdefault(monitor, max(distances))
    return list(last.values())


def apply_by_itself(run: CalibrationRun, *, now: datetime) -> bool:
    """Whether a proposal was put in force without a person, within the bounds that its page type states.

    The cut moves by no more than `PageType.auto_cut` and the threshold not at all, nothing is open for a second opinion,
    the last one is a week old, and of what a rise leaves out at most one in twenty can matter (95 % confidence).
    """
    page_type = run.page_type
    if page_type is None or page_type.auto_cut <= 0 or run.proposed_cut is None or run.before_cut is None:
        return False
    step = run.proposed_cut - run.before_cut
    notes = {note["code"] for note in run.statistics.get("notes", [])}
    lately = CalibrationRun.objects.filter(page_type=page_type, applied_at__gt=now - AUTO_EVERY)
    if (
        not step
        or abs(step) > page_type.auto_cut + 1e-9
        or run.proposed_threshold != run.before_threshold
        or notes & {"second-opinion", "below-quiet"}
        or (step > 0 and run.statistics["between"]["upper"] > AUTO_UPPER)
        or lately.exists()
    ):
        return False
    apply_run(run, actor=None, reason=_("within the bounds set for this page type"), now=now)
    return True


def apply_run(row: CalibrationRun, *, actor: User | None, reason: str, now: datetime) -> None:
    """Put a proposal in force; raises ValidationError without a reason, or when it was applied or overtaken already.

    Overtaken is one whose values were changed by somebody since: the verdicts say something else about the new ones.
    """
    if not reason.strip():
        raise ValidationError(_("Say why: the reason stands in the record beside the new value."))
    with transaction.atomic():
        taken = CalibrationRun.objects.filter(pk=row.pk, state=CalibrationRun.State.DONE).update(
            state=CalibrationRun.State.APPLIED, applied_by=actor, applied_at=now, reason=reason[:300]
        )
        if not taken:
            raise ValidationError(_("This proposal is not waiting any more."))
        _refuse_moved(row, threshold=row.before_threshold, cut=row.before_cut)
        _set(row, threshold=row.proposed_threshold, cut=row.proposed_cut, actor=actor, reason=reason)


def revert_run(row: CalibrationRun, *, actor: User, reason: str, now: datetime) -> None:
    """Put the values from before an applied proposal back in force."""
    with transaction.atomic():
        taken = CalibrationRun.objects.filter(pk=row.pk, state=CalibrationRun.State.APPLIED).update(
            state=CalibrationRun.State.REVERTED
        )
        if not taken:
            raise ValidationError(_("Only an applied proposal can be taken back."))
        _refuse_moved(row, threshold=row.proposed_threshold, cut=row.proposed_cut)
        _set(row, threshold=row.before_threshold, cut=row.before_cut, actor=actor, reason=reason, back=True)


def _refuse_moved(row: CalibrationRun, *, threshold: int | None, cut: float | None) -> None:
    """Raise ValidationError where the values that the run would replace are no longer in force."""
    owner: Owner | None = (
        Monitor.objects.filter(calibration_runs=row).first() or PageType.objects.filter(calibration_runs=row).first()
    )
    moved = owner is not None and (
        (row.proposed_threshold is not None and owner.threshold != threshold)
        or (row.proposed_cut is not None and owner.cut != cut)
    )
    if moved:
        raise ValidationError(_("Cut or threshold were changed since; make a new proposal."))


def _set(
    row: CalibrationRun,
    *,
    threshold: int | None,
    cut: float | None,
    actor: User | None,
    reason: str,
    back: bool = False,
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
