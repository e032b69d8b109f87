"""Whole fictional pages whose fields change, or only seem to: tests/pages/fields_*."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitoring.detection.fields import DEFAULT_FIELDS, FieldSpec, compare_fields, extract_fields, validate_spec

CASES = sorted((Path(__file__).parents[1] / "pages").glob("fields_*"))


def specs_of(expected: dict[str, object]) -> tuple[FieldSpec, ...]:
    rules = expected["specs"]
    if isinstance(rules, str):
        return DEFAULT_FIELDS[rules]
    assert isinstance(rules, list)
    return tuple(FieldSpec(**rule) for rule in rules)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_edits_are_as_expected(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    specs = specs_of(expected)
    for spec in specs:
        validate_spec(spec)
    old, new = (extract_fields((case / f"{side}.html").read_text(encoding="utf-8"), specs) for side in ("old", "new"))

    edits = compare_fields(old, new, specs)

    assert old, "the case reads nothing from its old page"
    assert [edit.text for edit in edits] == expected["edits"]


def test_there_are_cases() -> None:
    assert len(CASES) >= 10
