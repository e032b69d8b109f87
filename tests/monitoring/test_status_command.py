"""One look tells what is there, ends with 1 when something is wrong, and works without a terminal."""

from __future__ import annotations

import io
import json
from collections import deque
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config import logs
from monitoring.models import Monitor, OutboxMessage, Process, Team
from monitoring.services import census, health, heartbeat
from monitoring.services.heartbeat import Heart
from tests.factories import make_change, make_monitor

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Open:
    """A connection that stays: the tests' own."""

    def close(self) -> None:
        """Not now."""


@pytest.fixture(autouse=True)
def no_errors_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests logged is not told here."""
    monkeypatch.setattr(logs, "_errors", deque(maxlen=3))


@pytest.fixture
def sound() -> None:
    """A ticker and workers are there."""
    Heart(Process.Kind.TICKER).beat()
    for queue in heartbeat.expected():
        Heart(Process.Kind.WORKER, queue=queue).beat()


def told(*arguments: str, stream: io.StringIO | None = None) -> str:
    """What the command says; it has to find everything ready."""
    out = stream or io.StringIO()
    call_command("status", *arguments, stdout=out)
    return out.getvalue()


def test_ready_ends_well(sound: None) -> None:
    first = told().splitlines()[0]

    assert first.startswith("Tideline ")
    assert first.endswith("   ready")


def test_not_ready_ends_with_one_and_still_tells() -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("status", stdout=out)

    assert ended.value.code == 1
    assert "NOT READY" in out.getvalue()
    assert "PROBLEM  ticker" in out.getvalue()
    assert "processes    none gave a sign of life" in out.getvalue()


def test_all_there_is_to_tell(sound: None) -> None:
    now = timezone.now()
    make_monitor(state="ok", next_check_at=now - timedelta(minutes=5), deadline_at=now - timedelta(hours=3))
    make_monitor(state="blocked", next_check_at=now, lease_until=now + timedelta(seconds=60), lease_token="a")
    make_change(opened_at=now - timedelta(days=3), monitor=make_monitor(state="ok", next_check_at=None))
    Team.objects.create(name="Press", budget=200, measured_spend=150, planned_spend=190)
    OutboxMessage.objects.create(key="k", kind="x", recipient="a@b.example", subject="", text="", message_id="", attempts=5, last_error="451 later\x1b[2J", next_attempt_at=now)  # fmt: skip
    worker = Process.objects.filter(kind="worker").first()
    assert worker is not None
    worker.facts |= {"at": "checks-12ab", "errors": [{"at": "2026-11-30T09:00:00+00:00", "logger": "m", "event": "monitor=3 crashed"}]}  # fmt: skip
    worker.save()
    census.take(now=now)
    text = told()

    for line in (
        "due          1, the longest for 5 min",
        "under way    1 monitors in 1 batches, 0 leases ran out",
        "promises     1 broken, the oldest for 3 h",
        "queue        1 open, the oldest for 3 days, 0 snoozed",
        "mail         1 wait, 1 fail: 451 later\\x1b[2J",
        "monitors     1 blocked, 2 ok (",
        "budget       Press: 150 of 200 spent a day (75 %), 190 planned",
        f"error        2026-11-30T09:00:00+00:00 worker {worker.pid}: monitor=3 crashed",
        "checks-12ab",
    ):
        assert line in text


def test_json_says_the_same(sound: None) -> None:
    make_monitor(next_check_at=timezone.now() - timedelta(minutes=1))
    found = json.loads(told("--json"))

    assert found["ready"] is True
    assert found["due"]["count"] == 1
    assert {row["name"] for row in found["health"]} == {"database", *health._LOOKS}
    assert {row["kind"] for row in found["processes"]} == {"ticker", "worker"}


def test_watching_looks_again(sound: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr("time.sleep", rests.append)
    monkeypatch.setattr("monitoring.management.commands.status.connection", Open())
    text = told("--watch", "5", "--times", "3")

    assert rests == [5, 5]
    assert text.count("Tideline ") == 3
    assert "\x1b" not in text  # no terminal: nothing to move on


def test_watching_draws_in_place_on_a_terminal(sound: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("monitoring.management.commands.status.connection", Open())
    text = told("--watch", "1", "--times", "2", stream=Terminal())

    first, second = text.split("\x1b[H")[1:]
    assert first.endswith("\x1b[J")
    assert all(line.endswith("\x1b[K") for line in second.split("\n")[:-1])


def test_ctrl_c_ends_watching_quietly(sound: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", stop)
    monkeypatch.setattr("monitoring.management.commands.status.connection", Open())

    assert "ready" in told("--watch", "1")


def test_a_database_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        vendor = "postgresql"

        def cursor(self) -> Any:
            raise OperationalError("connection refused")

    monkeypatch.setattr(health, "connection", Away())
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("status", stdout=out)

    assert "PROBLEM  database" in out.getvalue()


def test_the_number_of_queries_does_not_grow(sound: None) -> None:
    with CaptureQueriesContext(connection) as few:
        told()
    for _ in range(8):
        make_monitor(next_check_at=timezone.now())
        make_change()
        Heart(Process.Kind.WORKER, queue="http").beat()
    Monitor.objects.update(next_check_at=timezone.now())
    with CaptureQueriesContext(connection) as more:
        told()

    assert len(more) <= len(few) + 1
