"""Laws of the revisit rule."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.scheduling.core import (
    Rate,
    Settings,
    Terms,
    fitted_prior,
    hash01,
    observe,
    plan,
    rate_range,
    retry_days,
    solve_price,
)

RATES = st.builds(Rate, a=st.floats(0.15, 200), b=st.floats(0.01, 5000))
ELAPSED = st.floats(1 / 86_400, 3650)
TERMS = st.builds(
    Terms,
    weight=st.floats(0.01, 100),
    cost_check=st.floats(0.05, 1),
    cost_full=st.just(1.0),
    min_days=st.floats(0.0005, 0.5),
    max_days=st.floats(1, 60),
    host_factor=st.floats(1, 100),
)
PRIOR = Rate(0.5, 5.0)
PLAIN = Terms(1.0, 1.0, 1.0, 0.003, 7.0)


@given(rate=RATES, elapsed=ELAPSED, changed=st.booleans())
def test_what_is_known_stays_finite_and_positive(rate: Rate, elapsed: float, changed: bool) -> None:
    after = observe(rate, elapsed, changed)

    assert math.isfinite(after.a)
    assert math.isfinite(after.b)
    assert after.a >= 0.15
    assert after.b > 0


@given(rate=RATES, elapsed=ELAPSED)
def test_a_change_says_more_change_than_no_change(rate: Rate, elapsed: float) -> None:
    seen, unseen = observe(rate, elapsed, True), observe(rate, elapsed, False)

    assert seen.a / seen.b >= unseen.a / unseen.b


@pytest.mark.parametrize("elapsed", [0.0, -1.0])
def test_a_clock_set_back_teaches_nothing(elapsed: float) -> None:
    assert observe(PRIOR, elapsed, True) == PRIOR


def test_without_forgetting_the_update_is_the_exact_conjugate() -> None:
    after = observe(Rate(2.0, 10.0), 5.0, False, Settings(regime_days=math.inf))

    assert after == pytest.approx(Rate(2.0, 15.0))


def test_the_rate_of_a_steady_page_is_found() -> None:
    rate = PRIOR
    for visit in range(400):
        rate = observe(rate, 1.0, visit % 4 == 0)

    assert rate.a / rate.b == pytest.approx(0.29, abs=0.08)  # one bit a day at a chance of 1/4: ln(4/3) a day


def test_a_page_that_turns_lively_is_noticed_within_a_month() -> None:
    rate = PRIOR
    for _ in range(365):
        rate = observe(rate, 1.0, False)
    quiet = rate.a / rate.b
    for _ in range(30):
        rate = observe(rate, 1.0, True)

    assert rate.a / rate.b > 50 * quiet


@given(rate=RATES, terms=TERMS, u=st.floats(0, 0.999), price=st.floats(1e-6, 100))
def test_the_interval_keeps_to_the_limits(rate: Rate, terms: Terms, u: float, price: float) -> None:
    found = plan(rate, terms, price, u)

    assert terms.min_days <= found.interval <= terms.max_days
    assert 0 <= found.p_change <= 1
    assert found.reason in {"expected-change", "max-age", "min-interval"}


@given(terms=TERMS, u=st.floats(0, 0.999), fixed=st.floats(0.0001, 100))
def test_a_fixed_interval_keeps_to_the_limits_too(terms: Terms, u: float, fixed: float) -> None:
    found = plan(PRIOR, terms, 1.0, u, Settings(fixed_days=fixed))

    assert terms.min_days <= found.interval <= terms.max_days


def test_four_times_the_weight_halves_the_interval() -> None:
    once = plan(PRIOR, PLAIN, 0.05)
    four = plan(PRIOR, PLAIN._replace(weight=4.0), 0.05)

    assert once.reason == "expected-change"
    assert four.interval == pytest.approx(once.interval / 2)


def test_each_objective_meets_its_own_equation() -> None:
    rate, wide = 0.5, PLAIN._replace(min_days=1e-9, max_days=1e9)

    waits = {
        name: plan(Rate(5.0, 10.0), wide, 0.3, 0.5, Settings(objective=name)).interval
        for name in ("harmonic", "freshness")
    }

    x, y = waits["harmonic"], waits["freshness"]
    assert x - (1 - math.exp(-rate * x)) / rate == pytest.approx(0.3)
    assert (1 - math.exp(-rate * y)) / rate - y * math.exp(-rate * y) == pytest.approx(0.3)


def test_freshness_gives_up_on_a_page_that_changes_too_fast() -> None:
    lively = plan(Rate(500.0, 10.0), PLAIN, 0.3, 0.5, Settings(objective="freshness"))

    assert lively.reason == "max-age"


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="cheapness"):
        Settings(objective="cheapness")


def test_jitter_spreads_to_both_sides_but_never_past_the_promise() -> None:
    fixed = Settings(fixed_days=1.0)

    assert plan(PRIOR, PLAIN, 1.0, 0.0, fixed).interval == pytest.approx(0.9)
    assert plan(PRIOR, PLAIN, 1.0, 0.999, fixed).interval == pytest.approx(1.1, abs=0.001)
    assert plan(PRIOR, PLAIN, 1.0, 0.999, Settings(fixed_days=30.0)).interval <= PLAIN.max_days
    assert plan(PRIOR, PLAIN, 1.0, 0.5, fixed).reason == "fixed-interval"


def test_the_solved_price_spends_the_budget() -> None:
    rows = [(Rate(0.5 + n / 20, 5.0), PLAIN) for n in range(100)]

    price = solve_price(rows, 100.0, 1.0)

    spend = sum(plan(rate, terms, price).spend for rate, terms in rows)
    assert spend == pytest.approx(100.0, rel=0.05)


def test_a_fixed_interval_does_not_depend_on_the_price() -> None:
    assert solve_price([(PRIOR, PLAIN)], 1.0, 0.7, Settings(fixed_days=1.0)) == 0.7


def test_hashes_are_the_same_everywhere_and_spread_evenly() -> None:
    values = [hash01("audit", pk, 1) for pk in range(2000)]

    assert hash01(7, 3) == hash01("7", "3") == pytest.approx(0.305841, abs=1e-6)
    assert all(0 <= value < 1 for value in values)
    assert sum(value < 0.1 for value in values) == pytest.approx(200, abs=45)


@pytest.mark.parametrize(
    ("fails", "minutes"), [(0, 5), (1, 5), (2, 10), (3, 20), (4, 40), (7, 320), (9, 360), (10_000, 360)]
)
def test_retries_double_up_to_the_interval(fails: int, minutes: float) -> None:
    assert retry_days(fails, 0.25) * 1440 == pytest.approx(minutes)


def test_retry_after_wins_up_to_a_day() -> None:
    assert retry_days(1, 0.25, retry_after_days=0.5) == 0.5
    assert retry_days(1, 0.25, retry_after_days=99) == 1.0


def test_the_prior_under_which_pages_were_drawn_is_found_again() -> None:
    chance = random.Random(11)
    for days in (1.0, 20.0):
        seen = []
        for _ in range(3000):
            rate, watched = chance.gammavariate(0.5, 1 / days), chance.uniform(5, 60)
            count, at = 0, chance.expovariate(rate) if rate > 0 else math.inf
            while at < watched:
                count, at = count + 1, at + chance.expovariate(rate)
            seen.append((float(count), watched))

        assert fitted_prior(seen, 5.0) == pytest.approx(days, rel=0.12)


def test_a_prior_stays_within_its_bounds_and_is_kept_where_nothing_was_seen() -> None:
    assert fitted_prior([], 5.0) == 5.0
    assert fitted_prior([(0.0, 100.0)] * 30, 5.0) == 180.0
    assert fitted_prior([(900.0, 1.0)] * 30, 5.0) == 0.25


@pytest.mark.parametrize(
    ("a", "low", "high"),
    [
        (2.0, 0.531812, 3.889720),
        (6.0, 3.151898, 9.274674),
        (0.5, 0.007895, 1.352772),
    ],  # tables of chi squared with 2a degrees
)
def test_the_range_of_a_rate_is_that_of_its_gamma_distribution(a: float, low: float, high: float) -> None:
    assert rate_range(Rate(a, 1.0)) == pytest.approx((low, high), abs=1e-5)
    assert rate_range(Rate(a, 10.0)) == pytest.approx((low / 10, high / 10), abs=1e-6)


@given(rate=RATES.filter(lambda rate: rate.a <= 8))
def test_a_range_holds_its_mean_unless_it_is_very_skewed_and_is_in_order(rate: Rate) -> None:
    low, high = rate_range(rate)
    assert 0 <= low < high
    assert rate.a < 0.3 or low < rate.a / rate.b < high
