"""Gaps between requests, and what Retry-After asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.fetching.politeness import backoff_s, next_request_at, retry_after_s

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("99999999999", 86400.0),
        ("Wed, 21 Oct 2026 07:30:00 GMT", 120.0),
        ("Wed, 21 Oct 2026 07:30:00 -0000", 120.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 9999 07:28:00 GMT", 86400.0),
        ("-1, soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("9" * 400, None),
        ("Wed, 99 Oct 2026 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms_and_bounded(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, now=NOW) == seconds


@given(st.text(max_size=60))
def test_no_retry_after_raises_or_leaves_the_bounds(value: str) -> None:
    seconds = retry_after_s(value, now=NOW)

    assert seconds is None or 0 <= seconds <= 86400


def test_retry_after_only_ever_lengthens_the_gap() -> None:
    assert next_request_at(100.0, 5.0, retry_after=2.0) == 105.0
    assert next_request_at(100.0, 5.0, retry_after=60.0) == 160.0


def test_backoff_doubles_up_to_a_day() -> None:
    assert [backoff_s(count) for count in (0, 1, 2, 3)] == [0.0, 60.0, 120.0, 240.0]
    assert backoff_s(10**6) == 86400.0
