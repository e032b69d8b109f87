"""Told after so many visits in a row, reminded while it lasts, told once when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Monitor, MonitorState, OutboxMessage, Site
from monitoring.services import outbox
from review.models import DigestSubscription, TroubleNotice
from review.services import notices
from review.standing import standings
from tests.factories import NOW, make_check, make_monitor, make_page_type, make_team, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_outbox import Inbox, inbox
from tests.review.conftest import SignIn

__all__ = ["inbox"]
pytestmark = pytest.mark.django_db

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def failing(times: int = 3, *, reason: str = "dns", state: str = MonitorState.ERROR, **extra: Any) -> Monitor:
    """A monitor whose last visits all failed, an hour apart, with a check for each."""
    monitor = make_monitor(check_no=times, fail_no=times, state=state, state_since=NOW, **extra)
    for number in range(1, times + 1):
        make_check(monitor, check_no=number, started_at=NOW - (times - number) * timedelta(hours=1), outcome="error",
                   reason=reason, detail="RAW")  # fmt: skip
    return monitor


def told(kind: str = "trouble") -> list[OutboxMessage]:
    return list(OutboxMessage.objects.filter(kind=kind).order_by("pk"))


def recover(monitor: Monitor) -> None:
    Monitor.objects.filter(pk=monitor.pk).update(fail_no=0, state=MonitorState.OK, quarantined_at=None)


def test_nobody_is_told_before_the_third_failure_in_a_row() -> None:
    make_user()
    monitor = failing(2)

    assert not notices.any_due(now=NOW)
    assert notices.tick(now=NOW) == 0

    Monitor.objects.filter(pk=monitor.pk).update(fail_no=3)
    assert notices.any_due(now=NOW)
    assert notices.tick(now=NOW) == 1


def test_the_mail_says_what_since_when_how_often_and_when_next() -> None:
    make_user()
    monitor = failing(3, name="Halden terms", next_check_at=NOW + timedelta(minutes=20))

    notices.tick(now=NOW)

    (mail,) = told()
    assert mail.recipient == "ines@example.test"
    assert mail.subject == "Halden terms can't be read"
    for body in (mail.text, mail.html):
        assert "3 visits in a row" in body
        assert "name could not be resolved" in body.replace("&#x27;", "'")
        assert "in 20 min" in body
        assert monitor.get_absolute_url() in body
        assert "RAW" not in body


def test_an_outage_of_many_pages_is_one_mail_a_person() -> None:
    make_user("ines")
    make_user("mara")
    for _ in range(notices.SHOWN + 5):
        failing()

    assert notices.tick(now=NOW) == 2

    mail = told()[0]
    assert mail.subject == "35 pages can't be read"
    assert "and 5 more" in mail.text
    assert TroubleNotice.objects.count() == 70


def test_a_second_run_tells_nothing_again() -> None:
    make_user()
    failing()

    assert [notices.tick(now=NOW + n * MINUTE) for n in range(3)] == [1, 0, 0]
    assert not notices.any_due(now=NOW + MINUTE)


def test_the_page_type_says_after_how_many() -> None:
    make_user()
    failing(3, page_type=make_page_type("patient", tell_after=5))
    eager = failing(1, page_type=make_page_type("eager", tell_after=1))

    notices.tick(now=NOW)

    assert [notice.monitor for notice in TroubleNotice.objects.all()] == [eager]


def test_while_it_lasts_people_are_reminded_every_seven_days() -> None:
    make_user()
    failing(name="Halden terms")
    notices.tick(now=NOW)

    assert notices.tick(now=NOW + 7 * DAY - MINUTE) == 0
    assert notices.any_due(now=NOW + 7 * DAY)
    assert notices.tick(now=NOW + 7 * DAY) == 1
    assert notices.tick(now=NOW + 7 * DAY + MINUTE) == 0
    assert notices.tick(now=NOW + 14 * DAY) == 1

    assert [mail.subject for mail in told("reminder")] == ["Halden terms still can't be read"] * 2


def test_a_page_type_can_do_without_reminders() -> None:
    make_user()
    failing(page_type=make_page_type("quiet", remind_days=0))
    notices.tick(now=NOW)

    assert notices.tick(now=NOW + 300 * DAY) == 0


def test_recovery_is_told_once_and_to_those_who_were_told() -> None:
    make_user("ines")
    monitor = failing(name="Halden terms")
    notices.tick(now=NOW)
    make_user("late")  # joined after the notice
    recover(monitor)

    assert notices.any_due(now=NOW + MINUTE)
    assert [notices.tick(now=NOW + n * MINUTE) for n in (1, 2, 3)] == [1, 0, 0]

    (mail,) = told("recovery")
    assert (mail.recipient, mail.subject) == ("ines@example.test", "Halden terms can be read again")


def test_what_was_never_told_has_no_recovery() -> None:
    make_user()
    recover(failing(2))

    assert notices.tick(now=NOW) == 0


def test_the_next_trouble_is_told_anew() -> None:
    make_user()
    monitor = failing()
    notices.tick(now=NOW)
    recover(monitor)
    notices.tick(now=NOW + MINUTE)
    Monitor.objects.filter(pk=monitor.pk).update(fail_no=3)

    assert notices.tick(now=NOW + 2 * MINUTE) == 1
    assert len(told()) == 2


def test_a_held_monitor_is_told_at_once_and_in_words() -> None:
    make_user()
    make_monitor(quarantined_at=NOW, stage="render")

    notices.tick(now=NOW)

    (mail,) = told()
    assert "Work on it broke off three times while the browser had it." in mail.text
    assert "when somebody asks for it" in mail.text


@pytest.mark.parametrize("extra", [{"enabled": False}, {"is_sample": True}])
def test_paused_monitors_and_the_sample_tell_nobody(extra: dict[str, Any]) -> None:
    make_user()
    failing(**extra)

    assert not notices.any_due(now=NOW)
    assert notices.tick(now=NOW) == 0


def test_only_the_monitors_team_is_told_and_only_who_wants_it() -> None:
    make_user("other", team=make_team("Procurement"))
    DigestSubscription.objects.create(user=make_user("deaf"), alerts=False)
    failing()

    assert not notices.any_due(now=NOW)
    assert notices.tick(now=NOW) == 0


def test_who_left_the_team_hears_no_more_of_it() -> None:
    user = make_user()
    monitor = failing()
    notices.tick(now=NOW)
    monitor.team.members.remove(user)
    recover(monitor)

    assert notices.tick(now=NOW + MINUTE) == 0
    assert TroubleNotice.objects.get().ended_at is not None


def test_the_reader_is_told_in_their_language() -> None:
    from review.models import Preferences

    Preferences.objects.create(user=make_user(), language="de")
    failing(name="Halden AGB")

    notices.tick(now=NOW)

    assert told()[0].subject == "Halden AGB kann nicht gelesen werden"


def test_a_notice_and_its_mail_stand_or_fall_together(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user()
    failing()
    monkeypatch.setattr(notices, "render_to_string", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        notices.tick(now=NOW)

    assert not TroubleNotice.objects.exists()
    assert not OutboxMessage.objects.exists()


# -- over the whole chain ----------------------------------------------------------------


@pytest.fixture
def site(settings: Any) -> Iterator[LocalSite]:
    local = LocalSite()
    settings.TEST_ALLOWED_ADDRESSES = [local.address]
    yield local
    local.close()


@pytest.mark.django_db(transaction=True)
def test_from_a_site_that_blocks_to_the_mail_and_back(
    site: LocalSite, inbox: Inbox, django_assert_num_queries: Callable[..., Any]
) -> None:
    make_user()
    host = Site.objects.create(name="Local", host=site.address, gap_s=0)
    good = "<main><p>" + "We keep what you tell us for twelve months and no longer. " * 6 + "</p></main>"
    monitor = make_monitor(name="Halden terms", url=site.put("/a", good), site=host, next_check_at=timezone.now())
    visit(monitor)
    site.put("/a", "<title>Just a moment...</title><p>Checking your browser</p>", status=403, cf_mitigated="challenge")
    now = timezone.now()
    for n in range(3):
        visit(monitor)
        notices.tick(now=now + n * MINUTE)
        outbox.send_due(now=now + n * MINUTE)
        assert len(inbox.mails) == (1 if n == 2 else 0)

    body = inbox.mails[0].get_payload()[0].get_payload(decode=True).decode()  # type: ignore[union-attr,index]
    assert "Blocked" in body
    assert "It was Cloudflare." in body
    assert "cf-mitigated: challenge" in body

    site.put("/a", good)
    visit(monitor)
    for n in range(3, 6):
        notices.tick(now=now + n * MINUTE)
        outbox.send_due(now=now + n * MINUTE)

    assert [str(mail["Subject"]) for mail in inbox.mails] == [
        "Halden terms can't be read",
        "Halden terms can be read again",
    ]


# -- on the pages ------------------------------------------------------------------------


def test_the_monitors_page_says_how_it_stands(sign_in: SignIn) -> None:
    client = sign_in(make_user())
    monitor = failing(4, next_check_at=timezone.now() + timedelta(minutes=41))

    text = client.get(monitor.get_absolute_url()).content.decode()

    assert "4 visits in a row" in text
    assert "could not be resolved" in text
    assert "Next try: in 40 min" in text


def test_today_says_how_each_troubled_page_stands(sign_in: SignIn) -> None:
    client = sign_in(make_user())
    failing(3, reason="tls", next_check_at=timezone.now() + timedelta(minutes=41))

    text = client.get(reverse("today")).content.decode()

    assert "3 visits in a row" in text
    assert "Next try: in 40 min" in text


def test_a_distrusted_validator_is_told_on_the_page(sign_in: SignIn) -> None:
    client = sign_in(make_user())
    monitor = make_monitor(distrusted_until=timezone.now() + DAY)

    assert "is not believed here" in client.get(monitor.get_absolute_url()).content.decode()


def test_standings_take_one_query_however_many(django_assert_num_queries: Callable[..., Any]) -> None:
    monitors = [failing() for _ in range(5)]

    with django_assert_num_queries(1):
        found = standings(monitors, now=NOW)

    started: list[datetime | None] = [standing.since for standing in found]
    assert started == [NOW - timedelta(hours=2)] * 5
    assert standings([], now=NOW) == []
