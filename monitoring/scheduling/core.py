"""When to visit a page next: pure functions of what is known, no clock and no chance.

All times are in days. What is known about a page's rate of substantive change is a Gamma distribution (`Rate`),
updated by one bit per successful visit: changed or not since the visit before. `plan` turns rate, terms and the
price of a fetch into the next interval; with `Settings.fixed_days` set it keeps to that interval instead, within
the same limits and with the same jitter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, lgamma, log, log1p, sqrt
from typing import NamedTuple

_TINY_DAYS = 1e-6
_ENDLESS_DAYS = 1e9
_LEAST_PRIOR, _MOST_PRIOR = 0.25, 180.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the whole fleet.

    prior_a, prior_b: shape and scale (days) of the rate before anything was seen; their quotient is changes per day.
    regime_days: mean time after which a page's habit is drawn anew. min_a: least shape after an update.
    max_a: most, so that no more than about so many changes are remembered; without it a page that was lively for
    months takes weeks to be believed quiet.
    jitter: share by which an interval is spread to either side. slack: share of the longest interval kept free
    for queueing. fixed_days: the interval to keep, 0 for one that follows rate and price. objective: what is kept
    small: the weighted waiting of changes (`delay`), the waiting of the first unseen one (`harmonic`), or the time
    out of date (`freshness`, which gives up on lively pages). ValueError for another.
    """

    prior_a: float = 0.5
    prior_b: float = 5.0
    regime_days: float = 180.0
    min_a: float = 0.15
    max_a: float = 8.0
    jitter: float = 0.10
    slack: float = 0.04
    fixed_days: float = 0.0
    objective: str = "delay"

    def __post_init__(self) -> None:
        if self.objective not in {"delay", "harmonic", "freshness"}:
            raise ValueError(f"the objective is {self.objective!r}; expected delay, harmonic or freshness")


class Rate(NamedTuple):
    """Gamma distribution of the rate of substantive change: shape `a`, scale `b` in days, mean a/b per day."""

    a: float
    b: float


class Terms(NamedTuple):
    """What the owner and the site allow. Costs are in full fetches: of a visit that finds nothing, and of one that does."""

    weight: float
    cost_check: float
    cost_full: float
    min_days: float
    max_days: float
    host_factor: float = 1.0


class Plan(NamedTuple):
    """The next interval in days and why; changes per day, chance that the visit finds one, expected cost per day.

    reason: `fixed-interval`, `expected-change`, `max-age` or `min-interval`.
    """

    interval: float
    reason: str
    rate: float
    p_change: float
    spend: float


_DEFAULTS = Settings()


def _posterior(a: float, b: float, elapsed: float, *, changed: bool) -> tuple[float, float, float]:
    """Probability of the bit, and the first two moments of the rate once it is known."""
    growth = log1p(elapsed / b)
    if not changed:
        later = b + elapsed
        return exp(-a * growth), a / later, a * (a + 1) / later**2
    seen = -expm1(-a * growth)
    first = a / b * -expm1(-(a + 1) * growth) / seen
    second = a * (a + 1) / b**2 * -expm1(-(a + 2) * growth) / seen
    return seen, first, second


def observe(rate: Rate, elapsed_days: float, changed: bool, s: Settings = _DEFAULTS) -> Rate:
    """What is known after a successful visit `elapsed_days` after the one before.

    Nothing is learned from an elapsed time of zero or less (a clock set back). The habit may have changed in
    between: the update is mixed with one that starts from the prior, by how well each foresaw the bit.
    """
    if elapsed_days <= _TINY_DAYS:
        return rate
    likely, mean, square = _posterior(rate.a, rate.b, elapsed_days, changed=changed)
    fresh = -expm1(-elapsed_days / s.regime_days)
    if fresh > 0:
        likely0, mean0, square0 = _posterior(s.prior_a, s.prior_b, elapsed_days, changed=changed)
        both = fresh * likely0 + (1 - fresh) * likely
        share = fresh * likely0 / both if both > 0 else 1.0
        mean = share * mean0 + (1 - share) * mean
        square = share * square0 + (1 - share) * square
    variance = max(square - mean * mean, 1e-300)
    a = min(max(mean * mean / variance, s.min_a), s.max_a)
    return Rate(a, a / mean)


def _visit_cost(terms: Terms, expected: float) -> float:
    """Marginal cost of one more visit when `expected` changes come per interval."""
    return terms.cost_check + (terms.cost_full - terms.cost_check) * (1 - exp(-expected) * (1 + expected))


def _wanted(rate: float, terms: Terms, price: float, s: Settings) -> tuple[float, str]:
    """The interval before limits and jitter: where waiting and fetching cost the same."""
    if s.fixed_days > 0:
        return s.fixed_days, "fixed-interval"
    unit = 2 * price * terms.host_factor / (terms.weight * rate)
    interval = sqrt(unit * terms.cost_check)
    for _ in range(2):  # the cost depends on the interval it decides; two steps settle it
        interval = sqrt(unit * _visit_cost(terms, rate * interval))
    if s.objective != "delay":
        worth = price * terms.host_factor * _visit_cost(terms, rate * interval) / terms.weight
        interval = (_harmonic if s.objective == "harmonic" else _freshness)(rate, worth, interval)
    return interval, "expected-change"


def _harmonic(rate: float, worth: float, start: float) -> float:
    """The interval x with x - (1 - e^(-rate x)) / rate = worth: Newton's steps from `start`."""
    x = start
    for _ in range(6):
        fall = exp(-min(rate * x, 700.0))
        x -= (x - (1 - fall) / rate - worth) / max(1 - fall, 1e-12)
    return x


def _freshness(rate: float, worth: float, start: float) -> float:
    """The interval x with (1 - e^(-rate x)) / rate - x e^(-rate x) = worth, found by halving; endless from 1/rate on."""
    if worth >= 1 / rate:
        return _ENDLESS_DAYS
    low, high = 0.0, max(start, 40 / rate)
    for _ in range(60):
        x = (low + high) / 2
        fall = exp(-rate * x)
        low, high = (x, high) if (1 - fall) / rate - x * fall < worth else (low, x)
    return (low + high) / 2


def plan(rate: Rate, terms: Terms, price: float, u: float = 0.5, s: Settings = _DEFAULTS) -> Plan:
    """The next interval. `u` in [0, 1) is this visit's jitter (`hash01` of monitor and visit number).

    The interval never exceeds `max_days` and never undercuts `min_days`; at the upper limit jitter only shortens.
    """
    mean = rate.a / rate.b
    interval, reason = _wanted(mean, terms, price, s)
    interval *= 1 + s.jitter * (2 * u - 1)
    longest = terms.max_days * (1 - s.slack)
    if interval > longest:
        interval, reason = longest * (1 - 0.5 * s.jitter * u), "max-age"
    if interval < terms.min_days:
        interval, reason = terms.min_days, "min-interval"
    chance = chance_of_change(rate, interval)
    spend = (terms.cost_check + (terms.cost_full - terms.cost_check) * chance) / interval
    return Plan(interval, reason, mean, chance, spend)


def chance_of_change(rate: Rate, days: float) -> float:
    """Chance that at least one change comes within so many days."""
    return -expm1(-rate.a * log1p(max(days, 0.0) / rate.b))


def rate_range(rate: Rate, *, share: float = 0.8) -> tuple[float, float]:
    """Changes per day between which the rate lies with a chance of `share`, as much left out below as above."""
    return _quantile(rate, (1 - share) / 2), _quantile(rate, (1 + share) / 2)


def _quantile(rate: Rate, chance: float) -> float:
    """The rate that is undercut with this chance, found by halving."""
    low, high = 0.0, (rate.a + 12 * sqrt(rate.a) + 12) / rate.b
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(rate.a, middle * rate.b) < chance else (low, middle)
    return (low + high) / 2


def _below(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function by its series (DLMF 8.7.1); for the shapes here, 0.15 to 8."""
    if x <= 0:
        return 0.0
    term = total = 1 / a
    n = a
    while term > total * 1e-12:
        n += 1
        term *= x / n
        total += term
    return min(total * exp(a * log(x) - x - lgamma(a)), 1.0)


def loosened(rate: Rate, *, share: float = 1 / 3, s: Settings = _DEFAULTS) -> Rate:
    """The rate held with less certainty, as after a change of how the page is read: `share` of its shape, the same mean."""
    a = max(share * rate.a, min(rate.a, s.prior_a))
    return Rate(a, a * rate.b / rate.a)


def fitted_prior(
    seen: Sequence[tuple[float, float]], days: float, s: Settings = _DEFAULTS, *, rounds: int = 200
) -> float:
    """The `prior_b` under which what was seen of many pages is likeliest: pairs of changes and days watched.

    With shape `prior_a` and scale b the pages' counts follow a negative binomial; the root of its score in b is
    `n a = sum((a + k) b / (b + T))`, found by repetition from `days` on. Between a quarter of a day and half a year.
    """
    if not seen:
        return days
    b, a = days, s.prior_a
    for _ in range(rounds):
        later = len(seen) * a / sum((a + k) / (b + t) for k, t in seen)
        later = min(max(later, _LEAST_PRIOR), _MOST_PRIOR)
        if abs(later - b) < 1e-4 * b:
            return later
        b = later
    return b


def solve_price(
    rows: list[tuple[Rate, Terms]],
    budget: float,
    price: float,
    s: Settings = _DEFAULTS,
    scale: float = 1.0,
    rounds: int = 6,
) -> float:
    """The price at which `rows`, a sample of 1/`scale` of the fleet, spend `budget` full fetches per day.

    Spend goes with the inverse root of the price while no limit binds, hence the square. With a fixed interval
    spend does not depend on the price, which is then returned as it came.
    """
    if s.fixed_days > 0:
        return price
    for _ in range(rounds):
        spend = scale * sum(plan(rate, terms, price, 0.5, s).spend for rate, terms in rows)
        ratio = spend / budget
        if abs(ratio - 1) < 0.01:
            break
        price = min(max(price * min(max(ratio, 0.2), 5.0) ** 2, 1e-9), 1e6)
    return price


def hash01(*parts: int | str) -> float:
    """A number in [0, 1) that the parts decide: the same on every machine, spread evenly over ids."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


def retry_days(
    fails: int, longest_days: float, *, first_days: float = 5 / 1440, retry_after_days: float = 0.0
) -> float:
    """Days until a failed visit is tried again: 5 minutes, doubled per failure in a row, at most the usual interval.

    A site's Retry-After is respected up to a day, also where it is longer than the usual interval.
    """
    backoff = min(first_days * 2.0 ** min(max(fails - 1, 0), 20), longest_days)
    return max(backoff, min(retry_after_days, 1.0))
