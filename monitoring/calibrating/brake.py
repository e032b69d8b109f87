"""Whether so many pages changed together that the cause is ours: a renderer, a proxy, an upgrade, and not the pages.

Errs towards letting changes through: fewer than `LEAST` pages are never held, nor is a fleet whose pages change at most
visits anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WINDOWS_S = (3_600, 6 * 3_600, 86_400)
LEAST = 10  # pages that changed
SITES = 5  # on so many sites
SHARES = {3_600: 0.5, 6 * 3_600: 0.6, 86_400: 0.7}  # of the pages visited: a day gathers more that is by chance
HALF = 0.5  # of the sites visited, and of a site's pages
TIMES = 3.0  # times the share of pages that usually change in such a time
CEILING = 0.95


@dataclass(frozen=True, slots=True)
class Group:
    """Pages that are fetched in the same way, as they were last visited within a window.

    way: of what they have in common. visited, changed: pages; sites_visited, sites_changed: their sites, of which the
    second counts those where at least half of the visited pages changed. usual: share of pages that change in such a time.
    """

    way: str
    window_s: int
    visited: int
    changed: int
    sites_visited: int
    sites_changed: int
    usual: float = 0.0


def crosses(group: Group) -> bool:
    """Whether a group crosses: at least ten pages on five sites, half of the sites visited, and of the pages visited half
    within an hour, six in ten within six and seven in ten within a day.

    Where pages change so often that many do in such a time anyway, it has to be three times as many, at most 95 %.
    """
    needed = max(SHARES[group.window_s], min(CEILING, TIMES * group.usual))
    return (
        group.changed >= LEAST
        and group.sites_changed >= SITES
        and group.changed >= needed * group.visited
        and group.sites_changed >= HALF * group.sites_visited
    )


def usual_share(changes_a_day: float, per_visit: float, window_s: int) -> float:
    """The share of visited pages that usually change within a window.

    changes_a_day: of one page. per_visit: share of visits that find a change, which is more where a page is visited less
    often than the window is long.
    """
    return max(per_visit, 1.0 - math.exp(-changes_a_day * window_s / 86_400))


def grouped(way: str, window_s: int, rows: Iterable[tuple[int, bool]], usual: float) -> Group:
    """The group of these pages: of each its site and whether it changed."""
    visited: dict[int, int] = {}
    changed: dict[int, int] = {}
    for site, has_changed in rows:
        visited[site] = visited.get(site, 0) + 1
        changed[site] = changed.get(site, 0) + has_changed
    return Group(
        way=way,
        window_s=window_s,
        visited=sum(visited.values()),
        changed=sum(changed.values()),
        sites_visited=len(visited),
        sites_changed=sum(2 * changed[site] >= visited[site] for site in visited),
        usual=usual,
    )


def first_crossing(groups: Iterable[Group]) -> Group | None:
    """The crossing group that explains most with least: the most pages, then the shortest window."""
    return max((g for g in groups if crosses(g)), key=lambda g: (g.changed, -g.window_s), default=None)
