"""The evaluation gate: hand-written pairs on fictional pages in six languages, with pinned floors.

Each case of tests/pages/judge_*/cases.json edits the page beside it and says what the judge has to call it. The
digest pins the corpus: a case that is changed or dropped shows up as a changed digest, in a commit of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from monitoring.detection.read import read
from tests.evaluation.classify import classify

PAGES = Path(__file__).resolve().parent.parent / "pages"
DIGEST = "785c8fe7405d5406"
CASES = 154
RECALL_FLOOR = 1.0
ALARM_CEILING = 0.0
# Pages by their number of words, short ones apart: there is less around an edit that speaks for or against it.
SIZES = {"under 50": (0, 49), "50 to 200": (50, 200)}
LEAST_OF_EACH = 15  # pairs of either kind that a size needs for its floors to say anything


@dataclass(frozen=True, slots=True)
class Case:
    """One pair: earlier captures, the base page, the page after the edit, and the kind it must get."""

    name: str
    expect: str
    history: tuple[str, ...]
    old: str
    new: str


def edited(page: str, replacements: list[list[str]]) -> str:
    for was, now in replacements:
        assert was in page, f"the case does not fit its page: {was!r}"
        page = page.replace(was, now)
    return page


def cases() -> Iterator[Case]:
    for folder in sorted(PAGES.glob("judge_*")):
        base = (folder / "base.html").read_text("utf-8")
        for row in json.loads((folder / "cases.json").read_text("utf-8")):
            history = [edited(base, step) for step in row.get("history", [])] + [base] * row.get("quiet", 0)
            old = edited(base, row.get("old", []))
            new = row.get("whole") or edited(base, row["replace"])
            yield Case(f"{folder.name[6:]}/{row['name']}", row["expect"], tuple(history), old, new)


ALL = list(cases())


def words(page: str) -> int:
    """Words that a reader sees; where words are not spaced, two characters count as one."""
    texts = [block.text for block in read(page).visible]
    return sum(max(len(text.split()), len(CJK.findall(text)) // 2) for text in texts)


CJK = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_case_gets_its_kind(case: Case) -> None:
    assert classify(case.history, case.old, case.new) == case.expect


def test_the_floors_hold() -> None:
    kinds = [(case.expect, classify(case.history, case.old, case.new)) for case in ALL]
    content = [got for wanted, got in kinds if wanted == "content"]
    quiet = [got for wanted, got in kinds if wanted in ("noise", "none")]

    assert content.count("content") / len(content) >= RECALL_FLOOR
    assert quiet.count("content") / len(quiet) <= ALARM_CEILING


@pytest.mark.parametrize("size", SIZES)
def test_the_floors_hold_on_short_pages(size: str) -> None:
    least, most = SIZES[size]
    pairs = [case for case in ALL if least <= words(case.old) <= most]
    content = [classify(case.history, case.old, case.new) for case in pairs if case.expect == "content"]
    quiet = [classify(case.history, case.old, case.new) for case in pairs if case.expect in ("noise", "none")]

    assert min(len(content), len(quiet)) >= LEAST_OF_EACH
    assert content.count("content") / len(content) >= RECALL_FLOOR
    assert quiet.count("content") / len(quiet) <= ALARM_CEILING


def test_the_corpus_is_the_one_the_floors_were_set_on() -> None:
    digest = hashlib.sha256()
    for path in sorted(PAGES.glob("judge_*/*")):
        digest.update(f"{path.parent.name}/{path.name}\n".encode() + path.read_bytes())

    assert len(ALL) == CASES
    assert digest.hexdigest()[:16] == DIGEST


def test_sixty_pairs_speak_six_languages() -> None:
    assert len(ALL) >= 60
    assert len({case.name[:2] for case in ALL}) >= 6
