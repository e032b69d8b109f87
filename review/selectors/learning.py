"""What verdicts teach: scores and distances of approved, dismissed and noise, per page type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from monitoring.models import Check, Monitor, Outcome, PageType
from monitoring.services.calibrate import Sample
from review.models import Verdict

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SPAN = timedelta(days=180)
NOISE_POINTS = 5000


@dataclass(frozen=True, slots=True)
class Learned:
    """Scores (0..1) by what was found and decided, and the samples that count."""

    approved: list[float]
    dismissed: list[float]
    noise: list[float]
    samples: list[Sample]


def counting_verdicts(page_type: PageType, *, user: User, now: datetime) -> QuerySet[Verdict]:
    """Verdicts that calibrate: standing, not too fast, not "real but not relevant", with a score."""
    return Verdict.objects.filter(
        change__monitor__in=Monitor.objects.visible_to(user).filter(page_type=page_type).values("pk"),
        action__in=["approve", "dismiss"],
        undone_by__isnull=True,
        calibrates=True,
        score__isnull=False,
        at__gte=now - SPAN,
    )


def learned(page_type: PageType, *, user: User, now: datetime) -> Learned:
    """Everything the calibration page draws."""
    rows = list(counting_verdicts(page_type, user=user, now=now).values_list("score", "distance", "action"))
    monitors = Monitor.objects.visible_to(user).filter(page_type=page_type).values("pk")
    noise = (
        Check.objects.filter(
            monitor__in=monitors, outcome=Outcome.NOISE, score__isnull=False, started_at__gte=now - SPAN
        )
        .order_by("-started_at")
        .values_list("score", flat=True)[:NOISE_POINTS]
    )
    return Learned(
        approved=[score for score, _d, action in rows if action == "approve" and score is not None],
        dismissed=[score for score, _d, action in rows if action == "dismiss" and score is not None],
        noise=[score for score in noise if score is not None],
        samples=[
            Sample(score=score, distance=distance or 0, approved=action == "approve")
            for score, distance, action in rows
            if score is not None
        ],
    )


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What a cut would have done with the verdicts on record."""

    cut: float
    words: str
    per_week: float
    kept: int
    missed: int
    spared: int
    precision: int | None


def what_if(learned: Learned, cut: float, words: str) -> WhatIf:
    """The effect of a cut, counted on what was decided."""
    kept = sum(score >= cut for score in learned.approved)
    stayed = sum(score >= cut for score in learned.dismissed)
    queued = kept + stayed
    return WhatIf(
        cut=cut,
        words=words,
        per_week=queued / (SPAN.days / 7),
        kept=kept,
        missed=len(learned.approved) - kept,
        spared=len(learned.dismissed) - stayed,
        precision=round(100 * kept / queued) if queued else None,
    )
