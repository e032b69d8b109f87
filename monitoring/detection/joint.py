"""Two readings of one page with one idea of what its main region is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .blocks import Block, Flag, Reading, Region

REGION_MOVED = "region-moved"


def choose_jointly(old: Reading, new: Reading) -> tuple[Reading, Reading]:
    """Both readings with the regions of their common text made the same.

    A text that stands on both sides and is main on one of them is main on both: a region that moved, grew or
    shrank is then no change of any text. Both readings get the flag `region-moved` when their regions are
    different places and hardly share any text.
    """
    main_old, main_new = _main(old), _main(new)
    common = main_old & main_new
    moved = (
        old.region_path != new.region_path
        and bool(main_old)
        and bool(main_new)
        and len(common) < 0.2 * min(len(main_old), len(main_new))
    )
    flags = (Flag(REGION_MOVED, f"{old.region_path} -> {new.region_path}"),) if moved else ()
    return _promoted(old, main_new, flags), _promoted(new, main_old, flags)


def same_region(old: Reading, new: Reading) -> tuple[Reading, Reading]:
    """Both readings; chosen jointly where the new page no longer has the region that the old one remembered.

    Free where the region was found again, which is nearly always.
    """
    if any(flag.code == REGION_MOVED for flag in new.flags):
        return choose_jointly(old, new)
    return old, new


def _main(reading: Reading) -> set[tuple[str, str]]:
    return {(b.surface, b.text) for b in reading.blocks if b.region is Region.MAIN}


def _promoted(reading: Reading, main: set[tuple[str, str]], flags: Iterable[Flag]) -> Reading:
    blocks: list[Block] = []
    changed = False
    for block in reading.blocks:
        if block.region is Region.FURNITURE and (block.surface, block.text) in main:
            block = replace(block, region=Region.MAIN)
            changed = True
        blocks.append(block)
    known = set(reading.flags)
    added = tuple(f for f in flags if f not in known)
    if not changed and not added:
        return reading
    return replace(reading, blocks=tuple(blocks), flags=reading.flags + added)
