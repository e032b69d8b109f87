"""`make silence-sim`: fleets whose sites begin to serve a stale copy, and fleets that never do."""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitoring.calibrating.silence import LEAST, ODDS, Past, silence
from monitoring.scheduling import Rate
from tests.calibrating.simulation.figures import Figure

MONTH = 30.0
KNOWN = 3000.0  # changes seen from which on a rate counts as known
RATES, HISTORIES = (0.02, 0.1, 0.5, 2.0), (30.0, 300.0, 3000.0)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Sites of one rate of change (a day), their history in mean change intervals, visits a day, share of noisy visits."""

    rate: float
    history: float
    visits_a_day: float
    noisy: float = 0.0


def bound(rate: float) -> float:
    """Mean change intervals within which a stale copy has to be found."""
    return max(LEAST, math.log(ODDS * rate))


def _past(fleet: Fleet, rng: random.Random) -> tuple[Rate, int, int]:
    """What a history teaches: the rate as counted, visits, and those that showed a difference."""
    days = fleet.history / fleet.rate
    changes = _poisson(fleet.history, rng)
    visits = min(2000, int(days * fleet.visits_a_day))
    moved = sum(rng.random() < fleet.noisy for _ in range(visits))
    return Rate(changes + 0.5, days + 0.5 / fleet.rate), visits, moved


def _poisson(mean: float, rng: random.Random) -> int:
    if mean > 500:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    count, left = 0, rng.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + rng.expovariate(1.0)
    return count


def _alarms(fleet: Fleet, rng: random.Random, *, stale_from: float, until: float) -> Iterator[float]:
    """Times of alarms of one site; from `stale_from` (days) on, nothing changes any more and visits look alike."""
    rate, visits, moved = _past(fleet, rng)
    step = 1.0 / fleet.visits_a_day
    last_change, next_change = -rng.expovariate(fleet.rate), rng.expovariate(fleet.rate)
    still, raised, at = 0, False, step
    while at <= until:
        changed = False
        while next_change <= at and next_change < stale_from:
            last_change, changed = next_change, True
            next_change += rng.expovariate(fleet.rate)
        noisy = at < stale_from and rng.random() < fleet.noisy
        still = 0 if changed or noisy else still + 1
        found = silence(Past(rate, at - last_change, visits, moved, still, fleet.visits_a_day))
        if found.is_silent and not raised:
            if at > step:  # a stillness that began before we looked is no news of this time
                yield at
            raised = True
        elif raised and found.is_over:
            raised = False
        at += step


def delays(fleet: Fleet, sites: int, *, seed: str) -> list[float]:
    """After how many mean change intervals each site with a stale copy is found, in order.

    A site that stands as silent already when the copy goes stale is found at once. The visit that finds it may come one
    visit after the moment.
    """
    rng = random.Random(f"stale/{seed}")
    start, late = 3.0 / fleet.rate, (3.0 + 4 * bound(fleet.rate)) / fleet.rate
    found = []
    for _ in range(sites):
        alarms = list(_alarms(fleet, rng, stale_from=start, until=late))
        after = [at for at in alarms if at > start]
        at = after[0] if after else start if alarms else math.inf
        found.append((at - start - 1.0 / fleet.visits_a_day) * fleet.rate)
    return sorted(found)


def within(found: list[float], limit: float) -> float:
    """Share of sites that are found within so many mean change intervals."""
    return sum(delay <= limit for delay in found) / len(found)


def false_alarms(fleet: Fleet, sites: int, months: float, *, seed: str) -> float:
    """False alarms per 100 sites and month of a fleet that is never stale."""
    rng = random.Random(f"sound/{seed}")
    until = months * MONTH
    told = sum(len(list(_alarms(fleet, rng, stale_from=math.inf, until=until))) for _ in range(sites))
    return 100.0 * told / (sites * months)


def alone(rate: float, history: float, *, sites: int, months: float) -> Figure:
    """Changes alone are known. With a short history nobody can reach both figures; then only false alarms are held to."""
    fleet = Fleet(rate, history, visits_a_day=max(1.0, 4 * rate))
    found, limit = delays(fleet, sites, seed=f"{rate}/{history}"), bound(rate)
    false = false_alarms(fleet, sites, months, seed=f"{rate}/{history}")
    share, most = within(found, limit), found[int(0.95 * len(found))]
    words = (
        f"found within {limit:.1f} intervals {share:.1%} (95 % within {most:.1f}), "
        f"false alarms {false:.2f} per 100 sites and month"
    )
    ok = false <= 1.0 and (share >= 0.95 or history < KNOWN)
    return Figure(f"changes alone, {rate:g} a day, {history:g} changes seen", words, ok)


def companions(rate: float, *, sites: int, months: float) -> Figure:
    """Noise, body, Date or clock stood still too."""
    fleet = Fleet(rate, 30.0, visits_a_day=max(1.0, 4 * rate), noisy=0.9)
    found = delays(fleet, sites, seed=f"{rate}/noisy")
    false = false_alarms(fleet, sites, months, seed=f"{rate}/noisy")
    share = within(found, 3.0)
    words = f"found within 3 intervals {share:.1%}, false alarms {false:.2f} per 100 sites and month"
    return Figure(f"with companions, {rate:g} a day, 30 changes seen", words, share >= 0.95 and false <= 1.0)


def figures(
    *, sites: int, months: float, rates: Sequence[float] = RATES, histories: Sequence[float] = HISTORIES
) -> list[Figure]:
    """Fleets of slow and lively sites, on changes alone and with companions."""
    found = []
    for rate in rates:
        found += [alone(rate, history, sites=sites, months=months) for history in histories]
        found.append(companions(rate, sites=sites, months=months))
    return found


def main() -> int:
    """Print the figures; 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=1500)
    parser.add_argument("--months", type=float, default=8.0)
    options = parser.parse_args()
    found = []
    for rate in RATES:
        for figure in figures(sites=options.sites, months=options.months, rates=[rate]):
            print(f"{'ok  ' if figure.ok else 'MISS'} {figure.name}: {figure.words}", flush=True)
            found.append(figure)
    return 0 if all(figure.ok for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
