"""Which blocks of two readings are the same, which moved, which were reworded, added or removed.

Three passes, each linear in the number of blocks apart from a sort:

1. equal text: the k-th block with a text is paired with the k-th block of that text on the other side;
   pairs that do not fit into the longest common order are moves;
2. inside each gap between two anchors, blocks with the same slot or a similar text are rewordings
   (token overlap; the work in a gap is capped, and above the cap only blocks that share a rare word meet);
3. what is left is added or removed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitoring.detection.blocks import Block, Surface
from monitoring.detection.normalise import mask

GAP_WORK = 4_000  # block pairs compared by their words in one gap; above it rare words bring them together
TOTAL_WORK = 40_000  # the same for a whole page, so that hostile pages stay cheap
SIMILAR = 0.4  # share of common words from which two blocks are one block reworded
SIMILAR_IN_SLOT = 0.2  # the same when both stand in the same slot
RARE = 8  # blocks of a large gap that may hold a word for it to bring two blocks together
COPIES = 16  # copies of a text among which the one in the same place is looked for
SHAPE_CHARS = 80  # longest block that is paired by its shape alone
GAP_WORDS = 200_000  # words looked at in one large gap
LEAST_WORDS = 12  # words of a block that are looked at however large the gap is
WORDS_PER_BLOCK = 400  # words of one block that count for similarity

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯฀-๿]|[^\W_぀-ヿ㐀-鿿가-힯฀-๿]+")


@dataclass(frozen=True, slots=True)
class Pairing:
    """Indexes into the two block sequences.

    `kept` and `moved` have equal text, `reworded` a similar one; `removed` are old blocks and `added` new
    blocks without a partner. Every index stands in exactly one of them.
    """

    kept: int
    moved: tuple[tuple[int, int], ...]
    reworded: tuple[tuple[int, int], ...]
    removed: tuple[int, ...]
    added: tuple[int, ...]


def words(text: str) -> list[str]:
    """The words of a text, case folded; Chinese, Japanese, Korean and Thai text counts by the character."""
    return _WORD.findall(text.casefold())


def key(block: Block) -> str:
    """What makes two blocks the same: the display text, kept apart by surface."""
    return block.text if block.surface is Surface.VISIBLE else f"\x00{block.surface}\x00{block.text}"


def align(old: Sequence[Block], new: Sequence[Block]) -> Pairing:
    """The pairing of two readings' blocks; same input, same pairing, and bounded work on any input."""
    old_keys = [key(b) for b in old]
    new_keys = [key(b) for b in new]
    start, old_end, new_end = _trim(old_keys, new_keys)
    pairs, old_left, new_left = _equal_pairs(old, new, old_keys, new_keys, start, old_end, new_end)
    anchors, moved = _split_moves(pairs)
    kept = start + (len(old_keys) - old_end) + len(anchors)
    if not old_left or not new_left:
        return Pairing(kept, tuple(moved), (), tuple(old_left), tuple(new_left))
    reworded: list[tuple[int, int]] = []
    budget = TOTAL_WORK
    for gap_old, gap_new in _gaps(anchors, old_left, new_left):
        if not gap_old or not gap_new:
            continue
        work = len(gap_old) * len(gap_new)
        if work > min(GAP_WORK, budget):
            reworded += _by_rare_words(old, new, gap_old, gap_new)
            continue
        budget -= work
        reworded += _similar(old, new, gap_old, gap_new)
    reworded += _same_slot(old, new, old_left, new_left, reworded)
    reworded += _same_shape(old, new, old_left, new_left, reworded)
    taken_old = {o for o, _ in reworded}
    taken_new = {n for _, n in reworded}
    return Pairing(
        kept,
        tuple(moved),
        tuple(sorted(reworded)),
        tuple(o for o in old_left if o not in taken_old),
        tuple(n for n in new_left if n not in taken_new),
    )


def similarity(a: str, b: str) -> float:
    """Share (0..1) of words that two texts have in common (Dice, over sets of words)."""
    return _dice(_bag(a), _bag(b))


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    if not a or not b:
        return 1.0 if a == b else 0.0
    return 2 * len(a & b) / (len(a) + len(b))


def _bag(text: str, most: int = WORDS_PER_BLOCK) -> frozenset[str]:
    return frozenset(words(text[: most * 12])[:most])


def _trim(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """Length of the common start, and the two ends in front of the common end."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    old_end, new_end = len(old), len(new)
    while old_end > start and new_end > start and old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return start, old_end, new_end


def _equal_pairs(
    old: Sequence[Block],
    new: Sequence[Block],
    old_keys: list[str],
    new_keys: list[str],
    start: int,
    old_end: int,
    new_end: int,
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pairs of equal text in old order, then the old and the new indexes without one."""
    places: dict[str, list[int]] = {}
    for index in range(new_end - 1, start - 1, -1):
        places.setdefault(new_keys[index], []).append(index)
    pairs: list[tuple[int, int]] = []
    waiting: list[int] = []
    counts = Counter(old_keys[start:old_end])
    for index in range(start, old_end):
        text = old_keys[index]
        stack = places.get(text)
        if not stack:
            waiting.append(index)
        elif counts[text] == len(stack):
            pairs.append((index, stack.pop()))
            counts[text] -= 1
        else:  # more copies on one side: the copy in the same place is the one that stayed
            at = _same_path(old[index], new, stack)
            if at < 0:
                waiting.append(index)
            else:
                pairs.append((index, stack.pop(at)))
                counts[text] -= 1
    old_left: list[int] = []
    for index in waiting:
        stack = places.get(old_keys[index])
        if stack:
            pairs.append((index, stack.pop()))
        else:
            old_left.append(index)
    pairs.sort()
    new_left = sorted(index for stack in places.values() for index in stack)
    return pairs, old_left, new_left


def _same_path(block: Block, new: Sequence[Block], stack: list[int]) -> int:
    """Where in the stack the first waiting new block lies that stands where this one stood, or -1; looks at a few."""
    for at in range(len(stack) - 1, max(-1, len(stack) - 1 - COPIES), -1):
        if new[stack[at]].path == block.path:
            return at
    return -1


def _split_moves(pairs: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs that keep the longest common order, and those that left it (patience sorting, n log n)."""
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        at = bisect_left(tails, place)
        before.append(tail_at[at - 1] if at else -1)
        if at == len(tails):
            tails.append(place)
            tail_at.append(index)
        else:
            tails[at] = place
            tail_at[at] = index
    in_order: set[int] = set()
    index = tail_at[-1] if tail_at else -1
    while index >= 0:
        in_order.add(index)
        index = before[index]
    anchors = [p for i, p in enumerate(pairs) if i in in_order]
    moved = [p for i, p in enumerate(pairs) if i not in in_order]
    return anchors, moved


def _gaps(
    anchors: list[tuple[int, int]], old_left: list[int], new_left: list[int]
) -> Iterable[tuple[list[int], list[int]]]:
    """Unpaired old and new blocks between the same two anchors."""
    old_bounds = [a for a, _ in anchors]
    new_bounds = [b for _, b in anchors]
    by_gap: dict[int, tuple[list[int], list[int]]] = {}
    for index in old_left:
        by_gap.setdefault(bisect_left(old_bounds, index), ([], []))[0].append(index)
    for index in new_left:
        by_gap.setdefault(bisect_left(new_bounds, index), ([], []))[1].append(index)
    return by_gap.values()


def _similar(
    old: Sequence[Block], new: Sequence[Block], gap_old: list[int], gap_new: list[int]
) -> list[tuple[int, int]]:
    """Rewordings inside one gap: the most similar pairs first, each block at most once."""
    candidates: list[tuple[float, int, int, int]] = []
    new_bags = [(n, new[n], _bag(new[n].text)) for n in gap_new]
    for o in gap_old:
        a = old[o]
        bag = _bag(a.text)
        for n, b, other in new_bags:
            if a.surface is not b.surface:
                continue
            share = _dice(bag, other)
            same_slot = a.slot == b.slot
            if share >= SIMILAR or (same_slot and share >= SIMILAR_IN_SLOT):
                candidates.append((-(share + 0.1 * same_slot), abs(o - n), o, n))
    candidates.sort()
    return _greedy((o, n) for _, _, o, n in candidates)


def _same_slot(
    old: Sequence[Block],
    new: Sequence[Block],
    old_left: list[int],
    new_left: list[int],
    done: list[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Blocks that share nothing but their place: one text gave way to another in the same slot."""
    taken_old = {o for o, _ in done}
    taken_new = {n for _, n in done}
    free = {(old[o].slot, old[o].surface): o for o in reversed(old_left) if o not in taken_old}
    pairs = [
        (free[new[n].slot, new[n].surface], n)
        for n in new_left
        if n not in taken_new and (new[n].slot, new[n].surface) in free
    ]
    return _greedy(pairs)


def _same_shape(
    old: Sequence[Block],
    new: Sequence[Block],
    old_left: list[int],
    new_left: list[int],
    done: list[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Short blocks whose text is the same apart from its volatile fragments, in page order.

    A date alone in its block shares no word with the next date, and its slot may carry an id made at each load.
    """
    taken_old = {o for o, _ in done}
    taken_new = {n for _, n in done}
    waiting: dict[tuple[str, str, int], list[int]] = {}
    for o in reversed(old_left):
        block = old[o]
        if o not in taken_old and len(block.text) <= SHAPE_CHARS:
            masked = mask(block.text)
            if masked.spans:
                waiting.setdefault((masked.text, block.tag, block.heading), []).append(o)
    if not waiting:
        return []
    pairs: list[tuple[int, int]] = []
    for n in new_left:
        block = new[n]
        if n not in taken_new and len(block.text) <= SHAPE_CHARS:
            stack = waiting.get((mask(block.text).text, block.tag, block.heading))
            if stack:
                pairs.append((stack.pop(), n))
    return pairs


def _by_rare_words(
    old: Sequence[Block], new: Sequence[Block], gap_old: list[int], gap_new: list[int]
) -> list[tuple[int, int]]:
    """Rewordings in a gap too large to compare all with all: only blocks that share a rare word meet."""
    most = max(LEAST_WORDS, min(WORDS_PER_BLOCK, GAP_WORDS // (len(gap_old) + len(gap_new))))
    old_bags = {o: _bag(old[o].text, most) for o in gap_old}
    holders: dict[str, list[int]] = {}
    for o, bag in old_bags.items():
        for word in bag:
            holders.setdefault(word, []).append(o)
    candidates: list[tuple[float, int, int, int]] = []
    for n in gap_new:
        bag = _bag(new[n].text, most)
        votes: dict[int, int] = {}
        for word in bag:
            found = holders.get(word, ())
            if len(found) <= RARE:
                for o in found:
                    votes[o] = votes.get(o, 0) + 1
        best = sorted(votes, key=lambda o: (-votes[o], abs(o - n)))[:RARE]
        for o in best:
            share = _dice(old_bags[o], bag)
            if old[o].surface is new[n].surface and share >= SIMILAR:
                candidates.append((-share, abs(o - n), o, n))
    candidates.sort()
    return _greedy((o, n) for _, _, o, n in candidates)


def _greedy(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    used_old: set[int] = set()
    used_new: set[int] = set()
    out: list[tuple[int, int]] = []
    for o, n in pairs:
        if o not in used_old and n not in used_new:
            used_old.add(o)
            used_new.add(n)
            out.append((o, n))
    return out
