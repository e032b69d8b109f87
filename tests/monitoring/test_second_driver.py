"""The rule driven twice through the same two days: by itself, and through claims and records on a database.

What simulations measure is the rule; this shows that claiming, recording and planning add no more than the turns they wait for.
"""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from monitoring.models import Monitor, Outcome, Site, Team
from monitoring.scheduling import Terms, hash01, observe, plan
from monitoring.services import rates, schedule
from monitoring.services.findings import Finding
from monitoring.services.record import record
from monitoring.services.rules import Rules
from tests.factories import make_monitor

pytestmark = pytest.mark.django_db

START = datetime(2027, 2, 1, tzinfo=UTC)
PAGES, DAYS, STEP = 20, 2.0, timedelta(minutes=10)
DAY = timedelta(days=1)


@dataclass
class Watched:
    """Visits, and how long changes waited to be seen, in days."""

    visits: int = 0
    waited: list[float] = field(default_factory=list)

    @property
    def delay(self) -> float:
        return sum(self.waited) / len(self.waited)


def world() -> dict[int, list[float]]:
    """Times of change in days, by number of the page: from dozens a day to none."""
    chance = random.Random(7)
    changes = {}
    for n in range(PAGES):
        rate, at, row = min(math.exp(chance.gauss(0.5, 1.5)), 30.0), 0.0, []
        while (at := at + chance.expovariate(rate)) < DAYS:
            row.append(at)
        changes[n] = row
    return changes


def fleet(team: Team) -> list[Monitor]:
    """The pages, first visits spread over two hours, a third promised every six hours."""
    site = Site.objects.create(name="Two", host="two.example", gap_s=0)
    pages = [
        make_monitor(
            team=team, site=site, url=f"https://two.example/{n}", state="ok", next_check_at=START + DAY / 12 * n / PAGES,
            max_interval_s=21_600 if n % 3 == 0 else 604_800,
        )
        for n in range(PAGES)
    ]  # fmt: skip
    Monitor.objects.update(created_at=START)
    return pages


def seen(row: list[float], before: float, now: float, watched: Watched) -> bool:
    """Note how long the changes since `before` have waited; whether there were any."""
    fresh = row[bisect_right(row, before) : bisect_right(row, now)]
    watched.visits += 1
    watched.waited += [now - at for at in fresh]
    return bool(fresh)


def through_the_database(pages: list[Monitor], changes: dict[int, list[float]]) -> Watched:
    numbers = {page.pk: n for n, page in enumerate(pages)}
    watched, last, now = Watched(), dict.fromkeys(numbers, 0.0), START
    while now < START + DAYS * DAY:
        for claim in schedule.claim_due(now=now, limit=1000, lease_s=60):
            for pk in claim.ids:
                monitor = Monitor.objects.select_related("team", "site", "page_type", "vantage").get(pk=pk)
                at = (now - START) / DAY
                changed = seen(changes[numbers[pk]], last[pk], at, watched)
                last[pk] = at
                outcome = Outcome.CONTENT if changed else Outcome.NOISE
                finding = Finding(outcome=outcome, reason="score", started_at=now, duration_ms=1)
                record(finding, monitor, token=claim.token, rules=Rules(), now=now)
        now += STEP
    return watched


def by_itself(pages: list[Monitor], changes: dict[int, list[float]], price: float) -> Watched:
    watched = Watched()
    known = [rates.PRIOR] * PAGES
    last = [0.0] * PAGES
    visits = [0] * PAGES
    waiting = [((page.next_check_at - START) / DAY, n) for n, page in enumerate(pages) if page.next_check_at]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < DAYS:
        now, n = heapq.heappop(waiting)
        changed = seen(changes[n], last[n], now, watched)
        if visits[n]:  # the first visit is compared with nothing
            known[n] = observe(known[n], now - last[n], changed, rates.SETTINGS)
        visits[n], last[n] = visits[n] + 1, now
        terms = Terms(1.0, 1.0, 1.0, pages[n].effective_min_s / 86_400, pages[n].effective_max_s / 86_400)
        found = plan(known[n], terms, price, hash01(pages[n].pk, visits[n]), rates.SETTINGS)
        heapq.heappush(waiting, (now + found.interval, n))
    return watched


def test_the_database_adds_no_more_than_the_turns_it_waits_for() -> None:
    team = Team.objects.create(name="Two", budget=1_000_000, price=0.03)  # no hard cap, one price for both
    pages, changes = fleet(team), world()

    alone = by_itself(pages, changes, team.price)
    real = through_the_database(pages, changes)

    turn = STEP / DAY
    assert len(alone.waited) > 60
    assert real.visits == pytest.approx(alone.visits, rel=0.08)
    assert alone.delay * 0.95 < real.delay < alone.delay * 1.05 + turn
