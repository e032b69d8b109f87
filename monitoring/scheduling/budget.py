"""Keeping to a budget: the slow correction of what planning, queues and chance leave over."""

from __future__ import annotations

import math

_STRENGTH_PER_DAY = 0.15
_LOWEST, _HIGHEST = 0.6, 1.6
COST_304 = 0.1  # of a full fetch: the request is made all the same
AUDIT_EVERY = 20  # every so many visits ask for the whole page all the same


def measured_spend(fetches: int, not_modified: int, *, cost_304: float = COST_304) -> float:
    """What so many visits cost, in full fetches; `not_modified` of them were answered "not modified"."""
    return fetches - not_modified + not_modified * cost_304


def trimmed(trim: float, *, budget: float, measured: float, days: float) -> float:
    """The factor on the budget that is planned with, `days` after the last correction.

    Nothing is corrected after a day without visits: that was an outage and not a saving.
    """
    if measured <= 0 or budget <= 0:
        return trim
    wanted = trim * math.pow(budget / measured, _STRENGTH_PER_DAY * days)
    return min(max(wanted, _LOWEST), _HIGHEST)


def unchanged_cost(*, trusted: bool) -> float:
    """What a visit that finds nothing costs, in full fetches, of a page that answers "not modified" or does not."""
    return COST_304 + (1 - COST_304) / AUDIT_EVERY if trusted else 1.0
