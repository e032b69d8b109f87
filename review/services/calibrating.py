"""Proposals from verdicts: when somebody asks, and once a day for page types that apply small steps by themselves."""

from __future__ import annotations

import logging
from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from monitoring.models import CalibrationRun, PageType
from monitoring.services import calibrate
from monitoring.services.calibrate import Owner
from review.selectors import learning

logger = logging.getLogger(__name__)


def propose(owner: Owner, *, actor: User | None, now: datetime, by_itself: bool = False) -> CalibrationRun:
    """A proposal from the verdicts of all teams. Raises ValidationError where there are too few."""
    samples = learning.samples_of(owner, user=None, now=now)
    return calibrate.propose_from_verdicts(owner, samples, actor=actor, now=now, by_itself=by_itself)


def any_automatic(*, now: datetime) -> bool:
    """Whether a page type applies steps by itself; cheap."""
    return PageType.objects.filter(auto_cut__gt=0).exists()


def tick(*, now: datetime) -> int:
    """Propose for page types that apply small steps by themselves, and apply what is within their bounds. How many were."""
    applied = 0
    for page_type in PageType.objects.filter(auto_cut__gt=0).order_by("pk"):
        try:
            run = propose(page_type, actor=None, now=now, by_itself=True)
        except ValidationError:
            continue  # too few verdicts yet
        if run.state == CalibrationRun.State.DONE and calibrate.apply_by_itself(run, now=now):
            logger.info("page_type=%d cut=%s applied by itself", page_type.pk, run.proposed_cut)
            applied += 1
    return applied
