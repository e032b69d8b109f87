"""Waiting for SQLite's one write lock so that nobody waits for long.

SQLite's own waiting sleeps longer the longer it has waited, up to a tenth of a second. Whoever has just written is awake when
the lock is free and takes it again; whoever waits longest looks least often. Here everybody looks every few milliseconds,
so everybody's chance is the same (docs/operations.md "Size" has the figures).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

LOOK_S: Final = 0.008  # SQLite looks after 1, 2 and 5 ms then, and says that it is busy
WAIT_S: Final = 20.0


class Connection(sqlite3.Connection):
    """A connection that waits `timeout` seconds in all for a lock, and looks often."""

    def __init__(self, database: str, *, timeout: float = WAIT_S, **others: Any) -> None:
        super().__init__(database, timeout=min(timeout, LOOK_S), **others)
        self.wait_s = timeout

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        """A cursor of this kind that waits."""
        return super().cursor(factory=_patient(factory))

    def execute(self, *args: Any) -> Any:
        """The driver's short way, which goes past the cursor."""
        return self.cursor().execute(*args)

    def executemany(self, *args: Any) -> Any:
        """The same for many rows."""
        return self.cursor().executemany(*args)

    def patiently(self, run: Callable[..., Any], *args: Any) -> Any:
        """Run one statement. Outside of a transaction it has done nothing where the database was busy, and is run again."""
        if self.in_transaction:
            return run(*args)
        last: float | None = None
        while True:
            try:
                return run(*args)
            except sqlite3.OperationalError as error:
                if not _passes(error):
                    raise
                now = time.monotonic()
                last = now + self.wait_s if last is None else last
                if now >= last:
                    raise

    @contextmanager
    def in_one_go(self) -> Iterator[None]:
        """SQLite's own waiting, for several statements of which the first may stand when a later one finds it busy."""
        super().execute(f"PRAGMA busy_timeout = {self.wait_s * 1000:.0f}")
        try:
            yield
        finally:
            super().execute(f"PRAGMA busy_timeout = {min(self.wait_s, LOOK_S) * 1000:.0f}")


def _passes(error: sqlite3.OperationalError) -> bool:
    """Whether waiting helps: another has the lock. Who read before he wrote, and was overtaken, would wait for ever."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_BUSY and code != sqlite3.SQLITE_BUSY_SNAPSHOT


@cache
def _patient(factory: type[sqlite3.Cursor]) -> type[sqlite3.Cursor]:
    class Cursor(factory):  # type: ignore[valid-type,misc]  # the framework's own, whatever that is
        def execute(self, *args: Any) -> Any:
            return self.connection.patiently(super().execute, *args)

        def executemany(self, *args: Any) -> Any:
            if self.connection.in_transaction:
                return super().executemany(*args)
            with self.connection.in_one_go():
                return super().executemany(*args)

    return Cursor
