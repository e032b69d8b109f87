"""Exact bounds for shares and for weighted counts, by bisection on the distribution functions.

All of them err to the wide side: the interval holds the true value at least as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

_STEPS = 60  # halvings: beyond the precision of the distribution functions
_TERMS = 500
_TINY = 1e-300
_CLOSE = 1e-14


def upper_share(hits: int, n: int, confidence: float = 0.95) -> float:
    """One-sided Clopper-Pearson bound: the true share is below it with this confidence; 1 without any observation.

    Without a hit it is 1 - (1 - confidence)^(1/n), of which three divided by n is the well-known approximation.
    """
    _check(hits, n)
    if n == 0 or hits == n:
        return 1.0
    if hits == 0:
        return float(1.0 - (1.0 - confidence) ** (1.0 / n))
    return _root(lambda p: _beta(hits + 1, n - hits, p) - confidence)


def lower_share(hits: int, n: int, confidence: float = 0.95) -> float:
    """One-sided Clopper-Pearson bound from below."""
    return 1.0 - upper_share(n - hits, n, confidence) if n else 0.0


def share_bounds(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided Clopper-Pearson interval of a share."""
    one_side = 1.0 - (1.0 - confidence) / 2.0
    return lower_share(hits, n, one_side), upper_share(hits, n, one_side)


def total_bounds(weights: Sequence[float], *, widest: float = 0.0, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a total of which each member was met by chance; a member met stands for `weight` of them.

    weights: one over the chance of each member met. widest: the largest weight that anything not met could have had.
    Gamma interval for weighted sums of Poisson counts (Fay and Feuer, Statistics in Medicine 16, 1997), which is the
    exact Poisson interval where all weights are equal.
    """
    tail = (1.0 - confidence) / 2.0
    total, spread = sum(weights), sum(w * w for w in weights)
    most = max([widest, *weights], default=0.0)
    low = 0.0 if total <= 0.0 else spread / total * _gamma_quantile(total * total / spread, tail)
    if most <= 0.0:
        return low, 0.0
    up, up_spread = total + most, spread + most * most
    return low, up_spread / up * _gamma_quantile(up * up / up_spread, 1.0 - tail)


def _check(hits: int, n: int) -> None:
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} hits of {n} is no share")


def _root(f: Callable[[float], float], low: float = 0.0, high: float = 1.0) -> float:
    """Where a rising function is zero."""
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if f(middle) < 0.0 else (low, middle)
    return high


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta(b, a, 1.0 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), from the front by Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d, c = 1.0 + term * d, 1.0 + term / c
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            break
    return value


def _gamma(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function P(a, x)."""
    if x <= 0.0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for n in range(1, _TERMS * 20):
            term *= x / (a + n)
            total += term
            if term < total * _CLOSE:
                break
        return min(1.0, front * total)
    b, c = x + 1.0 - a, 1.0 / _TINY
    d = 1.0 / b
    value = d
    for n in range(1, _TERMS * 20):
        step = -n * (n - a)
        b += 2.0
        d = 1.0 / (step * d + b)
        c = b + step / c
        value *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            break
    return max(0.0, 1.0 - front * value)


@lru_cache(maxsize=4096)
def _gamma_quantile(a: float, p: float) -> float:
    """The x at which P(a, x) = p."""
    high = a + 10.0
    while _gamma(a, high) < p:
        high *= 2.0
    return _root(lambda x: _gamma(a, x) - p, 0.0, high)
