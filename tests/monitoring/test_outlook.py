"""What settings will come to, told when they are saved."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from monitoring.models import Monitor, Site, Team
from monitoring.scheduling import fitting_gap_s, fitting_promise_s, host_load
from monitoring.services import outlook
from tests.factories import NOW, make_monitor, make_page_type, make_user

pytestmark = pytest.mark.django_db


def crowd(number: int, *, gap_s: float, **extra: Any) -> list[Monitor]:
    """Pages of one site."""
    site = Site.objects.create(name="Halden", host="halden.example", gap_s=gap_s)
    return [make_monitor(site=site, url=f"https://halden.example/{n}", **extra) for n in range(number)]


def test_the_gap_and_the_promise_that_would_fit_just_fit() -> None:
    for needed in (0.5, 300.0, 1e5):
        assert host_load(needed, fitting_gap_s(needed)) <= 1
    assert fitting_gap_s(0) == 3600
    promise = fitting_promise_s(800.0, 60.0, slack=0.04)
    assert promise is not None
    assert host_load(800 + 86_400 / (promise * 0.96), 60.0) <= 1
    assert host_load(800 + 86_400 / ((promise - 60) * 0.96), 60.0) > 1
    assert fitting_promise_s(1300.0, 60.0, slack=0.04) is None


def test_a_site_that_cannot_bear_its_promises_is_told_with_what_would_fit() -> None:
    pages = crowd(20, gap_s=3600.0, max_interval_s=86_400)  # 20 daily pages at a host that bears 20.4 visits a day

    fit = outlook.fit_of(pages[0].site, monitor=pages[0])

    assert not fit.is_enough
    assert fit.needed == pytest.approx(20 / 0.96)
    assert fit.allowed == pytest.approx(20.4)
    assert host_load(fit.needed, fit.gap_s) <= 1
    assert fit.promise_s is not None
    pages[0].max_interval_s = fit.promise_s
    pages[0].save()
    assert outlook.fit_of(pages[0].site).is_enough


def test_a_promise_of_a_page_type_and_paused_pages_count_as_they_are() -> None:
    daily = make_page_type("daily", max_interval_s=86_400)
    pages = crowd(30, gap_s=3600.0, page_type=daily, max_interval_s=604_800)
    assert [fit.site.name for fit in outlook.unfit_sites(daily)] == ["Halden"]
    Monitor.objects.filter(pk__in=[page.pk for page in pages[5:]]).update(enabled=False)

    assert outlook.unfit_sites(daily) == []


def test_four_times_the_weight_is_half_the_interval_and_twice_the_cost() -> None:
    team = Team.objects.create(name="Priced", budget=100, price=0.5)
    monitor = make_monitor(team=team, rate_a=4.0, rate_b=8.0, weight=1.0, max_interval_s=31_536_000)

    found = outlook.outlook(monitor, now=NOW)

    assert found is not None
    (_, quarter_s, _), (_, same_s, same_cost), (_, four_s, four_cost) = found.weights
    assert four_s == pytest.approx(same_s / 2, rel=0.01)
    assert quarter_s == pytest.approx(same_s * 2, rel=0.01)
    assert four_cost == pytest.approx(2 * same_cost, rel=0.02)
    assert found.promise_cost == pytest.approx(0, abs=1e-9)


def test_a_promise_costs_what_it_adds() -> None:
    team = Team.objects.create(name="Priced", budget=100, price=5.0)
    monitor = make_monitor(team=team, rate_a=0.5, rate_b=90.0, max_interval_s=86_400)

    found = outlook.outlook(monitor, now=NOW)

    assert found is not None
    assert 0.9 < found.promise_cost < 1.1
    assert outlook.outlook(make_monitor(), now=NOW) is None  # no budget, no price


def test_the_admin_says_so_when_it_is_saved() -> None:
    pages = crowd(30, gap_s=3600.0, max_interval_s=86_400)
    client = Client()
    client.force_login(make_user("root", role="admin", is_superuser=True))
    site = pages[0].site
    form = {
        "name": site.name, "gap_s": "3000", "robots_policy": "obey", "use_hints": "on", "login_steps": "[]",
    }  # fmt: skip

    answer = client.post(reverse("admin:monitoring_site_change", args=[site.pk]), form)

    assert answer.status_code == 302, answer.context["errors"]
    said = [str(message) for message in get_messages(answer.wsgi_request)]
    assert any(text.startswith("Not all promises can be kept: Halden bears 24 visits a day") for text in said)
    page = client.get(reverse("admin:monitoring_site_change", args=[site.pk])).content.decode()
    assert "Not all promises can be kept" in page
    page = client.get(reverse("admin:monitoring_monitor_change", args=[pages[0].pk])).content.decode()
    assert "Visits keep to their interval" in page


def test_a_budget_below_what_is_promised_is_told_when_it_is_saved() -> None:
    team = Team.objects.create(name="Dear", budget=500, least_spend=240.0)
    client = Client()
    client.force_login(make_user("root", role="admin", team=team, is_superuser=True))

    answer = client.post(
        reverse("admin:monitoring_team_change", args=[team.pk]),
        {"name": "Dear", "budget": "100", "budget_counts": "cost"},
    )

    said = [str(message) for message in get_messages(answer.wsgi_request)]
    assert any("The promises alone need 240 fetches a day" in text for text in said)
