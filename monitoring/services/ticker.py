"""One turn of the ticker: free what dead workers held, hand due monitors to the workers, start periodic jobs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from monitoring import queueing
from monitoring.models import WorkerClass
from monitoring.services import pools, schedule

logger = logging.getLogger(__name__)

# More would freeze the order of work inside the broker, and leases would run out there. Workers ask for more themselves.
BATCHES_PER_WORKER = 1
UNRENDERED_MOST = 1000  # no more are counted


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn did."""

    freed: int
    monitors: int
    batches: int
    jobs: int
    unrendered: int = 0  # pages that are due and for whom no worker has a browser


def turn(*, now: datetime) -> Turn:
    """One turn. Several tickers may run at once; each monitor and each job is handed out by one of them."""
    freed = schedule.reconcile(now=now)
    capacity = pools.capacity(now=now)
    claims: list[schedule.Claim] = []
    for kind, workers in capacity.items():
        claims += _hand_out(kind, workers, now)
    started = queueing.start_due_jobs(now=now)
    unrendered = 0
    if not capacity[WorkerClass.BROWSER]:
        unrendered = schedule.due(now - pools.UNSERVED).filter(by_browser=True)[:UNRENDERED_MOST].count()
    return Turn(freed, sum(len(claim.ids) for claim in claims), len(claims), len(started), unrendered)


def _hand_out(kind: WorkerClass, workers: int, now: datetime) -> list[schedule.Claim]:
    """Claims for the free workers of a class, in their queue. Each class has room of its own: none waits for the other."""
    by_browser = kind == WorkerClass.BROWSER
    room = workers * BATCHES_PER_WORKER
    if room:
        room -= schedule.batches_under_way(now=now, by_browser=by_browser)
    if room <= 0:
        return []
    claims = schedule.claim_due(
        now=now,
        limit=room * (schedule.RENDERS_MOST if by_browser else schedule.BATCH_MOST),
        lease_s=settings.LEASE_S,
        by_browser=by_browser,
        workers=workers,
    )
    for number, claim in enumerate(claims):
        try:
            queueing.enqueue_batch(claim.ids, claim.token, kind, claim.starts)
        except Exception:
            # Not handed over: give the work back at once instead of waiting for the leases to run out.
            for lost in claims[number:]:
                schedule.release(lost.token)
            raise
    return claims
