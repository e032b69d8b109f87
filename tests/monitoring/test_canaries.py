"""Canaries: planted, visited by the real pipeline, judged, and an alarm at once where one is missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from monitoring.canaries.pages import BY_KEY, PLANS
from monitoring.canaries.schedule import Schedule, Sight, Verdict, judged
from monitoring.fetching.guard import check_url
from monitoring.models import (
    Alarm,
    CalibrationRun,
    Canary,
    Change,
    Check,
    HourTally,
    Monitor,
    OutboxMessage,
    Planting,
    SiteDay,
)
from monitoring.models.monitor import of_visible
from monitoring.services import brake, canaries, canary_setup, egress, health, visits, watching
from review.selectors import watch
from tests.factories import make_monitor, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite, Page

HOURLY = Schedule(3600)
START = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


# -- schedule and verdict ----------------------------------------------------------------


def test_the_same_moment_shows_the_same_page_and_the_next_planting_another() -> None:
    for plan in PLANS:
        shown = plan.serve(START, HOURLY)

        assert plan.serve(START, HOURLY) == shown
        assert plan.serve(START + timedelta(hours=1), HOURLY).body != shown.body


def test_a_thousand_plantings_never_show_a_text_twice() -> None:
    for key in ("entry", "clause", "price"):
        shown = {BY_KEY[key].serve(START + timedelta(hours=turn), HOURLY).body for turn in range(1000)}

        assert len(shown) == 1000


@pytest.mark.parametrize(
    ("sights", "now", "verdict"),
    [
        ([], 5, Verdict.WAITING),
        ([], 10, Verdict.MISSED),
        ([Sight("content", 1)], 2, Verdict.SEEN),
        ([Sight("none", 1)], 2, Verdict.WRONG),
        ([Sight("noise", 1), Sight("content", 2)], 3, Verdict.WRONG),
        ([Sight("error", 1)], 5, Verdict.WAITING),
        ([Sight("error", 1), Sight("content", 6)], 7, Verdict.SEEN),
        ([Sight("error", 1)], 10, Verdict.MISSED),
        ([Sight("content", 1, recorded=False)], 2, Verdict.WRONG),
        ([Sight("none", 1, anew=True)], 2, Verdict.WAITING),
        ([Sight("none", 1, anew=True)], 10, Verdict.VOID),
    ],
)
def test_the_first_visit_that_says_anything_decides(sights: list[Sight], now: float, verdict: Verdict) -> None:
    assert judged("content", sights, due=10, now=now)[0] is verdict


def test_what_nobody_looked_for_is_not_missed() -> None:
    assert judged("content", [], due=10, now=10, rested=True)[0] is Verdict.VOID


# -- through the pipeline ----------------------------------------------------------------


class Watch:
    """Our canaries, served by a local site, and a clock that a test sets."""

    def __init__(self, site: LocalSite, clock: Any) -> None:
        self.site, self.clock = site, clock

    def serve(self) -> None:
        """Put up each page as it reads now."""
        for plan in PLANS:
            served = plan.serve(datetime.now(UTC), HOURLY)
            headers = {"Content-Type": served.content_type}
            self.site.pages[f"/canary/{plan.key}/"] = Page(served.body, served.status, headers)

    def go(self, at: datetime, *, visited: bool = True) -> int:
        """Let it be then: pages as planted, a visit, a look; how many alarms were told."""
        self.clock.move_to(at, tick=False)
        self.serve()
        if visited:
            visit(*Monitor.objects.filter(is_canary=True))
        return canaries.look(now=datetime.now(UTC))


@pytest.fixture
def watched(site: LocalSite, settings: Any) -> Any:
    settings.SAMPLE_ORIGIN = f"http://{site.address}"
    settings.TEST_ALLOWED_ADDRESSES = []
    settings.CANARY_S = 3600
    with time_machine.travel(START - timedelta(minutes=20), tick=False) as clock:
        found = Watch(site, clock)
        canaries.look(now=datetime.now(UTC))
        found.go(START - timedelta(minutes=19))
        yield found


@pytest.mark.django_db
def test_thirty_plantings_in_a_row_are_seen_as_what_they_are(watched: Watch) -> None:
    told = 0
    for hour in range(30):
        told += watched.go(START + timedelta(hours=hour, minutes=3))
        told += watched.go(START + timedelta(hours=hour, minutes=40))

    found = {
        (row.canary.key, row.state, row.seen, row.planted_at.day * 24 + row.planted_at.hour)
        for row in Planting.objects.exclude(state=Planting.State.SEEN).select_related("canary")
    }
    assert (told, found) == (0, set())
    assert Planting.objects.count() == 30 * len(PLANS)
    assert not Alarm.objects.exists()


@pytest.mark.django_db
def test_nothing_of_a_canary_reaches_people_or_what_is_learned(watched: Watch) -> None:
    make_monitor(next_check_at=None)
    boss = User.objects.create_superuser("boss", "boss@example.test", "correct horse battery")
    for hour in range(3):
        watched.go(START + timedelta(hours=hour, minutes=3))
    now = datetime.now(UTC)

    assert set(Change.objects.values_list("state", flat=True)) == {Change.State.CANARY}
    assert not Change.objects.visible_to(boss).exists()
    assert not Change.objects.waiting().exists()
    assert Monitor.objects.visible_to(boss).count() == 1
    assert watch.figures(user=boss, now=now).checks == 0
    assert watch.sites(user=boss, now=now)[0][0].monitors == 1
    assert not of_visible(Check.objects.all(), boss).exists()
    assert not brake.is_wanted(now=now)
    assert not CalibrationRun.objects.exists()
    assert not OutboxMessage.objects.exists()
    later = now + timedelta(hours=1)
    watching.fold(now=later)
    visits.tally(now=later)
    visits.tally(now=later)
    assert not SiteDay.objects.exists()
    assert not HourTally.objects.exists()
    assert not watching.anything_new(now=later)


@pytest.mark.django_db
def test_a_planting_that_is_read_as_unchanged_alarms_at_once_and_is_told_when_it_is_over(watched: Watch) -> None:
    make_user("lea", role="lead")
    make_user("ana", role="analyst")
    watched.go(START + timedelta(minutes=3))
    stale = dict(watched.site.pages)
    watched.clock.move_to(START + timedelta(hours=1, minutes=3), tick=False)
    watched.site.pages = stale
    Monitor.objects.exclude(canary__key="entry").update(next_check_at=None)  # one visit is for this one
    visit(*Monitor.objects.filter(canary__key="entry"))

    told = canaries.look(now=datetime.now(UTC))

    alarm = Alarm.objects.get(cleared_at__isnull=True)
    assert (told, alarm.kind, alarm.site.host) == (1, Alarm.Kind.CANARY, "entry.canary")
    assert alarm.raised_at is not None
    mail = OutboxMessage.objects.get()
    assert mail.recipient == "lea@example.test"
    assert "canary" in mail.subject
    row = Planting.objects.get(canary__key="entry", planted_at=START + timedelta(hours=1))
    assert (row.state, row.seen) == (Planting.State.WRONG, "none")
    summary = canaries.summary(now=datetime.now(UTC))
    assert summary is not None
    assert (summary.failed, summary.seen) == (1, len(PLANS) - 1)
    assert health.look("canaries", now=datetime.now(UTC)).state == health.State.WARNING

    watched.go(START + timedelta(hours=2, minutes=3))

    alarm.refresh_from_db()
    assert alarm.cleared_at is not None
    assert OutboxMessage.objects.count() == 2
    assert health.look("canaries", now=datetime.now(UTC)).state == health.State.OK


@pytest.mark.django_db
def test_a_canary_that_is_not_visited_is_missed_by_half_its_time(watched: Watch) -> None:
    watched.go(START + timedelta(minutes=3))
    for minute in range(60, 90, 5):
        assert watched.go(START + timedelta(minutes=minute), visited=False) == 0

    assert watched.go(START + timedelta(minutes=90), visited=False) == len(PLANS)
    assert set(Planting.objects.filter(planted_at=START + timedelta(hours=1)).values_list("state", flat=True)) == {
        "missed"
    }


@pytest.mark.django_db
def test_a_time_in_which_nothing_ran_is_no_miss_but_proves_nothing(watched: Watch) -> None:
    watched.go(START + timedelta(minutes=3))
    asleep = canaries.summary(now=START + timedelta(minutes=50))
    watched.clock.move_to(START + timedelta(hours=1, minutes=45), tick=False)

    assert canaries.look(now=datetime.now(UTC)) == 0
    assert asleep is not None
    assert asleep.asleep
    assert set(Planting.objects.filter(planted_at=START + timedelta(hours=1)).values_list("state", flat=True)) == {
        "void"
    }


@pytest.mark.django_db
def test_switched_off_canaries_rest_and_their_alarms_end(watched: Watch, settings: Any) -> None:
    watched.go(START + timedelta(minutes=3))
    Alarm.objects.create(
        site=Canary.objects.all()[0].monitor.site, kind=Alarm.Kind.CANARY, since=START, looked_at=START, began_at=START
    )
    settings.CANARY_S = 0

    assert canaries.is_wanted(now=START)
    canaries.look(now=START + timedelta(hours=1))

    assert not Monitor.objects.filter(is_canary=True, enabled=True).exists()
    assert not Alarm.objects.filter(cleared_at__isnull=True).exists()
    assert canaries.summary(now=START) is None
    assert not canaries.is_wanted(now=START)


@pytest.mark.django_db
def test_old_changes_of_canaries_are_let_go(watched: Watch) -> None:
    watched.go(START + timedelta(minutes=3))

    assert canaries.forget(now=START + timedelta(days=8)) >= 2
    assert not Change.objects.exists()


# -- the way in --------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_guard_lets_only_the_canarys_own_address_through(settings: Any) -> None:
    settings.SAMPLE_ORIGIN, settings.CANARY_S = "http://127.0.0.1:8000", 3600
    canary_setup.ensure(now=START)
    monitor = Monitor.objects.filter(is_canary=True)[0]
    exemption, policy = egress.exemption_of(monitor), egress.address_policy()

    assert check_url(monitor.url, policy, exemption=exemption) == monitor.url
    for url in (
        "http://127.0.0.1:8000/admin/",
        "http://127.0.0.1:8000/canary/../admin/",
        "http://127.0.0.1:8001/canary/date/",
    ):
        with pytest.raises(Exception, match="public address"):
            check_url(url, policy, exemption=exemption)
    assert egress.exemption_of(make_monitor(url=monitor.url)) is None


@pytest.mark.django_db
def test_pages_are_served_without_rights_and_only_while_canaries_are_on(client: Client, settings: Any) -> None:
    settings.CANARY_S = 3600
    response = client.get("/canary/clause/")

    assert response.status_code == 200
    assert "sandbox" in response["Content-Security-Policy"]
    assert client.get("/canary/unknown/").status_code == 404
    settings.CANARY_S = 0
    assert client.get("/canary/clause/").status_code == 404


@pytest.mark.django_db
def test_an_admin_names_somebody_elses_page(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings.CANARY_S = 3600
    call_command(
        "canaries", "add", "https://clock.example/today", "--key", "clock", "--expect", "content", "--every", "86400"
    )

    found = Canary.objects.select_related("monitor").get(key="clock")

    assert (found.monitor.is_canary, found.monitor.url, found.every_s) == (True, "https://clock.example/today", 86_400)
    assert not egress.is_our_page(found.monitor)
    with pytest.raises(CommandError):
        call_command(
            "canaries", "add", "http://127.0.0.1/", "--key", "inside", "--expect", "content", "--every", "86400"
        )
    call_command("canaries", "remove", "clock")
    assert not Canary.objects.filter(key="clock").exists()
    with pytest.raises(CommandError):
        call_command("canaries", "remove", "date")
