"""The hard cap on a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.scheduling import bucket


@given(
    budget=st.floats(1, 1e6),
    wishes=st.lists(st.tuples(st.floats(0, 2), st.floats(0.1, 500)), max_size=40),
)
def test_no_more_is_spent_than_it_held_and_what_came_in(budget: float, wishes: list[tuple[float, float]]) -> None:
    tokens: float | None = None
    days = spent = last = 0.0
    for wait, cost in wishes:
        days += wait
        tokens = bucket.filled(tokens, budget=budget, days=wait)
        if tokens > 0:
            tokens, spent, last = tokens - cost, spent + cost, cost
    assert spent <= bucket.most_in(days, budget=budget) + last + 1e-6 * spent


def test_it_holds_half_a_day_and_overdrawing_is_made_good_first() -> None:
    assert bucket.filled(None, budget=200, days=0) == 100
    assert bucket.filled(90, budget=200, days=3) == 100
    assert bucket.filled(-440, budget=400, days=0.5) == pytest.approx(-220)
    assert bucket.filled(10, budget=200, days=-5) == 10
