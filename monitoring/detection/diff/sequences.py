"""Alignment of two sequences of whole numbers: longest common subsequence within a budget.

The table of Hunt and Szymanski's problem is computed a row at a time in the bits of one long integer
(Crochemore and others 2001, Hyyrö 2004). Its cost depends on the lengths alone and not on how different the
sequences are, which is what makes the bound honest: 10,000 against 10,000 is 10^8 cells, whatever the edit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from monitoring.detection.diff.work import Work

Match = tuple[int, int]

TABLE_CELLS = 20_000_000
"""The largest table held at once; one bit a cell, so 2.5 MB."""


SHINGLE = 3
"""Runs of this many values are rare enough in text to tell where a table too large to compute can be cut."""


def align(old: Sequence[int], new: Sequence[int], work: Work) -> list[Match]:
    """Index pairs of equal elements, increasing on both sides; as many as possible within the budget.

    Where the table would be too large, n-th occurrences of runs of three values are matched first, as far as those
    matches do not cross, and the gaps between are aligned exactly while the budget lasts: perhaps fewer matches, never
    wrong ones.
    """
    head = _common_head(old, new)
    tail = _common_tail(old, new, head)
    matches = [(i, i) for i in range(head)]
    matches += _align_middle(old, new, head, len(old) - tail, len(new) - tail, work)
    matches += [(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]
    return matches


def longest_increasing(values: Sequence[int]) -> list[int]:
    """Positions of one longest strictly increasing subsequence, by patience sorting."""
    tops: list[int] = []
    top_at: list[int] = []
    before = [-1] * len(values)
    for at, value in enumerate(values):
        pile = bisect_left(tops, value)
        before[at] = top_at[pile - 1] if pile else -1
        if pile == len(tops):
            tops.append(value)
            top_at.append(at)
        else:
            tops[pile] = value
            top_at[pile] = at
    chain: list[int] = []
    at = top_at[-1] if top_at else -1
    while at >= 0:
        chain.append(at)
        at = before[at]
    chain.reverse()
    return chain


def _common_head(old: Sequence[int], new: Sequence[int]) -> int:
    """How many leading elements are equal."""
    size = min(len(old), len(new))
    for at in range(size):
        if old[at] != new[at]:
            return at
    return size


def _common_tail(old: Sequence[int], new: Sequence[int], head: int) -> int:
    """How many trailing elements are equal, without touching the common head."""
    size = min(len(old), len(new)) - head
    for at in range(1, size + 1):
        if old[-at] != new[-at]:
            return at - 1
    return size


def _align_middle(
    old: Sequence[int], new: Sequence[int], start: int, old_end: int, new_end: int, work: Work
) -> list[Match]:
    """Matches inside old[start:old_end] and new[start:new_end], where only shared values can match."""
    if old_end - start == new_end - start:
        straight = _straight(old[start:old_end], new[start:new_end])
        if straight is not None:
            return [(start + at, start + at) for at in straight]
    shared = set(old[start:old_end]).intersection(new[start:new_end])
    if not shared:
        return []
    old_at = [i for i in range(start, old_end) if old[i] in shared]
    new_at = [j for j in range(start, new_end) if new[j] in shared]
    left = [old[i] for i in old_at]
    right = [new[j] for j in new_at]
    found = _align_shared(left, right, work)
    return [(old_at[i], new_at[j]) for i, j in found]


def _straight(left: Sequence[int], right: Sequence[int]) -> list[int] | None:
    """Where two sequences of one length agree, if no alignment can do better; None when one might.

    Where they disagree, no value of one side is a value of the other. Then even the numbers of each value that both
    have, order aside, add up to the places where they agree, and no common subsequence is longer than that.
    """
    agree = [at for at, (one, other) in enumerate(zip(left, right, strict=True)) if one == other]
    agreeing = set(agree)
    odd = [at for at in range(len(left)) if at not in agreeing]
    if {left[at] for at in odd}.isdisjoint([right[at] for at in odd]):
        return agree
    return None


def _align_shared(left: list[int], right: list[int], work: Work, width: int = SHINGLE) -> list[Match]:
    """Exactly where the table is small enough; else round the n-th occurrences of runs of `width` values."""
    cells = len(left) * len(right)
    if cells <= TABLE_CELLS and work.take_cells(cells):
        return _common_subsequence(left, right)
    anchors = _nth_with_nth(_shingles(left, width), _shingles(right, width))
    matches: list[Match] = []
    i0 = j0 = 0
    for i1, j1 in [*anchors, (len(left), len(right))]:
        if i0 < i1 and j0 < j1:
            gap_left, gap_right = left[i0:i1], right[j0:j1]
            if width > 1:
                inner = _align_shared(gap_left, gap_right, work, 1)
            elif (i1 - i0) * (j1 - j0) <= TABLE_CELLS and work.take_cells((i1 - i0) * (j1 - j0)):
                inner = _common_subsequence(gap_left, gap_right)
            else:
                work.simplified = True
                inner = []
            matches += [(i0 + i, j0 + j) for i, j in inner]
        if i1 < len(left):
            matches.append((i1, j1))
        i0, j0 = i1 + 1, j1 + 1
    return matches


def _shingles(values: list[int], width: int) -> list[int]:
    """A number for every run of `width` (1 or SHINGLE) values; the short runs at the end count as they are."""
    if width == 1:
        return values
    base = max(values, default=0) + 2
    seconds = [value + 1 for value in values[1:]] + [0, 0]
    return [
        (value * base + second) * base + third
        for value, second, third in zip(values, seconds, seconds[1:], strict=False)
    ]


def _nth_with_nth(left: list[int], right: list[int]) -> list[Match]:
    """The longest set of uncrossed matches between n-th occurrences of the same value."""
    shared = set(left).intersection(right)
    places: dict[int, list[int]] = {value: [] for value in shared}
    for j in range(len(right) - 1, -1, -1):
        value = right[j]
        if value in shared:
            places[value].append(j)
    sources: list[int] = []
    targets: list[int] = []
    for i, value in enumerate(left):
        if value in shared and (stack := places[value]):
            sources.append(i)
            targets.append(stack.pop())
    return [(sources[k], targets[k]) for k in longest_increasing(targets)]


def _common_subsequence(left: list[int], right: list[int]) -> list[Match]:
    """One longest common subsequence as index pairs; len(left) * len(right) / 8 bytes of memory."""
    where: dict[int, int] = {}
    bit = 1
    for value in left:
        where[value] = where.get(value, 0) | bit
        bit <<= 1
    full = bit - 1
    row = full
    rows = [row]
    for value in right:
        hits = row & where.get(value, 0)
        row = ((row + hits) | (row - hits)) & full
        rows.append(row)
    matches: list[Match] = []
    i, j = len(left), len(right)
    while i and j:
        # A set bit says: the first i elements match no more of right[:j] than the first i - 1 do.
        if rows[j] >> (i - 1) & 1:
            i -= 1
            continue
        j -= 1
        if rows[j] >> (i - 1) & 1:
            i -= 1
            matches.append((i, j))
    matches.reverse()
    return matches
