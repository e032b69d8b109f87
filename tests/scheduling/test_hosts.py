"""What hosts bear, and the order of what is late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.scheduling import (
    Overdue,
    Rate,
    Settings,
    Terms,
    chance_of_change,
    host_factor,
    host_factors,
    host_load,
    is_savable,
    loosened,
    measured_spend,
    order_overdue,
    plan,
    trimmed,
    unchanged_cost,
)

SLOW = Rate(1.0, 30.0)


def test_a_host_is_full_before_its_last_slot() -> None:
    assert host_load(864.0 * 0.85, 100.0) == pytest.approx(1.0)


def test_a_host_with_room_costs_nothing_more() -> None:
    assert host_factors({"a": 0.4, "b": 3.0}, {"a": 1.2}) == {"a": 1.0, "b": 3.0}


def test_a_crowded_host_is_planned_down_to_what_it_bears() -> None:
    terms, gap_s, factor = Terms(1.0, 1.0, 1.0, 0.01, 30.0), 300.0, 1.0
    rates = [Rate(2.0, 2.0 + n / 10) for n in range(200)]

    for _ in range(20):
        planned = sum(1 / plan(rate, terms._replace(host_factor=factor), 0.01).interval for rate in rates)
        factor = host_factor(factor, host_load(planned, gap_s))

    assert factor > 1
    assert host_load(planned, gap_s) == pytest.approx(1.0, abs=0.02)


def test_promises_that_can_be_kept_come_first_and_broken_ones_by_worth() -> None:
    now = 10.0
    kept = Overdue(1, last=9.05, deadline=10.05, weight=1.0, rate=SLOW)
    sooner = Overdue(2, last=9.01, deadline=10.01, weight=1.0, rate=SLOW)
    broken = Overdue(3, last=8.0, deadline=9.0, weight=1.0, rate=SLOW)
    lively = Overdue(4, last=8.0, deadline=15.0, weight=10.0, rate=Rate(2.0, 1.0))

    assert [row.key for row in order_overdue([broken, kept, lively, sooner], now)] == [2, 1, 4, 3]
    assert [is_savable(row, now) for row in (kept, sooner, broken, lively)] == [True, True, False, False]


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0.01, 20), st.floats(0.1, 10)), max_size=30))
def test_the_order_loses_nobody_and_does_not_depend_on_the_order_before(rows: list[tuple[float, float, float]]) -> None:
    late = [Overdue(n, last, last + longest, weight, SLOW) for n, (last, longest, weight) in enumerate(rows)]

    ordered = order_overdue(late, 20.0)

    assert sorted(row.key for row in ordered) == list(range(len(rows)))
    assert order_overdue(reversed(late), 20.0) == ordered


def test_less_certainty_keeps_the_mean_and_never_sharpens() -> None:
    sure, unsure = Rate(12.0, 4.0), Rate(0.2, 7.0)

    assert loosened(sure) == pytest.approx(Rate(4.0, 4.0 / 3))
    assert loosened(unsure) == pytest.approx(unsure)


def test_a_page_that_answers_not_modified_is_cheap_and_visited_more_often() -> None:
    cheap = Terms(1.0, unchanged_cost(trusted=True), 1.0, 0.01, 30.0)
    dear = cheap._replace(cost_check=unchanged_cost(trusted=False))

    assert plan(SLOW, cheap, 0.1).interval < plan(SLOW, dear, 0.1).interval
    assert measured_spend(100, 80) == pytest.approx(28.0)


def test_the_correction_is_slow_bounded_and_blind_to_an_outage() -> None:
    assert trimmed(1.0, budget=100, measured=200, days=1 / 24) == pytest.approx(0.9957, abs=1e-3)
    assert trimmed(0.6, budget=100, measured=1e9, days=30) == 0.6
    assert trimmed(1.3, budget=100, measured=0, days=1) == 1.3


def test_the_chance_of_a_change_grows_with_time() -> None:
    assert chance_of_change(SLOW, -1.0) == 0.0
    assert 0.0 < chance_of_change(SLOW, 1.0) < chance_of_change(SLOW, 100.0) < 1.0
    assert plan(SLOW, Terms(1.0, 1.0, 1.0, 0.01, 30.0), 0.1, s=Settings()).p_change > 0
