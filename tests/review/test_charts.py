"""Charts: coordinates stay plain numbers, words follow the language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from review import charts, wording

NOW = datetime(2026, 11, 30, tzinfo=UTC)
YEAR = timedelta(days=365)


def points(*scores: float) -> list[charts.Point]:
    """Noise at these scores, a day apart."""
    return [charts.Point(NOW - timedelta(days=n), score, "noise") for n, score in enumerate(scores)]


@given(st.lists(st.floats(0, 1), max_size=40), st.integers(0, 800))
def test_every_mark_stays_inside_the_drawing(scores: list[float], age: int) -> None:
    chart = charts.scores_over_time(
        [charts.Point(NOW - timedelta(days=age), score, "noise") for score in scores],
        cuts=[(NOW - YEAR, 0.5)],
        now=NOW,
        span=YEAR,
    )

    for mark in chart.marks:
        assert charts.LEFT <= float(mark.x) <= chart.width
        assert 0 <= float(mark.y) <= chart.height


def test_a_higher_score_stands_higher() -> None:
    low, high = charts.scores_over_time(points(0.1, 0.9), cuts=[], now=NOW, span=YEAR).marks

    assert float(high.y) < float(low.y)


def test_a_raised_cut_is_a_step() -> None:
    chart = charts.scores_over_time([], cuts=[(NOW - YEAR, 0.4), (NOW - YEAR / 2, 0.6)], now=NOW, span=YEAR)

    assert chart.cut_path.count("V") == 1


def test_this_change_is_ringed_and_not_drawn_twice() -> None:
    chart = charts.scores_over_time([charts.Point(NOW, 0.91, "waiting", current=True)], cuts=[], now=NOW, span=YEAR)

    assert chart.current is not None
    assert chart.current.label == "0.91"
    assert chart.marks == []


@given(st.lists(st.floats(0, 1), max_size=200))
def test_a_histogram_counts_everything_once(scores: list[float]) -> None:
    strip = charts.histogram("noise", scores)

    assert sum(bar.count for bar in strip.bars) == strip.total == len(scores)


@pytest.mark.parametrize(("language", "score"), [("en", "0.91"), ("de", "0,91"), ("ja", "0.91")])
def test_numbers_are_words_and_lengths_are_not(language: str, score: str) -> None:
    with translation.override(language):
        meter = charts.meter(0.91, 0.5, write=wording.decimal)

    assert meter is not None
    assert (meter.score, meter.fill, meter.tick) == (score, "91.0", "50.0")


def test_a_page_that_is_gone_has_no_meter() -> None:
    assert charts.meter(None, 0.5) is None
