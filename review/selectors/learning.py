"""What verdicts teach: scores and distances of approved, dismissed and noise, per page type or monitor.

A proposal rests on the verdicts of all teams, so that nobody's approval is passed unseen; what a person is shown by name
are the changes of their own teams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from monitoring.calibrating.evidence import SHORT_WORDS, Sample
from monitoring.calibrating.whatif import Stored, WhatIf, what_if
from monitoring.models import Change, Check, MissedCase, Monitor, Outcome
from review.models import Verdict

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from monitoring.services.calibrate import Owner

SPAN = timedelta(days=180)
NOISE_POINTS = 5000
_FIGURES = (
    "change", "score", "distance", "action", "change__kind", "change__sample_share", "change__reasons",
    "change__diff__total",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Learned:
    """Scores (0..1) by what was found and decided, and the samples that count.

    noise_days: the time in which the stored noise was met, counted back from now.
    """

    approved: list[float]
    dismissed: list[float]
    noise: list[float]
    samples: list[Sample]
    stored: list[Stored] = field(default_factory=list)
    noise_days: float = SPAN.days


def counting_verdicts(owner: Owner, *, user: User | None, now: datetime) -> QuerySet[Verdict]:
    """Verdicts that calibrate: standing, not too fast, not "real but not relevant", with a score; newest first.

    user: only of monitors that this person may see; None for all.
    """
    verdicts = Verdict.objects.filter(
        change__monitor__in=_monitors(owner, user).values("pk"),
        action__in=["approve", "dismiss"],
        calibrates=True,
        score__isnull=False,
        at__gte=now - SPAN,
    ).standing()
    return verdicts.order_by("-pk")


def _monitors(owner: Owner, user: User | None) -> QuerySet[Monitor]:
    monitors = Monitor.objects.all() if user is None else Monitor.objects.visible_to(user)
    return monitors.filter(pk=owner.pk) if isinstance(owner, Monitor) else monitors.filter(page_type=owner)


def samples_of(owner: Owner, *, user: User | None, now: datetime) -> list[Sample]:
    """One sample for each verdict that counts, with another person's second opinion, and for each case named as missed."""
    verdicts = counting_verdicts(owner, user=user, now=now)
    rows = list(verdicts.values_list(*_FIGURES))
    seconds = _second_opinions(row[0] for row in rows)
    decided = [
        Sample(
            score=score,
            distance=distance or 0,
            approved=action == Verdict.Action.APPROVE,
            main=main_of(reasons),
            audit=kind == Change.Kind.AUDIT,
            share=share or 1.0 if kind == Change.Kind.AUDIT else 1.0,
            second=seconds.get(change),
            short=isinstance(total, int) and total < SHORT_WORDS,
            key=change,
        )
        for change, score, distance, action, kind, share, reasons, total in rows
        if score is not None
    ]
    return [*decided, *_reported(owner, user=user, now=now)]


def missed_cases(owner: Owner, *, user: User | None, now: datetime) -> QuerySet[MissedCase]:
    """The changes that people named as missed in the time that counts; newest first."""
    cases = MissedCase.objects.filter(monitor__in=_monitors(owner, user).values("pk"), reported_at__gte=now - SPAN)
    return cases.select_related("monitor__site", "reported_by").order_by("-happened_on", "-pk")


def _reported(owner: Owner, *, user: User | None, now: datetime) -> Iterator[Sample]:
    """One sample for each missed case whose check's score is known."""
    rows = missed_cases(owner, user=user, now=now).filter(score__isnull=False)
    for key, score, distance, reasons in rows.values_list("pk", "score", "distance", "reasons"):
        yield Sample(score or 0.0, distance or 0, approved=True, main=main_of(reasons), reported=True, key=key)


def main_of(reasons: Any) -> float | None:
    """The weight of the strongest edit in the main text, from stored reasons; None where it was not recorded."""
    for reason in reasons if isinstance(reasons, list) else ():
        if isinstance(reason, dict) and reason.get("code") == "score":
            main = reason.get("data", {}).get("main")
            return float(main) if isinstance(main, int | float) else None
    return None


def _second_opinions(changes: Iterable[int]) -> dict[int, bool]:
    """Of each change the newest second opinion: whether it approves. The change's own verdict is another person's."""
    opinions = Verdict.objects.filter(change__in=list(changes), action=Verdict.Action.SECOND)
    rows = opinions.order_by("pk").values_list("change", "opinion")
    return {change: opinion == Verdict.Action.APPROVE for change, opinion in rows}


def learned(owner: Owner, *, user: User | None, now: datetime) -> Learned:
    """Everything the calibration page draws."""
    samples = samples_of(owner, user=user, now=now)
    noise = list(
        Check.objects.filter(
            monitor__in=_monitors(owner, user).values("pk"),
            outcome=Outcome.NOISE,
            score__isnull=False,
            started_at__gte=now - SPAN,
        )
        .order_by("-pk")
        .values_list("score", "distance", "reasons", "started_at")[:NOISE_POINTS]
    )
    first = noise[-1][3] if len(noise) == NOISE_POINTS else now - SPAN
    return Learned(
        approved=[s.score for s in samples if s.approved and not s.reported],
        dismissed=[s.score for s in samples if not s.approved],
        noise=[score for score, *_ in noise if score is not None],
        samples=samples,
        stored=[Stored(score, distance or 0, main_of(reasons)) for score, distance, reasons, _ in noise if score],
        noise_days=max(1.0, (now - first) / timedelta(days=1)),
    )


def effect(found: Learned, *, cut: float, threshold: int) -> WhatIf:
    """What a cut and threshold would have done with the verdicts and the stored noise."""
    return what_if(
        found.samples,
        cut=cut,
        threshold=threshold,
        weeks=SPAN.days / 7,
        noise=found.stored,
        noise_weeks=found.noise_days / 7,
    )
