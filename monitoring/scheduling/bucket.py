"""The hard cap on a budget: a bucket that fills evenly and holds half a day's worth.

The price keeps spend on the budget on average; the bucket bounds what a bad day costs. What is promised may overdraw it.
"""

from __future__ import annotations

HEADROOM = 1.1  # it fills a tenth faster than the budget, or what is planned at the budget would queue for ever longer
HOLDS_DAYS = 0.5  # what an outage of half a day left unspent may be made up for at once


def capacity(budget: float) -> float:
    """Fetches that a full bucket holds, of a budget a day."""
    return max(budget * HOLDS_DAYS, 1.0)


def filled(tokens: float | None, *, budget: float, days: float) -> float:
    """What is in the bucket `days` after it held `tokens`; one that was never used is full. A clock set back adds nothing."""
    full = capacity(budget)
    return full if tokens is None else min(tokens + budget * HEADROOM * max(days, 0.0), full)


def most_in(days: float, *, budget: float) -> float:
    """The most that is spent in so many days by visits that are not promised."""
    return capacity(budget) + budget * HEADROOM * days
