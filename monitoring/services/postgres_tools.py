"""PostgreSQL's own programs for backups, with errors that say what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import connection, transaction

LONGEST_S = 24 * 3600.0
_PASSED_ON = {"sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "connect_timeout", "channel_binding", "passfile"}


class BackupError(Exception):
    """A backup can't be made or restored; the message says why."""


def dump(
    database: Mapping[str, Any],
    path: Path,
    *,
    count: Callable[[], dict[str, int]],
    applied: Callable[[], list[tuple[str, str]]],
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Dump the database to a file; `count` and `applied` are asked for the very state that was dumped."""
    program = _program("pg_dump")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = str(cursor.fetchone()[0])
        counts, migrations = count(), applied()
        _run(
            [program, "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={path}"],
            database,
        )
    return counts, migrations


def load(database: Mapping[str, Any], path: Path) -> None:
    """Restore a dump into the empty database, whole or not at all."""
    program = _program("pg_restore")
    _run(
        [
            program, "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
            f"--dbname={database['NAME']}", str(path),
        ],
        database,
    )  # fmt: skip


def _program(name: str) -> str:
    """The program, not older than the server: an older one refuses to read what it does not know."""
    found = shutil.which(name)
    if found is None:
        raise BackupError(
            f"{name} is not installed here. Install PostgreSQL's client programs of version {server_version()} or newer "
            "(Debian: postgresql-client)."
        )
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout  # noqa: S603 - ours
    match = re.search(r"\) (\d+)", said)
    if match is None or int(match[1]) < server_version():
        have = match[1] if match else "unknown"
        raise BackupError(
            f"{name} is of version {have}, the server of version {server_version()}: install client programs that are not older."
        )
    return found


def server_version() -> int:
    """The server's major version."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        return int(cursor.fetchone()[0]) // 10_000


def _run(command: Sequence[str], database: Mapping[str, Any]) -> None:
    """Run a program on the database; its password is in its environment and on no command line."""
    options = database.get("OPTIONS", {})
    environment = {
        **os.environ,
        "PGDATABASE": str(database["NAME"]),
        "PGHOST": str(database.get("HOST") or ""),
        "PGPORT": str(database.get("PORT") or ""),
        "PGUSER": str(database.get("USER") or ""),
        "PGPASSWORD": str(database.get("PASSWORD") or ""),
        **{f"PG{name.upper().replace('_', '')}": str(options[name]) for name in _PASSED_ON & set(options)},
    }
    if "connect_timeout" in options:
        environment["PGCONNECT_TIMEOUT"] = str(options["connect_timeout"])
    done = subprocess.run(  # noqa: S603 - our own arguments
        list(command),
        env={name: value for name, value in environment.items() if value},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    if done.returncode:
        raise BackupError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-600:]}")
