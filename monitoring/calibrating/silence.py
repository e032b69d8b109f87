"""Whether a site has been still for longer than its own past makes plausible.

A site that serves a stale copy looks like one on which nothing happens. What tells them apart is how often something
happened before: changes by their estimated rate, and companions (a difference of any kind, a new body, a Date or Age that
moves on, a clock) by the share of visits that showed one. No fixed number of days is in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitoring.scheduling import Rate

LEAST = 3.0  # mean change intervals, and the least evidence, before anything is said
ODDS = 3000.0  # 30 days times 100 sites: one false alarm per 100 sites and month
BACK = 0.5  # a silence is over when the evidence has fallen under this share of what raises it


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a site, in days.

    rate: of changes of all its pages together; a changes in b days. still_days: since the last change.
    visits, moved: earlier visits, and those of them that showed any difference from the visit before. still_visits: visits
    since the last one that did. visits_a_day: as of late.
    """

    rate: Rate
    still_days: float
    visits: int = 0
    moved: int = 0
    still_visits: int = 0
    visits_a_day: float = 0.0


@dataclass(frozen=True, slots=True)
class Silence:
    """Evidence that the site stands still, and what is needed to say so, both in natural logarithms of odds.

    by_changes: mean change intervals without a change, as far as the rate is known. by_companions: what the still visits
    add. is_silent: the evidence is enough. intervals: plain mean change intervals since the last change.
    """

    by_changes: float
    by_companions: float
    needed: float
    intervals: float

    @property
    def evidence(self) -> float:
        """All of it."""
        return self.by_changes + self.by_companions

    @property
    def is_silent(self) -> bool:
        """Whether the stillness is less likely than one false alarm per 100 sites and month allows."""
        return self.evidence >= self.needed

    @property
    def is_over(self) -> bool:
        """Whether a silence that was told is over; between the two nothing changes."""
        return self.evidence < self.needed * BACK


def silence(past: Past) -> Silence:
    """How plausible the stillness of a site is.

    The chance of no change in t days is (1 + t/b)^-a for a rate known as Gamma(a, b), and that of n visits without a difference
    follows likewise from the visits that showed one. Each change or difference starts a new run, so there are as many chances of a
    false alarm in a month as there are runs: the evidence has to reach ln(3000 runs a day), and more where it is the sum
    of two. Companions of one visit are not independent and count once. Errs to the late side where the rate rests on few changes, and says nothing at all
    of a page that has never changed.
    """
    rate = past.rate
    by_changes = rate.a * math.log1p(past.still_days / rate.b)
    share = past.moved / (past.visits + 2.0)
    by_companions = _companions(past) if past.moved else 0.0
    mean = rate.a / rate.b
    runs = mean + (past.visits_a_day * share if by_companions else 0.0)
    needed = max(LEAST, math.log(ODDS * runs)) if runs > 0 else math.inf
    if by_companions and runs > 0:
        needed = _of_two(needed)
    return Silence(by_changes, by_companions, needed, mean * past.still_days)


def _companions(past: Past) -> float:
    """Minus the logarithm of the chance that so many visits show no difference, as far as the share is known.

    The product of (1 + n - m + j) / (2 + n + j) over the still visits j, where m of n visits moved: each still visit
    makes the next one a little less surprising.
    """
    n, kept, still = past.visits, past.visits - past.moved, past.still_visits
    return (math.lgamma(n + 2 + still) - math.lgamma(n + 2)) - (math.lgamma(kept + 1 + still) - math.lgamma(kept + 1))


def _of_two(needed: float) -> float:
    """What the sum of two independent evidences has to reach to be as unlikely as one that reaches `needed`.

    Each is exponential where nothing is wrong, so their sum exceeds L with the chance (1 + L) exp(-L).
    """
    total = needed
    for _ in range(20):
        total = needed + math.log1p(total)
    return total
