"""Why a change was flagged, in words: every code that the machine side can store has some."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from monitoring.detection import explain, judge
from monitoring.detection.field_values import FieldType, FieldValue
from monitoring.detection.fields import FieldSpec, Source, compare_fields
from review import explaining

ROOT = Path(__file__).resolve().parents[2]


def told(code: str, text: str = "", **data: Any) -> str:
    """One stored reason as a reader sees it."""
    (sentence,) = explaining.sentences([{"code": code, "text": text, "data": data}])
    return f"{sentence.strong} {sentence.rest}".strip()


def emitted_codes() -> set[str]:
    """The reason codes that stand in the source of the judgement and of the services."""
    found: set[str] = set()
    for name in ("detection/judge.py", "services/judge.py", "services/record.py"):
        source = (ROOT / "monitoring" / name).read_text(encoding="utf-8")
        found |= set(re.findall(r'"code": "([a-z-]+)"', source))
        found |= set(re.findall(r'Reason\(\s*"([a-z-]+)"', source))
        found |= set(re.findall(r'Surface\.[A-Z]+: \("([a-z-]+)"', source))
    return found


def test_the_source_was_understood() -> None:
    assert {"changed", "score", "return", "hidden-text", "field", "contradiction", "returned"} <= emitted_codes()


@pytest.mark.parametrize("code", sorted(emitted_codes()))
def test_every_stored_code_has_words_of_its_own(code: str) -> None:
    said = told(code, text="CANARY", blocks=2, score=0.9, cut=0.5, name="price", date="2026-11-02", times=2)

    assert said
    assert "CANARY" not in said or code == "field"


@pytest.mark.parametrize("rule", sorted({rule for rule, _test in explain.RULES} | judge.LEFT_OUT.keys()))
def test_every_rule_has_words(rule: str) -> None:
    assert rule in explaining.LEFT_OUT
    assert told(f"left-out-{rule}", blocks=1) == f"1 block left out: {explaining.left_out_words(rule)}"


def test_a_rule_of_a_later_version_is_noise() -> None:
    assert told("left-out-tidal", blocks=3) == "3 blocks left out: noise"


def test_an_unknown_reason_stands_as_written() -> None:
    assert told("tidal", text="The tide came in.") == "The tide came in"


def test_the_score_comes_first_and_counts_the_cut() -> None:
    reasons = [
        {"code": "changed", "text": "", "data": {"blocks": 1, "visits": 1, "days": 5}},
        {"code": "score", "text": "", "data": {"score": 0.91, "cut": 0.5}},
    ]

    first, second = explaining.sentences(reasons)

    assert (first.strong, first.rest) == ("1.8× the cut:", "score 0.91, the cut is 0.50")
    assert (second.strong, second.rest) == ("1 block changed", "that had stood still for 1 visit and 5 days")


def test_a_return_says_when_in_the_readers_notation() -> None:
    assert told("return", date="2026-11-02") == "Back to an earlier text, the one of 2 Nov 2026"
    assert told("return", date="a while ago") == "Back to an earlier text"


def value(*texts: str) -> FieldValue:
    """A field's value: a text, or a list of them."""
    if len(texts) == 1:
        return FieldValue(type=FieldType.TEXT, canonical=texts[0], raw=texts[0])
    return FieldValue(type=FieldType.LIST, items=texts)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (value("in stock"), value("sold out"), "stock: in stock → sold out"),
        (value("in stock"), None, "stock: in stock → no longer on the page"),
        (None, value("sold out"), "stock: not on the page before → sold out"),
        (
            value("A-1", "B-2"),
            value("A-1", "C-3"),
            "stock: removed “B-2”, added “C-3”",
        ),
    ],
)
def test_a_field_is_told_with_its_values(old: FieldValue | None, new: FieldValue | None, said: str) -> None:
    spec = FieldSpec(name="stock", source=Source.CSS, selector=".stock")
    before, after = ({"stock": side} if side else {} for side in (old, new))
    (edit,) = compare_fields(before, after, [spec])

    assert told("field", text="-", name="stock", **edit.facts) == said
    assert told("field", text=edit.text, name="stock") == said  # as rows of before have it


def test_a_contradiction_names_both_sides() -> None:
    text = "price: structured data says 79.00 EUR, the page shows 89.00 EUR"

    assert told("contradiction", text=text, name="price") == text
    assert told("contradiction", text="?") == "Structured data and the visible page disagree"


def test_a_score_is_rounded_as_in_the_queue() -> None:
    assert told("score", score=0.996, cut=0.5) == "2.0× the cut: score 1.00, the cut is 0.50"
