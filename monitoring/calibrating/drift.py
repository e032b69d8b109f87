"""Daily figures of a site, and what in them is out of the ordinary: drift of noise, blocks, lost captures, slowness.

Each rule has a level at which it begins and a lower one at which it is over; between the two nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

SCORE_BINS = 20  # of 0.05 each
BIT_BINS = 33  # two bits each
MS_BINS = 18  # powers of two

RECENT, BEFORE = 14, 76  # days
DRIFT, DRIFT_OVER = 1.5, 1.2
SCORE_STEP, BIT_STEP = 0.05, 3.0  # a median that moved by less is no drift, whatever the ratio
NOISY = 30  # noisy visits on either side before their medians are compared
SHARE, SHARE_OVER = 0.5, 0.2  # of visits of the last day that were blocked; of the last three that brought no page
FEWEST = 2
WORSE = 3.0  # times the share of the days before
SLOW, SLOW_OVER, SLOW_STEP_MS = 2.0, 1.5, 1_000.0


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a site: visits by outcome, and histograms of noise scores, noise distances and durations."""

    number: int  # days since some day, rising
    counts: dict[str, int] = field(default_factory=dict)
    scores: Sequence[int] = ()
    bits: Sequence[int] = ()
    ms: Sequence[int] = ()

    @property
    def visits(self) -> int:
        """All visits of the day."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Sign:
    """What a rule says of a site: it begins, it goes on if it had begun, or neither; and its figures."""

    kind: str
    begins: bool
    goes_on: bool
    data: dict[str, float]


def score_bin(score: float) -> int:
    """The bin of a score."""
    return min(SCORE_BINS - 1, max(0, int(score * SCORE_BINS)))


def bit_bin(distance: int) -> int:
    """The bin of a distance."""
    return min(BIT_BINS - 1, max(0, distance // 2))


def ms_bin(duration_ms: int) -> int:
    """The bin of a duration: the power of two above it."""
    return min(MS_BINS - 1, max(0, int(duration_ms)).bit_length())


def merged(rows: Iterable[Sequence[int]], bins: int) -> list[int]:
    """The sum of histograms."""
    total = [0] * bins
    for row in rows:
        for place, count in enumerate(row[:bins]):
            total[place] += count
    return total


def median(counts: Sequence[int], edges: Sequence[float]) -> float | None:
    """The median of a histogram, spread evenly inside its bin; None of an empty one. `edges` has one more than bins."""
    half, before = sum(counts) / 2, 0
    for place, count in enumerate(counts):
        if count and before + count >= half:
            return edges[place] + (edges[place + 1] - edges[place]) * (half - before) / count
        before += count
    return None


_SCORES = [n / SCORE_BINS for n in range(SCORE_BINS + 1)]
_BITS = [2.0 * n for n in range(BIT_BINS + 1)]
_MS = [0.0, *(float(2**n) for n in range(MS_BINS))]


def typical_ms(days: Iterable[Day]) -> float | None:
    """The median duration of the days' visits in milliseconds; None without visits."""
    return median(merged((day.ms for day in days), MS_BINS), _MS)


def typical_noise(days: Iterable[Day]) -> float | None:
    """The median score of the days' noise; None without noise."""
    return median(merged((day.scores for day in days), SCORE_BINS), _SCORES)


def signs(days: Sequence[Day], today: int) -> list[Sign]:
    """Every rule's word on a site, from its days until `today`."""
    return [
        _noise("noise-score", days, today, SCORE_STEP),
        _noise("noise-distance", days, today, BIT_STEP),
        _blocked(days, today),
        _lost(days, today),
        _slow(days, today),
    ]


def _within(days: Sequence[Day], today: int, since: int, until: int = 0) -> list[Day]:
    """Days between so many days ago and so many days ago."""
    return [day for day in days if today - since < day.number <= today - until]


def _noise(kind: str, days: Sequence[Day], today: int, step: float) -> Sign:
    """Whether the noise of the last 14 days is larger than that of the 76 before: a template that keeps changing."""

    def middle(part: list[Day]) -> tuple[float | None, int]:
        if kind == "noise-score":
            counts, edges = merged((day.scores for day in part), SCORE_BINS), _SCORES
        else:
            counts, edges = merged((day.bits for day in part), BIT_BINS), _BITS
        return median(counts, edges), sum(counts)

    now, seen = middle(_within(days, today, RECENT))
    was, before = middle(_within(days, today, RECENT + BEFORE, RECENT))
    if now is None or was is None or min(seen, before) < NOISY:
        return Sign(kind, False, False, {})
    data = {"now": round(now, 3), "before": round(was, 3)}
    begins = now >= DRIFT * was and now - was >= step
    return Sign(kind, begins, now >= DRIFT_OVER * was and now - was >= step / 2, data)


def _share(days: Sequence[Day], outcomes: Sequence[str]) -> tuple[float, int]:
    visits = sum(day.visits for day in days)
    return (sum(day.counts.get(o, 0) for day in days for o in outcomes) / visits if visits else 0.0), visits


def _blocked(days: Sequence[Day], today: int) -> Sign:
    share, visits = _share(_within(days, today, 1), ["blocked"])
    known = visits >= FEWEST
    data = {"share": round(share, 3), "visits": float(visits)}
    return Sign("blocked", known and share >= SHARE, share >= SHARE_OVER or not known, data)


def _lost(days: Sequence[Day], today: int) -> Sign:
    """Captures that brought no page, against what is usual there."""
    share, visits = _share(_within(days, today, 3), ["error", "gone"])
    usual, _ = _share(_within(days, today, 30, 3), ["error", "gone"])
    known = visits >= FEWEST
    data = {"share": round(share, 3), "usual": round(usual, 3), "visits": float(visits)}
    begins = known and share >= SHARE and share >= WORSE * usual
    return Sign("captures", begins, share >= SHARE_OVER or not known, data)


def _slow(days: Sequence[Day], today: int) -> Sign:
    """The median duration of three days against the 27 before."""
    now, was = typical_ms(_within(days, today, 3)), typical_ms(_within(days, today, 30, 3))
    if now is None or was is None:
        return Sign("slow", False, False, {})
    data = {"now_ms": round(now, 0), "before_ms": round(was, 0)}
    return Sign("slow", now >= SLOW * was and now - was >= SLOW_STEP_MS, now >= SLOW_OVER * was, data)
