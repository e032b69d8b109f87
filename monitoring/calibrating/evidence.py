"""What counts as evidence: one verdict as a sample, and which samples bind a cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from monitoring.detection.judgement import FAR_SHARE, is_content

ALONE_SHARE = 0.05  # so many of the approvals, or one, may be a group that stands apart
ALONE_BELOW = 0.7  # and all of it scores below this share of the next approval
DEEP_SHARE = 0.5  # of the cut: an approved audit sample below that asks for a second opinion too
SHORT_WORDS = 120
BITS = 64
SHINGLE = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One verdict that counts: the change's figures as they were, and what was decided.

    main: weight of the strongest edit of the main text; None where that was not recorded, and then the distance is not
    relied on for it. share: the chance with which such an item was put before a person: the audit share for an item of
    the audit sample, else 1. second: another person's opinion, where there is one. short: the page has fewer than
    `SHORT_WORDS` words, so its distance says nothing about other pages. reported: no verdict, but a change that a person
    named as missed; it binds like an approval that two people gave. key: of the change, or of the case.
    """

    score: float
    distance: int
    approved: bool
    main: float | None = None
    audit: bool = False
    share: float = 1.0
    second: bool | None = None
    short: bool = False
    reported: bool = False
    key: int = 0

    @property
    def weight(self) -> float:
        """How many such items this one stands for."""
        return 1.0 / self.share if self.share > 0 else 1.0

    def queued(self, cut: float, threshold: int) -> bool:
        """Whether the item would come to the queue; where `main` is unknown it may be said to come when it would not."""
        return is_content(
            self.score, self.distance, self.score if self.main is None else self.main, cut=cut, threshold=threshold
        )

    def lost_at(self, threshold: int, *, margin: float = 1.0) -> float:
        """The cut above which the item is no longer queued; with a margin, the highest cut that keeps it safely.

        Relies on the distance only where it exceeds the threshold by that margin too, and never on a short page.
        """
        if self.short or self.main is None or self.distance * margin <= threshold:
            return self.score * margin
        return max(self.score, self.main / FAR_SHARE) * margin


def standing_apart(approved: Sequence[Sample]) -> list[Sample]:
    """The approvals that score far below all others: at most one in twenty (or one), under 70 % of the next one.

    One slip of a hand must not decide for a whole page type, so these ask for a second opinion before they bind.
    Errs towards asking: a real change of an unusual sort stands apart too.
    """
    ordered = sorted(approved, key=lambda s: (s.score, s.key))
    most = min(max(1, int(len(ordered) * ALONE_SHARE)), len(ordered) - 1)
    for count in range(most, 0, -1):
        if ordered[count - 1].score < ordered[count].score * ALONE_BELOW:
            return ordered[:count]
    return []


@dataclass(frozen=True, slots=True)
class Approvals:
    """Approvals by how they bind: `firm` both ways; `pending` stop a rise and lower nothing; `contested` do neither."""

    firm: tuple[Sample, ...]
    pending: tuple[Sample, ...]
    contested: tuple[Sample, ...]

    @property
    def binding(self) -> tuple[Sample, ...]:
        """Those that no rise may pass."""
        return self.firm + self.pending


def approvals(samples: Sequence[Sample], cut: float) -> Approvals:
    """The approvals among some samples, sorted by how they bind beside the cut in force.

    Apart stand those far below all others, and audit samples that ask for less than half the cut: a slip of the hand
    among the many audit samples that score nothing would let everything through. Only an approval that stands apart and
    was contradicted by another person gives way. A second opinion on any other
    approval changes nothing here, so that no number of opinions lets a cut pass what people approved.
    """
    reported = [s for s in samples if s.approved and s.reported]
    approved = [s for s in samples if s.approved and not s.reported]
    apart = set(standing_apart(approved)) | {s for s in approved if s.audit and s.score < cut * DEEP_SHARE}
    return Approvals(
        firm=tuple(s for s in approved if s not in apart or s.second is True) + tuple(reported),
        pending=tuple(s for s in apart if s.second is None),
        contested=tuple(s for s in apart if s.second is False),
    )


def bits_of_a_word(words: int) -> float:
    """Bits that one changed word is expected to move in the fingerprint of a text of so many words.

    One word is in three shingles; the votes before and after are two vectors with the cosine 1 - 3/n, and a bit flips
    with the chance angle/pi (Charikar 2002). 1.6 bits in 1,000 words, 9 in 30.
    """
    shingles = max(1, words - SHINGLE + 1)
    return BITS * math.acos(max(-1.0, 1.0 - min(SHINGLE, shingles) / shingles)) / math.pi


def quiet_threshold(distances: Sequence[int], words: int | None = None) -> int:
    """The threshold just above what quiet fetches of one page showed, at most 64.

    A short page has a prior of its own: few fetches of it prove little, so the threshold is at least what one changed
    word moves there. Errs towards a high threshold on short pages, where the substance of each edit decides anyway.
    """
    seen = max(distances, default=0) + 1
    if words is not None and words < SHORT_WORDS:
        seen = max(seen, math.ceil(bits_of_a_word(words)))
    return min(BITS, seen)
