"""Claiming, fencing, giving back: who may write what about a due monitor."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from monitoring.models import Monitor, Site
from monitoring.services import schedule
from tests.factories import NOW, make_monitor

pytestmark = pytest.mark.django_db


def claim(limit: int = 100, **extra: Any) -> list[schedule.Claim]:
    """What one ticker claims now."""
    return schedule.claim_due(**{"now": NOW, "limit": limit, "lease_s": 60, **extra})


def test_a_due_monitor_is_claimed_once() -> None:
    monitor = make_monitor()

    first, second = claim(), claim()

    assert [c.ids for c in first] == [(monitor.pk,)]
    assert second == []
    monitor.refresh_from_db()
    assert monitor.lease_token == first[0].token
    assert monitor.lease_until == NOW + timedelta(seconds=60)


@pytest.mark.parametrize(
    "values",
    [
        {"enabled": False},
        {"quarantined_at": NOW},
        {"next_check_at": NOW + timedelta(seconds=1)},
        {"next_check_at": None},
        {"lease_until": NOW + timedelta(seconds=1)},
    ],
)
def test_what_is_not_due_is_not_claimed(values: dict[str, Any]) -> None:
    make_monitor(**values)

    assert claim() == []


def test_the_longest_due_come_first() -> None:
    younger = make_monitor(next_check_at=NOW - timedelta(minutes=1))
    older = make_monitor(next_check_at=NOW - timedelta(minutes=9))
    make_monitor(next_check_at=NOW)

    claims = claim(limit=2)

    assert claims[0].ids == (older.pk, younger.pk)


def test_another_claimer_in_between_leaves_each_monitor_in_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monitors = [make_monitor() for _ in range(3)]
    choose = schedule._choose

    def choose_slowly(*args: Any) -> Any:
        chosen = choose(*args)
        Monitor.objects.filter(pk=monitors[1].pk).update(lease_until=NOW + timedelta(seconds=9), lease_token="theirs")
        return chosen

    monkeypatch.setattr(schedule, "_choose", choose_slowly)

    claims = claim()

    assert claims[0].ids == (monitors[0].pk, monitors[2].pk)
    monitors[1].refresh_from_db()
    assert monitors[1].lease_token == "theirs"


def test_work_is_split_into_few_large_batches(settings: Any) -> None:
    settings.WORKERS = 2
    site = Site.objects.create(name="One", host="one.example", gap_s=0)
    for _ in range(130):
        make_monitor(site=site)

    claims = claim(limit=400)

    assert [len(c.ids) for c in claims] == [65, 65]
    assert len({c.token for c in claims}) == 2


def test_a_batch_learns_when_its_turns_at_a_site_begin(settings: Any) -> None:
    """Two workers at one site ask it one after the other, and a later claim after both."""
    settings.WORKERS = 2
    site = Site.objects.create(name="Busy", host="busy.example", gap_s=0.1)
    idle = Site.objects.create(name="Idle", host="idle.example", gap_s=0.1)
    for _ in range(130):
        make_monitor(site=site)

    first, second = claim(limit=130)
    more = [make_monitor(site=site), make_monitor(site=idle)]
    (third,) = claim(limit=5)

    assert first.starts == {}
    assert second.starts == {site.pk: pytest.approx((NOW + timedelta(seconds=6.5)).timestamp())}
    assert set(third.ids) == {monitor.pk for monitor in more}
    assert third.starts == {site.pk: pytest.approx((NOW + timedelta(seconds=13)).timestamp())}


def test_a_site_gets_no_more_requests_than_its_gap_lets_through() -> None:
    site = Site.objects.create(name="Slow", host="slow.example", gap_s=5)
    for _ in range(10):
        make_monitor(site=site)

    taken = sum(len(c.ids) for c in claim())

    assert taken == 1 + int(schedule.LOOKAHEAD / timedelta(seconds=5))
    site.refresh_from_db()
    assert site.next_free_at == NOW + timedelta(seconds=5 * taken)
    assert claim(now=NOW + timedelta(seconds=1)) == []


def test_a_crowded_site_does_not_hide_the_others() -> None:
    crowded = Site.objects.create(name="Slow", host="slow.example", gap_s=60)
    for _ in range(20):
        make_monitor(site=crowded, next_check_at=NOW - timedelta(hours=1))
    other = make_monitor()

    taken = [pk for c in claim(limit=10) for pk in c.ids]

    assert other.pk in taken
    assert len(taken) == 2


# -- leases ------------------------------------------------------------------------------


def test_a_batch_delivered_twice_finds_nothing_the_second_time() -> None:
    make_monitor()
    (batch,) = claim()

    own = schedule.take_over(batch.ids, batch.token, now=NOW)

    assert own
    assert schedule.take_over(batch.ids, batch.token, now=NOW) == ""


def test_an_overdue_batch_is_not_begun() -> None:
    make_monitor()
    (batch,) = claim()

    assert schedule.take_over(batch.ids, batch.token, now=NOW + timedelta(seconds=61)) == ""


def test_a_sign_of_life_keeps_the_lease(settings: Any) -> None:
    monitor = make_monitor()
    (batch,) = claim()

    assert schedule.renew(batch.token, now=NOW + timedelta(seconds=50)) == 1

    monitor.refresh_from_db()
    assert monitor.lease_until == NOW + timedelta(seconds=50 + settings.LEASE_S)


def test_what_a_dead_worker_held_is_due_again_and_visited_carefully(settings: Any) -> None:
    monitor = make_monitor()
    (batch,) = claim()
    assert schedule.take_over(batch.ids, batch.token, now=NOW)
    ends = timedelta(seconds=settings.LEASE_S)

    assert schedule.reconcile(now=NOW + ends - timedelta(seconds=1)) == 0
    assert schedule.reconcile(now=NOW + ends) == 1

    monitor.refresh_from_db()
    assert (monitor.lease_until, monitor.lease_token, monitor.stage) == (None, "", schedule.CAREFUL)
    assert monitor.stage_failures == 0
    assert claim(now=NOW + ends + timedelta(seconds=1)) != []


def test_only_the_monitor_at_which_workers_die_is_set_aside() -> None:
    poison, bystander = make_monitor(), make_monitor()
    now = NOW
    for _ in range(schedule.MAX_STAGE_FAILURES):
        (batch,) = claim(now=now)
        assert set(batch.ids) == {poison.pk, bystander.pk}
        assert schedule.enter_stage(poison.pk, batch.token, "judge", now=now)
        now += timedelta(hours=1)
        schedule.reconcile(now=now)

    poison.refresh_from_db()
    bystander.refresh_from_db()
    assert poison.quarantined_at == now
    assert poison.stage == "judge"
    assert bystander.quarantined_at is None
    assert [c.ids for c in claim(now=now)] == [(bystander.pk,)]


def test_a_lost_lease_is_noticed_at_the_next_stage() -> None:
    monitor = make_monitor()
    (batch,) = claim()
    Monitor.objects.update(lease_token="theirs")

    assert not schedule.enter_stage(monitor.pk, batch.token, "judge", now=NOW)


def test_released_work_is_due_at_once() -> None:
    make_monitor()
    (batch,) = claim()

    assert schedule.release(batch.token) == 1
    assert claim() != []


# -- clocks ------------------------------------------------------------------------------


def test_a_clock_that_ran_ahead_leaves_nothing_stuck() -> None:
    ahead = NOW + timedelta(days=3650)
    leased = make_monitor(lease_until=ahead, lease_token="t", next_check_at=NOW)
    planned = make_monitor(next_check_at=ahead)
    patient = make_monitor(next_check_at=NOW + timedelta(days=6))
    Site.objects.update(next_free_at=ahead)

    assert schedule.reconcile(now=NOW) == 1
    assert schedule.mend_plans(now=NOW) == 1

    assert {pk for c in claim() for pk in c.ids} == {leased.pk, planned.pk}
    patient.refresh_from_db()
    assert patient.next_check_at == NOW + timedelta(days=6)


def test_after_an_outage_each_monitor_is_due_once() -> None:
    monitors = {make_monitor(next_check_at=NOW - timedelta(hours=12)).pk for _ in range(5)}

    assert {pk for c in claim() for pk in c.ids} == monitors
    assert claim() == []


# -- the next visit ----------------------------------------------------------------------


def test_the_next_visit_keeps_to_the_interval_with_a_little_spread() -> None:
    monitors = [make_monitor(interval_s=3600) for _ in range(50)]

    waits = [(schedule.plan_next(m, now=NOW, check_no=1).at - NOW).total_seconds() for m in monitors]

    assert all(3240 <= wait <= 3960 for wait in waits)
    assert len({round(wait) for wait in waits}) > 30


def test_the_minimum_interval_is_never_undercut_and_the_maximum_never_passed() -> None:
    often = make_monitor(interval_s=60, min_interval_s=600)
    seldom = make_monitor(interval_s=10_000_000, max_interval_s=86_400)

    assert all(schedule.plan_next(often, now=NOW, check_no=n).at >= NOW + timedelta(seconds=600) for n in range(20))
    assert all(schedule.plan_next(seldom, now=NOW, check_no=n).at <= NOW + timedelta(days=1) for n in range(20))


def test_leases_are_counted_by_batch() -> None:
    site = Site.objects.create(name="One", host="one.example", gap_s=0)
    for _ in range(60):
        make_monitor(site=site)
    claim()

    assert schedule.batches_under_way(now=NOW) == 2
    assert schedule.batches_under_way(now=timezone.now() + timedelta(days=9999)) == 0
