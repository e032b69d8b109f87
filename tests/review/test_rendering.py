"""The diff document as HTML: everything escaped, removed before added, chips named."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.utils import translation

from review import rendering

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def block(op: str = "reworded", **extra: Any) -> dict[str, Any]:
    """A block of a diff document."""
    values: dict[str, Any] = {
        "op": op,
        "tag": "p",
        "heading": 0,
        "surface": "visible",
        "region": "main",
        "old": 3,
        "new": 4,
        "place": 1,
        "segments": [["=", "We "], ["-", "will not"], ["+", "may"], ["=", " share it."]],
    }
    values.update(extra)
    return values


def printed(*blocks: dict[str, Any], spoken: bool = True) -> BeautifulSoup:
    """A document of these blocks, rendered."""
    html, _cut = rendering.diff_html({"blocks": list(blocks)}, spoken=spoken)
    return BeautifulSoup(html, "html.parser")


ALL_OPS = ["equal", "added", "removed", "reworded", "moved_from", "moved_to"]


@pytest.mark.parametrize("render", [rendering.diff_html, rendering.split_html])
@pytest.mark.parametrize("op", ALL_OPS)
def test_page_text_never_becomes_markup(op: str, render: Any) -> None:
    html, _cut = render(
        {
            "blocks": [
                block(
                    op,
                    segments=[["=", EVIL], ["-", EVIL], ["+", EVIL], ["!", EVIL, EVIL, "+"]],
                    pair=EVIL,
                    surface=EVIL,
                    tag=EVIL,
                )
            ]
        }
    )

    soup = BeautifulSoup(html, "html.parser")
    assert not soup.find_all(["script", "img"])
    assert all(not name.startswith("on") for tag in soup.find_all(True) for name in tag.attrs)
    assert "&lt;script&gt;" in html


def test_rewritten_blocks_and_folds_are_escaped_too() -> None:
    fold = {"op": "fold", "count": 2, "sections": [EVIL, "§2"], "blocks": [block("equal", segments=[["=", EVIL]])]}
    html, _cut = rendering.diff_html({"blocks": [block("rewritten", before=[["=", EVIL]], after=[["+", EVIL]]), fold]})

    assert "<script" not in html
    assert "<img" not in html


def test_removed_stands_before_added_and_is_told_to_listeners() -> None:
    soup = printed(block())

    marks = soup.find_all(["del", "ins"])
    assert [m.name for m in marks] == ["del", "ins"]
    assert marks[0].get_text() == "[removed: will not]"
    assert soup.find(id="p1") is not None


def test_the_spoken_words_can_be_switched_off() -> None:
    assert printed(block(), spoken=False).find("ins").get_text() == "may"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("char", "shown"),
    [("\u0430", True), ("\u200b", False), ("\u202e", False), ("\u00ad", False), ("\U000e0041", False)],
)
def test_invisible_and_look_alike_characters_are_named(char: str, shown: bool) -> None:
    html, _cut = rendering.diff_html({"blocks": [block(segments=[["=", "p"], ["!", char, f"U+{ord(char):04X}", "+"]])]})

    assert f"U+{ord(char):04X}" in html
    assert (char in html) is shown


def test_equal_characters_in_a_row_are_one_chip() -> None:
    space = ["!", "\u200b", "U+200B ZERO WIDTH SPACE", "+"]
    soup = printed(block(segments=[["=", "pay"], space, space, space, ["+", "now"], space]))

    assert [chip.get_text() for chip in soup.select(".chip")] == [
        "U+200B ZERO WIDTH SPACE ×3",
        "U+200B ZERO WIDTH SPACE",
    ]
    assert "\u200b" not in soup.get_text()


def test_hidden_text_carries_its_label() -> None:
    assert "Hidden text changed" in printed(block(surface="hidden")).get_text()


def test_a_fold_opens_without_script_and_says_what_it_holds() -> None:
    fold = {"op": "fold", "count": 11, "sections": ["§1 Who", "§2 What", "§3 Why"], "blocks": [block("equal")]}

    summary = printed(fold).select_one("details.fold > summary")

    assert summary is not None
    assert summary.get_text() == "11 unchanged paragraphs · §1 Who – §3 Why"


def test_japanese_needs_no_plural() -> None:
    with translation.override("ja"):
        html, _cut = rendering.diff_html({"blocks": [{"op": "fold", "count": 9, "sections": [], "blocks": []}]})

    assert "9段落" in html


def left_out(op: str = "reworded", rule: str = "volatile-pattern", **extra: Any) -> dict[str, Any]:
    """A block that a rule explained as noise."""
    return block(op, place=None, left_out=rule, **extra)


def fold_of(*blocks: dict[str, Any], count: int = 9, noise: int = 0) -> dict[str, Any]:
    """A fold that holds these blocks."""
    return {"op": "fold", "count": count, "left_out": noise, "sections": [], "blocks": list(blocks)}


@pytest.mark.parametrize(
    ("count", "noise", "line"),
    [
        (1, 0, "1 unchanged paragraph"),
        (9, 2, "9 unchanged paragraphs, 2 left out as noise"),
        (0, 1, "1 left out as noise"),
    ],
)
def test_a_fold_counts_what_it_hides(count: int, noise: int, line: str) -> None:
    summary = printed(fold_of(count=count, noise=noise)).select_one("summary")

    assert summary is not None
    assert summary.get_text() == line


@pytest.mark.parametrize("render", [rendering.diff_html, rendering.split_html])
def test_what_was_left_out_names_its_rule_and_keeps_its_marks(render: Any) -> None:
    html, _cut = render({"blocks": [fold_of(block("equal"), left_out(), noise=1)]})

    row = BeautifulSoup(html, "html.parser").select_one("details .out")
    assert row is not None
    assert "Left out: clock, counter or token" in row.get_text()
    assert [m.name for m in row.find_all(["del", "ins"])] == ["del", "ins"]
    assert not row.select("[data-place]")


@pytest.mark.parametrize("render", [rendering.diff_html, rendering.split_html])
@pytest.mark.parametrize("op", ["added", "removed", "reworded", "moved_from", "moved_to"])
def test_every_kind_of_noise_is_muted_and_labelled(op: str, render: Any) -> None:
    html, _cut = render({"blocks": [fold_of(left_out(op, "no-such-rule", pair="m1"), noise=1)]})

    soup = BeautifulSoup(html, "html.parser")
    assert len(soup.select(".out")) == 1
    assert "Left out: noise" in soup.get_text()
    assert "no-such-rule" not in html


def test_unchanged_text_in_a_fold_stays_unmarked() -> None:
    soup = printed(fold_of(block("equal", segments=[["=", "Same."]])))

    assert not soup.select("ins, del, .out, .rule")


@pytest.mark.parametrize(
    ("surface", "label"),
    [
        ("hidden", "Hidden text changed"),
        ("attribute", "Alternative text changed"),
        ("embedded", "Embedded text changed"),
        ("style", "Text made by a style sheet changed"),
        ("link", "Link target changed"),
    ],
)
@pytest.mark.parametrize("render", [rendering.diff_html, rendering.split_html])
@pytest.mark.parametrize("op", ["reworded", "rewritten", "moved_to", "added", "removed"])
def test_text_that_readers_do_not_see_carries_its_label(surface: str, label: str, op: str, render: Any) -> None:
    row = block(op, surface=surface, pair="m1", before=[["-", "Old."]], after=[["+", "New."]])
    html, _cut = render({"blocks": [row]})

    shown = BeautifulSoup(html, "html.parser").select(".tagline .surf")
    expected = label.removesuffix(" changed") if op in ("added", "removed") else label
    assert {tag.get_text() for tag in shown} == {expected}


def test_side_by_side_each_text_is_exact() -> None:
    segments = [["=", "the code", "the code", "the code "], ["+", "of conduct"], ["=", " It.", ". It.", ". It."]]
    html, _cut = rendering.split_html({"blocks": [block(segments=segments)]}, spoken=False)

    left, right = BeautifulSoup(html, "html.parser").select(".l, .rt")
    assert left.get_text() == "the code. It."
    assert right.get_text() == "the code of conduct. It."


def test_side_by_side_a_rewritten_text_is_marked_as_a_whole() -> None:
    row = block("rewritten", segments=[], before=[["-", "All of it."]], after=[["+", "Something else."]])
    html, _cut = rendering.split_html({"blocks": [row]})

    soup = BeautifulSoup(html, "html.parser")
    assert [m["class"] for m in soup.find_all(["del", "ins"])] == [["whole"], ["whole"]]
    assert soup.get_text().count("Rewritten: too little in common") == 2  # the second one only keeps the line
    assert len(soup.select(".twin[aria-hidden=true]")) == 1


def test_a_large_diff_is_cut_and_says_so() -> None:
    document = {"blocks": [block(place=n) for n in range(1, 600)]}

    short, cut = rendering.diff_html(document)
    whole, whole_cut = rendering.diff_html(document, everything=True)

    assert cut
    assert not whole_cut
    assert short.count("data-place") == rendering.MAX_CHANGED_BLOCKS
    assert whole.count("data-place") == 599


def test_one_side_of_segments_is_that_sides_text() -> None:
    segments = [["=", "a "], ["-", "old"], ["+", "new"], ["!", "\u200b", "U+200B", "+"]]

    assert rendering.plain(segments, "-") == "a old"
    assert rendering.plain(segments, "+") == "a new\u200b"


def test_one_side_takes_what_differs_there_without_a_mark() -> None:
    segments = [["=", "He said “go” ", 'He said "go"', "He said “go” "], ["+", "now"]]

    assert rendering.plain(segments, "-") == 'He said "go"'
    assert rendering.plain(segments, "+") == "He said “go” now"
