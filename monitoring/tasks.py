"""What workers run: each task takes ids and plain values, calls one service, and says shortly what came of it."""

from __future__ import annotations

import logging

from django.conf import settings
from django.utils import timezone

from monitoring import queueing, stopping
from monitoring.models import WorkerClass
from monitoring.services import capture, comparisons, refetch, ticker
from monitoring.services.watchdog import Watchdog

logger = logging.getLogger(__name__)


def run_batch(
    ids: list[int], token: str, kind: str = WorkerClass.HTTP.value, starts: dict[int, float] | None = None
) -> str:
    """Visit a claimed batch of monitors; one that an older release queued names no class."""
    with Watchdog(settings.LEASE_S) as watchdog:
        counts = capture.run_batch(
            ids, token, alive=watchdog.alive, by_browser=kind == WorkerClass.BROWSER, starts=starts or {}
        )
    if counts and not stopping.is_requested():
        ticker.turn(now=timezone.now())  # the next batch need not wait for the ticker
    return " ".join(f"{outcome}={count}" for outcome, count in sorted(counts.items())) or "nothing held"


def run_periodic(name: str) -> str:
    """Run a periodic job; one that is not registered here (an older or newer release queued it) is passed over."""
    try:
        result = queueing.run_job(name, now=timezone.now())
    except KeyError:
        logger.warning("job=%s is not registered here", name)
        return "unknown job"
    return str(result)


def run_calibration(run_id: int) -> str:
    """Work off a calibration run."""
    return refetch.work(run_id)


def run_comparison(comparison_id: int) -> str:
    """Ask for a page from two vantages."""
    return comparisons.work(comparison_id)
