"""What a cut and a threshold would have done with what is on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitoring.detection.judgement import is_content

from .evidence import Sample


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored check that was judged and called noise; `main` as in `Sample`."""

    score: float
    distance: int
    main: float | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The effect of a cut and threshold on the record.

    per_week: items that would have come to the queue. kept, missed: approvals and reported cases; `missed_keys` are the
    changes of the approvals among them. spared,
    stayed: dismissals. precision: share of approvals among what comes, None where nothing does.
    """

    cut: float
    threshold: int
    per_week: float
    kept: int
    missed: int
    spared: int
    stayed: int
    precision: float | None
    missed_keys: tuple[int, ...]


def what_if(
    samples: Sequence[Sample],
    *,
    cut: float,
    threshold: int,
    weeks: float,
    noise: Sequence[Stored] = (),
    noise_weeks: float = 1.0,
) -> WhatIf:
    """Verdicts and stored noise, judged again by their figures.

    weeks, noise_weeks: the time that each of the two covers. Where the weight in the main text was not recorded, what
    the distance alone would have brought is counted, so that the queue comes out rather too long than too short; an
    approval is then called kept only by its score.
    """
    approved = [s for s in samples if s.approved]
    dismissed = [s for s in samples if not s.approved and not s.audit]
    missed = [s for s in approved if not is_content(s.score, s.distance, s.main or 0.0, cut=cut, threshold=threshold)]
    stayed = sum(s.queued(cut, threshold) for s in dismissed)
    kept = len(approved) - len(missed)
    came = sum(s.queued(cut, threshold) for s in samples if not s.audit)
    more = sum(
        is_content(n.score, n.distance, n.score if n.main is None else n.main, cut=cut, threshold=threshold)
        for n in noise
    )
    return WhatIf(
        cut=cut,
        threshold=threshold,
        per_week=came / max(weeks, 1 / 7) + more / max(noise_weeks, 1 / 7),
        kept=kept,
        missed=len(missed),
        spared=len(dismissed) - stayed,
        stayed=stayed,
        precision=kept / (kept + stayed) if kept + stayed else None,
        missed_keys=tuple(s.key for s in missed if not s.reported),
    )


def curve(samples: Sequence[Sample], *, threshold: int, points: int = 50) -> list[tuple[float, float, float]]:
    """For cuts from 0 to 1: the cut, the share of approvals kept and the share of dismissals that come.

    Items of the audit sample count as often as their rate says.
    """
    rows = []
    kept = sum(s.weight for s in samples if s.approved) or 1.0
    put = sum(s.weight for s in samples if not s.approved) or 1.0
    for number in range(points + 1):
        cut = number / points
        inside = [s for s in samples if s.queued(cut, threshold)]
        good = sum(s.weight for s in inside if s.approved)
        bad = sum(s.weight for s in inside if not s.approved)
        rows.append((cut, round(good / kept, 4), round(bad / put, 4)))
    return rows
