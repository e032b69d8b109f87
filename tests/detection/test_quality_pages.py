"""Whole fictional pages that are, or are not, the page: tests/pages/quality_*."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitoring.detection.quality import PageFacts, assess
from monitoring.detection.read import read

CASES = sorted((Path(__file__).parents[1] / "pages").glob("quality_*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_page_is_assessed_as_expected(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    html = (case / "new.html").read_text(encoding="utf-8")
    old = case / "old.html"
    baseline = read(old.read_text(encoding="utf-8")) if old.exists() else None

    quality = assess(PageFacts(html=html), read(html), baseline)

    assert {"state": quality.outcome, "code": quality.code} == expected


@pytest.mark.parametrize("case", [c for c in CASES if (c / "old.html").exists()], ids=lambda case: case.name)
def test_the_page_before_is_good(case: Path) -> None:
    html = (case / "old.html").read_text(encoding="utf-8")

    assert assess(PageFacts(html=html), read(html)).is_good


def test_every_language_has_cases() -> None:
    assert {case.name.split("_")[1] for case in CASES} >= {
        "de",
        "en",
        "es",
        "fr",
        "it",
        "ja",
        "ko",
        "nl",
        "pl",
        "pt",
        "zh",
    }


def test_a_page_in_another_language_is_not_compared() -> None:
    french, german = (
        (CASES[0].parent / f"quality_{lang}_plain" / "new.html").read_text(encoding="utf-8") for lang in ("fr", "de")
    )

    quality = assess(PageFacts(html=german), read(german), read(french))

    assert (quality.outcome, quality.code, quality.evidence) == ("blocked", "other-language", ("fr before, de now",))


def test_a_far_longer_page_in_another_language_is_the_better_one() -> None:
    folder = CASES[0].parent
    german = (folder / "quality_de_plain" / "new.html").read_text(encoding="utf-8")
    longer = german.replace(
        "</main>",
        "".join(f"<p>Absatz {n} regelt noch viel mehr, als hier je gestanden hat.</p>" for n in range(20)) + "</main>",
    )
    french = (folder / "quality_fr_plain" / "new.html").read_text(encoding="utf-8")

    assert assess(PageFacts(html=longer), read(longer), read(french)).is_good
