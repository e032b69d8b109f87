"""`make brake-sim`: fleets over years with holidays, month starts and a shared content system; and faults of the renderer."""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from monitoring.calibrating.brake import WINDOWS_S, Group, first_crossing, grouped, usual_share
from tests.calibrating.simulation.figures import Figure

HOUR, DAY, YEAR = 3_600, 86_400, 365
TICK = HOUR // 4  # coarser than the product's minute: a year has half a million of those


@dataclass(slots=True)
class Fleet:
    """Pages on sites, how often they are visited and change, and what happens to many at once."""

    pages: int
    sites: int
    every_s: int
    rate: float  # changes a day
    shared: float = 0.4  # share of sites on one content system, which is updated so many times a year
    updates: int = 6
    new_year: float = 0.3  # share of pages that change on 1 January
    month: float = 0.2  # and on the first of a month
    rendered: float = 1.0  # share of pages that a fault of the renderer strikes
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    def site(self, page: int) -> int:
        """The page's site."""
        return page % self.sites


def looks(
    fleet: Fleet, days: int, *, fault_s: int | None = None, tick: int = TICK
) -> Iterator[tuple[int, Group | None, bool]]:
    """For each tick its time, the group that crosses, and whether the fault is under way."""
    rng, horizon = fleet.rng, days * DAY
    due = [(rng.randrange(fleet.every_s), page) for page in range(fleet.pages)]
    heapq.heapify(due)
    pending: list[set[str]] = [set() for _ in range(fleet.pages)]
    struck = {page for page in range(fleet.pages) if rng.random() < fleet.rendered}
    events = deque(sorted(_events(fleet, days)))
    last: dict[int, tuple[int, bool]] = {}
    changed_at: dict[int, int] = {}
    seen: set[int] = set()
    visits = finds = 0
    for now in range(0, horizon, tick):
        while events and events[0][0] <= now:
            for page in events.popleft()[1]:
                pending[page].add("many")
        while due[0][0] <= now:
            at, page = heapq.heappop(due)
            elapsed = fleet.every_s / DAY
            found = bool(pending[page]) or rng.random() < 1 - math.exp(-fleet.rate * elapsed)
            pending[page].clear()
            if fault_s is not None and at >= fault_s and page in struck and page not in seen:
                found = True
                seen.add(page)
            last[page] = (at, found)
            if found:
                changed_at[page] = at
            visits, finds = visits + 1, finds + found
            heapq.heappush(due, (at + int(fleet.every_s * rng.uniform(0.9, 1.1)), page))
        known = now > 3 * DAY
        a_day = finds / fleet.pages / (now / DAY) if known else fleet.rate
        per_visit = finds / visits if known else 1 - math.exp(-fleet.rate * fleet.every_s / DAY)
        yield (
            now,
            first_crossing(_groups(fleet, last, changed_at, now, (a_day, per_visit))),
            fault_s is not None and now >= fault_s,
        )


def _groups(
    fleet: Fleet, last: dict[int, tuple[int, bool]], changed_at: dict[int, int], now: int, usual: tuple[float, float]
) -> Iterator[Group]:
    for window in WINDOWS_S:
        rows = [
            (fleet.site(page), changed_at.get(page, -DAY * 9) > now - window)
            for page, (at, _) in last.items()
            if at > now - window
        ]
        if sum(changed for _, changed in rows) >= 10:
            yield grouped("all", window, rows, usual_share(*usual, window))


def _events(fleet: Fleet, days: int) -> Iterator[tuple[int, list[int]]]:
    """Times at which many pages change, and which."""
    rng = fleet.rng
    for day in range(0, days, YEAR):
        yield day * DAY + DAY, [page for page in range(fleet.pages) if rng.random() < fleet.new_year]
        system = {site for site in range(fleet.sites) if site < fleet.shared * fleet.sites}
        for _ in range(fleet.updates):
            at = (day + rng.randrange(YEAR)) * DAY
            yield at, [page for page in range(fleet.pages) if fleet.site(page) in system]
    for start in range(31, days, 30):
        yield start * DAY, [page for page in range(fleet.pages) if rng.random() < fleet.month]


def shapes(rng: random.Random) -> Fleet:
    """A fleet as installations have them."""
    pages, sites = rng.choice(((40, 12), (120, 40), (300, 100), (300, 30)))
    return Fleet(pages, sites, rng.choice((HOUR, 6 * HOUR, DAY)), rng.choice((0.02, 0.1, 0.5)), rng=rng)


def false_holds(fleets: int, years: int) -> Figure:
    """Holds of fleets whose renderer is sound; one that lasts counts once."""
    holds = 0
    for number in range(fleets):
        before = False
        for _, group, _ in looks(shapes(random.Random(f"sound/{number}")), years * YEAR, tick=HOUR):
            holds += group is not None and not before
            before = group is not None
    rate = holds / (fleets * years)
    return Figure(
        "sound renderers", f"{rate:.2f} false holds a year in {fleets} fleets over {years} years", rate <= 1.0
    )


def faults(fleets: int) -> Figure:
    """From some moment on every page looks changed at its next visit: is it held, and when after half of them were met?"""
    held, late = 0, []
    for number in range(fleets):
        fleet = shapes(random.Random(f"fault/{number}"))
        start = 20 * DAY + fleet.rng.randrange(DAY)
        for now, group, under_way in looks(fleet, 23, fault_s=start):
            if under_way and group is not None:
                held += 1
                late.append((now - start) / fleet.every_s)
                break
    share = f"{held} of {fleets} faults held"
    return Figure(
        "faults of the renderer",
        f"{share}, at the latest {max(late, default=0):.1f} visit intervals after they began",
        held == fleets,
    )


def main() -> int:
    """Print the figures; 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=20)
    parser.add_argument("--years", type=int, default=2)
    options = parser.parse_args()
    found = [faults(5 * options.fleets), false_holds(options.fleets, options.years)]
    for figure in found:
        print(f"{'ok  ' if figure.ok else 'MISS'} {figure.name}: {figure.words}")
    return 0 if all(figure.ok for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
