"""Digests: when they go, to whom, and what they say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from monitoring.models import Change, MonitorState, OutboxMessage
from review.models import Digest, DigestSubscription
from review.services import digests
from tests.factories import NOW, make_change, make_monitor, make_team, make_user


def make_subscription(user: Any = None, **extra: Any) -> DigestSubscription:
    values = {
        "rhythm": "daily",
        "time_zone": "Europe/Berlin",
        "hour": 7,
        "next_at": NOW,
        "last_sent_at": NOW - timedelta(days=1),
    }
    return DigestSubscription.objects.create(user=user or make_user(), **(values | extra))


@pytest.mark.parametrize(
    ("after", "zone", "hour", "expected"),
    [
        (datetime(2026, 11, 30, 5, 0, tzinfo=UTC), "Europe/Berlin", 7, datetime(2026, 11, 30, 6, 0, tzinfo=UTC)),
        (datetime(2026, 11, 30, 6, 0, tzinfo=UTC), "Europe/Berlin", 7, datetime(2026, 12, 1, 6, 0, tzinfo=UTC)),
        (datetime(2026, 3, 28, 7, 0, tzinfo=UTC), "Europe/Berlin", 7, datetime(2026, 3, 29, 5, 0, tzinfo=UTC)),
        (datetime(2026, 11, 30, 5, 0, tzinfo=UTC), "Asia/Tokyo", 7, datetime(2026, 11, 30, 22, 0, tzinfo=UTC)),
        (datetime(2026, 11, 30, 5, 0, tzinfo=UTC), "Nowhere/Else", 7, datetime(2026, 11, 30, 7, 0, tzinfo=UTC)),
    ],
)
def test_the_next_digest_follows_the_persons_clock(after: datetime, zone: str, hour: int, expected: datetime) -> None:
    subscription = DigestSubscription(rhythm="daily", time_zone=zone, hour=hour)

    assert digests.next_time(subscription, after) == expected


def test_an_hour_that_the_clock_skips_is_taken_after_the_gap() -> None:
    subscription = DigestSubscription(rhythm="daily", time_zone="Europe/Berlin", hour=2)

    moment = digests.next_time(subscription, datetime(2026, 3, 28, 12, 0, tzinfo=UTC))

    assert moment == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_a_weekly_digest_waits_for_its_day() -> None:
    subscription = DigestSubscription(rhythm="weekly", time_zone="UTC", hour=7, weekday=2)

    assert digests.next_time(subscription, NOW) == datetime(2026, 12, 2, 7, 0, tzinfo=UTC)


@pytest.mark.django_db
def test_a_waiting_change_makes_a_digest_with_both_parts() -> None:
    subscription = make_subscription()
    change = make_change()

    assert digests.tick(now=NOW) == 1

    mail = OutboxMessage.objects.get()
    assert mail.subject == "1 change to review"
    assert "REMOVED: " in mail.text
    assert "will not" in mail.text
    assert change.get_absolute_url() in mail.text
    assert "<del" in mail.html
    assert mail.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    subscription.refresh_from_db()
    assert subscription.next_at == datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
    assert len(mail.html.encode()) < 100_000


@pytest.mark.django_db
def test_a_quiet_day_sends_nothing() -> None:
    subscription = make_subscription()

    assert digests.tick(now=NOW) == 0

    assert not OutboxMessage.objects.exists()
    subscription.refresh_from_db()
    assert subscription.next_at is not None
    assert subscription.next_at > NOW


@pytest.mark.django_db
def test_a_quiet_week_sends_a_proof_of_life() -> None:
    make_subscription(last_sent_at=NOW - timedelta(days=7))
    make_monitor()

    assert digests.tick(now=NOW) == 1

    assert OutboxMessage.objects.get().subject == "All quiet: 1 page watched, nothing waiting"
    assert Digest.objects.get().proof_of_life


@pytest.mark.django_db
def test_blocked_sites_are_told() -> None:
    make_subscription()
    make_monitor(state=MonitorState.BLOCKED, state_since=NOW - timedelta(days=4))

    digests.tick(now=NOW)

    mail = OutboxMessage.objects.get()
    assert mail.subject == "1 site can't be read"
    assert "not readable since 26 November" in mail.text


@pytest.mark.django_db
def test_other_teams_changes_stay_out() -> None:
    make_subscription(make_user("mara", team=make_team("Procurement")))
    make_change()

    digests.tick(now=NOW)

    assert not OutboxMessage.objects.exists()


@pytest.mark.django_db
def test_one_digest_per_period_even_when_the_clock_goes_back() -> None:
    subscription = make_subscription()
    make_change()
    digests.tick(now=NOW)
    DigestSubscription.objects.update(next_at=NOW - timedelta(hours=1))

    digests.tick(now=NOW)

    assert OutboxMessage.objects.count() == 1
    subscription.refresh_from_db()
    assert subscription.next_at is not None
    assert subscription.next_at > NOW


@pytest.mark.django_db
def test_a_new_subscription_gets_its_first_time() -> None:
    subscription = make_subscription(next_at=None)
    make_change()

    assert digests.any_due(now=NOW)
    digests.tick(now=NOW)

    subscription.refresh_from_db()
    assert subscription.next_at == datetime(2026, 12, 1, 6, 0, tzinfo=UTC)


@pytest.mark.django_db
def test_page_text_can_add_no_markup_to_the_mail() -> None:
    make_subscription()
    change = make_change()
    Change.objects.filter(pk=change.pk).update(
        diff={
            **change.diff,
            "blocks": [{**change.diff["blocks"][0], "segments": [["+", "<script>alert(1)</script>"]], "op": "added"}],
        }
    )

    digests.tick(now=NOW)

    assert "<script>" not in OutboxMessage.objects.get().html


@pytest.mark.django_db
def test_the_stop_link_asks_first_and_then_stops(client: Client) -> None:
    subscription = make_subscription()
    address = reverse("digest-stop", args=[digests.unsubscribe_token(subscription)])

    assert client.get(address).status_code == 200
    subscription.refresh_from_db()
    assert subscription.rhythm == "daily"
    assert client.post(address, {"List-Unsubscribe": "One-Click"}).status_code == 200

    subscription.refresh_from_db()
    assert subscription.rhythm == "off"
    assert client.get(reverse("digest-stop", args=["forged"])).status_code == 404
