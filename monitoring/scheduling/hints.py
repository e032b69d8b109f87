"""What a site's own word about a change is worth: pure functions of its record and of the waiting it would save.

A hint (a sitemap's lastmod, a feed's entry) is followed when the waiting it is expected to save is worth a fetch. It only
ever pulls a visit forward: a site that stays silent, or lies, gains no longer interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# A time so close to the reading of the list was most likely made up for it.
GENERATED_WITHIN = timedelta(seconds=60)
AHEAD = timedelta(minutes=10)  # how far a site's clock may go wrong
KEPT = 400.0  # of the record, in hints: what is older fades


@dataclass(frozen=True, slots=True)
class Trust:
    """How often hints of a source were followed by a change: Beta counts, with one of each to begin with."""

    hits: float = 0.0
    misses: float = 0.0

    @property
    def precision(self) -> float:
        """Expected share of hints that a change follows, 0 to 1: a half for a source without a record."""
        return (self.hits + 1.0) / (self.hits + self.misses + 2.0)

    def after(self, *, changed: bool) -> Trust:
        """The record with one more hint that came true or did not."""
        fade = min(1.0, KEPT / (self.hits + self.misses + 1.0))
        return Trust(self.hits * fade + changed, self.misses * fade + (not changed))


def accepted_cost(*, weight: float, rate: float, interval_days: float) -> float:
    """What one fetch costs in weighted days of waiting, read off the interval that somebody accepted.

    A page visited every x days costs `weight rate x / 2` a day in waiting; the price at which that x is the best choice
    is `weight rate x^2 / 2`. `rate` is in changes per day.
    """
    return weight * rate * interval_days**2 / 2


def is_worth(*, weight: float, precision: float, wait_days: float, cost: float) -> bool:
    """Whether to visit now instead of in `wait_days`: the weighted waiting expected to be saved against a fetch's cost."""
    return wait_days > 0 and weight * precision * wait_days > cost


def telling(dates: Iterable[tuple[str, datetime]], *, read_at: datetime) -> dict[str, datetime]:
    """The latest date of each address, without dates that tell nothing.

    Left out are those in the future, those of the very moment the list was made, and one that most entries share:
    it is the date of the list and not of a page.
    """
    listed: Sequence[tuple[str, datetime]] = list(dates)
    shared = Counter(at for _, at in listed)
    latest: dict[str, datetime] = {}
    for address, at in listed:
        common = shared[at] > 1 and shared[at] * 2 > len(listed)
        if common or at > read_at + AHEAD or abs(read_at - at) <= GENERATED_WITHIN:
            continue
        latest[address] = max(latest.get(address, datetime.min.replace(tzinfo=UTC)), at)
    return latest


def next_poll_s(trust: Trust, *, shortest_s: float = 3600.0, longest_s: float = 86_400.0) -> float:
    """Seconds until a source is read again: an hour, longer the less its word was worth, at most a day."""
    return min(max(shortest_s * 0.5 / trust.precision, shortest_s), longest_s)
