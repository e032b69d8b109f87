"""Alarms by looks: raised late, told again rarely, over later still."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from monitoring.scheduling.alarms import Event, Patience, Seen, after_look

P = Patience()


def told(looks: Iterable[tuple[float, int]]) -> list[tuple[float, Event]]:
    """What is told after looks of (time in minutes, pages in trouble)."""
    seen, found = Seen(), []
    for minute, pages in looks:
        seen, event = after_look(seen, trouble=pages > 0, pages=pages, now=minute * 60, p=P)
        if event is not None:
            found.append((minute, event))
    return found


def each_minute(*pages: int) -> list[tuple[float, int]]:
    return list(enumerate(pages))


def test_trouble_is_raised_once_it_has_lasted_and_not_before() -> None:
    assert told(each_minute(*[3] * 5)) == []
    assert told(each_minute(*[3] * 60)) == [(5, Event.RAISED)]


def test_three_looks_are_needed_however_far_apart() -> None:
    assert told([(0, 1), (6, 1)]) == []
    assert told([(0, 1), (6, 1), (12, 1)]) == [(12, Event.RAISED)]


def test_what_comes_and_goes_is_told_once() -> None:
    flapping = [1, 1, 0] * 30
    assert told(each_minute(*flapping)) == []
    assert told(each_minute(*[1] * 6, *[0, 0, 1] * 40)) == [(5, Event.RAISED)]


def test_it_is_over_once_it_has_been_away_for_longer() -> None:
    assert told(each_minute(*[2] * 6, *[0] * 20)) == [(5, Event.RAISED), (21, Event.CLEARED)]


def test_it_is_told_again_after_a_day_and_at_once_when_it_has_grown() -> None:
    lasting = [(float(minute), 2) for minute in range(0, 3 * 1440, 5)]
    assert [event for _, event in told(lasting)] == [Event.RAISED, Event.REMINDED, Event.REMINDED]
    assert told(each_minute(*[2] * 6, *[11] * 5, *[12] * 5)) == [(5, Event.RAISED), (11, Event.GROWN)]


def test_a_time_in_which_nobody_looked_counts_for_nothing() -> None:
    assert told([(0, 1), (1, 1), (600, 1), (601, 1)]) == []
    assert told([*each_minute(*[1] * 6), (600, 0), (601, 0), (602, 0)]) == [(5, Event.RAISED)]


def test_a_clock_that_was_set_back_raises_nothing() -> None:
    assert told([(100, 1), (101, 1), (40, 1), (41, 1)]) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=40))
def test_it_is_raised_and_over_in_turn(steps: list[tuple[int, int]]) -> None:
    at, looks = 0, []
    for step, pages in steps:
        at += step
        looks.append((at, pages))
    turns = [event for _, event in told(looks) if event in {Event.RAISED, Event.CLEARED}]
    assert turns == [Event.RAISED, Event.CLEARED] * (len(turns) // 2) + [Event.RAISED] * (len(turns) % 2)
