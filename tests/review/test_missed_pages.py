""" "You missed this" on a monitor, and what calibration shows of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from monitoring.models import MissedCase, Monitor
from review.selectors import learning, missing
from tests.factories import make_check, make_monitor, make_snapshot
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def report(client: Client, monitor: Monitor, **extra: object) -> str:
    """What the page says after a report of today."""
    values = {"day": timezone.localdate().isoformat(), "what": "<b>The price</b>", **extra}
    response = client.post(reverse("report_missed", args=[monitor.pk]), values, follow=True)
    return response.content.decode()


def test_a_report_is_shown_on_the_monitor_and_on_calibration(analyst: User, sign_in: SignIn) -> None:
    monitor, client = make_monitor(), sign_in(analyst)
    make_check(monitor, outcome="noise", started_at=timezone.now(), score=0.31)

    said = report(client, monitor)
    calibration = client.get(reverse("calibration", args=[monitor.page_type.slug])).content.decode()

    assert "Calibration counts it as missed" in said
    for page in (said, calibration):
        assert "&lt;b&gt;The price&lt;/b&gt;" in page
        assert "0.31" in page


def test_a_case_counts_beside_the_verdicts_and_not_in_the_sampled_rate(analyst: User, sign_in: SignIn) -> None:
    monitor, now = make_monitor(), timezone.now()
    make_check(monitor, outcome="noise", started_at=now, score=0.31)
    report(sign_in(analyst), monitor)

    found = learning.learned(monitor.page_type, user=None, now=timezone.now())

    assert [(s.score, s.approved, s.reported) for s in found.samples] == [(0.31, True, True)]
    assert found.approved == []
    assert learning.effect(found, cut=0.5, threshold=3).missed == 1
    assert missing.missed_by(None, now=timezone.now()).rate is None


@pytest.mark.parametrize("wrong", [{"day": "soon"}, {"what": ""}, {"before": "999999", "after": "x"}])
def test_a_report_that_makes_no_sense_says_so(analyst: User, sign_in: SignIn, wrong: dict[str, str]) -> None:
    monitor = make_monitor()

    assert 'class="toast"' in report(sign_in(analyst), monitor, **wrong)
    assert not MissedCase.objects.exists()


def test_both_captures_can_be_named(analyst: User, sign_in: SignIn) -> None:
    monitor, now = make_monitor(), timezone.now()
    old, new = (make_snapshot(monitor, taken_at=now - timedelta(days=days)) for days in (2, 0))

    said = report(sign_in(analyst), monitor, before=old.pk, after=new.pk)

    assert f"?old={old.pk}&amp;new={new.pk}" in said


def test_a_lead_takes_a_case_away_and_the_history_says_why(lead: User, sign_in: SignIn) -> None:
    monitor, client = make_monitor(), sign_in(lead)
    report(client, monitor)
    address = reverse("remove_missed", args=[monitor.pk, MissedCase.objects.get().pk])

    kept = client.post(address, {"reason": ""}, follow=True)
    gone = client.post(address, {"reason": "Another page"}, follow=True)

    assert b"Say why" in kept.content
    assert b"No longer a missed case" in gone.content
    assert b"Another page" in gone.content
    assert client.post(address, {"reason": "again"}).status_code == 404
