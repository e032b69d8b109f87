"""The table of volatile fragments, walked row by row."""

from __future__ import annotations

import re

import pytest

from monitoring.detection.normalise import mask
from monitoring.detection.volatile_table import KEEP, KEEPS, ROWS, Row

LANGUAGES = {"en", "de", "fr", "es", "it", "nl", "pt", "pl", "ja", "zh", "ko"}

EXAMPLES = [pytest.param(row, text, id=f"{row.cls}-{row.lang}-{text}") for row in ROWS for text in row.examples]
COUNTERS = [pytest.param(row, text, id=f"{row.cls}-{row.lang}-{text}") for row in ROWS for text in row.counters]
GUARDED = [pytest.param(text, id=text) for row in KEEPS for text in row.examples]


@pytest.mark.parametrize(("row", "text"), EXAMPLES)
def test_an_example_is_masked_whole_and_as_its_class(row: Row, text: str) -> None:
    masked = mask(text)

    assert [(s.start, s.end, s.cls) for s in masked.spans] == [(0, len(masked.source), row.cls)]


@pytest.mark.parametrize(("row", "text"), EXAMPLES)
def test_an_example_is_masked_inside_a_sentence(row: Row, text: str) -> None:
    masked = mask(f"Foo: {text}, bar")

    assert [s.cls for s in masked.spans] == [row.cls]
    assert masked.text.startswith("foo: \x02")


@pytest.mark.parametrize(("row", "text"), COUNTERS)
def test_a_counter_example_is_not_masked_as_that_class(row: Row, text: str) -> None:
    for sentence in (text, f"x {text} y"):
        assert row.cls not in [s.cls for s in mask(sentence).spans]


@pytest.mark.parametrize("text", GUARDED)
def test_a_guarded_text_is_never_masked(text: str) -> None:
    for sentence in (text, f"See {text}, please"):
        assert mask(sentence).spans == ()


@pytest.mark.parametrize("row", [*KEEPS, *ROWS], ids=lambda row: f"{row.cls}-{row.lang}-{row.pattern[:20]}")
def test_every_row_has_examples_and_counter_examples(row: Row) -> None:
    assert row.examples
    assert row.counters or row.cls == KEEP or row.pattern.count("t") > 1


@pytest.mark.parametrize("row", [*KEEPS, *ROWS], ids=lambda row: f"{row.cls}-{row.lang}-{row.pattern[:20]}")
def test_repetition_is_bounded_but_for_opaque_strings(row: Row) -> None:
    unbounded = re.findall(r"(?<!\\)[])a-z][*+]|,\}", re.sub(r"\[[^\]]*\]", "x]", row.pattern))

    assert not unbounded or row.cls in ("id", "token")


@pytest.mark.parametrize("cls", ["date", "relative", "counter"])
def test_every_language_has_each_worded_class(cls: str) -> None:
    covered = {lang for row in ROWS if row.cls == cls for lang in row.lang.split()}

    assert covered >= LANGUAGES


@pytest.mark.parametrize(
    "text",
    [
        "$12.50",
        "1.234,56 €",
        "1 234,56 zł",
        "¥1,200",
        "CHF 1'234.50",
        "12,000원",
        "The fee is 2.05 EUR",
        "9001:2015",
        "ISO 22000:2018 certified",
        "+49 (0)30 123456-10",
        "§ 13:20",
        "Version 12.10.2024",
        "192.168.10.12",
        "Kundennummer 4711",
        "within 14 days",
        "binnen 14 Tagen",
        "under 16 years of age",
        "24/7",
    ],
)
def test_substance_is_not_masked(text: str) -> None:
    assert mask(text).spans == ()
