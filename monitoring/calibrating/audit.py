"""How much is missed: an estimate from the audit sample, with an interval that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .bounds import total_bounds


@dataclass(frozen=True, slots=True)
class Stratum:
    """Audit samples taken with one share in one population, such as the noise of one page type.

    sampled: opened for a person. decided: of these, with a verdict that counts. approved: of these, what was missed.
    """

    share: float
    sampled: int
    decided: int
    approved: int

    @property
    def weight(self) -> float:
        """How many items of the population one decided sample stands for; those that wait are taken to be like the others.

        Where none was sampled or decided yet, what one would stand for: nothing is known of that population.
        """
        if self.share <= 0.0:
            return 0.0
        return max(1, self.sampled) / max(1, self.decided) / self.share


@dataclass(frozen=True, slots=True)
class Missed:
    """Changes missed and found in a time, and the share missed with its interval; None where nothing was audited."""

    total: float
    low: float
    high: float
    found: int
    decided: int

    @property
    def rate(self) -> float | None:
        """Share of all changes that were missed, as estimated."""
        return _share(self.total, self.found) if self.decided else None

    @property
    def rate_low(self) -> float:
        """Its lower bound."""
        return _share(self.low, self.found)

    @property
    def rate_high(self) -> float:
        """Its upper bound."""
        return _share(self.high, self.found)


def _share(missed: float, found: int) -> float:
    return missed / (missed + found) if missed + found > 0 else 0.0 if found else 1.0


def missed(strata: Sequence[Stratum], *, found: int, confidence: float = 0.95) -> Missed:
    """How much was missed in a time, beside `found` approved changes of the queue.

    The interval holds in at least `confidence` of installations if samples are drawn by chance and people decide on them
    as they would in the queue. A wrong approval among the samples weighs as much as one over their share.
    """
    weights = [s.weight for s in strata for _ in range(s.approved)]
    widest = max((s.weight for s in strata), default=0.0)
    low, high = total_bounds(weights, widest=widest, confidence=confidence)
    return Missed(sum(weights), low, high, found, sum(s.decided for s in strata))
