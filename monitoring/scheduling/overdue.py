"""Which visits come first when there are more of them than workers can make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monitoring.scheduling.core import Rate

LATE_DAYS = 10 / 1440  # nobody orders anew what is only a little late
SAVABLE = 0.07  # of the longest interval: who is this close to it is visited before it is over


@dataclass(frozen=True, slots=True)
class Overdue:
    """A visit that is due. Times in days on one clock: of the last good visit and of the promised one."""

    key: int
    last: float
    deadline: float
    weight: float
    rate: Rate
    cost: float = 1.0

    @property
    def longest(self) -> float:
        """The longest interval that was promised."""
        return self.deadline - self.last

    def worth(self, now: float) -> float:
        """Expected weighted waiting, up to now, of the changes that nobody has seen, per cost of a visit."""
        age = max(now - self.last, 0.0)
        return self.weight * self.rate.a / self.rate.b * age * age / 2 / self.cost


def is_savable(row: Overdue, now: float) -> bool:
    """Whether the promise can just be kept: its time is nearly over, and is not over yet."""
    return now <= row.deadline <= now + SAVABLE * row.longest


def order_overdue(rows: Iterable[Overdue], now: float) -> list[Overdue]:
    """The rows in the order in which they are visited: promises that can still be kept, then what is worth most.

    A promise that is broken already takes its turn by worth: hurrying would break the next one for it.
    """
    savable: list[Overdue] = []
    others: list[Overdue] = []
    for row in rows:
        (savable if is_savable(row, now) else others).append(row)
    savable.sort(key=lambda row: (row.deadline, row.key))
    others.sort(key=lambda row: (-row.worth(now), row.key))
    return savable + others
