"""Which block of the old page became which block of the new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from monitoring.detection.blocks import Block
from monitoring.detection.diff.sequences import align, longest_increasing
from monitoring.detection.diff.tokens import fold, is_unspaced
from monitoring.detection.diff.work import Work

Pair = tuple[int, int]

MOVED_CHARACTERS = 40
"""A block must be this long to be called moved; short ones repeat by chance."""
MOVED_CHARACTERS_UNSPACED = 20
MOVED_LIKENESS = 0.9
"""A moved block may have been edited this little."""
PAIRED_LIKENESS = 0.34
"""Blocks with fewer words in common than this are not taken for the same block reworded."""
CLEARLY_ALIKE = 0.6
"""Blocks this much alike, in the same order and number on both sides, need no comparison with the others."""

_TABLE_SIDE = 64  # gaps up to 64 by 64 blocks are paired by a full table
_RARE = 12  # a word found in more blocks than this says nothing about which one is meant
_CANDIDATES = 3
_SHARE_CHARACTERS = 20  # beginnings shorter than this are equal by chance
_BAG_CHARACTERS = 20_000
_REPLACED_IN_ORDER = 200
_LIST_TAGS = frozenset(("li", "tr", "td", "th", "dt", "dd", "option"))


@dataclass(slots=True)
class Pairing:
    """`pairs` increase on both sides; `moves` cross them. Indexes not named are removed or added."""

    pairs: list[Pair] = field(default_factory=list)
    moves: list[Pair] = field(default_factory=list)


def pair_blocks(old: Sequence[Block], new: Sequence[Block], work: Work, *, move_any_length: bool = False) -> Pairing:
    """Pairs equal blocks, then finds moves, then pairs similar blocks between them.

    `move_any_length` calls short blocks moved too; otherwise only list and table entries may be short.
    Computed in one fixed direction, so that exchanging the sides mirrors the result.
    """
    if _goes_second(old, new):
        mirrored = pair_blocks(new, old, work, move_any_length=move_any_length)
        return Pairing([(j, i) for i, j in mirrored.pairs], sorted((j, i) for i, j in mirrored.moves))
    head, tail = _equal_ends(old, new)
    middle = _Middle(old[head : len(old) - tail], new[head : len(new) - tail], work, move_any_length)
    outside = {b.text for b in old[:head]} | {b.text for b in old[len(old) - tail :]} if middle.busy else set()
    found = middle.pair(outside)
    pairs = [(i, i) for i in range(head)]
    pairs += [(i + head, j + head) for i, j in found.pairs]
    pairs += [(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]
    return Pairing(pairs, [(i + head, j + head) for i, j in found.moves])


def _goes_second(old: Sequence[Block], new: Sequence[Block]) -> bool:
    if len(old) != len(new):
        return len(old) > len(new)
    for was, now in zip(old, new, strict=True):
        if was.text != now.text:
            return was.text > now.text
    return False


def _same(was: Block, now: Block) -> bool:
    return was.text == now.text and was.surface is now.surface


def _equal_ends(old: Sequence[Block], new: Sequence[Block]) -> tuple[int, int]:
    size = min(len(old), len(new))
    head = 0
    while head < size and _same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < size - head and _same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    return head, tail


def bag_of(text: str) -> frozenset[str]:
    """The words of a folded text, lower case; pairs of characters in scripts without spaces.

    Of a very long text only the beginning and the end.
    """
    if len(text) > _BAG_CHARACTERS:
        text = f"{text[: _BAG_CHARACTERS // 2]} {text[-_BAG_CHARACTERS // 2 :]}"
    low = text.lower()
    if is_unspaced(low):
        return frozenset(low[k : k + 2] for k in range(len(low) - 1)) or frozenset((low,))
    return frozenset(low.split())


def likeness_of(one: frozenset[str], other: frozenset[str]) -> float:
    """Twice the shared members over all members (0..1)."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


class _Middle:
    """What lies between the equal ends of two pages."""

    def __init__(self, old: Sequence[Block], new: Sequence[Block], work: Work, move_any_length: bool) -> None:
        self.move_any_length = move_any_length
        self.old = old
        self.new = new
        self.work = work
        self.busy = bool(old and new)
        self.old_keys = [(b.surface, fold(b.text)) for b in old]
        self.new_keys = [(b.surface, fold(b.text)) for b in new]
        self.old_bags: dict[int, frozenset[str]] = {}
        self.new_bags: dict[int, frozenset[str]] = {}

    def pair(self, outside: set[str]) -> Pairing:
        if not self.busy:
            return Pairing()
        ids: dict[object, int] = {}
        left = [ids.setdefault(key, len(ids)) for key in self.old_keys]
        right = [ids.setdefault(key, len(ids)) for key in self.new_keys]
        pairs = align(left, right, self.work)
        moves = self._moves(left, right, pairs, outside)
        pairs = self._fill(pairs, moves)
        moves += self._edited_moves(pairs, moves)
        pairs = self._replace_in_order(pairs, moves)
        return Pairing(pairs, sorted(moves))

    # -- moves ---------------------------------------------------------------------------

    def _moves(self, left: list[int], right: list[int], pairs: list[Pair], outside: set[str]) -> list[Pair]:
        """Blocks that stand once on either page, outside the common order; and what travelled with them."""
        old_counts, new_counts = Counter(left), Counter(right)
        new_at = {number: j for j, number in enumerate(right)}
        kept_old = {i for i, _ in pairs}
        kept_new = {j for _, j in pairs}
        moves: dict[int, int] = {}
        for i, number in enumerate(left):
            if i in kept_old or old_counts[number] != 1 or new_counts[number] != 1:
                continue
            j = new_at[number]
            if j not in kept_new and self._is_movable(i, j) and self.old[i].text not in outside:
                moves[i] = j
        self._travel_along(left, right, moves, kept_old, kept_new)
        return sorted(moves.items())

    def _is_movable(self, i: int, j: int) -> bool:
        was, now = self.old[i], self.new[j]
        if (was.list_id >= 0 and now.list_id >= 0) or (was.tag in _LIST_TAGS and now.tag in _LIST_TAGS):
            return True
        return self.move_any_length or self._is_long(i)

    def _is_long(self, i: int) -> bool:
        text = self.old[i].text
        return len(text) >= (MOVED_CHARACTERS_UNSPACED if is_unspaced(text) else MOVED_CHARACTERS)

    def _travel_along(
        self, left: list[int], right: list[int], moves: dict[int, int], kept_old: set[int], kept_new: set[int]
    ) -> None:
        """A short block next to a moved one, equal and next to it on both pages, moved with it."""
        taken = set(moves.values())
        for step in (-1, 1):
            for i, j in sorted(moves.items(), reverse=step > 0):
                i, j = i + step, j + step
                while 0 <= i < len(left) and 0 <= j < len(right) and left[i] == right[j]:
                    if i in kept_old or j in kept_new or i in moves or j in taken:
                        break
                    moves[i] = j
                    taken.add(j)
                    i, j = i + step, j + step

    def _edited_moves(self, pairs: list[Pair], moves: list[Pair]) -> list[Pair]:
        """Long leftover blocks that are nearly equal to a leftover block elsewhere."""
        gone, come = self._leftovers(pairs, moves)
        gone = [i for i in gone if self._is_long(i)]
        if not gone or not come:
            return []
        found = []
        taken: set[int] = set()
        for i, candidates in self._candidates(gone, come):
            for score, j in candidates:
                # Equal text that is no move by the first rule stands more than once; which one moved, nobody can say.
                if not score or j in taken or self.old_keys[i] == self.new_keys[j]:
                    continue
                if likeness_of(self._old_bag(i), self._new_bag(j)) >= MOVED_LIKENESS:
                    found.append((i, j))
                    taken.add(j)
                    break
        return found

    # -- similar blocks ------------------------------------------------------------------

    def _fill(self, pairs: list[Pair], moves: list[Pair]) -> list[Pair]:
        """Pairs similar blocks inside the gaps between equal ones, keeping the order."""
        filled: list[Pair] = []
        for gone, come, anchor in self._gaps(pairs, moves):
            if gone and come:
                filled += self._fill_gap(gone, come)
            if anchor:
                filled.append(anchor)
        return filled

    def _fill_gap(self, gone: list[int], come: list[int]) -> list[Pair]:
        if len(gone) == len(come) == 1:
            pair = gone[0], come[0]
            return [pair] if self._is_clearly_alike(*pair) or self._likeness(*pair) else []
        if len(gone) == len(come) <= _TABLE_SIDE and self.work.take_likenesses(len(gone)):
            straight = list(zip(gone, come, strict=True))
            if all(self._is_clearly_alike(i, j) for i, j in straight):
                return straight
        if len(gone) <= _TABLE_SIDE and len(come) <= _TABLE_SIDE and self.work.take_likenesses(len(gone) * len(come)):
            return self._by_table(gone, come)
        chosen = [(i, max(c, key=lambda s: (s[0], -s[1]))) for i, c in self._candidates(gone, come)]
        good = [(i, j) for i, (score, j) in chosen if score >= PAIRED_LIKENESS]
        return [good[k] for k in longest_increasing([j for _, j in good])]

    def _is_clearly_alike(self, i: int, j: int) -> bool:
        """Whether two blocks need no comparison with others; equal ends of 30 % each say so without looking at words."""
        was, now = self.old[i].text, self.new[j].text
        share = max(len(was), len(now)) * 3 // 10
        if share >= _SHARE_CHARACTERS and was[:share] == now[:share] and was[-share:] == now[-share:]:
            return self._is_one_kind(i, j)
        return self._likeness(i, j) >= CLEARLY_ALIKE

    def _is_one_kind(self, i: int, j: int) -> bool:
        was, now = self.old[i], self.new[j]
        return was.surface is now.surface and bool(was.heading) == bool(now.heading)

    def _by_table(self, gone: list[int], come: list[int]) -> list[Pair]:
        """The uncrossed pairs with the greatest sum of likenesses."""
        width = len(come)
        likeness = [[self._likeness(i, j) for j in come] for i in gone]
        best = [[0.0] * (width + 1)]
        for scores in likeness:
            above = best[-1]
            row = [0.0]
            for k in range(width):
                value = max(above[k + 1], row[k])
                if scores[k] and above[k] + scores[k] > value:
                    value = above[k] + scores[k]
                row.append(value)
            best.append(row)
        pairs = []
        a, b = len(gone), width
        while a and b:
            if best[a][b] == best[a - 1][b]:
                a -= 1
            elif best[a][b] == best[a][b - 1]:
                b -= 1
            else:
                a, b = a - 1, b - 1
                pairs.append((gone[a], come[b]))
        pairs.reverse()
        return pairs

    def _likeness(self, i: int, j: int) -> float:
        """How alike two blocks are; 0 when too little to be the same block reworded."""
        if not self._is_one_kind(i, j):
            return 0.0
        score = likeness_of(self._old_bag(i), self._new_bag(j))
        if score < PAIRED_LIKENESS:
            return 0.0
        slot = self.old[i].slot
        return score + (0.1 if slot and slot == self.new[j].slot else 0.0)

    def _candidates(self, gone: list[int], come: list[int]) -> Iterator[tuple[int, list[tuple[float, int]]]]:
        """For each old block the few new ones that share most of its rare words, with their likeness."""
        if not self.work.take_likenesses(len(gone) + len(come)):
            return
        blocks_with: dict[str, list[int]] = {}
        for j in come:
            for word in self._new_bag(j):
                blocks_with.setdefault(word, []).append(j)
        for i in gone:
            votes: Counter[int] = Counter()
            for word in self._old_bag(i):
                holders = blocks_with.get(word, ())
                if len(holders) <= _RARE:
                    votes.update(holders)
            ranked = sorted(votes, key=lambda j: (-votes[j], j))[:_CANDIDATES]
            if ranked and self.work.take_likenesses(len(ranked)):
                yield i, [(self._likeness(i, j), j) for j in ranked]

    # -- what is left --------------------------------------------------------------------

    def _replace_in_order(self, pairs: list[Pair], moves: list[Pair]) -> list[Pair]:
        """In a gap with as many old as new blocks of the same kinds, each replaced the one in its place."""
        replaced: list[Pair] = []
        for gone, come, anchor in self._gaps(pairs, moves):
            if 0 < len(gone) == len(come) <= _REPLACED_IN_ORDER and all(
                self._same_kind(i, j) for i, j in zip(gone, come, strict=True)
            ):
                replaced += zip(gone, come, strict=True)
            if anchor:
                replaced.append(anchor)
        return replaced

    def _same_kind(self, i: int, j: int) -> bool:
        was, now = self.old[i], self.new[j]
        return was.surface is now.surface and was.tag == now.tag and was.region is now.region

    def _gaps(self, pairs: list[Pair], moves: list[Pair]) -> Iterator[tuple[list[int], list[int], Pair | None]]:
        """Unpaired old and new blocks before each pair (None at the end), without what moved."""
        moved_old = {i for i, _ in moves}
        moved_new = {j for _, j in moves}
        i = j = 0
        for at, to in [*pairs, (len(self.old), len(self.new))]:
            anchor = (at, to) if at < len(self.old) else None
            yield (
                [k for k in range(i, at) if k not in moved_old],
                [k for k in range(j, to) if k not in moved_new],
                anchor,
            )
            i, j = at + 1, to + 1

    def _leftovers(self, pairs: list[Pair], moves: list[Pair]) -> tuple[list[int], list[int]]:
        old_taken = {i for i, _ in pairs} | {i for i, _ in moves}
        new_taken = {j for _, j in pairs} | {j for _, j in moves}
        return (
            [i for i in range(len(self.old)) if i not in old_taken],
            [j for j in range(len(self.new)) if j not in new_taken],
        )

    def _old_bag(self, i: int) -> frozenset[str]:
        bag = self.old_bags.get(i)
        if bag is None:
            bag = self.old_bags[i] = bag_of(self.old_keys[i][1])
        return bag

    def _new_bag(self, j: int) -> frozenset[str]:
        bag = self.new_bags.get(j)
        if bag is None:
            bag = self.new_bags[j] = bag_of(self.new_keys[j][1])
        return bag
