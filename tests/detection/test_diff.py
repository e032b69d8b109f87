"""The diff document: what is marked, what is moved, what is folded, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from monitoring.detection.blocks import Block, Reading, Surface
from monitoring.detection.diff import Limits, apply, diff, diff_hash, first_places, rows_of, summary

CHILDREN = "Children. Our services are not directed to people under 16, and we do not knowingly collect their data."


def make_block(text: str, **changes: Any) -> Block:
    """A paragraph; "# text" is a heading and "* text" a list item."""
    tag, heading = "p", 0
    if text.startswith("# "):
        tag, heading, text = "h2", 2, text[2:]
    elif text.startswith("* "):
        tag, text = "li", text[2:]
    values: dict[str, Any] = {"tag": tag, "path": f"body/{tag}", "slot": "", "heading": heading} | changes
    return Block(text, **values)


def make_reading(*texts: str, lang: str = "en", more: tuple[Block, ...] = ()) -> Reading:
    return Reading(tuple(make_block(text) for text in texts) + more, lang=lang)


def changed(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in rows_of(document) if row["op"] != "equal"]


def only(document: dict[str, Any]) -> list[list[str]]:
    """The segments of the one changed block."""
    (row,) = changed(document)
    segments: list[list[str]] = row["segments"]
    return segments


def test_one_number_is_one_replacement() -> None:
    document = diff(
        make_reading("We keep records for 12 months afterwards."),
        make_reading("We keep records for 24 months afterwards."),
    )

    assert only(document) == [["=", "We keep records for "], ["-", "12"], ["+", "24"], ["=", " months afterwards."]]
    assert (document["added"], document["removed"], document["total"], document["places"]) == (1, 1, 7, 1)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("30 Nov 2026", "31 Jan 2027"),
        ("30. November 2026", "1. Dezember 2026"),
        ("November 30, 2026", "November 1, 2026"),
        ("$1,200.50", "$1,300.50"),
        ("89,00", "79,00"),
        ("jane.doe@example.com", "jane.roe@example.com"),
        ("https://example.com/terms?v=1", "https://example.com/terms?v=2"),
        ("LS‑51907", "LS‑51908"),
        ("third-party", "third-person"),
        ("10:30", "10:45"),
        ("2018/848", "2018/849"),
        ("v1.2.3", "v1.2.4"),
        ("e\u0301te\u0301", "e\u0301te\u0300"),
        ("नमस्ते", "नमस्तें"),
    ],
)
def test_atomic_tokens_are_replaced_whole(was: str, now: str) -> None:
    document = diff(
        make_reading(f"It has always been {was} until now"), make_reading(f"It has always been {now} until now")
    )

    assert only(document)[1:3] == [["-", was], ["+", now]]


def test_moved_block_is_shown_once_in_full_and_once_as_a_trace() -> None:
    stay = [f"Paragraph number {n} stays where it is." for n in range(6)]
    document = diff(make_reading(CHILDREN, *stay), make_reading(*stay, CHILDREN))

    source, target = changed(document)
    assert (source["op"], target["op"], source["pair"], target["pair"]) == ("moved_from", "moved_to", "m1", "m1")
    assert (target["old"], target["new"], target["place"], source["place"]) == (1, 7, 1, None)
    assert (document["added"], document["removed"], document["moved"]) == (0, 0, 1)


def test_differing_quotes_and_spaces_are_counted_and_not_marked() -> None:
    old, new = make_reading('He said "no" to it.', "a b"), make_reading("He said “no” to it.", "a\u00a0b")
    document = diff(old, new)

    assert document["places"] == 0
    assert document["ignored"] == {"whitespace": 1, "quotes": 2, "composition": 0, "markup": 0}
    assert apply(document, "old") == [b.text for b in old.blocks]


def test_unchanged_blocks_fold_with_their_sections() -> None:
    kept = ["# 1 Who we are", "We are Halden.", "We are in Bergen.", "# 2 What", "One.", "Two.", "# 3 How", "Before."]
    document = diff(make_reading(*kept, "Fee 10 euro a day."), make_reading(*kept, "Fee 12 euro a day."))

    fold, *rest = document["blocks"]
    assert (fold["op"], fold["count"], fold["sections"]) == ("fold", 6, ["1 Who we are", "2 What"])
    assert [row["op"] for row in rest] == ["equal", "equal", "reworded"]


def test_hidden_text_is_a_place_of_its_own() -> None:
    hidden = make_block("You waive all rights", surface=Surface.HIDDEN)
    document = diff(make_reading("a"), make_reading("a", more=(hidden,)))

    (row,) = changed(document)
    assert (row["op"], row["surface"], document["places"]) == ("added", "hidden", 1)
    assert summary(document) == [("hidden-added", 1)]


def test_the_rest_is_counted_beyond_the_cap() -> None:
    old = make_reading(*[f"Line {n} costs 10" for n in range(30)])
    new = make_reading(*[f"Line {n} costs 12" for n in range(30)])
    document = diff(old, new, limits=Limits(changed_blocks=10))

    assert (len(changed(document)), document["rest"], document["counts"]["reworded"]) == (10, 20, 30)


def test_summary_and_places_tell_the_story() -> None:
    old = make_reading("We keep records. Backups last 35 days.", "* Lysne Seafood")
    new = make_reading("We keep records. Support mail is kept for good. Backups last 35 days.")
    document = diff(old, new)

    assert summary(document) == [("entry-removed", 1), ("sentence-added", 1)]
    assert first_places(document, 1)[0]["added"] == "Support mail is kept for good."
    assert diff_hash(document) == diff_hash(diff(old, new))
