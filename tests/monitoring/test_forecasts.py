"""Foreseen against found: summed by day and tenth, from checks and what was known before each."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from monitoring.models import Check, ForecastBin, Monitor
from monitoring.scheduling import Rate, chance_of_change
from monitoring.services import forecasts
from tests.factories import NOW, make_monitor, make_team

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def checked(monitor: Monitor, number: int, hours: float, *, outcome: str = "none", reason: str = "same-bytes") -> None:
    """A check so many hours before now, with the rate known after it."""
    Check.objects.create(
        monitor=monitor, check_no=number, started_at=NOW - hours * HOUR, outcome=outcome, reason=reason,
        rate_a=2.0, rate_b=0.4, detector_version="1",
    )  # fmt: skip


def test_a_comparison_counts_in_the_tenth_of_the_chance_that_it_had_before() -> None:
    monitor = make_monitor()
    checked(monitor, 1, 8, reason="first-capture")
    checked(monitor, 2, 6)
    checked(monitor, 3, 2, outcome="content")

    assert forecasts.tally(now=NOW) == 2

    short, long = (chance_of_change(Rate(2.0, 0.4), hours / 24) for hours in (2, 4))
    rows = {row.tenth: row for row in ForecastBin.objects.all()}
    assert sorted(rows) == [int(short * 10), int(long * 10)]
    assert (rows[int(short * 10)].checks, rows[int(short * 10)].found) == (1, 0)
    assert rows[int(long * 10)].expected == pytest.approx(long)
    assert rows[int(long * 10)].found == 1


def test_failed_visits_new_baselines_and_what_follows_them_do_not_count() -> None:
    monitor = make_monitor()
    checked(monitor, 1, 8, reason="first-capture")
    checked(monitor, 2, 7, outcome="error", reason="dns")
    checked(monitor, 3, 6)  # after a failure: what was known before stands two rows back
    checked(monitor, 4, 5, reason="our-change")

    assert forecasts.tally(now=NOW) == 0


def test_a_job_that_runs_twice_counts_nothing_twice_and_old_days_go() -> None:
    monitor = make_monitor()
    checked(monitor, 1, 8)
    checked(monitor, 2, 6)
    ForecastBin.objects.create(team=make_team(), on=date(2025, 1, 1), tenth=0, checks=5, expected=1.0, found=1)

    forecasts.tally(now=NOW)
    forecasts.tally(now=NOW + HOUR)

    assert ForecastBin.objects.get().checks == 1


def test_yesterdays_last_hours_are_summed_after_midnight() -> None:
    monitor = make_monitor()
    checked(monitor, 1, 11)  # NOW is 9 o'clock
    checked(monitor, 2, 9.5)
    midnight = NOW - 9 * HOUR

    assert forecasts.tally(now=midnight + HOUR) == 1
    assert ForecastBin.objects.get().on == (midnight - HOUR).date()


def test_of_a_busy_half_hour_only_the_first_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "PER_SLICE", 3)
    monitor = make_monitor()
    for n in range(12):
        checked(monitor, n + 1, 2 - n / 60)

    assert forecasts.tally(now=NOW) == 2  # the first has none before it
