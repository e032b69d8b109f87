"""Adding up checks, and alarms of sites with hysteresis."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail

from monitoring.models import Alarm, Check, FoldMark, Monitor, OutboxMessage, SiteDay, SiteWatch
from monitoring.services import watching
from tests.factories import NOW, make_check, make_monitor, make_user

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LATER = NOW + HOUR


def visits(
    monitor: Monitor, *outcomes: str, start: Any = NOW, every: timedelta = timedelta(seconds=10), **extra: Any
) -> list[Check]:
    first = Check.objects.filter(monitor=monitor).count() + 1
    return [
        make_check(
            monitor, check_no=first + n, outcome=outcome, started_at=start + n * every,
            raw_sha256="" if outcome == "none" else f"body {first + n}", **extra,
        )
        for n, outcome in enumerate(outcomes)
    ]  # fmt: skip


def test_each_check_is_added_up_once() -> None:
    monitor = make_monitor()
    visits(monitor, "none", "noise", "blocked", score=0.21, distance=5, duration_ms=300)

    assert watching.anything_new(now=LATER)
    assert watching.fold(now=LATER) == 3
    assert not watching.anything_new(now=LATER)
    assert watching.fold(now=LATER) == 0
    visits(monitor, "noise", score=0.21, distance=5, duration_ms=300)
    assert watching.fold(now=LATER) == 1

    day = SiteDay.objects.get()
    assert day.counts == {"none": 1, "noise": 2, "blocked": 1}
    assert (day.scores[4], day.bits[2], day.ms[9]) == (2, 2, 4)


def test_what_may_still_be_written_waits() -> None:
    visits(make_monitor(), "none", start=LATER - timedelta(minutes=9))

    assert watching.fold(now=LATER) == 0
    assert watching.fold(now=LATER + timedelta(minutes=2)) == 1


def test_a_long_backlog_is_added_up_in_parts() -> None:
    visits(make_monitor(), *["none"] * 5)

    assert [watching.fold(now=LATER, most=2) for _ in range(4)] == [2, 2, 1, 0]
    assert FoldMark.objects.get().check_id == Check.objects.order_by("-pk").values_list("pk", flat=True)[0]


def test_stillness_is_told_by_the_body_and_not_by_the_outcome() -> None:
    monitor = make_monitor(rate_a=4.0, rate_b=8.0)
    visits(monitor, "content", "noise", "noise")
    for n in range(4, 7):  # a stale copy that differs from the baseline, always in the same way
        make_check(monitor, check_no=n, outcome="noise", started_at=NOW + n * timedelta(minutes=1), raw_sha256="body 3")
    visits(monitor, "error")

    watching.fold(now=LATER)

    watch = SiteWatch.objects.get()
    assert (watch.changes, watch.visits, watch.moved, watch.still_visits) == (1, 6.0, 3.0, 3)
    assert (watch.rate_a, watch.rate_b) == (4.0, 8.0)


def silent_site() -> Monitor:
    monitor = make_monitor()
    SiteWatch.objects.create(
        site=monitor.site, changes=400, last_change_at=NOW - timedelta(days=30), last_visit_at=NOW, rate_a=400.0, rate_b=800.0,
        first_visit_at=NOW - timedelta(days=800), total_visits=3200, visits=800, moved=0,
    )  # fmt: skip
    return monitor


def look_for(hours: int, start: Any = NOW) -> list[int]:
    return [watching.look(now=start + n * HOUR) for n in range(hours)]


def test_a_silent_site_is_raised_once_it_lasts_told_and_over() -> None:
    make_user("ines")
    silent_site()

    assert look_for(4) == [0, 1, 0, 0]
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.raised_at) == ("silent", NOW + HOUR)
    assert alarm.facts["days"] == 30.0
    assert alarm.facts["usual_days"] == 2.0
    assert OutboxMessage.objects.get().subject.endswith("silent")
    assert "one came every 2.0 days" in OutboxMessage.objects.get().text

    SiteWatch.objects.update(last_change_at=NOW)
    assert look_for(3, NOW + 4 * HOUR) == [0, 1, 0]
    alarm.refresh_from_db()
    assert alarm.cleared_at == NOW + 5 * HOUR
    assert OutboxMessage.objects.count() == 2


def test_a_silence_that_lasts_is_told_again_after_a_week() -> None:
    make_user("ines")
    silent_site()

    told = look_for(24 * 8)

    assert sum(told) == 2
    assert OutboxMessage.objects.filter(subject__contains="still").count() == 1


def test_between_the_two_levels_an_alarm_stays() -> None:
    silent_site()
    look_for(3)
    SiteWatch.objects.update(last_change_at=NOW - timedelta(days=9))  # too short to begin, too long to be over

    assert look_for(5, NOW + 3 * HOUR) == [0] * 5
    assert Alarm.objects.get().cleared_at is None


def test_one_look_raises_nothing() -> None:
    silent_site()
    look_for(1)
    SiteWatch.objects.update(last_change_at=NOW)

    assert look_for(2, NOW + HOUR) == [0, 0]
    assert not Alarm.objects.exists()


def test_a_site_without_a_past_is_never_silent() -> None:
    silent_site()
    SiteWatch.objects.update(changes=2)

    assert look_for(3) == [0, 0, 0]


def test_blocks_of_a_day_raise_an_alarm() -> None:
    visits(make_monitor(), "blocked", "blocked", "none")
    watching.fold(now=LATER)

    assert look_for(2, LATER) == [0, 1]
    assert Alarm.objects.get().kind == "blocked"


def test_old_days_go() -> None:
    visits(make_monitor(), "none")
    watching.fold(now=LATER)

    assert watching.forget(now=NOW + timedelta(days=119)) == 0
    assert watching.forget(now=NOW + timedelta(days=122)) == 1


def test_adding_up_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    monitor = make_monitor()
    visits(monitor, *["noise"] * 40)

    with django_assert_max_num_queries(20):
        watching.fold(now=LATER)
    assert mail.outbox == []
