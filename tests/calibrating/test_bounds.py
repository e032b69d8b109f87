"""Bounds against textbook values and against the distributions themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.calibrating.bounds import share_bounds, total_bounds, upper_share


def at_most(hits: int, n: int, p: float) -> float:
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits + 1))


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Clopper and Pearson's interval as statistics tables print it
    [(0, 10, 0.0, 0.3085), (1, 10, 0.0025, 0.4450), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0), (4, 200, 0.0055, 0.0504)],
)  # fmt: skip
def test_shares_have_the_intervals_of_the_tables(hits: int, n: int, low: float, high: float) -> None:
    assert share_bounds(hits, n) == pytest.approx((low, high), abs=6e-5)


def test_the_rule_of_three_is_what_no_hit_comes_to() -> None:
    assert upper_share(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert upper_share(0, 0) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.data())
def test_the_bound_is_where_so_few_hits_become_unlikely(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n - 1))

    bound = upper_share(hits, n)

    assert at_most(hits, n, bound) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # the exact Poisson interval
    [(0, 0.0, 3.6889), (1, 0.0253, 5.5716), (5, 1.6235, 11.6683), (20, 12.2165, 30.8884)],
)
def test_equal_weights_give_the_exact_poisson_interval(count: int, low: float, high: float) -> None:
    assert total_bounds([10.0] * count, widest=10.0) == pytest.approx((10 * low, 10 * high), rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 500), max_size=20), st.integers(1, 500))
def test_the_interval_holds_the_estimate(weights: list[int], widest: int) -> None:
    low, high = total_bounds(weights, widest=widest)

    assert low <= sum(weights) * (1 + 1e-9)
    assert high > sum(weights)


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="no share"):
        upper_share(3, 2)
