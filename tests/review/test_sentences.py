"""A diff document in words."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from monitoring.detection.blocks import Block, Reading, Surface
from monitoring.detection.diff import diff
from monitoring.detection.diff import summary as codes_of
from review import sentences

FIRST = "We keep account records for as long as your account is open and for 12 months afterwards."
SECOND = "Our services are not directed to people under 16, and we do not knowingly collect their personal data."
THIRD = "A copy of the clauses is available on request from our registered office at any time."
FOURTH = "We answer within one month, and you may complain to the authority."
NEW = "Support conversations are kept for five years."


def reading(*texts: str, surface: Surface = Surface.VISIBLE, tag: str = "p") -> Reading:
    """A page of these paragraphs."""
    return Reading(
        blocks=tuple(
            Block(text=text, tag=tag, path=f"main/{tag}", slot=f"main/{tag}[{n}]", surface=surface)
            for n, text in enumerate(texts)
        ),
        lang="en",
        direction="ltr",
        title="",
    )


def test_the_head_counts_what_happened() -> None:
    edited = FIRST.replace("12", "24") + " " + NEW
    document = diff(
        reading(SECOND, FIRST, THIRD, FOURTH), reading(edited, THIRD, FOURTH, "An entirely new paragraph.", SECOND)
    )

    assert sentences.summary(document) == ("1 clause reworded, 1 paragraph added, 1 sentence added, 1 paragraph moved")


def test_many_are_counted_with_their_plural_and_grouped() -> None:
    row = {"op": "added", "surface": "visible", "tag": "li", "heading": 0}

    assert sentences.summary({"blocks": [row] * 1200}) == "1,200 entries added"


@pytest.mark.parametrize(
    ("surface", "said"),
    [
        (Surface.HIDDEN, "1 hidden text reworded"),
        (Surface.ATTRIBUTE, "1 alternative text reworded"),
        (Surface.EMBEDDED, "1 embedded text reworded"),
        (Surface.STYLE, "1 style sheet text reworded"),
    ],
)
def test_text_that_readers_do_not_see_is_told_apart(surface: Surface, said: str) -> None:
    document = diff(reading(FIRST, surface=surface), reading(FIRST.replace("12", "24"), surface=surface))

    assert sentences.summary(document) == said


@pytest.mark.parametrize("empty", [{}, {"blocks": []}, {"blocks": [{"op": "equal"}, {"op": "fold"}]}])
def test_no_change_is_no_sentence(empty: dict[str, Any]) -> None:
    assert sentences.summary(empty) == ""


def test_a_change_that_has_no_name_is_not_passed_over() -> None:
    row = {"op": "reworded", "surface": "visible", "tag": "p", "heading": 0}

    assert sentences.summary({"blocks": [row], "places": 2}) == "2 places"


def rows() -> list[dict[str, Any]]:
    """A changed row of every kind that a document can hold."""
    ops, surfaces = ("reworded", "rewritten", "added", "removed", "moved_to"), [str(s) for s in Surface]
    return [
        {"op": op, "surface": surface, "tag": tag, "heading": heading, "sentences": [1, 1], "edits": 1}
        for op, surface, (tag, heading) in product(ops, surfaces, (("p", 0), ("li", 0), ("h2", 2)))
    ]


def test_every_code_has_words() -> None:
    codes = {code for row in rows() for code, _n in codes_of({"blocks": [row]})}

    assert codes
    assert codes <= sentences.HAPPENED.keys()


def test_a_code_of_a_later_version_is_still_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "counted_codes", lambda document: [("table-turned", 2)])

    assert sentences.summary({"blocks": [{}]}) == "2 other changes"


def document(**values: Any) -> dict[str, Any]:
    """A document with two places, unless told otherwise."""
    return {"blocks": [], "places": 2, **values}


def test_what_is_not_marked_is_counted() -> None:
    note = sentences.ignored_note(
        document(ignored={"whitespace": 2, "quotes": 1, "composition": 1, "markup": 3}, left_out=3)
    )

    assert note == (
        "Not marked: 2 white-space runs, 1 quotation mark, 1 accent stored differently, markup of 3 paragraphs. "
        "3 changes left out as noise."
    )


def test_without_a_place_the_note_says_that_no_text_changed_and_what_did() -> None:
    assert sentences.ignored_note(document(places=0, ignored={"markup": 1})) == (
        "No text changed. What differs: markup of 1 paragraph."
    )


def test_two_pages_that_differ_in_quotes_only_say_so() -> None:
    same = diff(reading('They said "no" to this request.'), reading("They said “no” to this request."))

    assert sentences.ignored_note(same) == "No text changed. What differs: 2 quotation marks."


@pytest.mark.parametrize("nothing", [{}, document(), document(ignored={"whitespace": "many"})])
def test_nothing_ignored_is_no_note(nothing: dict[str, Any]) -> None:
    assert sentences.ignored_note(nothing) == ""


def test_bounds_are_admitted() -> None:
    assert sentences.bounds_note(document(simplified=True, rest=12, cut=4120)) == (
        "Simplified: the page is too long to compare word by word everywhere. "
        "12 more changed paragraphs are not shown here; the snapshots hold them. "
        "4,120 characters of long texts are not shown."
    )
    assert sentences.bounds_note(document(simplified=False, rest=0, cut=0)) == ""
