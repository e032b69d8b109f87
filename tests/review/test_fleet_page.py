"""Plans and promises: what the page says of spend, hosts, promises and foresight; and the list of broken ones."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Cause, ForecastBin, Monitor, Outage, PromiseAlarm, PromiseState, Site, Team
from tests.factories import make_monitor, make_team
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]

HOUR = timedelta(hours=1)


def late(hours: int, **extra: Any) -> Monitor:
    """A page that should have been read so many hours ago."""
    now = timezone.now()
    values = {"deadline_at": now - hours * HOUR, "last_ok_at": now - 30 * HOUR, "next_check_at": now - HOUR}
    return make_monitor(**(values | extra))


def test_the_list_is_paged_the_oldest_first_and_shows_each_page_once(analyst: User, sign_in: SignIn) -> None:
    site = Site.objects.create(name="One", host="one.example")
    for n in range(120):
        late(n + 1, name=f"Late {n:03}", site=site, url=f"https://one.example/{n}")
    late(5, name="Strange", team=make_team("Elsewhere"))
    client, seen, address = sign_in(analyst), [], reverse("overdue")
    for _ in range(3):
        response = client.get(address)
        seen += [line.monitor.name for line in response.context["lines"]]
        address = response.context["older"]

    assert seen == [f"Late {n:03}" for n in reversed(range(120))]
    assert not address


def test_the_list_is_narrowed_to_a_cause_and_shows_what_is_at_risk(analyst: User, sign_in: SignIn) -> None:
    now = timezone.now()
    late(2, name="Failing", fail_no=2)
    late(3, name="Waiting", last_checked_at=now - 30 * HOUR)
    make_monitor(
        name="Soon", deadline_at=now + HOUR, last_ok_at=now - HOUR, fail_no=1, next_check_at=now + timedelta(minutes=5)
    )
    client = sign_in(analyst)

    def names(query: str) -> list[str]:
        return [line.monitor.name for line in client.get(reverse("overdue") + query).context["lines"]]

    assert names("") == ["Waiting", "Failing"]
    assert names("?cause=errors") == ["Failing"]
    assert names("?show=risk") == ["Soon"]
    assert names("?show=risk&cause=host") == []
    assert names("?cause=nonsense&after=forged") == ["Waiting", "Failing"]


def test_the_page_says_what_is_spent_and_forced_and_which_hosts_are_full(analyst: User, sign_in: SignIn) -> None:
    now = timezone.now()
    Team.objects.filter(name="Compliance").update(
        budget=500, planned_spend=498.0, measured_spend=510.2, least_spend=60.0, forced_spend=124.5, price=0.125,
        priced_at=now, waiting=7,
    )  # fmt: skip
    monitor = make_monitor(next_check_at=now + HOUR)
    Site.objects.filter(pk=monitor.site_id).update(name="Halden", load=1.4, least_load=1.2, gap_s=60.0)
    Site.objects.create(name="Of others", host="others.example", least_load=3.0)
    PromiseState.objects.create(
        team=make_team(), looked_at=now, broken=3, at_risk=2, oldest_broken_at=now - 5 * HOUR, due=11
    )
    Outage.objects.create(began_at=now - 9 * HOUR, ended_at=now - 7 * HOUR)

    page = sign_in(analyst).get(reverse("fleet")).content.decode()

    for words in ("498", "510", "25 %", "0.125", "Halden bears 1224 visits a day", "Nothing was at work"):
        assert words in page
    assert "Of others" not in page


def test_foreseen_is_drawn_against_found_and_told_as_text_and_table(analyst: User, sign_in: SignIn) -> None:
    today = timezone.now().date()
    ForecastBin.objects.create(team=make_team(), on=today, tenth=1, checks=200, expected=30.0, found=32)
    ForecastBin.objects.create(team=make_team(), on=today, tenth=6, checks=50, expected=33.0, found=31)
    ForecastBin.objects.create(team=make_team("Elsewhere"), on=today, tenth=8, checks=50, expected=43.0, found=0)

    response = sign_in(analyst).get(reverse("fleet"))
    page = response.content.decode()

    assert "Foreseen 15 %, found 16 % in 200 checks." in page
    assert "Of 250 checks 25 % were expected to find a change, and 25 % did." in page
    assert page.count('class="dot"') == 2
    assert [dot["checks"] for dot in response.context["dots"]] == ["200", "50"]


@pytest.mark.parametrize(("found", "words"), [(80, "more often than is foreseen"), (2, "less often than is foreseen")])
def test_foresight_that_is_off_is_told(found: int, words: str, analyst: User, sign_in: SignIn) -> None:
    ForecastBin.objects.create(
        team=make_team(), on=timezone.now().date(), tenth=1, checks=200, expected=30.0, found=found
    )

    assert words in sign_in(analyst).get(reverse("fleet")).content.decode()


def test_alarms_stand_on_today_and_on_the_fleet_page(analyst: User, outsider: User, sign_in: SignIn) -> None:
    now = timezone.now()
    PromiseAlarm.objects.create(
        team=make_team(), cause=Cause.QUEUE, since=now, looked_at=now, began_at=now - HOUR, raised_at=now, broken=4
    )
    for name in ("today", "fleet", "overdue"):
        assert "The workers are behind" in sign_in(analyst).get(reverse(name)).content.decode()
        assert "The workers are behind" not in sign_in(outsider).get(reverse(name)).content.decode()


def test_pages_read_sums_and_count_no_rows(analyst: User, sign_in: SignIn, django_assert_max_num_queries: Any) -> None:
    client = sign_in(analyst)
    client.get(reverse("fleet"))
    site = Site.objects.create(name="One", host="one.example")
    for n in range(60):
        late(n + 1, site=site, url=f"https://one.example/{n}")

    with django_assert_max_num_queries(26):
        client.get(reverse("fleet"))
