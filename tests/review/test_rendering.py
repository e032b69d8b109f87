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


def test_a_large_diff_is_cut_and_says_so() -> None:
    document = {"blocks": [block(place=n) for n in range(1, 600)]}

    short, cut = rendering.diff_html(document)
    whole, whole_cut = rendering.diff_html(document, everything=True)

    assert cut
    assert not whole_cut
    assert short.count("data-place") == rendering.MAX_CHANGED_BLOCKS
    assert whole.count("data-place") == 599


def test_the_head_counts_what_happened() -> None:
    assert rendering.summary({"counts": {"reworded": 1, "added": 2, "moved": 1}}) == (
        "1 paragraph reworded, 2 paragraphs added, 1 paragraph moved"
    )


def test_one_side_of_segments_is_that_sides_text() -> None:
    segments = [["=", "a "], ["-", "old"], ["+", "new"], ["!", "\u200b", "U+200B", "+"]]

    assert rendering.plain(segments, "-") == "a old"
    assert rendering.plain(segments, "+") == "a new\u200b"
