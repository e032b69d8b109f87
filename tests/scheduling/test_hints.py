"""What a hint is worth: by its source's record, and by the waiting it saves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.scheduling.hints import KEPT, Trust, accepted_cost, is_worth, next_poll_s, telling

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
OLD = NOW - timedelta(days=3)


def test_trust_follows_the_record() -> None:
    liar = honest = Trust()
    assert honest.precision == 0.5
    for _ in range(20):
        liar, honest = liar.after(changed=False), honest.after(changed=True)

    assert liar.precision < 0.05
    assert honest.precision > 0.95


@given(st.lists(st.booleans(), max_size=60), st.floats(0, 1e6), st.floats(0, 1e6))
def test_trust_stays_a_share_and_forgets(record: list[bool], hits: float, misses: float) -> None:
    trust = Trust(hits, misses)
    for changed in record:
        trust = trust.after(changed=changed)

    assert 0 < trust.precision < 1
    assert not record or trust.hits + trust.misses <= max(KEPT, 1) + 1


def test_a_hint_is_followed_where_the_waiting_it_saves_is_worth_a_fetch() -> None:
    daily = accepted_cost(weight=1.0, rate=0.1, interval_days=1.0)

    assert is_worth(weight=1.0, precision=0.5, wait_days=0.9, cost=daily)
    assert not is_worth(weight=1.0, precision=0.5, wait_days=0.05, cost=daily)  # it is due soon anyway
    assert not is_worth(weight=1.0, precision=0.02, wait_days=0.9, cost=daily)  # nobody believes it
    assert not is_worth(weight=1.0, precision=1.0, wait_days=-0.1, cost=0.0)  # it never puts a visit off


@pytest.mark.parametrize("weight", [0.1, 1.0, 50.0])
def test_weight_alone_does_not_decide(weight: float) -> None:
    """The accepted interval already says what this page's waiting costs."""
    cost = accepted_cost(weight=weight, rate=0.1, interval_days=2.0)

    assert is_worth(weight=weight, precision=0.5, wait_days=1.0, cost=cost)


def test_dates_that_tell_nothing_are_left_out() -> None:
    assert telling([("a", OLD), ("b", OLD), ("c", OLD)], read_at=NOW) == {}  # the list's own date
    assert telling([("a", NOW - timedelta(seconds=5))], read_at=NOW) == {}  # made up when it was asked for
    assert telling([("a", NOW + timedelta(days=1))], read_at=NOW) == {}
    assert telling([("a", OLD)], read_at=NOW) == {"a": OLD}
    many = [("a", OLD), ("b", OLD), ("c", OLD), ("d", NOW - timedelta(hours=1))]
    assert telling(many, read_at=NOW) == {"d": NOW - timedelta(hours=1)}


def test_the_latest_date_of_an_address_counts() -> None:
    later = OLD + timedelta(hours=2)

    assert telling([("a", OLD), ("a", later), ("b", OLD + timedelta(hours=1))], read_at=NOW)["a"] == later


def test_a_source_is_read_more_rarely_the_less_it_is_worth() -> None:
    assert next_poll_s(Trust()) == 3600
    assert next_poll_s(Trust(hits=50)) == 3600
    assert 3600 < next_poll_s(Trust(misses=10)) < 86_400
    assert next_poll_s(Trust(misses=10_000)) == 86_400
