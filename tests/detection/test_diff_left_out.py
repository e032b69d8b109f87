"""What a judgement explained as noise is on record in the diff, and is no place."""

from __future__ import annotations

from monitoring.detection.blocks import Block, Reading
from monitoring.detection.diff import apply, diff, rows_of


def reading(*texts: str) -> Reading:
    return Reading(blocks=tuple(Block(text=t, tag="p", path="body>p", slot=f"p:{n}") for n, t in enumerate(texts)))


OLD = reading("Served at 10:15:00", "We will not share your data.", "A lamp for every room", "Contact us in Lindau.")
NEW = reading("Served at 10:16:30", "We will share your data.", "Seven walks for Sunday", "Contact us in Lindau.")
NOISE = {0: "volatile-pattern", 2: "rotation"}


def test_noise_stands_in_folds_and_is_counted_apart() -> None:
    document = diff(OLD, NEW, left_out_old=NOISE, left_out_new=NOISE)

    assert document["places"] == 1
    assert document["left_out"] == 2
    assert [row["op"] for row in document["blocks"]] == ["fold", "reworded", "fold"]
    assert (document["added"], document["removed"]) == (0, 1)
    assert "share your data" in "".join(s[1] for s in document["say"]["segments"])


def test_both_texts_are_still_rebuilt() -> None:
    document = diff(OLD, NEW, left_out_old=NOISE, left_out_new=NOISE)

    assert apply(document, "old") == [b.text for b in OLD.blocks]
    assert apply(document, "new") == [b.text for b in NEW.blocks]
    assert {row["left_out"] for row in rows_of(document)} == {"", "volatile-pattern", "rotation"}


def test_a_block_explained_on_one_side_only_stays_a_place() -> None:
    document = diff(OLD, NEW, left_out_new={1: "rotation"})

    assert document["places"] == 3
    assert document["left_out"] == 0
