"""Daily figures and what they say."""

from __future__ import annotations

import pytest

from monitoring.calibrating import drift
from monitoring.calibrating.drift import Day, Sign, signs

TODAY = 1000


def days(
    value: float, *, last: int, first: int, per_day: int = 4, ms: int = 300, bits: int = 4, **counts: int
) -> list[Day]:
    scores, distances, durations = [0] * drift.SCORE_BINS, [0] * drift.BIT_BINS, [0] * drift.MS_BINS
    scores[drift.score_bin(value)] = distances[drift.bit_bin(bits)] = durations[drift.ms_bin(ms)] = per_day
    return [Day(TODAY - n, counts or {"noise": per_day}, scores, distances, durations) for n in range(last, first)]


def sign(kind: str, found: list[Day]) -> Sign:
    return next(s for s in signs(found, TODAY) if s.kind == kind)


def test_the_median_lies_inside_its_bin() -> None:
    assert drift.median([0, 4, 0], [0.0, 1.0, 2.0, 3.0]) == 1.5
    assert drift.median([0, 0], [0.0, 1.0, 2.0]) is None


def test_noise_that_grows_by_half_is_drift() -> None:
    grown = sign("noise-score", days(0.32, last=0, first=14) + days(0.12, last=14, first=90))

    assert grown.begins
    assert grown.data == {"now": pytest.approx(0.325), "before": pytest.approx(0.125)}
    assert not sign("noise-score", days(0.17, last=0, first=14) + days(0.12, last=14, first=90)).begins


def test_a_ratio_of_small_numbers_is_no_drift() -> None:
    assert not sign("noise-distance", days(0.1, last=0, first=14, bits=2) + days(0.1, last=14, first=90, bits=0)).begins
    assert sign("noise-distance", days(0.1, last=0, first=14, bits=9) + days(0.1, last=14, first=90, bits=3)).begins


def test_little_noise_says_nothing() -> None:
    assert not sign("noise-score", days(0.5, last=0, first=14) + days(0.1, last=14, first=16)).begins


def test_drift_goes_on_until_it_is_well_below() -> None:
    between = sign("noise-score", days(0.17, last=0, first=14) + days(0.12, last=14, first=90))
    gone = sign("noise-score", days(0.13, last=0, first=14) + days(0.12, last=14, first=90))

    assert (between.begins, between.goes_on) == (False, True)
    assert not gone.goes_on


@pytest.mark.parametrize(
    ("counts", "begins", "goes_on"),
    [({"blocked": 2}, True, True), ({"blocked": 1, "none": 2}, False, True), ({"blocked": 1}, False, True), ({"none": 9}, False, False)],
)  # fmt: skip
def test_blocks_of_the_last_day(counts: dict[str, int], begins: bool, goes_on: bool) -> None:
    found = sign("blocked", [Day(TODAY, counts)])

    assert (found.begins, found.goes_on) == (begins, goes_on)


def test_lost_captures_are_held_against_what_is_usual() -> None:
    usual = [Day(TODAY - n, {"none": 9, "error": 1}) for n in range(3, 30)]

    assert sign("captures", [*usual, Day(TODAY, {"error": 3, "none": 1})]).begins
    assert not sign("captures", [*[Day(TODAY - n, {"error": 5, "none": 5}) for n in range(3, 30)], Day(TODAY, {"error": 3, "none": 1})]).begins  # fmt: skip


def test_a_site_that_slows_down() -> None:
    assert sign("slow", days(0.1, last=0, first=3, ms=4000) + days(0.1, last=3, first=30, ms=300)).begins
    assert not sign("slow", days(0.1, last=0, first=3, ms=60) + days(0.1, last=3, first=30, ms=10)).begins
