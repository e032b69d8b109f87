"""Promises in words: the next check and why, how often a page changes, and what was not read in time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone, translation

from monitoring.models import Check, Monitor, Site, Team
from review import promises
from tests.factories import NOW, make_monitor, make_team
from tests.review.conftest import SignIn

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def broken(**extra: Any) -> Monitor:
    """A monitor that should have been read an hour ago; its last check was good."""
    outcome = extra.pop("outcome", "none")
    values = {
        "last_ok_at": NOW - 25 * HOUR,
        "deadline_at": NOW - HOUR,
        "max_interval_s": 86_400,
        "check_no": 1,
        "state": "ok",
    }
    monitor = make_monitor(**(values | extra))
    Check.objects.create(
        monitor=monitor, check_no=1, started_at=NOW - 2 * HOUR, outcome=outcome, reason="", detector_version="1"
    )
    return monitor


def why(monitor: Monitor) -> str:
    """The reason that is told."""
    found = promises.broken_promise(monitor, now=NOW)
    assert found is not None
    return found.why


def test_the_next_check_is_told_with_its_reason() -> None:
    monitor = make_monitor(next_check_at=NOW + 29 * HOUR, plan_reason="expected-change")

    assert promises.next_sentence(monitor, NOW) == "Next check 1 Dec, 14:00, because a change is likely by then."
    monitor.next_check_at = NOW
    assert promises.next_sentence(monitor, NOW) == "Due now, because a change is likely by then."
    monitor.enabled = False
    assert promises.next_sentence(monitor, NOW) == ""


def test_a_page_that_waits_for_a_browser_nobody_has_says_so() -> None:
    monitor = make_monitor(next_check_at=NOW - 2 * HOUR, plan_reason="fixed-interval", renderer="browser")

    assert promises.next_sentence(monitor, NOW).startswith("Due, but no worker renders pages")


@pytest.mark.parametrize("reason", sorted(promises.PLANS))
@pytest.mark.parametrize("language", ["de", "ja"])
def test_every_reason_has_words_in_every_language(reason: str, language: str) -> None:
    english = str(promises.PLANS[reason])
    with translation.override(language):
        assert str(promises.PLANS[reason]) != english


def test_how_often_a_page_changes_is_told_once_enough_is_known() -> None:
    known = make_monitor(rate_a=6.0, rate_b=54.0)
    young = make_monitor(rate_a=0.9, rate_b=10.0)

    over = timedelta(days=120)
    assert promises.rate_sentence(known, checks=71, changes=6, over=over) == (
        "Substantive change about every 9 days, most likely between 5 days and 17 days (6 in 71 checks over 120 days)."
    )
    assert promises.rate_sentence(young, checks=1, changes=1, over=over) == (
        "Too early to say how often it changes (1 in 1 check over 120 days); it is planned like a typical page."
    )
    assert promises.rate_sentence(young, checks=40, changes=0, over=over) == (
        "No substantive change so far (0 in 40 checks over 120 days)."
    )
    assert promises.rate_sentence(young, checks=0, changes=0, over=over) == ""


def test_the_chance_is_that_of_the_whole_time_since_the_last_good_visit() -> None:
    monitor = make_monitor(rate_a=2.0, rate_b=2.0, last_ok_at=NOW - 24 * HOUR, next_check_at=NOW + 24 * HOUR)

    assert promises.chance_sentence(monitor) == (
        "Chance that it finds a change: 75 %. A change is known after 1 day on average."
    )
    monitor.rate_a = 0.5
    assert promises.chance_sentence(monitor) == ""


def test_a_promise_that_is_kept_or_of_a_paused_page_is_not_told() -> None:
    assert promises.broken_promise(make_monitor(deadline_at=NOW), now=NOW) is None
    assert promises.broken_promise(broken(enabled=False), now=NOW) is None


def test_errors_a_rest_and_a_full_host_are_named_as_the_cause() -> None:
    failing = broken(outcome="error", fail_no=1, next_check_at=NOW)
    resting = broken(next_check_at=NOW)
    Site.objects.filter(pk=resting.site_id).update(rest_until=NOW + HOUR)
    full = broken(next_check_at=NOW)
    Site.objects.filter(pk=full.site_id).update(least_load=2.0, gap_s=60.0, name="Halden")
    held = broken(quarantined_at=NOW, stage="fetch")

    assert why(failing) != ""
    assert why(Monitor.objects.get(pk=resting.pk)).startswith("The site is left alone until")
    assert why(Monitor.objects.get(pk=full.pk)).startswith(
        "Halden bears 1224 visits a day; what is promised for its pages needs 2448."
    )
    assert "broke off three times" in why(held)


def test_workers_that_are_behind_are_named_where_nothing_else_is_the_cause() -> None:
    monitor = broken(next_check_at=NOW - 2 * HOUR)

    assert why(monitor) == "The workers are behind: 1 page is due, since 2 hours."
    Monitor.objects.update(lease_until=NOW + HOUR, lease_token="t")
    assert why(monitor) == "It is being visited now."


def test_today_lists_what_was_not_read_in_time_the_oldest_first_and_what_cannot_be_kept(
    analyst: User, sign_in: SignIn
) -> None:
    shift = timezone.now() - NOW
    team = make_team()
    for n in range(10):
        broken(
            team=team, name=f"Late {n}", next_check_at=NOW + shift - 2 * HOUR,
            deadline_at=NOW + shift - timedelta(hours=n + 1),
        )  # fmt: skip
    stranger = broken(team=make_team("Others"), name="Of others", deadline_at=NOW + shift - 99 * HOUR)
    Team.objects.filter(pk=team.pk).update(budget=100, least_spend=240.0)

    page = sign_in(analyst).get(reverse("today")).content.decode()

    assert page.index("Late 9") < page.index("Late 2")
    assert "Late 1<" not in page
    assert stranger.name not in page
    assert "and 2 more" in page
    assert f"Promises of {team.name} alone need 240 fetches a day; its budget is 100." in page


def test_the_monitor_page_says_when_why_how_often_and_what_was_missed(analyst: User, sign_in: SignIn) -> None:
    now = timezone.now()
    monitor = broken(
        deadline_at=now - HOUR, next_check_at=now + 2 * HOUR, plan_reason="max-age", rate_a=6.0, rate_b=54.0
    )

    page = sign_in(analyst).get(monitor.get_absolute_url()).content.decode()

    assert "because it is promised at least that often" in page
    assert "Not read in time." in page
    assert "At least every 1 day is promised" in page
    assert "No substantive change so far (0 in 1 check over" in page


def test_a_page_without_trouble_says_nothing_of_promises(analyst: User, sign_in: SignIn) -> None:
    make_monitor(deadline_at=timezone.now() + HOUR)

    assert "Not read in time" not in sign_in(analyst).get(reverse("today")).content.decode()
