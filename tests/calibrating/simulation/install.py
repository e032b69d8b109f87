"""A simulated installation: visits by chance, a scripted analyst, and a lead who applies what is proposed.

The pieces under test are the product's own: the detector's figures and its rule (`is_content`), the samples and the proposals.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from monitoring.calibrating.audit import Missed, Stratum, missed
from monitoring.calibrating.evidence import Sample, approvals
from monitoring.calibrating.proposal import ENOUGH, propose
from monitoring.detection.judgement import is_content
from tests.calibrating.simulation.pool import Event


@dataclass(frozen=True, slots=True)
class Plan:
    """How an installation starts and who decides in it.

    changes: share of visits with a difference that matter. error: share of verdicts that are wrong, of second opinions too.
    every: verdicts between two proposals, each of which is applied.
    """

    cut: float
    threshold: int = 3
    audit: float = 0.05
    changes: float = 0.3
    error: float = 0.0
    every: int = 25


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of held-out changes and noise that come to the queue."""

    recall: float
    alarms: float


@dataclass(slots=True)
class Installation:
    """One page type at work."""

    plan: Plan
    rng: random.Random
    cut: float = 0.0
    threshold: int = 0
    samples: list[Sample] = field(default_factory=list)
    truth: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cut, self.threshold = self.plan.cut, self.plan.threshold

    def work(self, events: Sequence[Event], verdicts: int) -> None:
        """Visit pages until so many verdicts were given more."""
        changes = [e for e in events if e.matters]
        noise = [e for e in events if not e.matters]
        goal = len(self.samples) + verdicts
        while len(self.samples) < goal:
            met = self.rng.choice(changes if self.rng.random() < self.plan.changes else noise)
            queued = queues(met, self.cut, self.threshold)
            if not queued and self.rng.random() >= self.plan.audit:
                continue
            self.truth.append(met)
            self.samples.append(self._verdict(met, audit=not queued))
            if len(self.samples) % self.plan.every == 0:
                self.calibrate()

    def _verdict(self, met: Event, *, audit: bool) -> Sample:
        return Sample(
            score=met.score,
            distance=met.distance,
            approved=self._opinion(met),
            main=met.main,
            audit=audit,
            share=self.plan.audit if audit else 1.0,
            short=met.short,
            key=len(self.samples),
        )

    def _opinion(self, met: Event) -> bool:
        return met.matters != (self.rng.random() < self.plan.error)

    def calibrate(self) -> None:
        """A proposal, the second opinions it asks for, and the proposal after these, applied."""
        approved = sum(s.approved for s in self.samples)
        if approved < ENOUGH or len(self.samples) - approved < ENOUGH:
            return
        for s in approvals(self.samples, self.cut).pending:
            self.samples[s.key] = replace(s, second=self._opinion(self.truth[s.key]))
        found = propose(self.samples, cut=self.cut, threshold=self.threshold)
        self.cut, self.threshold = found.cut, found.threshold

    def quality(self, held: Sequence[Event]) -> Quality:
        """How the values in force do on events that nothing was learned from."""
        return quality(held, self.cut, self.threshold)


def queues(met: Event, cut: float, threshold: int) -> bool:
    """The detector's own rule."""
    return is_content(met.score, met.distance, met.main, cut=cut, threshold=threshold)


def quality(held: Sequence[Event], cut: float, threshold: int) -> Quality:
    """Recall and alarms on some events."""
    changes = [e for e in held if e.matters]
    noise = [e for e in held if not e.matters]
    return Quality(
        sum(queues(e, cut, threshold) for e in changes) / max(1, len(changes)),
        sum(queues(e, cut, threshold) for e in noise) / max(1, len(noise)),
    )


def best_cut(held: Sequence[Event], threshold: int) -> tuple[float, Quality]:
    """The cut that is best on the held-out events themselves: most recall less alarms, the higher recall of equals."""
    found = [(cut / 1000, quality(held, cut / 1000, threshold)) for cut in range(5, 1000, 5)]
    return max(found, key=lambda row: (row[1].recall - row[1].alarms, row[1].recall, -row[0]))


def audited(events: Sequence[Event], *, rng: random.Random, visits: int, error: float = 0.0) -> tuple[float, Missed]:
    """The true miss rate of an installation of three page types, and the estimate from its audit sample."""
    strata: list[Stratum] = []
    lost = found = 0
    for share in rng.sample((0.01, 0.02, 0.05, 0.1, 0.2), 3):
        cut, part = rng.uniform(0.3, 0.98), rng.uniform(0.02, 0.3)
        changes = [e for e in events if e.matters]
        noise = [e for e in events if not e.matters]
        sampled = approved = 0
        for _ in range(visits):
            met = rng.choice(changes if rng.random() < part else noise)
            if queues(met, cut, 3):
                found += met.matters
                continue
            lost += met.matters
            if rng.random() < share:
                sampled += 1
                approved += met.matters != (rng.random() < error)
        strata.append(Stratum(share, sampled, sampled, approved))
    return lost / max(1, lost + found), missed(strata, found=found)
