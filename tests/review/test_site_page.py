"""A site's page: its days, what is out of the ordinary, politeness, and who may see it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Alarm, Monitor, Site, SiteWatch
from monitoring.services import watching
from review import site_words
from tests.factories import make_check, make_monitor
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def visited(monitor: Monitor, *outcomes: str, ms: int = 200) -> None:
    """One visit a day that came to this, the last one yesterday; added up."""
    for days, outcome in enumerate(reversed(outcomes), start=1):
        make_check(monitor, outcome=outcome, duration_ms=ms, started_at=timezone.now() - timedelta(days=days))
    watching.fold(now=timezone.now())


def page_of(client: Any, site: Site) -> BeautifulSoup:
    """The site's page."""
    response = client.get(reverse("site", args=[site.pk]))
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def test_days_are_drawn_by_their_worst_kind_and_listed(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    visited(monitor, "none", "noise", "blocked")

    page = page_of(sign_in(analyst), monitor.site)

    assert [cell["class"] for cell in page.select(".strip i")[-4:]] == [["s"], ["n"], ["bl"], ["o"]]
    assert len(page.select("details tbody tr")) == 3
    charts = [svg["aria-label"] for svg in page.select("svg.chart")]
    assert charts[0] == "Brought a page to compare: 67 % over all days shown, between 0 % and 100 % on one day."
    assert "66.7 %" in page.get_text()


def test_a_day_without_visits_is_a_gap(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    visited(monitor, "none")
    make_check(monitor, outcome="none", duration_ms=200, started_at=timezone.now() - timedelta(days=9))
    watching.fold(now=timezone.now())

    path = page_of(sign_in(analyst), monitor.site).select("svg.chart .thr")[0]["d"]

    assert str(path).count("M") == 2


def test_what_is_out_of_the_ordinary_is_told_with_the_next_step(analyst: User, sign_in: SignIn) -> None:
    monitor, now = make_monitor(), timezone.now()
    Alarm.objects.create(
        site=monitor.site, kind="blocked", since=now, looked_at=now, began_at=now, raised_at=now, facts={"share": 1.0}
    )

    said = page_of(sign_in(analyst), monitor.site).get_text()

    assert "100 % of the last day's visits met a block page." in said
    assert "Ask the site's owner for access" in said


def test_politeness_is_the_one_in_force(analyst: User, sign_in: SignIn) -> None:
    monitor, now = make_monitor(), timezone.now()
    Site.objects.filter(pk=monitor.site_id).update(
        gap_s=1, crawl_delay_s=5, rest_until=now + timedelta(hours=2), rest_reason="refused"
    )

    said = " ".join(page_of(sign_in(analyst), monitor.site).get_text(" ").split())

    assert "5 s, as its Crawl-delay asks" in said.replace(" ,", ",")
    assert "it refused us." in said


def test_silence_is_told_against_what_is_usual() -> None:
    now = timezone.now()
    watch = SiteWatch(
        changes=4, rate_a=2.0, rate_b=10.0, visits=40, moved=4, total_visits=40, still_visits=3,
        first_visit_at=now - timedelta(days=60), last_change_at=now - timedelta(days=6), last_visit_at=now,
    )  # fmt: skip

    assert site_words.silence_words(watch) == (
        "No change for 6.0 days, where one comes every 5.0 days. The last 3 visits showed no difference at all."
    )
    assert site_words.silence_words(None).startswith("Too few changes")


def test_a_site_without_pages_of_ones_teams_is_not_there(outsider: User, sign_in: SignIn) -> None:
    assert sign_in(outsider).get(reverse("site", args=[make_monitor().site_id])).status_code == 404


def test_monitors_of_other_teams_are_not_listed(outsider: User, sign_in: SignIn) -> None:
    ours = make_monitor(name="Their secret")
    make_monitor(name="Mine", site=ours.site, team=outsider.teams.get())

    said = page_of(sign_in(outsider), ours.site).get_text()

    assert ("Mine" in said, "secret" in said) == (True, False)


def test_more_monitors_and_days_need_no_more_queries(analyst: User, sign_in: SignIn) -> None:
    monitor, client, counts = make_monitor(), sign_in(analyst), []
    for number in range(2):
        for _more in range(5):
            make_monitor(site=monitor.site)
        visited(monitor, *["none"] * (3 + number))
        with CaptureQueriesContext(connection) as queries:
            page_of(client, monitor.site)
        counts.append(len(queries))

    assert counts[0] == counts[1]
