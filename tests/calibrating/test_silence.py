"""Silence by the site's own past, and a short form of `make silence-sim`."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.calibrating.silence import Past, silence
from monitoring.scheduling import Rate
from tests.calibrating.simulation.silence import Fleet, bound, delays, false_alarms, within

KNOWN = Past(Rate(5000.0, 10_000.0), still_days=0.0)  # one change in two days


def test_a_known_rate_needs_the_logarithm_of_its_runs() -> None:
    needed = math.log(3000 * 0.5)

    assert silence(KNOWN).needed == pytest.approx(needed)
    assert not silence(replace(KNOWN, still_days=2 * needed * 0.99)).is_silent
    assert silence(replace(KNOWN, still_days=2 * needed * 1.01)).is_silent


def test_three_intervals_are_the_least() -> None:
    slow = Past(Rate(100.0, 100_000.0), still_days=2_900.0)

    assert silence(slow).needed == 3.0
    assert not silence(slow).is_silent


def test_a_rate_that_rests_on_few_changes_says_it_later() -> None:
    thin = Past(Rate(4.0, 8.0), still_days=16.0)

    assert silence(replace(KNOWN, still_days=16.0)).is_silent
    assert not silence(thin).is_silent


def test_noise_that_stopped_says_it_sooner() -> None:
    still = replace(KNOWN, still_days=5.0, visits_a_day=4.0)
    noisy = replace(still, visits=400, moved=380, still_visits=20)

    assert not silence(still).is_silent
    assert silence(noisy).is_silent
    assert silence(noisy).by_companions > silence(noisy).by_changes
    assert silence(replace(noisy, moved=0)).by_companions == 0.0


def test_between_raising_and_over_nothing_changes() -> None:
    middle = silence(replace(KNOWN, still_days=10.0))

    assert not middle.is_silent
    assert not middle.is_over
    assert silence(replace(KNOWN, still_days=1.0)).is_over


@given(st.floats(0.5, 1000), st.floats(0.1, 1000), st.floats(0, 1000), st.floats(0, 1000), st.integers(0, 500))
def test_longer_stillness_never_says_less(a: float, b: float, days: float, more: float, still: int) -> None:
    past = Past(Rate(a, b), days, visits=100, moved=50, still_visits=still, visits_a_day=2.0)

    longer = replace(past, still_days=days + more, still_visits=still + 1)

    assert silence(longer).evidence >= silence(past).evidence


def test_a_known_rate_finds_stale_copies_without_crying_wolf() -> None:
    fleet = Fleet(0.5, 3000.0, visits_a_day=2.0)

    assert within(delays(fleet, 200, seed="short"), bound(0.5)) >= 0.95
    assert false_alarms(fleet, 200, 3.0, seed="short") <= 2.0  # a small sample of what `make silence-sim` holds to 1


def test_companions_find_stale_copies_within_three_intervals() -> None:
    fleet = Fleet(0.5, 30.0, visits_a_day=2.0, noisy=0.9)

    assert within(delays(fleet, 200, seed="short"), 3.0) >= 0.95
    assert false_alarms(fleet, 200, 3.0, seed="short") <= 2.0
