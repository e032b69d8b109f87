"""A cut and a threshold from what people decided, with what is known and not known about the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .bounds import total_bounds, upper_share
from .evidence import BITS, Approvals, Sample, approvals

ENOUGH = 30  # verdicts of each kind before a proposal is made from them
MARGIN = 0.95  # a proposed cut is at most this share of the smallest approved score that counts on it
BLUR = 0.02  # scores this far apart are much the same: an approval speaks for its neighbourhood
MISS_COST = 20.0  # dismissals that a person would rather give than have one change missed
AUDITED = 10  # verdicts on audit samples between new and old cut without which nothing is said about what lies there
GRAIN = 1000  # cuts are proposed in thousandths


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is said beside a proposal, with its figures."""

    code: str
    data: dict[str, float | int | list[int]]


@dataclass(frozen=True, slots=True)
class Between:
    """What is known of the items that a step moves from one side to the other.

    seen, approved: verdicts on such items. upper: with 95 % confidence at most this share of them matters; it says
    nothing of what lies elsewhere. more_found, more_alarms: what a step down brings in the time of the samples, as
    estimate, low and high, each audit sample standing for as many as its rate says.
    """

    seen: int = 0
    approved: int = 0
    upper: float = 1.0
    more_found: tuple[float, float, float] = (0.0, 0.0, 0.0)
    more_alarms: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A cut and threshold beside those in force; `notes` say what a person should know before applying them."""

    cut: float
    threshold: int
    before_cut: float
    before_threshold: int
    between: Between
    notes: tuple[Note, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether anything would change."""
        return (self.cut, self.threshold) != (self.before_cut, self.before_threshold)

    @property
    def lowers(self) -> bool:
        """Whether more would come to the queue."""
        return self.cut < self.before_cut or self.threshold < self.before_threshold


def propose(samples: Sequence[Sample], *, cut: float, threshold: int, quiet: Sequence[int] = ()) -> Proposal:
    """The proposal from these samples beside the cut and threshold in force.

    quiet: of each monitor the largest distance between its quiet fetches (short pages left out). Of all pairs of cut and
    threshold that keep every binding approval with the margin, the one with the least cost: dismissals queued, and
    approvals by how near they stand (`BLUR`), `MISS_COST` each. Ties go to the values nearest to those in force.
    A threshold is only ever raised here: what a lower one would bring is known of no sample, and quiet fetches lower it.
    """
    found = approvals(samples, cut)
    audited = [s for s in samples if s.audit]
    may_lower, notes = _may_lower(found, audited, cut, threshold)
    wanted = {threshold} | {s.distance for s in samples if not s.approved and threshold < s.distance <= BITS}
    choices = [_best_cut(samples, found, cut, threshold, bits, may_lower=may_lower) for bits in sorted(wanted)]
    _, _, new_cut, bits = min((cost, abs(bits - threshold), c, bits) for cost, c, bits in choices)
    between = _between(samples, (cut, threshold), (new_cut, bits))
    notes += _quiet_notes(quiet, bits)
    if found.pending:
        notes.append(Note("second-opinion", {"changes": [s.key for s in found.pending]}))
    if found.contested:
        notes.append(Note("contested", {"changes": [s.key for s in found.contested]}))
    return Proposal(new_cut, bits, cut, threshold, between, tuple(notes))


def _may_lower(found: Approvals, audited: Sequence[Sample], cut: float, threshold: int) -> tuple[bool, list[Note]]:
    """Whether the approvals ask for a lower cut and the audit sample bears it out."""
    safe = min((s.lost_at(threshold, margin=MARGIN) for s in found.firm), default=1.0)
    if safe >= cut:
        return False, []
    if any(s.audit and s.lost_at(threshold) < cut for s in found.firm):
        return True, []
    seen = sum(1 for s in audited if safe <= s.score < cut)
    if seen >= AUDITED:
        return True, []
    return False, [Note("audit-needed", {"smallest": round(safe / MARGIN, 4), "seen": seen, "needed": AUDITED})]


def _best_cut(
    samples: Sequence[Sample], found: Approvals, cut: float, threshold: int, bits: int, *, may_lower: bool
) -> tuple[float, float, int]:
    """Cost, cut and threshold of the best cut at the threshold `bits`; the cost is infinite where none is allowed."""
    ceiling = _ceiling(found, cut, threshold, bits, may_lower=may_lower)
    if ceiling < cut and not may_lower:
        return math.inf, cut, bits
    lost = [(s.lost_at(bits), s.weight) for s in found.binding]
    alarms = [(_leaves_at(s, bits), s.weight) for s in samples if not s.approved]
    low, top = (0.0 if may_lower else cut), math.floor(ceiling * GRAIN) / GRAIN
    cuts = {cut if cut <= ceiling else top, max(top, low)}
    cuts |= {c for leaves, _ in alarms if low <= (c := math.floor(leaves * GRAIN + 1) / GRAIN) <= top}
    cost, _, best = min((_cost(c, lost, alarms), abs(c - cut), c) for c in cuts)
    return cost, best, bits


def _ceiling(found: Approvals, cut: float, threshold: int, bits: int, *, may_lower: bool) -> float:
    """The highest cut that is allowed at the threshold `bits`.

    An approval that stands nearer than the margin to the values in force does not pull them down unless they may be
    lowered, but nothing may bring it nearer to being missed. The distance of a short page is not relied on; where it
    brings an approval to the queue today, a higher threshold does not take it away either.
    """

    def limit(s: Sample, *, pulls: bool) -> float:
        safe = s.lost_at(bits, margin=MARGIN)
        if safe >= cut or pulls or safe < s.lost_at(threshold, margin=MARGIN):
            return safe
        return safe if s.queued(cut, threshold) and not s.queued(cut, bits) else cut

    limits = [limit(s, pulls=may_lower) for s in found.firm] + [limit(s, pulls=False) for s in found.pending]
    return min([*limits, 1.0])


def _leaves_at(s: Sample, bits: int) -> float:
    """The highest cut at which a dismissed item would still have come to the queue."""
    if s.distance <= bits:
        return s.score
    return max(s.score, (s.score if s.main is None else s.main) * 2)


def _cost(cut: float, lost: Sequence[tuple[float, float]], alarms: Sequence[tuple[float, float]]) -> float:
    """What a cut costs: dismissals that it lets through, and approvals by how near it comes to them."""
    looks = sum(weight for leaves, weight in alarms if leaves >= cut)
    near = sum(weight / (1.0 + math.exp(min(50.0, (at - cut) / BLUR))) for at, weight in lost)
    return looks + MISS_COST * near


def _between(samples: Sequence[Sample], old: tuple[float, int], new: tuple[float, int]) -> Between:
    """What the samples say of the items between two pairs of cut and threshold."""
    gone = [s for s in samples if not s.audit and s.queued(*old) and not s.queued(*new)]
    come = [s for s in samples if s.audit and s.queued(*new) and not s.queued(*old)]
    widest = max((s.weight for s in samples if s.audit), default=0.0)
    hits = sum(s.approved for s in gone)
    return Between(
        seen=len(gone),
        approved=hits,
        upper=upper_share(hits, len(gone)),
        more_found=_estimate([s.weight for s in come if s.approved], widest),
        more_alarms=_estimate([s.weight for s in come if not s.approved], widest),
    )


def _estimate(weights: Sequence[float], widest: float) -> tuple[float, float, float]:
    return (sum(weights), *total_bounds(weights, widest=widest))


def _quiet_notes(quiet: Sequence[int], bits: int) -> list[Note]:
    """Said when pages move further by themselves than the proposed threshold allows."""
    above = [distance for distance in quiet if distance > bits]
    if not above:
        return []
    return [Note("below-quiet", {"monitors": len(above), "of": len(quiet), "largest": max(above)})]
