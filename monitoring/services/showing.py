"""What of a diff is a place for the reviewer, and what a judgement explained as noise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from monitoring.detection.blocks import Block, Reading, Region
from monitoring.detection.diff import diff, rows_of
from monitoring.detection.judgement import Edit, Judgement
from monitoring.services.findings import Document

SLIGHT = "slight"
_SLIGHT_WEIGHT = 0.15  # outside the main region; such an edit alone is far below every sensible cut

type Sides = tuple[dict[int, str], dict[int, str]]


def document_of(judgement: Judgement, judged: tuple[Reading, Reading], shown: tuple[Reading, Reading]) -> Document:
    """The diff of the shown readings, with the blocks that the judgement explained left out of its places.

    The judged readings may lack the nodes of fields that the shown ones have. Should everything be explained,
    everything is shown.
    """
    noise = explained(judgement.edits, *judged)
    old, new = (_in(reading, codes, whole) for reading, codes, whole in zip(judged, noise, shown, strict=True))
    document = diff(*shown, left_out_old=old, left_out_new=new)
    return document if document["places"] else diff(*shown)


def explained(edits: Sequence[Edit], old: Reading, new: Reading) -> Sides:
    """Rule codes by block index on either side; moves of a page's own text stay visible as moves."""
    gone: dict[int, str] = {}
    come: dict[int, str] = {}
    for edit in edits:
        code = edit.explained
        block = new.blocks[edit.new] if edit.new >= 0 else old.blocks[edit.old]
        outside = block.region is not Region.MAIN
        if not code and outside and edit.weight < _SLIGHT_WEIGHT:
            code = SLIGHT
        if not code or (code == "moved" and not outside):
            continue
        if edit.old >= 0:
            gone[edit.old] = code
        if edit.new >= 0:
            come[edit.new] = code
    _add_reordered(edits, old, new, gone, come)
    return gone, come


def _add_reordered(
    edits: Sequence[Edit], old: Reading, new: Reading, gone: dict[int, str], come: dict[int, str]
) -> None:
    """Entries that only changed places, whichever of them the diff takes for the moved ones.

    In lists that the judgement called reordered, and in every list beside the main region.
    """
    reordered = {new.blocks[edit.new].path for edit in edits if edit.explained == "reorder" and edit.new >= 0}

    def entries(reading: Reading) -> dict[int, tuple[str, str]]:
        return {
            index: (block.path, block.text)
            for index, block in enumerate(reading.blocks)
            if block.list_id >= 0 and (block.region is not Region.MAIN or block.path in reordered)
        }

    before, after = entries(old), entries(new)
    both = set(before.values()) & set(after.values())
    for entries_of, codes in ((before, gone), (after, come)):
        for index, entry in entries_of.items():
            if entry in both:
                codes.setdefault(index, "reorder")


def _in(judged: Reading, codes: dict[int, str], shown: Reading) -> dict[int, str]:
    """The codes by index into the shown reading: equal blocks are matched in order."""
    if judged is shown:
        return codes
    places: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, block in enumerate(shown.blocks):
        places[_key(block)].append(index)
    found = {}
    for index, block in enumerate(judged.blocks):
        same = places[_key(block)]
        if same:
            at = same.pop(0)
            if index in codes:
                found[at] = codes[index]
    return found


def _key(block: Block) -> tuple[str, str, str]:
    return block.slot, block.text, str(block.surface)


def is_empty(document: Document) -> bool:
    """Whether a diff has nothing to show."""
    return all(row["op"] == "equal" for row in rows_of(document))
