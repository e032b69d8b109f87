"""Counts of all processes are added up: none is lost while the database is away, and sums only rise."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.utils import timezone

from monitoring.models import Monitor, Tally
from monitoring.services import schedule, tallies
from tests.factories import NOW, make_monitor
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test counts from nothing."""
    monkeypatch.setattr(tallies, "_counts", {})
    yield
    tallies.stages.end()


def test_counts_are_added_to_those_before() -> None:
    tallies.count("checks", "http", "none", by=3)
    tallies.flush()
    tallies.count("checks", "http", "none")
    tallies.count("mail", "sent")
    tallies.flush()

    assert tallies.totals() == {"checks\thttp\tnone": 4, "mail\tsent": 1}


def test_slots_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    for pid in (1, 2, 1 + tallies.SLOTS):
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        tallies.count("mail", "sent", by=pid)
        tallies.flush()

    assert tallies.totals() == {"mail\tsent": 1 + 2 + 1 + tallies.SLOTS}
    assert Tally.objects.count() == 2


def test_nothing_counted_writes_nothing(django_assert_num_queries: Callable[..., Any]) -> None:
    with django_assert_num_queries(0):
        assert tallies.flush()


def test_counts_outlive_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object) -> None:
        tallies.count("mail", "sent")  # somebody goes on counting
        raise OperationalError("server closed the connection")

    tallies.count("mail", "sent", by=2)
    with monkeypatch.context() as patch:
        patch.setattr(tallies, "_add", away)
        assert not tallies.flush()
    assert tallies.flush()

    assert tallies.totals() == {"mail\tsent": 3}


def test_a_series_of_a_newer_release_is_kept() -> None:
    slot = os.getpid() % tallies.SLOTS
    Tally.objects.create(slot=slot, counts={"of-tomorrow\tx": 5})
    tallies.count("mail", "sent")
    tallies.flush()

    assert Tally.objects.get(slot=slot).counts == {"of-tomorrow\tx": 5, "mail\tsent": 1}


@pytest.mark.parametrize(("value", "place"), [(0, 0), (50, 0), (51, 1), (60_000, 9), (61_000, 10)])
def test_a_visit_is_in_the_first_class_that_holds_it(value: int, place: int) -> None:
    check = {"outcome": "none", "duration_ms": value, "not_modified": True, "size_bytes": 0, "started_at": NOW}
    tallies.visit(check, Monitor(renderer="browser"))
    tallies.flush()

    assert tallies.totals() == {
        "checks\tbrowser\tnone": 1,
        f"duration_class\tbrowser\t{place}": 1,
        "duration_sum\tbrowser": value / 1000,
        "not_modified": 1,
    }


@pytest.mark.django_db(transaction=True)
def test_processes_that_write_one_slot_at_once_lose_nothing() -> None:
    """Each thread stands for a process: same slot, own connection."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite is in memory here and has one connection; it has one writer at a time anyway")

    def write() -> None:
        for _ in range(20):
            tallies._add(3, {"checks\thttp\tnone": 1})
        connections.close_all()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert tallies.totals() == {"checks\thttp\tnone": 80}


# -- what a visit counts -----------------------------------------------------------------


def test_a_visit_is_counted_once_however_it_is_written(site: LocalSite, watch: Callable[..., Monitor]) -> None:
    first, second = watch("/a", "<p>Fees are ten euros a month.</p>"), watch("/gone")
    visit(first, second)  # a first capture and an error: written by themselves
    visit(first)  # unchanged: written with others
    tallies.flush()
    found = tallies.totals()

    assert {key: n for key, n in found.items() if key.startswith("checks\t")} == {
        "checks\thttp\tnone": 2, "checks\thttp\tgone": 1,
    }  # fmt: skip
    assert sum(n for key, n in found.items() if key.startswith("duration_class\t")) == 3
    assert sum(n for key, n in found.items() if key.startswith("lateness_class\t")) == 3
    assert found["page_bytes"] > 0


def test_processor_time_is_told_by_stage(site: LocalSite, watch: Callable[..., Monitor]) -> None:
    monitors = [watch(f"/{n}", f"<p>Fees of plan {n} are ten euros a month.</p>" * 30) for n in range(4)]
    visit(*monitors)
    tallies.flush()
    found = tallies.totals()

    assert {key.removeprefix("cpu\t") for key in found if key.startswith("cpu\t")} == {
        "fetch", "read", "judge", "record", "other",
    }  # fmt: skip
    assert all(seconds > 0 for key, seconds in found.items() if key.startswith("cpu\t"))


def test_stages_add_up_to_the_threads_time() -> None:
    began = time.thread_time()
    tallies.stages.begin()
    outer = tallies.stages.switch("judge")
    inner = tallies.stages.switch("read")
    sum(range(200_000))
    tallies.stages.switch(inner)
    tallies.stages.switch(outer)
    tallies.stages.end()
    whole = time.thread_time() - began
    tallies.flush()
    found = tallies.totals()

    assert found["cpu\tread"] > found["cpu\tjudge"]
    assert sum(found.values()) <= whole + 1e-3


def test_stages_are_not_measured_outside_of_a_batch() -> None:
    before = tallies.stages.switch("read")
    tallies.stages.switch(before)
    tallies.stages.end()

    assert tallies._counts == {}


def test_expired_leases_and_quarantines_are_counted() -> None:
    past = NOW - timedelta(minutes=5)
    make_monitor(lease_until=past, lease_token="a")
    make_monitor(lease_until=past, lease_token="b", stage="judge", stage_failures=2)
    make_monitor(lease_until=NOW + timedelta(minutes=1), lease_token="c")

    schedule.reconcile(now=NOW)
    tallies.flush()

    assert tallies.totals() == {"leases_expired": 2, "quarantined": 1}


def test_a_crash_counts_towards_quarantine_once_it_is_one() -> None:
    for failures in (0, 2):
        monitor = make_monitor(lease_until=timezone.now(), lease_token="t", stage_failures=failures)
        schedule.stage_failed(monitor.pk, "t", "judge", now=timezone.now())
    tallies.flush()

    assert tallies.totals() == {"quarantined": 1}
