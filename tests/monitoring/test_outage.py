"""Claims, records and plans over days of a fake clock: outages, jumping clocks and summer time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitoring.models import Check, Monitor, Outcome, Site, Team
from monitoring.scheduling import hash01
from monitoring.services import budget, rates, schedule
from monitoring.services.findings import Finding
from monitoring.services.record import record
from monitoring.services.rules import Rules
from tests.factories import make_monitor

pytestmark = pytest.mark.django_db

# Both nights on which European clocks jump lie in such days.
START = datetime(2027, 3, 26, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
PAGES = 16


@pytest.fixture
def team() -> Team:
    """A team whose pages follow the price, half of them promised daily."""
    team = Team.objects.create(name="Clock", budget=PAGES * 3)
    site = Site.objects.create(name="Clock", host="clock.example", gap_s=0)
    for n in range(PAGES):
        make_monitor(
            team=team, site=site, url=f"https://clock.example/{n}", created_at=START, state="ok",
            next_check_at=START + HOUR * (n % 6), max_interval_s=86_400 if n % 2 else 604_800,
        )  # fmt: skip
    Monitor.objects.update(created_at=START)
    budget.price(team, now=START)
    return team


def work(now: datetime) -> list[int]:
    """Visit what is due, as workers do; ids in their order. A page changes about as often as its number says."""
    visited = []
    for claim in schedule.claim_due(now=now, limit=1000, lease_s=60):
        for pk in claim.ids:
            monitor = Monitor.objects.select_related("team", "site", "page_type", "vantage").get(pk=pk)
            changed = hash01("change", pk, monitor.check_no) < (pk % 8) / 10
            finding = Finding(
                outcome=Outcome.CONTENT if changed else Outcome.NOISE, reason="score", started_at=now, duration_ms=1
            )
            record(finding, monitor, token=claim.token, rules=Rules(), now=now)
            visited.append(pk)
    return visited


def run(start: datetime, hours: float, *, step: timedelta = timedelta(minutes=40)) -> None:
    """So many hours of turns."""
    now = start
    while now < start + HOUR * hours:
        work(now)
        now += step


def ages() -> dict[int, list[float]]:
    """Hours between the visits of each monitor."""
    found: dict[int, list[float]] = {}
    rows = Check.objects.order_by("check_no").values_list("monitor_id", "started_at")
    before: dict[int, Any] = {}
    for pk, at in rows:
        if pk in before:
            found.setdefault(pk, []).append((at - before[pk]) / HOUR)
        before[pk] = at
    return found


def test_promises_hold_over_the_night_of_summer_time_and_the_log_gives_every_rate_again(team: Team) -> None:
    run(START, 60)

    daily = set(Monitor.objects.filter(max_interval_s=86_400).values_list("pk", flat=True))
    assert all(age <= 24 for pk, row in ages().items() if pk in daily for age in row)
    assert not Monitor.objects.filter(deadline_at__lt=START + HOUR * 60).exists()
    assert all(rates.rebuild(m.pk) == m.rate for m in Monitor.objects.all())
    assert set(Check.objects.values_list("plan_price", flat=True)) == {team.price}


def test_after_twelve_hours_away_every_due_page_is_visited_once_and_keeps_its_spread(team: Team) -> None:
    run(START, 36)
    back = START + HOUR * 48

    due = set(Monitor.objects.filter(next_check_at__lte=back).values_list("pk", flat=True))
    visited = work(back)

    assert Counter(visited) == dict.fromkeys(due, 1)
    assert work(back) == []
    again = [at for at in Monitor.objects.filter(pk__in=due).values_list("next_check_at", flat=True) if at]
    assert len({at.replace(second=0, microsecond=0) for at in again}) > len(due) / 2


def test_a_clock_that_ran_ahead_and_was_set_back_teaches_nothing_and_loses_no_page(team: Team) -> None:
    run(START, 24)
    ahead = START + timedelta(days=400)
    work(ahead)
    before = {m.pk: m.rate for m in Monitor.objects.all()}
    now = START + HOUR * 25

    assert schedule.mend_plans(now=now) == PAGES
    visited = work(now)

    assert sorted(visited) == sorted(before)
    assert {m.pk: m.rate for m in Monitor.objects.all()} == before
    assert not Monitor.objects.filter(next_check_at__gt=now + timedelta(days=7)).exists()


@pytest.mark.parametrize(
    ("start", "jump"),
    [
        (START, -HOUR * 2),
        (START, HOUR * 2),
        (START, timedelta(days=3653)),
        (datetime(2028, 2, 28, 12, 0, tzinfo=UTC), timedelta(days=1)),
        (datetime(2027, 10, 30, 12, 0, tzinfo=UTC), HOUR * 13),
    ],
    ids=["two hours back", "two hours ahead", "ten years ahead", "into the leap day", "over the end of summer time"],
)
def test_whatever_the_clock_does_each_page_is_visited_once_and_none_is_stuck(
    team: Team, start: datetime, jump: timedelta
) -> None:
    Monitor.objects.update(created_at=start, next_check_at=start, deadline_at=start + HOUR * 24)
    run(start, 12)
    after = start + HOUR * 12 + jump

    due = set(Monitor.objects.filter(next_check_at__lte=after).values_list("pk", flat=True))
    schedule.reconcile(now=after)
    visited = work(after)

    assert Counter(visited) == dict.fromkeys(due, 1)
    assert work(after) == []
    assert not Monitor.objects.filter(lease_until__isnull=False).exists()
    schedule.mend_plans(now=after)
    assert not Monitor.objects.filter(next_check_at__gt=after + timedelta(days=7)).exists()
    before = Check.objects.count()
    run(after, 24 * 7 + 3, step=HOUR * 6)
    assert set(Check.objects.order_by("pk")[before:].values_list("monitor_id", flat=True)) == set(
        Monitor.objects.values_list("pk", flat=True)
    )
