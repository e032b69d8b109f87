"""One turn of the ticker: free what dead workers held, hand due monitors to the workers, start periodic jobs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from monitoring import queueing
from monitoring.services import schedule

logger = logging.getLogger(__name__)

# More would freeze the order of work inside the broker, and leases would run out there. Workers ask for more themselves.
BATCHES_PER_WORKER = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn did."""

    freed: int
    monitors: int
    batches: int
    jobs: int


def turn(*, now: datetime) -> Turn:
    """One turn. Several tickers may run at once; each monitor and each job is handed out by one of them."""
    freed = schedule.reconcile(now=now)
    room = settings.WORKERS * BATCHES_PER_WORKER - schedule.batches_under_way(now=now)
    claims: list[schedule.Claim] = []
    if room > 0:
        limit = room * schedule.BATCH_MOST
        claims = schedule.claim_due(now=now, limit=limit, lease_s=settings.LEASE_S)
    for claim in claims:
        try:
            queueing.enqueue_batch(claim.ids, claim.token)
        except Exception:
            # Not handed over: give the work back at once instead of waiting for the lease to run out.
            schedule.release(claim.token)
            raise
    started = queueing.start_due_jobs(now=now)
    return Turn(freed, sum(len(claim.ids) for claim in claims), len(claims), len(started))
