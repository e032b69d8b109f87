"""What a host can bear: how much of it is planned, and what its pages' price is raised by where that is too much."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

FULL = 0.85  # of a host's slots may be planned: visits do not come evenly, and retries want room
HIGHEST = 1e4
_DAY_S = 86_400.0


def host_load(visits_per_day: float, gap_s: float) -> float:
    """Share of what a host bears that is planned on it; above 1 it is more than it bears. `gap_s`: between requests."""
    return visits_per_day * gap_s / _DAY_S / FULL


def host_factor(before: float, load: float) -> float:
    """The factor on the price of a host's pages after `load` was planned at the factor `before`.

    Intervals go with the root of the price, so that it comes down to what the host bears in a few steps, and back to 1
    once there is room.
    """
    return min(max(before * load, 1.0), HIGHEST)


def host_factors[H: Hashable](loads: Mapping[H, float], before: Mapping[H, float]) -> dict[H, float]:
    """`host_factor` for every host in `loads`; one that is not in `before` had none."""
    return {host: host_factor(before.get(host, 1.0), load) for host, load in loads.items()}


def fitting_gap_s(visits_per_day: float) -> float:
    """The longest gap between requests, rounded down to a hundredth, at which a host bears so many visits a day; at most an hour."""
    return 3600.0 if visits_per_day <= 0 else min(math.floor(100 * _DAY_S * FULL / visits_per_day) / 100, 3600.0)


def fitting_promise_s(others_per_day: float, gap_s: float, *, slack: float) -> int | None:
    """The shortest promise, in seconds, that one more page could have beside others that need so many visits a day.

    None where the others alone are too many. `slack` is the share of a promise that is kept free for queueing.
    """
    if gap_s <= 0:
        return 1
    room = _DAY_S * FULL / gap_s - others_per_day
    return math.ceil(_DAY_S / (room * (1 - slack))) if room > 1e-9 else None
