"""A monitor's page: limits and who set them, who hears about it, its chart as a table, and what can be taken home."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from monitoring import storage
from monitoring.models import Monitor, RobotsFile, SettingChange
from review.models import DigestSubscription
from tests.factories import make_check, make_monitor, make_payload, make_snapshot
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def said_of(client: Any, monitor: Monitor) -> str:
    """What the page says."""
    return " ".join(BeautifulSoup(client.get(monitor.get_absolute_url()).content, "html.parser").get_text(" ").split())


def test_the_cut_tells_who_set_it(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    SettingChange.objects.create(page_type=monitor.page_type, name="cut", old="0.5", new="0.6", actor_name="ada")

    assert "by ada." in said_of(sign_in(analyst), monitor)


def test_who_reads_the_digest_hears_about_it(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    for person, rhythm in ((analyst, "daily"), (other_analyst, "off")):
        DigestSubscription.objects.update_or_create(user=person, defaults={"rhythm": rhythm})

    said = said_of(sign_in(analyst), make_monitor())

    assert "By digest ines" in said
    assert "At once nobody" in said


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("obey", "asks us not to fetch this page"),
        ("warn", "asks us not to, fetched all the same"),
        ("ignore", "ignored: agreed"),
    ],
)
def test_robots_is_told_for_this_page(analyst: User, sign_in: SignIn, policy: str, words: str) -> None:
    monitor, now = make_monitor(), timezone.now()
    monitor.site.robots_policy, monitor.site.robots_reason = policy, "agreed"
    monitor.site.save()
    RobotsFile.objects.create(
        site=monitor.site, state="read", text="User-agent: *\nDisallow: /", read_at=now, next_at=now
    )

    assert words in said_of(sign_in(analyst), monitor)


def test_the_chart_is_a_table_too(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    make_check(monitor, outcome="noise", score=0.25, cut=0.5, distance=2, threshold=3, started_at=timezone.now())

    page = BeautifulSoup(sign_in(analyst).get(monitor.get_absolute_url()).content, "html.parser")

    assert [cell.get_text() for cell in page.select("details tbody td")] == ["noise", "0.25", "0.50", "2", "3"]


def test_checks_leave_as_csv(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    make_check(monitor, check_no=1, outcome="none", duration_ms=40)
    make_check(monitor, check_no=2, outcome="blocked", reason="challenge", status=403)

    response = sign_in(analyst).get(reverse("checks_csv", args=[monitor.pk]))

    body = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(body)))
    assert [(row["number"], row["outcome"], row["status"]) for row in rows] == [
        ("2", "blocked", "403"),
        ("1", "none", ""),
    ]


def test_evidence_holds_the_kept_captures_and_says_what_is_missing(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    make_snapshot(monitor, payload=storage.put(b"<p>kept</p>"))
    make_snapshot(monitor, payload=make_payload(b"<p>lost</p>"), role="change")

    response = sign_in(analyst).get(reverse("monitor_evidence", args=[monitor.pk]))

    with zipfile.ZipFile(io.BytesIO(response.content)) as bundle:
        facts = json.loads(bundle.read("monitor.json"))
        assert b"<p>kept</p>" in bundle.read("captures.warc")
    assert sorted(one["bytes"].split(":")[0] for one in facts["captures"]) == ["could not be read", "stored"]


@pytest.mark.parametrize("name", ["checks_csv", "monitor_evidence"])
def test_nothing_of_another_team_can_be_taken(outsider: User, sign_in: SignIn, name: str) -> None:
    assert sign_in(outsider).get(reverse(name, args=[make_monitor().pk])).status_code == 404
