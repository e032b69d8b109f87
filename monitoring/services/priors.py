"""What is known of a page before it was watched: found once a month from the pages that are, for those to come.

A page type of at least 20 watched pages has a prior of its own, and so has a site; all pages have one together. Who is
watched already keeps the prior they began with, so that their rates stay the fold of their checks.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Mod

from monitoring.models import Monitor, Prior
from monitoring.scheduling import fitted_prior
from monitoring.services import rates

logger = logging.getLogger(__name__)

ENOUGH = 20  # watched pages
LEAST_CHECKS = 5  # of a page that counts
SAMPLE = 200_000

type _Seen = list[tuple[float, float]]


def fit(*, now: datetime) -> int:
    """Find the priors anew. Gives how many there are."""
    everything: _Seen = []
    by_type: dict[int, _Seen] = defaultdict(list)
    by_site: dict[int, _Seen] = defaultdict(list)
    for page_type, site, a, b, prior_b in _watched():
        pair = (max(a - rates.SETTINGS.prior_a, 0.0), max(b - prior_b, 0.0))
        for group in (everything, by_type[page_type], by_site[site]):
            group.append(pair)
    if len(everything) < ENOUGH:
        return 0
    start = rates.SETTINGS.prior_b
    rows = [_prior(everything, start, now)]
    rows += [_prior(seen, rows[0].days, now, page_type_id=pk) for pk, seen in by_type.items() if len(seen) >= ENOUGH]
    rows += [_prior(seen, rows[0].days, now, site_id=pk) for pk, seen in by_site.items() if len(seen) >= ENOUGH]
    with transaction.atomic():
        Prior.objects.all().delete()
        Prior.objects.bulk_create(rows, batch_size=500)
    logger.info("priors=%d monitors=%d days=%.2f", len(rows), len(everything), rows[0].days)
    return len(rows)


def give(monitors: Iterable[Monitor]) -> None:
    """Set what is known of these pages to the prior of their page type, else of their site, else of all; not saved."""
    wanted = list(monitors)
    types, sites, general = _known({one.page_type_id for one in wanted}, {one.site_id for one in wanted})
    for one in wanted:
        days = types.get(one.page_type_id) or sites.get(one.site_id) or general
        one.prior_b = one.rate_b = days
        one.rate_a = rates.SETTINGS.prior_a


def _known(types: set[int], sites: set[int]) -> tuple[dict[int, float], dict[int, float], float]:
    """The priors of some page types and sites, and that of all pages."""
    rows = Prior.objects.all()
    everyone = rows.filter(page_type=None, site=None).values_list("days", flat=True).first()
    return (
        dict(rows.filter(page_type__in=types).values_list("page_type_id", "days")),
        {pk: days for pk, days in rows.filter(site__isnull=False).values_list("site_id", "days") if pk in sites},
        rates.SETTINGS.prior_b if everyone is None else everyone,
    )


def _watched() -> Iterable[tuple[int, int, float, float, float]]:
    rows = Monitor.objects.real().filter(enabled=True, last_ok_at__isnull=False, check_no__gte=LEAST_CHECKS)
    step = max(1, -(-rows.count() // SAMPLE))
    if step > 1:
        rows = rows.annotate(turn=Mod(F("pk"), step)).filter(turn=0)
    values = rows.values_list("page_type", "site", "rate_a", "rate_b", "prior_b")
    return values.iterator(chunk_size=5000)


def _prior(seen: _Seen, start: float, now: datetime, **whose: int) -> Prior:
    return Prior(days=fitted_prior(seen, start, rates.SETTINGS), monitors=len(seen), fitted_at=now, **whose)
