"""What settings will come to before they are felt: whether a site bears what is promised, what a weight and a promise cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, FloatField, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Least

from monitoring.models import Monitor, PageType, Site
from monitoring.scheduling import Plan, Terms, fitting_gap_s, fitting_promise_s, host_load, plan
from monitoring.services import rates, schedule

WEIGHTS = (0.25, 1.0, 4.0)
MOST_OF_A_TYPE = 20_000  # monitors of a page type for which its sites are looked at when it is saved
_DAY_S = 86_400.0
_NEVER_DAYS = 365.0


@dataclass(frozen=True, slots=True)
class Fit:
    """What a site bears, in visits a day, against what is promised of its pages; and what would make both meet.

    `gap_s` is the longest gap that would do. `promise_s` is the shortest promise that one page in question could have
    beside all others, None where the others alone are too many or no page is in question.
    """

    site: Site
    needed: float
    allowed: float
    gap_s: float
    promise_s: int | None = None

    @property
    def is_enough(self) -> bool:
        """Whether all that is promised can be kept."""
        return self.needed <= self.allowed


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a monitor's plan comes to: (times the weight, interval in seconds, cost a day); what its promise adds to the cost."""

    weights: tuple[tuple[float, int, float], ...]
    promise_cost: float


def fit_of(site: Site, *, monitor: Monitor | None = None) -> Fit:
    """Whether a site bears what is promised now; with `monitor`, what could be promised of that one."""
    needed = _needed(Monitor.objects.filter(site=site))
    gap = site.effective_gap_s
    load = host_load(1.0, gap)  # what one visit a day takes up
    allowed = 1 / load if load else float("inf")
    promise = None
    if monitor is not None and monitor.pk is not None:
        others = needed - (_visits(monitor.effective_max_s) if monitor.enabled and not monitor.quarantined_at else 0.0)
        promise = fitting_promise_s(others, gap, slack=rates.SETTINGS.slack)
    return Fit(site, needed, allowed, fitting_gap_s(needed), promise)


def unfit_sites(page_type: PageType, *, most: int = 5) -> list[Fit]:
    """Sites with pages of this type that do not bear what is promised; of a type with very many pages none is looked at."""
    rows = Monitor.objects.filter(page_type=page_type, enabled=True)
    if rows.count() > MOST_OF_A_TYPE:
        return []
    sites = Site.objects.filter(pk__in=rows.values("site"), gap_s__gt=0)
    fits = [fit_of(site) for site in sites.order_by("-load", "pk")[:200]]
    return sorted((fit for fit in fits if not fit.is_enough), key=lambda fit: fit.allowed / fit.needed)[:most]


def outlook(monitor: Monitor, *, now: datetime) -> Outlook | None:
    """What other weights would come to and what the promise costs; None where visits keep to an interval."""
    if not schedule.follows_rate(monitor):
        return None
    terms = schedule.terms_of(monitor, now=now)

    def planned(terms_wanted: Terms) -> Plan:
        return plan(monitor.rate, terms_wanted, monitor.team.price, 0.5, rates.SETTINGS)

    rows = [(times, planned(terms._replace(weight=terms.weight * times))) for times in WEIGHTS]
    free = planned(terms._replace(max_days=_NEVER_DAYS))
    return Outlook(
        tuple((times, round(one.interval * _DAY_S), one.spend) for times, one in rows),
        max(0.0, planned(terms).spend - free.spend),
    )


def _visits(longest_s: int) -> float:
    """Visits a day that a promise needs."""
    return _DAY_S / (max(longest_s, 1) * (1 - rates.SETTINGS.slack))


def _needed(monitors: QuerySet[Monitor]) -> float:
    promised = Least(F("max_interval_s"), Coalesce(F("page_type__max_interval_s"), F("max_interval_s")))
    each = Value(_visits(1), output_field=FloatField()) / Cast(promised, FloatField())
    found = monitors.filter(enabled=True, quarantined_at__isnull=True, max_interval_s__gt=0).aggregate(n=Sum(each))["n"]
    return float(found or 0.0)
