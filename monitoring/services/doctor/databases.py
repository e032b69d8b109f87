"""The database: what it promises about power cuts, whether it is up to date, whether it has room for all processes."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from monitoring.services import health, readings
from monitoring.services.doctor.lines import Grade, Line, Lines, ok, problem, warning
from monitoring.services.health import State, span

LEAST_POSTGRESQL = 14
STALE = timedelta(days=7)
LONG = timedelta(hours=1)
FEW_ROWS = 10_000
_TABLES = ("monitoring_monitor", "monitoring_check", "monitoring_snapshot", "monitoring_change")
_GRADES = {State.OK: Grade.OK, State.WARNING: Grade.WARNING, State.PROBLEM: Grade.PROBLEM, State.UNKNOWN: Grade.WARNING}


def database() -> Lines:
    """All about the database; only that, where it does not answer."""
    began = time.monotonic()
    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError) as error:
        yield problem(
            "database", f"does not answer: {' '.join(str(error).split())}", "Start it, or mend TIDELINE_DATABASE."
        )
        return
    yield ok("database", f"{_version()} answers in {(time.monotonic() - began) * 1000:.0f} ms")
    found = health.look("migrations", now=timezone.now())
    yield Line(
        "database", _GRADES[found.state], f"migrations: {found.said}", "" if found.state == State.OK else "Run manage.py migrate."
    )  # fmt: skip
    yield from _sqlite() if connection.vendor == "sqlite" else _postgresql()


def clocks() -> Lines:
    """This machine's clock and that of each process against the database's."""
    found = health.look("clock", now=timezone.now())
    advice = "" if found.state == State.OK else "Set the clock by NTP (chrony, systemd-timesyncd) on every machine."
    yield Line("clock", _GRADES[found.state], found.said, advice)


def processes() -> Lines:
    """Who gives signs of life."""
    for name in ("ticker", "workers"):
        found = health.look(name, now=timezone.now())
        advice = {"ticker": "Start manage.py tick.", "workers": "Start manage.py qcluster, or manage.py work CLASS."}
        yield Line(
            "processes", _GRADES[found.state], f"{name}: {found.said}", "" if found.state == State.OK else advice[name]
        )
    versions = {row.version for row in readings.processes() if row.is_alive} - {settings.VERSION}
    if versions:
        yield warning(
            "processes", f"some are of another release: {', '.join(sorted(versions))}",
            "Finish the upgrade: restart every process with this release.",
        )  # fmt: skip


def _version() -> str:
    if connection.vendor == "sqlite":
        from sqlite3 import sqlite_version

        return f"SQLite {sqlite_version}"
    return f"PostgreSQL {_one('SHOW server_version')}"


def _one(sql: str) -> Any:  # Any: a database's value
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
    return row[0] if row else None


# -- SQLite ------------------------------------------------------------------------------------


def _sqlite() -> Lines:
    wanted = {"journal_mode": ("wal", "readers wait for writers"), "synchronous": (2, "a power cut may lose verdicts"), "foreign_keys": (1, "rows may refer to nothing")}  # fmt: skip
    in_memory = str(settings.DATABASES["default"]["NAME"]).find("memory") >= 0
    for name, (value, otherwise) in wanted.items():
        found = _one(f"PRAGMA {name}")
        if found == value or (name == "journal_mode" and in_memory):
            yield ok("database", f"{name} is {found}")
        else:
            yield problem(
                "database", f"{name} is {found}, expected {value}: {otherwise}",
                "Leave TIDELINE_DATABASE's options as they are; no other program may change them.",
            )  # fmt: skip
    mode = connection.settings_dict["OPTIONS"].get("transaction_mode")
    if mode == "IMMEDIATE":
        yield ok("database", "transactions take the lock at their beginning")
    else:
        yield problem(
            "database", f"transaction_mode is {mode}: two writers end in “database is locked”",
            "Set it to IMMEDIATE in config/settings.py.",
        )  # fmt: skip


# -- PostgreSQL --------------------------------------------------------------------------------


def _postgresql() -> Lines:
    version = int(_one("SHOW server_version_num")) // 10_000
    if version < LEAST_POSTGRESQL:
        yield problem("database", f"PostgreSQL {version} is too old", f"Upgrade it to {LEAST_POSTGRESQL} or later.")
    for name, bad, why in (
        ("fsync", {"off"}, "a power cut may destroy the database"),
        ("full_page_writes", {"off"}, "a power cut may destroy the database"),
        ("synchronous_commit", {"off"}, "a power cut may lose verdicts that were acknowledged"),
    ):
        found = _one(f"SHOW {name}")
        if found in bad:
            yield problem("database", f"{name} is {found}: {why}", f"Set {name} = on in postgresql.conf and reload.")
        else:
            yield ok("database", f"{name} is {found}")
    encoding, zone = _one("SHOW server_encoding"), _one("SHOW TimeZone")
    if encoding != "UTF8":
        yield problem("database", f"the encoding is {encoding}", "Make the database anew with ENCODING 'UTF8'.")
    if zone != "UTC":
        yield warning(
            "database", f"sessions have the time zone {zone}", "Remove PGTZ and options that set a time zone."
        )
    isolation = _one("SHOW default_transaction_isolation")
    if isolation != "read committed":
        yield problem(
            "database", f"transactions are {isolation} by default; claims are written for read committed",
            "Set default_transaction_isolation = 'read committed' for this database.",
        )  # fmt: skip
    yield connections_line(
        most=int(_one("SHOW max_connections")) - int(_one("SHOW superuser_reserved_connections")),
        used=int(_one("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")),
        processes=sum(row.is_alive for row in readings.processes()),
    )
    yield from _statistics()
    oldest = _one(
        "SELECT extract(epoch FROM max(now() - xact_start)) FROM pg_stat_activity WHERE datname = current_database()"
    )
    if oldest and timedelta(seconds=float(oldest)) > LONG:
        yield warning(
            "database", f"a transaction is open for {span(timedelta(seconds=float(oldest)))}: nothing can be cleaned up behind it",
            "Find it in pg_stat_activity and end it.",
        )  # fmt: skip


# A web process has 8 threads, and each may hold a connection; a worker has one, and one for its signs of life.
_EACH = 8


def connections_line(*, most: int, used: int, processes: int) -> Line:
    """Whether the server takes as many connections as all processes may want at once."""
    wanted = max(used, processes * _EACH)
    if wanted > most:
        return problem(
            "database", f"{most} connections are allowed; {processes} processes may want {wanted}",
            "Raise max_connections, run fewer web processes, or put pgbouncer (session mode) between.",
        )  # fmt: skip
    if wanted > most * 0.8:
        return warning("database", f"{wanted} of {most} connections may be wanted", "Raise max_connections in time.")
    return ok("database", f"{used} of {most} connections are in use; {processes} processes may want {wanted}")


def _statistics() -> Lines:
    if _one("SHOW autovacuum") != "on" or _one("SHOW track_counts") != "on":
        yield problem(
            "database", "autovacuum is off: tables grow and plans go wrong",
            "Set autovacuum = on and track_counts = on in postgresql.conf.",
        )  # fmt: skip
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_live_tup, n_dead_tup, greatest(last_analyze, last_autoanalyze) "
            "FROM pg_stat_user_tables WHERE relname = ANY(%s)",
            [list(_TABLES)],
        )
        rows = cursor.fetchall()
    stale = [line for row in rows if (line := table_line(*row, now=timezone.now()))]
    yield from stale
    if not stale:
        yield ok("database", "statistics of the large tables are fresh")


def table_line(table: str, live: int, dead: int, analysed_at: Any, *, now: Any) -> Line | None:
    """What is wrong with a table's upkeep, if anything."""
    if live + dead < FEW_ROWS:
        return None
    if analysed_at is None or now - analysed_at > STALE:
        since = "never" if analysed_at is None else f"{span(now - analysed_at)} ago"
        return warning("database", f"{table} with {live} rows was last analysed {since}", f"Run ANALYZE {table};")
    if dead > live:
        return warning(
            "database", f"{table} has more dead rows ({dead}) than live ones ({live})", f"Run VACUUM (ANALYZE) {table};"
        )
    return None
