"""What a worker may allocate, tried in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import InternalError, connections
from django_q.signals import post_spawn
from psycopg.errors import IdleInTransactionSessionTimeout

from monitoring import limits

ROOT = Path(__file__).resolve().parents[2]
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit counts allocations on Linux")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@linux_only
def test_a_worker_that_allocates_without_end_gets_a_memory_error_and_lives() -> None:
    code = (
        "from monitoring.limits import cap_memory\n"
        "print(cap_memory(256))\n"
        "try:\n    bytearray(400 << 20)\nexcept MemoryError:\n    print('refused')\n"
        "print(len(bytearray(50 << 20)) >> 20)\n"
    )

    assert run(code).split() == ["True", "refused", "50"]


@linux_only
def test_the_browsers_process_lifts_the_limit_of_its_worker() -> None:
    code = (
        "from monitoring.limits import cap_memory\n"
        "from monitoring.fetching.browser_worker import _lift_memory_limit\n"
        "cap_memory(256)\n_lift_memory_limit()\nprint(len(bytearray(400 << 20)) >> 20)\n"
    )

    assert run(code) == "400"


def test_no_limit_is_set_where_none_is_wanted() -> None:
    assert not limits.cap_memory(0)


def test_each_new_worker_is_told_its_limit(settings: object, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(limits, "cap_memory", told.append)
    monkeypatch.setattr("monitoring.services.heartbeat.Pulse.start", lambda pulse: told.append(0))
    monkeypatch.setattr("monitoring.services.heartbeat.Finalize", lambda *args, **how: None)
    monkeypatch.setattr("monitoring.services.heartbeat.parent_process", lambda: "the cluster's")

    post_spawn.send(sender="django_q", proc_name="worker")

    assert told == [1024, 0]  # and gives signs of life


def test_a_worker_in_somebodys_own_process_gives_no_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(limits, "cap_memory", lambda most_mb: told.append("limit"))
    monkeypatch.setattr("monitoring.services.heartbeat.Pulse.start", lambda pulse: told.append("sign of life"))

    post_spawn.send(sender="django_q", proc_name="worker")

    assert told == ["limit"]


class Connection:
    """Notes what is run."""

    def __init__(self, vendor: str) -> None:
        self.vendor, self.ran = vendor, []  # type: ignore[var-annotated]

    @contextmanager
    def cursor(self) -> Iterator[Connection]:
        yield self

    def execute(self, sql: str, values: list[str]) -> None:
        self.ran.append((sql, values))


def test_postgresql_ends_a_workers_transaction_before_its_lease_ends(settings: Any) -> None:
    settings.LEASE_S = 90
    theirs, ours = Connection("sqlite"), Connection("postgresql")

    for connection in (theirs, ours):
        limits._bound(connection=connection)

    assert theirs.ran == []
    ((sql, values),) = ours.ran
    assert "idle_in_transaction_session_timeout" in sql
    assert "lock_timeout" in sql
    assert values == ["45000ms", "90000ms"]


@pytest.mark.django_db
def test_connections_are_bounded_from_now_on_and_those_that_are_open_too(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(limits, "_bound", lambda *, connection, **_: told.append(connection.alias))
    monkeypatch.setattr(limits, "connection_created", SimpleNamespace(connect=lambda *_a, **_k: told.append("later")))
    connections["default"].ensure_connection()

    limits.bound_transactions()

    assert told == ["later", "default"]


def test_a_transaction_that_was_ended_is_told_from_a_bug_of_ours() -> None:
    ended = InternalError("terminating connection due to idle-in-transaction timeout")
    ended.__cause__ = IdleInTransactionSessionTimeout()

    assert limits.is_cut_off(ended)
    assert not limits.is_cut_off(InternalError("a bug of ours"))
    assert not limits.is_cut_off(ValueError("no database error"))
