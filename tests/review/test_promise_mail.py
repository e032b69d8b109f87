"""Mail of alarms: who gets it, one for each alarm, and what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from monitoring.models import Cause, Monitor, Outage, OutboxMessage, PromiseAlarm, Site, Team
from monitoring.services import promises
from review import alarms
from review.models import DigestSubscription
from review.services import digests, promise_mail
from tests.factories import NOW, make_monitor, make_team, make_user

pytestmark = pytest.mark.django_db

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def failing(**extra: Any) -> Monitor:
    """A page that fails and was not read in time."""
    values = {
        "last_ok_at": NOW - 25 * HOUR, "last_checked_at": NOW - HOUR, "deadline_at": NOW - HOUR, "fail_no": 3,
        "max_interval_s": 86_400, "next_check_at": NOW + HOUR,
    }  # fmt: skip
    return make_monitor(**(values | extra))


def look(minutes: int, *, start: int = 0) -> None:
    """A look each minute."""
    for n in range(start, start + minutes + 1):
        promises.look(now=NOW + n * MINUTE)


def test_an_alarm_is_one_mail_to_each_lead_and_admin_and_none_to_others(
    lead: User, admin_user_of_team: User, analyst: User, auditor: User
) -> None:
    make_user("far", role="lead", team=make_team("Elsewhere"))
    for _ in range(12):
        failing()

    look(9)

    assert sorted(OutboxMessage.objects.values_list("recipient", flat=True)) == [
        "ada@example.test", "lea@example.test",
    ]  # fmt: skip


def test_the_mail_names_the_cause_the_number_and_the_pages_the_oldest_first(lead: User) -> None:
    failing(name="Younger")
    older = failing(name="Older", deadline_at=NOW - 9 * HOUR)
    for n in range(40):
        failing(name=f"Further {n}", deadline_at=NOW - MINUTE * (n + 61))

    look(5)

    mail = OutboxMessage.objects.get()
    assert mail.subject == "42 promises of Compliance are broken: failed visits"
    assert mail.text.index("Older") < mail.text.index("Further 39")
    assert "At least every 1 day is promised; the time was over 30 Nov, 00:00." in mail.text
    assert older.get_absolute_url() in mail.html
    assert "and 12 more" in mail.text
    assert "Younger" not in mail.text
    assert "/fleet/overdue/?cause=errors" in mail.text


def test_when_it_is_over_that_is_told_too(lead: User) -> None:
    monitor = failing()
    look(5)
    Monitor.objects.filter(pk=monitor.pk).update(
        fail_no=0, deadline_at=NOW + 30 * HOUR, last_checked_at=NOW - 25 * HOUR
    )
    look(25, start=6)

    subjects = list(OutboxMessage.objects.order_by("pk").values_list("subject", flat=True))
    assert subjects == [
        "1 promise of Compliance is broken: failed visits",
        "Promises of Compliance are kept again (failed visits)",
    ]


def test_who_switched_alerts_off_is_not_told_and_a_team_nobody_leads_is_told_to_the_installations_admin(
    lead: User,
) -> None:
    DigestSubscription.objects.create(user=lead, alerts=False)
    assert promise_mail.recipients(make_team()) == []
    root = User.objects.create_superuser("root", "root@example.test", "x")

    assert promise_mail.recipients(make_team()) == [root]


def test_a_digest_names_the_alarms_in_force(lead: User) -> None:
    Team.objects.filter(name="Compliance").update(budget=100, least_spend=240.0)
    look(5)

    facts = digests.gather(lead, now=NOW + HOUR, since=NOW - HOUR)

    assert facts.promises == [
        "Compliance: What is promised needs 240 fetches a day by itself, and the budget is 100. It is kept all the same; nothing is left for other pages."
    ]
    assert facts.has_news
    assert digests.subject(facts) == "1 alarm of promises"


@pytest.mark.parametrize("cause", sorted(Cause))
def test_every_cause_has_a_sentence_of_its_own_in_every_language(cause: str) -> None:
    Outage.objects.create(began_at=NOW - HOUR, ended_at=NOW)
    site = Site.objects.create(name="Halden", host="halden.example", gap_s=60.0, least_load=1.5)
    facts = {"sites": [site.pk], "count": 3, "needed": 5, "budget": 4}
    said = set()
    for language in ("en", "de", "ja"):
        with translation.override(language):
            said.add(alarms.cause_sentence(cause, facts))

    assert len(said) == 3


def test_a_full_host_is_told_with_the_gap_or_the_promise_that_would_fit() -> None:
    site = Site.objects.create(name="Halden", host="halden.example", gap_s=60.0, least_load=1.5)

    words = alarms.host_sentence(site)

    assert words == (
        "Halden bears 1224 visits a day; what is promised for its pages needs 1836. "
        "It would fit with a gap of 40.00 s, or with promises 1.5 times as long."
    )
    assert 86_400 * 0.85 / alarms.fitting_gap_s(site) >= 1836


def test_alarms_of_other_teams_are_not_seen(analyst: User, outsider: User) -> None:
    PromiseAlarm.objects.create(
        team=make_team(), cause=Cause.ERRORS, since=NOW, looked_at=NOW, began_at=NOW, raised_at=NOW, broken=1
    )

    assert len(alarms.open_alarms(analyst)) == 1
    assert alarms.open_alarms(outsider) == []
