"""The founding comparison: none, noise, content by one fingerprint."""

from __future__ import annotations

import pytest

from monitoring.detection.compare import compare
from monitoring.detection.judgement import Kind
from tests.detection.prose import page, sentences


def test_the_same_bytes_are_none() -> None:
    html = page(sentences(20))

    assert compare(html, html) is Kind.NONE


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Updated 12:01", "Updated 17:45"),
        ("Page generated in 0.12 s", "Page generated in 0.98 s"),
        ("Request ID: 0a1b2c3d-4e5f", "Request ID: 99aa88bb-77cc"),
    ],
)
def test_a_clock_or_token_is_noise(was: str, now: str) -> None:
    text = sentences(30)

    assert compare(page([*text, was]), page([*text, now])) is Kind.NOISE


def test_another_text_is_content() -> None:
    assert compare(page(sentences(30, seed=1)), page(sentences(30, seed=2))) is Kind.CONTENT


def test_the_threshold_is_what_divides_noise_from_content() -> None:
    old, new = page(sentences(30)), page(sentences(30)[:-8] + sentences(8, seed=9))

    assert compare(old, new, threshold=64) is Kind.NOISE
    assert compare(old, new, threshold=0) is Kind.CONTENT
