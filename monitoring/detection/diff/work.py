"""How much a diff may do, counted in operations.

A clock would make the same two pages give another diff on a busy machine. Counters do not: the same
input spends the same work everywhere, and where it runs out the diff gets coarser in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """The budget of one diff; `simplified` turns true at the first thing that was refused.

    cells: cells of the common-subsequence table, one bit each (about 10^7 a CPU millisecond).
    characters: characters cut into words (about 10^4 a CPU millisecond).
    likenesses: comparisons of two blocks' bags of words, and bags made for them.
    """

    cells: int = 1_200_000_000
    characters: int = 1_500_000
    likenesses: int = 40_000
    simplified: bool = False

    def take_cells(self, count: int) -> bool:
        """Whether `count` cells are left; spends them if so."""
        if count > self.cells:
            self.simplified = True
            return False
        self.cells -= count
        return True

    def take_characters(self, count: int) -> bool:
        """Whether `count` characters are left; spends them if so."""
        if count > self.characters:
            self.simplified = True
            return False
        self.characters -= count
        return True

    def take_likenesses(self, count: int) -> bool:
        """Whether `count` comparisons are left; spends them if so."""
        if count > self.likenesses:
            self.simplified = True
            return False
        self.likenesses -= count
        return True
