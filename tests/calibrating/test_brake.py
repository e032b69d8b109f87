"""When pages that change together are held, and a short form of `make brake-sim`."""

from __future__ import annotations

import random
from dataclasses import replace

from monitoring.calibrating.brake import Group, crosses, first_crossing, grouped
from tests.calibrating.simulation.brake import DAY, HOUR, Fleet, faults, looks

FAULT = Group("all", 3600, visited=40, changed=31, sites_visited=14, sites_changed=12)


def test_many_pages_on_many_sites_cross() -> None:
    assert crosses(FAULT)


def test_what_is_missing_to_cross() -> None:
    assert not crosses(replace(FAULT, visited=9, changed=9, sites_visited=9, sites_changed=9))
    assert not crosses(replace(FAULT, changed=19))
    assert not crosses(replace(FAULT, sites_visited=4, sites_changed=4))
    assert not crosses(replace(FAULT, sites_visited=40))


def test_a_lively_fleet_has_to_change_three_times_as_much() -> None:
    assert not crosses(replace(FAULT, usual=0.3))
    assert crosses(replace(FAULT, usual=0.25))
    assert crosses(replace(FAULT, changed=40, usual=0.9))


def test_a_site_counts_when_half_of_its_pages_changed() -> None:
    group = grouped("all", 3600, [(1, True), (1, False), (2, False), (2, True), (2, False)], 0.1)

    assert (group.visited, group.changed, group.sites_visited, group.sites_changed) == (5, 2, 2, 1)


def test_the_group_that_explains_most_is_told_by_the_shortest_window() -> None:
    longer = replace(FAULT, window_s=86_400)
    fewer = replace(FAULT, way="browser", changed=30)

    assert first_crossing([longer, fewer, FAULT]) == FAULT
    assert first_crossing([replace(FAULT, changed=3)]) is None


def test_faults_of_a_renderer_are_held() -> None:
    assert faults(3).ok


def test_new_year_month_starts_and_a_shared_system_hold_nothing() -> None:
    fleet = Fleet(40, 12, 6 * HOUR, 0.1, rng=random.Random(7))

    crossed = [now // DAY for now, group, _ in looks(fleet, 70, tick=HOUR) if group is not None]

    assert crossed == []
