"""The same page from two vantages: a worker asks, leads and admins look, and nothing of it is a change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from monitoring import tasks
from monitoring.models import Change, Check, Monitor, RobotsFile, Site, Vantage, VantageComparison
from monitoring.services import comparisons
from tests.factories import make_monitor, make_team, make_user
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page
from tests.review.conftest import SignIn

pytestmark = pytest.mark.django_db

HERE = page()
THERE = page(clauses=[*CLAUSES[:5], "Wien: Beschwerden gehen an die Aufsicht in der Barichgasse."])


@pytest.fixture
def site(settings: Any) -> Iterator[LocalSite]:
    local = LocalSite()
    settings.TEST_ALLOWED_ADDRESSES = [local.address]
    yield local
    local.close()


@pytest.fixture
def abroad(settings: Any) -> Iterator[LocalSite]:
    local = LocalSite()
    settings.TRUSTED_PROXIES = [local.address]
    yield local
    local.close()


@pytest.fixture
def vienna(abroad: LocalSite) -> Vantage:
    return Vantage.objects.create(name="Vienna", country="AT", proxy_url=f"http://{abroad.address}")


@pytest.fixture
def monitor(site: LocalSite, abroad: LocalSite) -> Monitor:
    host = Site.objects.create(name="Local", host=site.address, gap_s=0)
    abroad.put(site.url("/a"), THERE)
    return make_monitor(url=site.put("/a", HERE), site=host)


def compared(monitor: Monitor, vienna: Vantage) -> VantageComparison:
    row = comparisons.start(monitor, first=monitor.vantage, second=vienna, actor=None)
    tasks.run_comparison(row.pk)
    row.refresh_from_db()
    return row


def test_what_differs_by_place_is_shown_and_is_no_change(monitor: Monitor, vienna: Vantage, sign_in: SignIn) -> None:
    row = compared(monitor, vienna)

    text = sign_in(make_user("lea", role="lead")).get(reverse("vantages", args=[monitor.pk])).content.decode()

    assert row.state == "done"
    assert "Barichgasse" in text
    assert "<ins" in text
    assert not Change.objects.exists()
    assert not Check.objects.exists()


def test_pages_that_read_alike_are_told_so(
    monitor: Monitor, vienna: Vantage, site: LocalSite, abroad: LocalSite, sign_in: SignIn
) -> None:
    abroad.put(site.url("/a"), HERE)
    compared(monitor, vienna)

    text = sign_in(make_user("lea", role="lead")).get(reverse("vantages", args=[monitor.pk])).content.decode()

    assert "The page reads the same from both." in text


def test_a_side_without_a_page_is_named(monitor: Monitor, vienna: Vantage, site: LocalSite, abroad: LocalSite) -> None:
    abroad.put(site.url("/a"), "<h1>403 Forbidden</h1>", status=403)

    row = compared(monitor, vienna)

    assert row.state == "failed"
    assert row.problem.startswith("Vienna: ")
    assert [fact["vantage"] for fact in row.facts] == ["default", "Vienna"]


def test_a_problem_is_told_in_the_readers_language(
    monitor: Monitor, vienna: Vantage, site: LocalSite, abroad: LocalSite, sign_in: SignIn
) -> None:
    client = sign_in(make_user("lea", role="lead"))
    here = reverse("vantages", args=[monitor.pk])
    abroad.put(site.url("/a"), "", status=404)

    row = compared(monitor, vienna)
    shown = client.get(here, headers={"accept-language": "de"}).content.decode()
    VantageComparison.objects.filter(pk=row.pk).update(problem=comparisons.CRASHED, facts=[])
    crashed = client.get(here, headers={"accept-language": "de"}).content.decode()

    assert row.problem not in shown
    assert shown.count("unter dieser Adresse gebe es keine Seite") == 2  # above the table, and in it
    assert comparisons.CRASHED not in crashed


@pytest.mark.parametrize("why", ["site-rests", "robots-disallowed"])
def test_a_site_that_wants_to_be_left_alone_is_not_asked(
    monitor: Monitor, vienna: Vantage, site: LocalSite, abroad: LocalSite, why: str
) -> None:
    now = timezone.now()
    if why == "site-rests":
        Site.objects.update(rest_until=now + timedelta(hours=1))
    else:
        RobotsFile.objects.create(
            site=monitor.site, state="read", text="User-agent: *\nDisallow: /", read_at=now, next_at=now
        )

    row = compared(monitor, vienna)

    assert (row.state, [fact["reason"] for fact in row.facts]) == ("failed", [why, why])
    assert not site.visits
    assert not abroad.visits


def test_the_form_starts_one_and_a_second_click_none(monitor: Monitor, vienna: Vantage, sign_in: SignIn) -> None:
    client = sign_in(make_user("lea", role="lead"))
    here, form = reverse("vantages", args=[monitor.pk]), {"first": monitor.vantage_id, "second": vienna.pk}

    first = client.post(here, form, follow=True)
    second = client.post(here, form, follow=True)

    assert "A worker asks for the page from both" in first.content.decode()
    assert "is under way" in second.content.decode()
    row = VantageComparison.objects.get()
    assert row.requested_by is not None
    assert (row.state, row.requested_by.username) == ("waiting", "lea")


@pytest.mark.parametrize(
    "form", [{}, {"first": "1"}, {"first": "x", "second": "y"}, {"first": "9" * 30, "second": "1"}]
)
def test_a_form_that_names_no_two_vantages_starts_none(form: dict[str, str], monitor: Monitor, sign_in: SignIn) -> None:
    client = sign_in(make_user("lea", role="lead"))

    answer = client.post(reverse("vantages", args=[monitor.pk]), form, follow=True)

    assert "Choose two vantages" in answer.content.decode()
    assert not VantageComparison.objects.exists()


def test_one_vantage_is_no_pair(monitor: Monitor) -> None:
    with pytest.raises(ValidationError, match="two different"):
        comparisons.start(monitor, first=monitor.vantage, second=monitor.vantage, actor=None)


@pytest.mark.parametrize(("role", "status"), [("analyst", 403), ("auditor", 403), ("lead", 200), ("admin", 200)])
def test_leads_and_admins_look(role: str, status: int, monitor: Monitor, sign_in: SignIn) -> None:
    assert sign_in(make_user(role=role)).get(reverse("vantages", args=[monitor.pk])).status_code == status


def test_another_teams_page_is_not_there(monitor: Monitor, sign_in: SignIn) -> None:
    client = sign_in(make_user("lea", role="lead", team=make_team("Procurement")))

    assert client.get(reverse("vantages", args=[monitor.pk])).status_code == 404


def test_a_message_delivered_twice_asks_once(
    monitor: Monitor, vienna: Vantage, abroad: LocalSite, site: LocalSite
) -> None:
    row = compared(monitor, vienna)

    assert tasks.run_comparison(row.pk) == "not waiting"
    assert abroad.visits[site.url("/a")] == 1


def test_a_comparison_whose_worker_died_makes_room(monitor: Monitor, vienna: Vantage) -> None:
    row = comparisons.start(monitor, first=monitor.vantage, second=vienna, actor=None)
    VantageComparison.objects.update(state="running")

    assert comparisons.give_up(now=timezone.now()) == 0
    assert comparisons.give_up(now=timezone.now() + timedelta(hours=1)) == 1
    row.refresh_from_db()
    assert row.state == "failed"
    comparisons.start(monitor, first=monitor.vantage, second=vienna, actor=None)


def test_a_bug_of_ours_ends_the_comparison_and_not_the_worker(
    monitor: Monitor, vienna: Vantage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "compared", lambda *_, **__: 1 / 0)

    assert compared(monitor, vienna).state == "failed"


def test_only_the_newest_are_kept(monitor: Monitor, vienna: Vantage) -> None:
    for _ in range(comparisons.KEPT + 2):
        compared(monitor, vienna)

    assert VantageComparison.objects.count() == comparisons.KEPT


def test_the_command_prints_what_differs(monitor: Monitor, vienna: Vantage) -> None:
    out = StringIO()

    call_command("compare_vantages", str(monitor.pk), "default", str(vienna.pk), stdout=out)

    said = out.getvalue()
    assert "Vienna: 200" in said
    assert "+ Wien: Beschwerden" in said
    assert f"- {CLAUSES[5]}" in said
    assert not VantageComparison.objects.exists()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("999999", "default", "Vienna"), "no monitor 999999"),
        (("{pk}", "default", "Atlantis"), "no vantage 'Atlantis'; there are: Vienna, default"),
        (("{pk}", "default", "default"), "two different"),
    ],
)
def test_the_command_names_what_is_wrong(names: tuple[str, ...], said: str, monitor: Monitor, vienna: Vantage) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("compare_vantages", *(name.format(pk=monitor.pk) for name in names))
