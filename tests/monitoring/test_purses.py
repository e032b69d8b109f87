"""The hard cap at work: who waits when a team has spent what it may, and who goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from monitoring.models import Monitor, Site, Team
from monitoring.services import budget, promises, schedule
from tests.factories import NOW, make_monitor, make_team

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def due(number: int, team: Team, **extra: Any) -> list[int]:
    """Pages that are due, at sites of their own without a gap."""
    site = Site.objects.get_or_create(host="many.example", defaults={"name": "Many", "gap_s": 0})[0]
    first = Monitor.objects.count()
    values = {
        "next_check_at": NOW - timedelta(minutes=1),
        "plan_reason": "expected-change",
        "deadline_at": NOW + 99 * HOUR,
    }
    return [
        make_monitor(team=team, site=site, url=f"https://many.example/{first + n}", **(values | extra)).pk
        for n in range(number)
    ]


def claimed(limit: int = 500, *, at: Any = NOW) -> set[int]:
    """What a claim takes."""
    return {pk for claim in schedule.claim_due(now=at, limit=limit, lease_s=60) for pk in claim.ids}


def team_of(allowance: int, **extra: Any) -> Team:
    return Team.objects.create(name=f"Of {allowance}", budget=allowance, **extra)


def test_what_exceeds_the_cap_waits_and_goes_on_as_the_bucket_fills() -> None:
    team = team_of(20)
    pages = due(30, team)

    assert claimed() == set(pages[:10])  # twelve hours' worth
    assert claimed(at=NOW + timedelta(minutes=1)) <= set(pages[10:11])
    later = claimed(at=NOW + 6 * HOUR)
    assert 4 <= len(later) <= 7
    assert later < set(pages[10:])


def test_what_is_promised_asked_for_or_pinned_goes_on_and_overdraws() -> None:
    team = team_of(40, tokens=-5.0, tokens_at=NOW)
    waits = due(3, team) + due(1, team, plan_reason="first") + due(1, team, plan_reason="retry")
    goes_on = {
        *due(1, team, plan_reason="max-age"), *due(1, team, plan_reason="asked"), *due(1, team, plan_reason="confirm"),
        *due(1, team, interval_s=3600), *due(1, team, deadline_at=NOW + HOUR), *due(1, team, deadline_at=NOW - HOUR),
    }  # fmt: skip

    assert claimed() == goes_on
    team.refresh_from_db()
    assert team.tokens == -11.0
    promises.look(now=NOW)
    team.refresh_from_db()
    assert team.waiting == len(waits)


def test_one_teams_empty_purse_hides_nobody_behind_it() -> None:
    poor = due(40, team_of(40, tokens=-5.0, tokens_at=NOW), next_check_at=NOW - 2 * HOUR)
    rich, free = due(5, team_of(4000)), due(5, make_team())

    assert claimed(limit=10) == {*rich, *free}
    assert not Monitor.objects.filter(pk__in=poor, lease_until__isnull=False).exists()


def test_a_purse_that_empties_within_a_claim_hides_nobody_behind_it() -> None:
    poor = due(40, team_of(20), next_check_at=NOW - timedelta(minutes=5))
    free = due(20, make_team())

    taken = claimed(limit=40)

    assert set(free) <= taken
    assert taken & set(poor) == set(poor[:10])


def test_a_visit_costs_what_it_is_likely_to_cost() -> None:
    team = team_of(400)
    due(1, team, gives_304=True)
    due(1, team, by_browser=True, renderer="browser")
    due(1, team, gives_304=True, distrusted_until=NOW + HOUR)

    claimed()

    team.refresh_from_db()
    assert team.tokens == pytest.approx(200 - 0.145 - 20 - 1)


def test_a_team_that_counts_visits_pays_one_for_each() -> None:
    team = team_of(400, budget_counts="checks")
    due(1, team, gives_304=True)
    due(1, team, by_browser=True, renderer="browser")

    claimed()

    team.refresh_from_db()
    assert team.tokens == 198


def test_another_budget_begins_with_a_full_bucket_and_none_waits_any_more() -> None:
    team = team_of(40, tokens=-500.0, tokens_at=NOW, waiting=3)
    pages = due(3, team)
    assert claimed() == set()

    budget.set_budget(team, 400, actor=None, now=NOW)

    assert claimed() == set(pages)
    promises.look(now=NOW)
    assert Team.objects.get(pk=team.pk).waiting == 0


def test_without_a_budget_a_claim_asks_one_query_more(django_assert_max_num_queries: Any) -> None:
    due(5, make_team())

    with django_assert_max_num_queries(12):
        assert len(claimed()) == 5
