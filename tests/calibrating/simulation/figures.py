"""The figures that calibration has to reach, and the command that prints them."""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from monitoring.calibrating.evidence import approvals
from tests.calibrating.simulation.install import Installation, Plan, audited, best_cut, quality, queues
from tests.calibrating.simulation.pairs import EDITS, LOUD_NOISE, QUIET_NOISE
from tests.calibrating.simulation.pool import CORPUS, Event, real, synthetic

VERDICTS = 200
LOW = 0.05
LOST = 0.2  # share of changes that a start from a high cut misses
DOUBTFUL = 0.2  # audit share of an installation that starts with a high cut
RECOVER = 50


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure and whether it is reached."""

    name: str
    words: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """Events to learn from and events of other pages, held out."""

    name: str
    learn: Sequence[Event]
    held: Sequence[Event]


def halves(name: str, events: Sequence[Event]) -> Pool:
    """Every other page is held out."""
    pages = sorted({e.page for e in events})
    random.Random("halves").shuffle(pages)
    learn = set(pages[::2])
    return Pool(name, [e for e in events if e.page in learn], [e for e in events if e.page not in learn])


def from_low(pool: Pool, seeds: int, error: float = 0.0) -> list[Figure]:
    """From a cut that is far too low."""
    best, top = best_cut(pool.held, 3)
    rows = []
    before = quality(pool.held, LOW, 3)
    for seed in range(seeds):
        place = Installation(Plan(LOW, error=error), random.Random(f"low/{seed}"))
        place.work(pool.learn, VERDICTS)
        rows.append((place.cut, place.quality(pool.held)))
    fewer = [1 - q.alarms / before.alarms if before.alarms else 1.0 for _, q in rows]
    short = [100 * (top.recall - q.recall) for _, q in rows]
    cuts = f"cuts {min(c for c, _ in rows):.2f} to {max(c for c, _ in rows):.2f}, best {best:.2f}"
    recall = f"recall short of the best cut's by {max(short):.2f} points at worst"
    if error:
        return [Figure(f"{pool.name}: {error:.0%} wrong verdicts", f"{recall}; {cuts}", max(short) <= 1.0)]
    alarms = f"false alarms {before.alarms:.1%}, fewer by {min(fewer):.0%} at worst"
    return [
        Figure(f"{pool.name}: from a low cut", f"{alarms}; {recall}; {cuts}", min(fewer) >= 0.6 and max(short) <= 0.5)
    ]


def from_high(pool: Pool, seeds: int) -> list[Figure]:
    """From a cut that misses a fifth of the changes: only the audit sample can tell."""
    best, top = best_cut(pool.held, 3)
    scores = sorted(e.score for e in pool.learn if e.matters)
    high = math.nextafter(scores[int(LOST * len(scores))], 1.0)
    before = quality(pool.held, high, 3)
    short, cuts = [], []
    for seed in range(seeds):
        place = Installation(Plan(high, audit=DOUBTFUL), random.Random(f"high/{seed}"))
        place.work(pool.learn, VERDICTS)
        short.append(100 * (top.recall - place.quality(pool.held).recall))
        cuts.append(place.cut)
    words = (
        f"cut {high:.3f}, recall {before.recall:.1%}, then short of the best cut's by {max(short):.2f} points at worst; "
        f"cuts {min(cuts):.2f} to {max(cuts):.2f}, best {best:.2f}"
    )
    return [Figure(f"{pool.name}: from a high cut", words, max(short) <= 1.0)]


def noise_doubles(pool: Pool, seeds: int, louder: Pool) -> list[Figure]:
    """Noise doubles mid-way, and what is added scores higher: a day brings twice the noise."""
    rows = []
    best = best_cut(louder.held, 3)[1]
    for seed in range(seeds):
        place = Installation(Plan(LOW), random.Random(f"double/{seed}"))
        place.work(pool.learn, VERDICTS)
        calm = place.quality(pool.held).alarms
        jump = 2 * place.quality(louder.held).alarms
        place.plan = replace(place.plan, changes=place.plan.changes / 2)
        place.work(louder.learn, RECOVER)
        after = place.quality(louder.held)
        rows.append((calm, jump, 2 * after.alarms, 100 * (best.recall - after.recall)))
    calm, jump, after_alarms, short = (max(column) for column in zip(*rows, strict=True))
    words = f"false alarms {calm:.1%}, then {jump:.1%}, after {RECOVER} verdicts {after_alarms:.1%}; recall short by {short:.2f}"
    gone = all(after - calm <= 0.1 * (jump - calm) for calm, jump, after, _ in rows)
    return [Figure(f"{pool.name}: noise doubles mid-way", words, gone and short <= 1.0 and jump > calm)]


def nobody_blunts(pool: Pool, seeds: int) -> list[Figure]:
    """After honest verdicts somebody dismisses everything that comes; no approved change may fall below the cut."""
    passed = 0
    for seed in range(seeds):
        place = Installation(Plan(LOW), random.Random(f"blunt/{seed}"))
        place.work(pool.learn, VERDICTS)
        kept = [
            place.truth[s.key]
            for s in approvals(place.samples, place.cut).binding
            if queues(place.truth[s.key], place.cut, place.threshold)
        ]
        place.plan = replace(place.plan, changes=0.0)
        place.work([replace(e, matters=False) for e in pool.learn], 2 * VERDICTS)
        passed += sum(not queues(e, place.cut, place.threshold) for e in kept)
    words = f"{passed} approved changes lost to {2 * VERDICTS} dismissals of everything"
    return [Figure(f"{pool.name}: dismissing everything", words, passed == 0)]


def coverage(pool: Pool, installations: int, visits: int) -> list[Figure]:
    """How often the interval of the audit sample holds the true miss rate."""
    held, rng = 0, random.Random("coverage")
    for _ in range(installations):
        truth, found = audited(pool.learn, rng=rng, visits=visits)
        held += found.rate_low <= truth <= found.rate_high
    words = f"the interval holds the true miss rate in {held} of {installations} installations"
    return [Figure(f"{pool.name}: audit sample", words, held >= 0.95 * installations)]


def synthetic_pools(pages: int) -> tuple[Pool, Pool]:
    """Our own pages, with quiet noise, and with louder noise besides."""
    events = synthetic(range(pages), [*EDITS, *QUIET_NOISE, *LOUD_NOISE])
    quiet = halves("made-up pages", [e for e in events if e.kind not in LOUD_NOISE])
    return quiet, halves("made-up pages", events)


def all_figures(*, pages: int, seeds: int, installations: int, visits: int, with_real: bool, jobs: int) -> list[Figure]:
    """Every figure, on our own pages and, where they are at hand, on the labelled captures of real ones."""
    quiet, louder = synthetic_pools(pages)
    found = from_low(louder, seeds) + from_high(louder, seeds) + from_low(louder, seeds, error=0.1)
    found += (
        noise_doubles(quiet, seeds, louder) + nobody_blunts(louder, seeds) + coverage(louder, installations, visits)
    )
    events = real(jobs=jobs) if with_real else []
    if events:
        pool = halves("real pages", events)
        found += from_low(pool, seeds) + from_high(pool, seeds) + from_low(pool, seeds, error=0.1)
        found += nobody_blunts(pool, seeds) + coverage(pool, installations, visits)
    return found


def main() -> int:
    """Print the figures; 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    found = all_figures(
        pages=options.pages, seeds=options.seeds, installations=200, visits=3000, with_real=True, jobs=options.jobs
    )
    for figure in found:
        print(f"{'ok  ' if figure.ok else 'MISS'} {figure.name}: {figure.words}")
    if not Path(CORPUS).exists():
        print("The labelled captures of real pages are not beside this checkout; only our own were used.")
    return 0 if all(figure.ok for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
