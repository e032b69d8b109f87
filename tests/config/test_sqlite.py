"""Waiting for SQLite's write lock: often enough, long enough, and never twice the same write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from config.sqlite import Connection


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE word (text TEXT UNIQUE)")
    return path


@pytest.fixture
def other(file: Path) -> Iterator[sqlite3.Connection]:
    """Somebody who holds the write lock."""
    with closing(sqlite3.connect(file, isolation_level=None)) as link:
        link.execute("BEGIN IMMEDIATE")
        yield link


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on by a second at each look; what it showed."""
    shown = [0.0]

    def tick() -> float:
        shown.append(shown[-1] + 1)
        return shown[-1]

    monkeypatch.setattr("config.sqlite.time.monotonic", tick)
    return shown


def connect(file: Path) -> Any:
    return closing(sqlite3.connect(file, factory=Connection, timeout=20.0, isolation_level=None))


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "INSERT INTO word VALUES ('a')"])
def test_it_looks_until_its_time_is_over(
    file: Path, other: sqlite3.Connection, looks: list[float], statement: str
) -> None:
    with connect(file) as link, pytest.raises(sqlite3.OperationalError, match="locked"):
        link.execute(statement)

    assert len(looks) == 22  # at second 1, and every second until 21


def test_it_goes_on_once_the_lock_is_free_and_writes_once(
    file: Path, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []

    def free_at_last() -> float:
        waited.append(1)
        if len(waited) == 3:
            other.execute("COMMIT")
        return 0.0

    monkeypatch.setattr("config.sqlite.time.monotonic", free_at_last)
    with connect(file) as link:
        link.execute("INSERT INTO word VALUES ('a')")

        assert len(waited) == 3
        assert link.execute("SELECT count(*) FROM word").fetchone() == (1,)


def test_who_read_before_writing_and_was_overtaken_is_told_at_once(file: Path, looks: list[float]) -> None:
    with connect(file) as link, connect(file) as faster:
        link.execute("BEGIN DEFERRED")
        link.execute("SELECT * FROM word").fetchall()
        faster.execute("INSERT INTO word VALUES ('a')")
        with pytest.raises(sqlite3.OperationalError, match="locked") as raised:
            link.execute("INSERT INTO word VALUES ('b')")

        assert raised.value.sqlite_errorcode == sqlite3.SQLITE_BUSY_SNAPSHOT
        assert len(looks) == 1  # nobody waited


def test_other_errors_are_told_at_once(file: Path, looks: list[float]) -> None:
    with connect(file) as link:
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            link.execute("INSERT INTO nowhere VALUES (1)")
        link.execute("INSERT INTO word VALUES ('a')")
        with pytest.raises(sqlite3.IntegrityError):
            link.execute("INSERT INTO word VALUES ('a')")

    assert len(looks) == 1


def test_several_rows_wait_as_sqlite_waits_and_single_ones_look_often_again(file: Path) -> None:
    with connect(file) as link:
        patience: list[int] = []

        def note(word: str) -> str:
            patience.append(of(link))
            return word

        link.create_function("patience", 1, note)

        link.executemany("INSERT INTO word VALUES (?)", [("a",), ("b",)])
        assert of(link) == 8
        link.executemany("INSERT INTO word VALUES (patience(?))", [("c",), ("d",)])

    assert patience == [20_000, 20_000]


def of(link: Any) -> int:
    """Milliseconds that SQLite itself waits on this connection."""
    found: int = link.cursor().execute("PRAGMA busy_timeout").fetchone()[0]
    return found


@pytest.mark.django_db
def test_the_products_own_connection_is_such_a_one() -> None:
    from django.db import connection

    if connection.vendor != "sqlite":
        pytest.skip("for SQLite")
    connection.ensure_connection()

    assert isinstance(connection.connection, Connection)
    assert connection.connection.wait_s == 20.0
