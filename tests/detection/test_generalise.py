"""Rules drawn from one example."""

from __future__ import annotations

import pytest
import re2

from monitoring.detection.generalise import pattern_for, shared_text


@pytest.mark.parametrize(
    ("old", "new", "shared"),
    [
        ("Visitors today: 1,204", "Visitors today: 1,377", "Visitors today:"),
        ("", "A new offer of the week", "A new offer of the week"),
        ("12.50", "13.50", ""),
        ("One thing", "Quite another", ""),
        ("本日の来館者は1204人です", "本日の来館者は98人です", "本日の来館者は"),
    ],
)
def test_a_block_is_known_by_what_stays(old: str, new: str, shared: str) -> None:
    assert shared_text(old, new) == (shared if len(shared) >= 8 else "")


def test_numbers_stand_for_numbers_and_changed_words_for_words() -> None:
    pattern = pattern_for([("Open on Monday 3 May (hall 2)", "Open on Sunday 4 May (hall 2)")])

    compiled = re2.compile(pattern)
    assert compiled.fullmatch("Open on Friday 28 May (hall 11)")
    assert not compiled.fullmatch("Open on Friday 28 June (hall 11)")
    assert not compiled.fullmatch("Closed. Open on Friday 28 May (hall 11)")


def test_a_word_that_came_may_be_there_or_not() -> None:
    compiled = re2.compile(pattern_for([("Tickets are free", "Tickets are nearly free")]))

    assert compiled.fullmatch("Tickets are free")
    assert compiled.fullmatch("Tickets are almost free")


def test_several_blocks_make_one_pattern() -> None:
    compiled = re2.compile(pattern_for([("", "Offer 1"), ("", "Ends in 2 days")]))

    assert compiled.fullmatch("Offer 77")
    assert compiled.fullmatch("Ends in 3 days")


def test_a_very_long_block_gives_none() -> None:
    assert pattern_for([("word " * 1000, "")]) == ""
