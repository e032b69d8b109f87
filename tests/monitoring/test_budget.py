"""Budgets: one price per team, hosts that are full, and visits planned anew."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from monitoring.models import Check, Monitor, PeriodicJob, SettingChange, Site, Team
from monitoring.services import budget, schedule
from tests.factories import NOW, make_monitor, make_page_type, make_user

pytestmark = pytest.mark.django_db


def fleet(number: int = 60, *, allowance: int | None = 120, **extra: Any) -> Team:
    """A team with pages from lively to quiet, visited an hour ago, at one site."""
    team = Team.objects.create(name="Fleet", budget=allowance)
    site = Site.objects.create(name="Fleet", host="fleet.example", gap_s=0)
    for n in range(number):
        values = {
            "rate_a": 2.0, "rate_b": 2.0 * 1.2**n / 4, "last_ok_at": NOW - timedelta(hours=1),
            "last_checked_at": NOW - timedelta(hours=1), "next_check_at": NOW + timedelta(hours=5),
            "plan_reason": "fixed-interval", "check_no": 1,
        }  # fmt: skip
        make_monitor(team=team, site=site, url=f"https://fleet.example/{n}", **(values | extra))
    return team


def test_the_price_makes_planned_spend_the_budget() -> None:
    team = fleet()

    budget.price(team, now=NOW)

    team.refresh_from_db()
    assert team.planned_spend == pytest.approx(120, rel=0.02)
    assert team.least_spend < 15
    planned = [schedule.plan_next(m, now=NOW, check_no=1) for m in Monitor.objects.all()]
    assert sum(86_400 / visit.planned_s for visit in planned if visit.planned_s) == pytest.approx(120, rel=0.05)


def test_pinned_monitors_are_paid_first() -> None:
    team = fleet()
    for n in range(5):
        make_monitor(team=team, interval_s=7200, url=f"https://pinned.example/{n}")

    budget.price(team, now=NOW)

    assert team.planned_spend == pytest.approx(120, rel=0.02)
    assert team.least_spend > 60


def test_promises_are_kept_at_any_price_and_what_they_need_is_told() -> None:
    team = fleet(max_interval_s=3600, page_type=make_page_type("hourly", default_interval_s=3600))

    budget.price(team, now=NOW)

    assert team.least_spend > 60 * 24
    assert all(schedule.plan_next(m, now=NOW, check_no=1).at <= NOW + timedelta(hours=1) for m in Monitor.objects.all())


def test_what_is_measured_corrects_the_plan_but_not_after_a_new_budget_or_an_outage() -> None:
    team = fleet()
    monitor = Monitor.objects.first()
    assert monitor is not None
    Check.objects.bulk_create(
        Check(
            monitor=monitor, check_no=n, started_at=NOW - timedelta(hours=2), outcome="none", not_modified=n % 2 == 0,
            detector_version="1",
        )
        for n in range(400)
    )  # fmt: skip
    Team.objects.update(priced_at=NOW - timedelta(days=1))

    team.refresh_from_db()
    budget.price(team, now=NOW)
    assert team.measured_spend == pytest.approx(220)
    assert 0.9 < team.trim < 0.95

    trim = team.trim
    Monitor.objects.filter(pk=monitor.pk).update(next_check_at=NOW - timedelta(hours=3))
    budget.price(team, now=NOW + timedelta(hours=1))
    assert team.trim == trim
    assert team.steady_at == NOW + timedelta(hours=25)


def test_a_new_budget_plans_visits_anew_and_spreads_them() -> None:
    team = fleet(allowance=None)
    actor = make_user("karl", role="admin", team=team)
    PeriodicJob.objects.create(name=budget.JOB, next_at=NOW + timedelta(minutes=50))

    assert budget.set_budget(team, 120, actor=actor, now=NOW)
    assert not budget.set_budget(team, 120, actor=actor, now=NOW)
    assert PeriodicJob.objects.get(name=budget.JOB).next_at == NOW
    assert budget.reprice(now=NOW) == 60
    assert budget.reprice(now=NOW) == 0

    row = SettingChange.objects.get(team=team)
    assert (row.name, row.new, row.actor_name) == ("budget", "120", "karl")
    times = [at for at in Monitor.objects.values_list("next_check_at", flat=True) if at]
    assert min(times) >= NOW
    assert len({at.replace(second=0, microsecond=0) for at in times}) > 40
    assert set(Monitor.objects.values_list("plan_price", flat=True)) == {Team.objects.get(pk=team.pk).price}

    budget.set_budget(team, None, actor=actor, now=NOW)
    assert budget.reprice(now=NOW) == 60
    assert set(Monitor.objects.values_list("plan_reason", "plan_price")) == {("fixed-interval", None)}


def test_a_visit_that_was_planned_in_the_meantime_keeps_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    team = fleet(2)
    busy = Monitor.objects.order_by("pk")[0]
    plan_anew = budget._plan_anew

    def meanwhile(monitor: Monitor, now: Any) -> None:
        Monitor.objects.filter(pk=busy.pk).update(check_no=9)
        plan_anew(monitor, now)

    monkeypatch.setattr(budget, "_plan_anew", meanwhile)

    assert budget.reprice(now=NOW) == 1
    busy.refresh_from_db()
    assert busy.next_check_at == NOW + timedelta(hours=5)
    assert team.pk == busy.team_id


def test_a_crowded_host_gets_a_factor_and_comes_down_to_what_it_bears() -> None:
    team = fleet(allowance=2000)
    Site.objects.update(gap_s=600)  # 144 requests a day, of which 122 are planned

    for hour in range(12):
        now = NOW + timedelta(hours=hour)
        budget.weigh_hosts(now=now)
        team.refresh_from_db()
        budget.price(team, now=now)
        for monitor in Monitor.objects.select_related("team", "site", "page_type"):
            visit = schedule.plan_next(monitor, now=NOW, check_no=hour)
            Monitor.objects.filter(pk=monitor.pk).update(planned_s=visit.planned_s)
    budget.weigh_hosts(now=NOW)

    site = Site.objects.get()
    assert site.host_factor > 1
    assert site.load == pytest.approx(1.0, abs=0.1)
    assert site.least_load < 0.2


def test_a_budget_is_set_in_the_admin_and_recorded() -> None:
    team = fleet(3, allowance=None)
    client = Client()
    client.force_login(make_user("root", role="admin", team=team, is_superuser=True))

    answer = client.post(
        reverse("admin:monitoring_team_change", args=[team.pk]),
        {"name": "Fleet", "members": [], "budget": "500", "budget_counts": "checks"},
    )

    assert answer.status_code == 302
    assert Team.objects.get(pk=team.pk).budget == 500
    assert SettingChange.objects.filter(team=team, name="budget", new="500").exists()
    assert Team.objects.get(pk=team.pk).budget_counts == "checks"
    assert SettingChange.objects.filter(team=team, name="budget_counts", old="cost", new="checks").exists()
    answer = client.post(reverse("admin:monitoring_team_change", args=[team.pk]), {"name": "Fleet", "budget": "0"})
    assert answer.status_code == 200
    assert Team.objects.get(pk=team.pk).budget == 500


def test_large_teams_are_priced_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    team = fleet(60)
    monkeypatch.setattr(budget, "SAMPLE", 20)

    budget.price(team, now=NOW)

    assert team.planned_spend == pytest.approx(120, rel=0.02)


def test_a_checks_page_in_the_admin_says_why_it_was_made_and_what_the_next_was_planned_with() -> None:
    monitor = make_monitor()
    check = Check.objects.create(
        monitor=monitor, check_no=1, started_at=NOW, outcome="noise", why="asked", plan_reason="expected-change",
        plan_price=0.125, rate_a=2.5, rate_b=11.0, detector_version="1",
        reasons=[{"code": "markup-only", "text": "Only markup differs.", "data": {}}],
    )  # fmt: skip
    client = Client()
    client.force_login(make_user("root", role="admin", is_superuser=True))

    page = client.get(reverse("admin:monitoring_check_change", args=[check.pk])).content.decode()

    for text in ("asked", "expected-change", "0.125", "Only markup differs."):
        assert text in page


def test_a_budget_counts_what_visits_cost_or_how_many_there_are() -> None:
    team = Team.objects.create(name="Counted", budget=100)
    plain, browser = make_monitor(team=team), make_monitor(team=team, renderer="browser")
    learned = make_monitor(team=team, renderer="auto", learned_renderer="browser")
    for n, monitor in enumerate((plain, plain, browser, learned)):
        Check.objects.create(
            monitor=monitor, check_no=n + 1, started_at=NOW - timedelta(hours=n), outcome="none",
            not_modified=n == 0, detector_version="1",
        )  # fmt: skip

    assert budget.measured_of(team, now=NOW) == pytest.approx(0.1 + 1 + 20 + 20)
    assert schedule.costs_of(browser, now=NOW) == (20, 20)
    assert schedule.costs_of(learned, now=NOW) == (20, 20)
    assert budget.set_counts(team, "checks", actor=None, now=NOW)
    assert budget.measured_of(team, now=NOW) == 4
    assert schedule.costs_of(Monitor.objects.get(pk=browser.pk), now=NOW) == (1, 1)
    assert not budget.set_counts(team, "checks", actor=None, now=NOW)


def test_a_budget_edited_by_more_than_a_fifth_plans_everything_anew_once_and_a_small_edit_does_not() -> None:
    team = fleet()
    budget.price(team, now=NOW)
    budget.reprice(now=NOW)
    assert set(Monitor.objects.values_list("plan_price", flat=True)) == {Team.objects.get(pk=team.pk).price}

    budget.set_budget(team, 140, actor=None, now=NOW)  # a sixth
    budget.reprice(now=NOW)
    small = Team.objects.get(pk=team.pk)
    assert not Monitor.objects.filter(plan_price=small.price).exists()
    budget.set_budget(team, 175, actor=None, now=NOW)  # a quarter: the price moves less than twofold
    assert Team.objects.get(pk=team.pk).replan
    budget.reprice(now=NOW)

    edited = Team.objects.get(pk=team.pk)
    assert set(Monitor.objects.values_list("plan_price", flat=True)) == {edited.price}
    assert not edited.replan


def test_what_is_spent_only_for_promises_is_told_and_a_team_without_a_budget_has_its_figures() -> None:
    team = fleet(page_type=make_page_type("daily", max_interval_s=86_400))
    budget.price(team, now=NOW)
    assert 0.1 * team.planned_spend < team.forced_spend < 0.9 * team.planned_spend

    free = Team.objects.create(name="Free")
    make_monitor(team=free, interval_s=3600)
    budget.price(free, now=NOW)
    free.refresh_from_db()
    assert free.planned_spend == pytest.approx(24, rel=0.02)
    assert free.priced_at == NOW


def twentieths(times: list[Any]) -> list[int]:
    """How many of some times lie in each twentieth of their span, its ends left out."""
    ordered = sorted(times)[len(times) // 20 : -len(times) // 20]
    start, span = ordered[0], ordered[-1] - ordered[0]
    counts = [0] * 20
    for at in ordered:
        counts[min(int((at - start) / span * 20), 19)] += 1
    return counts


def test_neither_a_new_price_nor_a_restart_aligns_visits() -> None:
    team = Team.objects.create(name="Large", budget=4000)
    site = Site.objects.create(name="Large", host="large.example", gap_s=0)
    vantage, page_type = make_monitor().vantage, make_page_type()
    Monitor.objects.bulk_create(
        Monitor(
            name=str(n), url=f"https://large.example/{n}", team=team, site=site, vantage=vantage, page_type=page_type,
            rate_a=1.0, rate_b=2.0, check_no=3, last_ok_at=NOW - timedelta(minutes=n % 720), plan_reason="expected-change",
            last_checked_at=NOW - timedelta(minutes=n % 720), plan_price=9.0, next_check_at=NOW + timedelta(hours=30),
            deadline_at=NOW + timedelta(days=6),
        )
        for n in range(1000)
    )  # fmt: skip

    budget.reprice(now=NOW)  # far cheaper: everybody was to come much later
    planned = [at for at in Monitor.objects.filter(team=team).values_list("next_check_at", flat=True) if at]

    assert max(planned) < NOW + timedelta(hours=30)
    assert min(planned) > NOW
    assert max(twentieths(planned)) < 3 * 45
    assert len({at.replace(microsecond=0) for at in planned if at}) > 950
    budget.reprice(now=NOW + timedelta(minutes=1))  # a restart asks again and changes nothing
    assert list(Monitor.objects.filter(team=team).values_list("next_check_at", flat=True)) == planned
