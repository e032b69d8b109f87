"""What a visit met, in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitoring.detection.quality_phrases import MEANING
from monitoring.models import Check
from review import visits

ROOT = Path(__file__).resolve().parents[2]
TOLD_APART = {"status-error", "redirect-changed"}


def codes() -> set[str]:
    """The codes of failed fetches and of pages that aren't the page, as they stand in the source."""
    quality = (ROOT / "monitoring/detection/quality.py").read_text(encoding="utf-8")
    found = set(re.findall(r'Quality\(\s*State\.[A-Z]+,\s*"([a-z0-9-]+)"', quality))
    contract = (ROOT / "docs/contracts.md").read_text(encoding="utf-8")
    listed = contract[contract.index("`Failure.reason` is one of") :].split("\n\n")[0]
    return found | set(re.findall(r"`([a-z-]+)`", listed)) | MEANING.keys()


def test_the_source_was_understood() -> None:
    assert {"truncated", "dns", "human-check", "other-language"} <= codes()


@pytest.mark.parametrize("code", sorted(codes() - TOLD_APART))
def test_every_reason_of_a_visit_has_words(code: str) -> None:
    said = visits.visit_words(Check(reason=code, detail="RAW"))

    assert said.endswith(".")
    assert "RAW" not in said


def test_a_status_and_a_host_are_named() -> None:
    assert visits.visit_words(Check(reason="status-error", status=502)) == "The site answered with status 502."
    assert visits.visit_words(Check(reason="redirect-changed", detail="served from shop.example")) == (
        "The page is now served from shop.example."
    )


def test_what_has_no_words_stands_as_written() -> None:
    assert visits.visit_words(Check(reason="tidal", detail="Low water.")) == "Low water."
