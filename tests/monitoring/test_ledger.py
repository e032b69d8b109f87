"""Routine results wait a little and are written together: none is lost, none is written twice, none without its lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, InternalError, OperationalError, connection
from django.utils import timezone
from psycopg.errors import IdleInTransactionSessionTimeout

from monitoring.fetching.capture import Capture
from monitoring.models import Check, Monitor, Outcome, Snapshot
from monitoring.services import ledger as ledgers
from monitoring.services import schedule
from monitoring.services.findings import Finding
from monitoring.services.ledger import Ledger, is_routine
from monitoring.services.record import StaleLeaseError, record
from monitoring.services.rules import Rules
from tests.factories import NOW, make_monitor
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


class Desk:
    """A ledger with a clock that stands until it is set, and what it told."""

    def __init__(self, token: str = "t") -> None:
        self.now = 0.0
        self.written: list[str] = []
        self.lost: list[int] = []
        self.crashed: list[int] = []
        self.ledger = Ledger(
            token,
            written=self.written.append,
            lost=self.lost.append,
            crashed=lambda pk, error: self.crashed.append(pk),
            clock=lambda: self.now,
        )

    def add(self, *monitors: Monitor, **finding: Any) -> None:
        for monitor in monitors:
            self.ledger.add(unchanged(**finding), monitor, rules=Rules(), now=NOW)


def unchanged(**extra: Any) -> Finding:
    values: dict[str, Any] = {"outcome": Outcome.NONE, "reason": "same-bytes", "started_at": NOW, "duration_ms": 3}
    return Finding(**(values | extra))


def held(count: int, token: str = "t") -> list[Monitor]:
    """Monitors that a worker holds, read well before."""
    return [make_monitor(state="ok", lease_token=token, lease_until=NOW) for _ in range(count)]


@contextmanager
def statements() -> Iterator[list[tuple[str, int]]]:
    """The writing statements within the block, with the number of rows that each was given."""
    seen: list[tuple[str, int]] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE")):
            seen.append((sql.split()[0], len(params) if many else 1))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield seen


def test_routine_results_wait_until_enough_are_there() -> None:
    desk, monitors = Desk(), held(ledgers.MOST)

    desk.add(*monitors[:-1])
    assert not Check.objects.exists()
    assert desk.written == []
    with statements() as seen:
        desk.add(monitors[-1])

    assert seen == [("INSERT", ledgers.MOST), ("UPDATE", ledgers.MOST)]
    assert desk.written == ["none"] * ledgers.MOST
    assert Check.objects.count() == ledgers.MOST
    assert not Monitor.objects.filter(lease_token="t").exists()


def test_a_result_waits_no_longer_than_its_time() -> None:
    desk, (monitor,) = Desk(), held(1)

    desk.add(monitor)
    assert desk.ledger.due_s == ledgers.LONGEST_S
    desk.now = ledgers.LONGEST_S - 0.01
    desk.ledger.flush_due()
    assert not Check.objects.exists()
    desk.now = ledgers.LONGEST_S
    desk.ledger.flush_due()

    assert Check.objects.get().monitor_id == monitor.pk
    assert desk.ledger.due_s is None


def test_what_is_written_together_is_what_would_be_written_alone() -> None:
    together, alone = held(2)
    desk = Desk()
    reasons = ({"code": "markup-only", "text": "ä”\0", "data": {}},)
    capture = Capture(
        key=1, url=together.url, final_url="https://elsewhere.example/", status=200, headers=(("ETag", '"a"'),),
        body=b"abc", html="abc", charset="utf-8", charset_source="header", content_type="text/html", redirects=(),
        peer_address="", certificate_sha256="", started_at=NOW, duration_ms=3,
    )  # fmt: skip
    found: dict[str, Any] = {
        "outcome": Outcome.NOISE, "reasons": reasons, "capture": capture, "fields": {"a": None},
        "raw_sha256": "ab", "text_hash": "cd", "fingerprint": "ef", "final_url": capture.final_url,
    }  # fmt: skip

    desk.add(together, **found)
    desk.ledger.flush()
    record(unchanged(**found), alone, token="t", rules=Rules(), now=NOW)

    ours, theirs = (dict(Check.objects.values().get(monitor=monitor)) for monitor in (together, alone))
    own = {"id", "monitor_id", "next_check_at"}  # the last has a jitter of each monitor's own
    assert {name for name in ours if ours[name] != theirs[name]} <= own
    assert ours["next_check_at"] is not None
    ours, theirs = (dict(Monitor.objects.values().get(pk=monitor.pk)) for monitor in (together, alone))
    own = {"id", "name", "url", "site_id", "next_check_at", "planned_s", "created_at"}
    assert {name for name in ours if ours[name] != theirs[name]} <= own
    assert ours["check_no"] == 1


def test_a_result_whose_lease_was_lost_is_left_out_and_the_others_are_written() -> None:
    desk, monitors = Desk(), held(4)
    desk.add(*monitors)
    Monitor.objects.filter(pk=monitors[1].pk).update(lease_token="theirs")
    Monitor.objects.filter(pk=monitors[2].pk).update(check_no=7)

    desk.ledger.flush()

    assert desk.lost == [monitors[1].pk, monitors[2].pk]
    assert set(Check.objects.values_list("monitor_id", flat=True)) == {monitors[0].pk, monitors[3].pk}
    monitors[1].refresh_from_db()
    assert (monitors[1].lease_token, monitors[1].check_no, monitors[1].last_ok_at) == ("theirs", 0, None)


def test_nothing_of_a_group_is_written_when_a_statement_fails_and_then_each_by_itself() -> None:
    desk, monitors = Desk(), held(3)
    bad = monitors[1].pk
    tried: list[int] = []

    def refuse(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE"):
            changes = params if many else [params]
            tried.append(len(changes))
            if any(bad in row for row in changes):
                assert Check.objects.filter(monitor=bad).exists()  # written, and to be undone
                raise DatabaseError("this row is refused")
        return execute(sql, params, many, context)

    desk.add(*monitors)
    with connection.execute_wrapper(refuse):
        desk.ledger.flush()

    assert tried == [3, 1, 1, 1]
    assert desk.crashed == [bad]
    assert len(desk.written) == 2
    assert set(Check.objects.values_list("monitor_id", flat=True)) == {monitors[0].pk, monitors[2].pk}


def test_where_the_database_ended_the_transaction_nothing_is_tried_one_by_one() -> None:
    desk, monitors = Desk(), held(3)
    tried = []

    def ended(*_: Any) -> Any:
        tried.append(1)
        raise InternalError("terminating connection") from IdleInTransactionSessionTimeout()

    desk.add(*monitors)
    with connection.execute_wrapper(ended), pytest.raises(InternalError):
        desk.ledger.flush()

    assert len(tried) == 1
    assert desk.crashed == []


def test_without_a_database_nothing_is_tried_one_by_one() -> None:
    desk, monitors = Desk(), held(3)
    tried = []

    def away(*_: Any) -> Any:
        tried.append(1)
        raise OperationalError("server closed the connection")

    desk.add(*monitors)
    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        desk.ledger.flush()

    assert len(tried) == 1
    assert (desk.written, desk.lost, desk.crashed) == ([], [], [])


def test_a_second_visit_of_a_monitor_does_not_overtake_the_first() -> None:
    desk, (monitor,) = Desk(), held(1)
    desk.add(monitor)
    monitor_again = Monitor.objects.get(pk=monitor.pk)

    with pytest.raises(StaleLeaseError):  # the first visit gave the lease back
        desk.add(monitor_again, outcome=Outcome.ERROR)

    assert Check.objects.get().outcome == "none"


@pytest.mark.parametrize(
    ("finding", "monitor"),
    [
        ({"outcome": Outcome.ERROR}, {}),
        ({"outcome": Outcome.BLOCKED}, {}),
        ({"keep": Snapshot.Role.AUDIT}, {}),
        ({"memory": b""}, {}),
        ({"rebase": True}, {}),
        ({"forget_bytes": True}, {}),
        ({"opens": "audit"}, {}),
        ({"suspect": "place"}, {}),
        ({"learned": "http"}, {}),
        ({"tried_browser": True}, {}),
        ({}, {"state": "blocked"}),
        ({}, {"state": "unread"}),
        ({}, {"stage": "judge"}),
        ({}, {"suspect": "gone"}),
        ({}, {"plan_reason": "signal"}),
    ],
)
def test_a_result_that_says_something_new_does_not_wait(finding: dict[str, Any], monitor: dict[str, Any]) -> None:
    usual = Monitor(state="ok")
    assert is_routine(unchanged(), usual)

    assert not is_routine(unchanged(**finding), Monitor(**({"state": "ok"} | monitor)))


def test_a_batch_writes_what_still_waits_at_its_end(watch: Watch, site: LocalSite) -> None:
    monitors = [watch(f"/{n}", page()) for n in range(3)]
    visit(*monitors)

    with statements() as seen:
        visit(*monitors)

    assert ("INSERT", 3) in seen
    assert Check.objects.filter(check_no=2, outcome="none").count() == 3


def test_visits_that_a_killed_worker_had_not_written_are_made_again_once(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitors = [watch(f"/{n}", page()) for n in range(3)]
    visit(*monitors)
    now = timezone.now()
    Monitor.objects.update(next_check_at=now)
    (claim,) = schedule.claim_due(now=now, limit=3, lease_s=60)
    own = schedule.take_over(claim.ids, claim.token, now=now)
    desk = Desk(own)
    desk.add(*Monitor.objects.all())
    # The worker is killed here. Its results were in its memory only.
    assert Check.objects.count() == 3

    schedule.reconcile(now=now + timedelta(seconds=3600))
    visit(*monitors)
    desk.ledger.flush()  # had it only been slow, its results would be refused

    assert sorted(desk.lost) == sorted(monitor.pk for monitor in monitors)
    assert desk.written == []
    assert sorted(Check.objects.values_list("check_no", flat=True)) == [1, 1, 1, 2, 2, 2]
