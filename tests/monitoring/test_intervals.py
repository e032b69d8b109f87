"""Lengths of time as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.services.intervals import format_interval, parse_interval


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("30 min", 1800),
        ("30m", 1800),
        ("6 h", 21_600),
        ("6 Hours", 21_600),
        ("1.5 d", 129_600),
        ("1,5 d", 129_600),
        ("2 days", 172_800),
        ("1 week", 604_800),
    ],
)
def test_common_ways_to_write_it_are_read(text: str, seconds: int) -> None:
    assert parse_interval(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5 min", "5 min 3 s", "1e9", "5 months", "½ h", "9" * 12])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        parse_interval(text)


@given(st.integers(min_value=0, max_value=31_536_000))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert parse_interval(format_interval(seconds)) == seconds


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_interval(text)
    except ValueError as error:
        found = -1 if "no length of time" in str(error) else -2

    assert found >= -1
