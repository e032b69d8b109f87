"""Looking after promises: what is broken or in danger, why, and when it is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from monitoring.models import (
    Cause,
    Monitor,
    Outage,
    OutboxMessage,
    Process,
    PromiseAlarm,
    PromiseAlarmEvent,
    PromiseState,
    Site,
    Team,
)
from monitoring.services import promises
from monitoring.services.alerts import promise_told
from tests.factories import NOW, make_check, make_monitor, make_page_type, make_team, make_user

pytestmark = pytest.mark.django_db

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def late(**extra: Any) -> Monitor:
    """A monitor that should have been read an hour ago; it is due and nobody came."""
    values = {
        "last_ok_at": NOW - 25 * HOUR, "last_checked_at": NOW - 25 * HOUR, "deadline_at": NOW - HOUR,
        "next_check_at": NOW - 2 * HOUR, "max_interval_s": 86_400, "check_no": 1,
    }  # fmt: skip
    return make_monitor(**(values | extra))


def look(minutes: int, *, start: datetime = NOW, step: int = 1) -> datetime:
    """A look each minute, for so many minutes; the time of the last one."""
    for n in range(0, minutes + 1, step):
        promises.look(now=start + n * MINUTE)
    return start + minutes * MINUTE


def causes() -> dict[str, tuple[int, int]]:
    """Broken and at risk by cause, as the last look left them."""
    return {alarm.cause: (alarm.broken, alarm.at_risk) for alarm in PromiseAlarm.objects.filter(trouble=True)}


@pytest.fixture
def told() -> Iterator[list[tuple[str, str, int]]]:
    """What is told: event, cause, broken."""
    heard: list[tuple[str, str, int]] = []

    def hear(sender: Any, *, alarm: PromiseAlarm, event: PromiseAlarmEvent, **extra: Any) -> None:
        heard.append((event.what, alarm.cause, event.broken))

    promise_told.connect(hear)
    yield heard
    promise_told.disconnect(hear)


def test_each_cause_is_told_apart() -> None:
    site = Site.objects.create(name="Full", host="full.example", gap_s=60.0, least_load=2.0)
    resting = Site.objects.create(name="Resting", host="rest.example", rest_until=NOW + HOUR)
    late(fail_no=2)
    late(last_checked_at=NOW - HOUR)  # visited, no failure, not read: robots.txt forbids it
    late(quarantined_at=NOW - HOUR, stage="fetch")
    late(site=resting)
    late(site=site)
    late()
    make_check(late(), started_at=NOW - 5 * MINUTE)  # somebody is at work

    promises.look(now=NOW)

    assert causes() == {
        Cause.ERRORS: (1, 0), Cause.ROBOTS: (1, 0), Cause.QUARANTINE: (1, 0), Cause.REST: (1, 0),
        Cause.HOST: (1, 0), Cause.QUEUE: (2, 0),
    }  # fmt: skip


def test_without_any_visit_for_ten_minutes_no_worker_is_named_and_not_a_queue() -> None:
    make_check(late(), started_at=NOW - 11 * MINUTE)

    promises.look(now=NOW)

    assert causes() == {Cause.STOPPED: (1, 0)}
    Process.objects.create(
        key="w", kind="worker", host="h", pid=1, version="1", started_at=NOW - HOUR, seen_at=NOW - 10 * SECOND
    )
    promises.look(now=NOW + MINUTE / 4)
    assert causes() == {Cause.QUEUE: (1, 0)}  # one lives, and finds nothing that it may visit


def test_a_promise_is_at_risk_before_it_is_broken_and_only_where_something_is_wrong() -> None:
    soon = {"deadline_at": NOW + HOUR, "last_ok_at": NOW - 23 * HOUR, "last_checked_at": NOW - 23 * HOUR}
    late(**soon, fail_no=1, next_check_at=NOW + 10 * MINUTE)
    late(**soon, next_check_at=NOW + 5 * MINUTE)  # planned in time
    late(**soon, next_check_at=NOW - 5 * MINUTE)  # due, and not late yet
    late(**soon, next_check_at=NOW + 2 * HOUR)  # planned too late
    late(deadline_at=NOW + 9 * HOUR, fail_no=1, next_check_at=NOW + HOUR)  # there is time left

    promises.look(now=NOW)

    assert causes() == {Cause.ERRORS: (0, 1), Cause.QUEUE: (0, 1)}


def test_paused_pages_and_our_own_sample_raise_nothing() -> None:
    late(enabled=False)
    late(is_sample=True)

    promises.look(now=NOW)

    assert causes() == {}


def test_an_alarm_is_raised_once_trouble_lasts_told_once_and_over_once_it_is_away(
    told: list[tuple[str, str, int]],
) -> None:
    monitor = late(fail_no=3)
    at = look(4)
    assert told == []

    at = look(30, start=at + MINUTE)
    assert told == [("raised", "errors", 1)]
    Monitor.objects.filter(pk=monitor.pk).update(fail_no=0, deadline_at=NOW + 30 * HOUR, last_ok_at=at)
    at = look(10, start=at + MINUTE)
    assert [what for what, *_ in told] == ["raised"]
    look(10, start=at + MINUTE)

    assert [what for what, *_ in told] == ["raised", "cleared"]
    alarm = PromiseAlarm.objects.get()
    assert alarm.cleared_at is not None
    assert [event.what for event in alarm.events.order_by("at")] == ["raised", "cleared"]


def test_trouble_that_goes_away_before_it_is_told_leaves_nothing() -> None:
    monitor = late(fail_no=3)
    at = look(2)
    Monitor.objects.filter(pk=monitor.pk).update(fail_no=0, deadline_at=NOW + 30 * HOUR)
    promises.look(now=at + MINUTE)

    assert not PromiseAlarm.objects.exists()


def test_a_hundred_pages_are_one_alarm_and_growing_much_is_told(told: list[tuple[str, str, int]]) -> None:
    site = Site.objects.create(name="One", host="one.example")
    for n in range(20):
        late(fail_no=3, site=site, url=f"https://one.example/{n}")
    at = look(6)
    for n in range(20, 100):
        late(fail_no=3, site=site, url=f"https://one.example/{n}")
    look(3, start=at + MINUTE)

    assert told == [("raised", "errors", 20), ("grown", "errors", 100)]


def test_teams_have_alarms_of_their_own() -> None:
    late(fail_no=3)
    late(fail_no=3, team=make_team("Others"))

    look(6)

    assert PromiseAlarm.objects.filter(raised_at__isnull=False).values("team").distinct().count() == 2


def test_a_host_that_cannot_bear_what_is_promised_raises_an_alarm_before_anything_is_late(
    told: list[tuple[str, str, int]],
) -> None:
    monitor = make_monitor(deadline_at=NOW + 20 * HOUR, next_check_at=NOW + 19 * HOUR)
    Site.objects.filter(pk=monitor.site_id).update(least_load=1.3, gap_s=60.0)

    look(6)

    assert told == [("raised", "host", 0)]
    assert PromiseAlarm.objects.get().facts == {"sites": [monitor.site_id], "count": 1}


def test_promises_dearer_than_the_budget_raise_an_alarm_with_what_they_need(told: list[tuple[str, str, int]]) -> None:
    Team.objects.create(name="Dear", budget=100, least_spend=240.4)
    Team.objects.create(name="Just so", budget=100, least_spend=100.5)

    look(6)

    assert told == [("raised", "budget", 0)]
    assert PromiseAlarm.objects.get().facts == {"needed": 240, "budget": 100}


def test_a_time_without_looks_is_an_outage_and_named_as_the_cause_of_what_it_broke() -> None:
    team = make_team()
    promises.look(now=NOW - 5 * HOUR)
    make_check(late(deadline_at=NOW - 3 * HOUR), started_at=NOW - MINUTE)
    late(deadline_at=NOW - 30 * HOUR)  # broken long before

    promises.look(now=NOW)

    outage = Outage.objects.get()
    assert (outage.began_at, outage.ended_at) == (NOW - 5 * HOUR, NOW)
    assert causes() == {Cause.OUTAGE: (1, 0), Cause.QUEUE: (1, 0)}
    team.refresh_from_db()
    assert team.steady_at == NOW + DAY  # nothing is learned of spend meanwhile


def test_looks_a_minute_apart_are_no_outage_and_neither_is_a_clock_that_was_set_back() -> None:
    look(30)
    promises.look(now=NOW - 3 * HOUR)
    promises.look(now=NOW - 3 * HOUR + MINUTE)

    assert not Outage.objects.exists()


def test_how_a_teams_promises_stand_is_kept_for_the_pages() -> None:
    team = make_team()
    late(fail_no=1)
    late(deadline_at=NOW - 3 * HOUR)
    late(deadline_at=NOW + HOUR, fail_no=1, next_check_at=NOW + HOUR)

    promises.look(now=NOW)

    state = PromiseState.objects.get(team=team)
    assert (state.broken, state.at_risk, state.oldest_broken_at) == (2, 1, NOW - 3 * HOUR)
    assert (state.due, state.oldest_due_at) == (2, NOW - 2 * HOUR)


def test_nobody_looking_is_noticed() -> None:
    assert not promises.is_blind(now=NOW)
    promises.look(now=NOW)
    assert not promises.is_blind(now=NOW + 10 * MINUTE)
    assert promises.is_blind(now=NOW + 11 * MINUTE)


def test_without_a_worker_the_ticker_looks_and_sends_what_there_is_to_tell(mailoutbox: list[Any]) -> None:
    make_user("lea", role="lead")
    late()
    promises.look(now=NOW)
    worker = Process.objects.create(
        key="w", kind="worker", host="h", pid=1, version="1", started_at=NOW, seen_at=NOW + 3 * MINUTE
    )

    assert not promises.stand_in(now=NOW + MINUTE)  # somebody looked just now
    assert not promises.stand_in(now=NOW + 3 * MINUTE)  # a worker lives
    worker.delete()
    assert all(promises.stand_in(now=NOW + n * MINUTE) for n in range(3, 12, 2))

    assert not Outage.objects.exists()
    assert [mail.subject for mail in mailoutbox] == ["1 promise of Compliance is broken: no worker is at work"]


def test_a_promise_of_a_page_type_counts_like_a_monitors_own() -> None:
    late(page_type=make_page_type("daily", max_interval_s=86_400), max_interval_s=604_800, fail_no=1)

    promises.look(now=NOW)

    assert causes() == {Cause.ERRORS: (1, 0)}


def test_long_past_alarms_are_forgotten() -> None:
    PromiseAlarm.objects.create(
        team=make_team(), cause=Cause.ERRORS, since=NOW, looked_at=NOW, began_at=NOW - 500 * DAY,
        cleared_at=NOW - 450 * DAY,
    )  # fmt: skip
    kept = PromiseAlarm.objects.create(
        team=make_team(), cause=Cause.ERRORS, since=NOW, looked_at=NOW, began_at=NOW - 500 * DAY
    )

    promises.forget(now=NOW)

    assert list(PromiseAlarm.objects.all()) == [kept]


def test_a_look_asks_the_database_as_often_for_a_hundred_pages_as_for_one(django_assert_max_num_queries: Any) -> None:
    late(fail_no=1)
    look(6)
    site = Site.objects.create(name="One", host="one.example")
    for n in range(100):
        late(fail_no=3, site=site, url=f"https://one.example/{n}")

    with django_assert_max_num_queries(28):
        promises.look(now=NOW + 7 * MINUTE)
    assert OutboxMessage.objects.count() == 0
