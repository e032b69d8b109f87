"""The tables of a database for processes of a test: made once for each state of the migrations, then copied.

Migrating takes seconds of a whole core, which some thirty tests would each spend on the same empty tables.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parents[1]
SERVER = "postgresql://postgres@127.0.0.1:5432/postgres"


def fill(database: str, environment: Mapping[str, str]) -> None:
    """Make all tables in a database that is still empty, given by its address; `environment` is that of its processes."""
    with _alone() as name:
        if database.startswith("sqlite"):
            shutil.copyfile(_file(name, environment), _path(database))
        else:
            _copy(database, _template(name, database, environment))


def begin_with_tables() -> None:
    """Put the tables into the test database as soon as Django has made it, so that migrating it finds nothing to do."""
    from django.db import connection

    creation: Any = connection.creation  # of SQLite, which names what it makes
    make = creation._create_test_db

    def made(*args: Any, **kwargs: Any) -> str:
        name: str = make(*args, **kwargs)
        if connection.vendor == "sqlite" and creation.is_in_memory_db(name):
            connection.settings_dict["NAME"] = name
            connection.ensure_connection()
            with _alone() as known, contextlib.closing(sqlite3.connect(_file(known, os.environ))) as whole:
                whole.backup(connection.connection)
        return name

    creation._create_test_db = made


def drop_template() -> None:
    """Take the template of this checkout away from this machine's PostgreSQL; nothing happens where there is none."""
    import psycopg

    with (
        contextlib.suppress(psycopg.OperationalError),
        _alone() as name,
        psycopg.connect(SERVER, autocommit=True) as connection,
    ):
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _path(database: str) -> Path:
    """`sqlite://` and a path, or `sqlite:///` and one from the root."""
    return Path("/" + database.removeprefix("sqlite://").lstrip("/"))


@contextlib.contextmanager
def _alone() -> Iterator[str]:
    """The name of what this state of the migrations makes, while no other process makes or copies it."""
    sources = sorted(path for app in ("monitoring", "review") for path in ROOT.glob(f"{app}/migrations/*.py"))
    known = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + str(ROOT).encode()).hexdigest()[:16]
    name = f"tideline_tables_{os.getuid()}_{known}"
    with Path(tempfile.gettempdir(), f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield name


def _file(name: str, environment: Mapping[str, str]) -> Path:
    made = Path(tempfile.gettempdir(), f"{name}.sqlite3")
    if not made.exists():
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder, "tables.sqlite3")
            _migrate(f"sqlite://{part}", environment)
            with contextlib.closing(sqlite3.connect(part)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.move(part, made)
    return made


def _template(name: str, database: str, environment: Mapping[str, str]) -> str:
    import psycopg

    making = f"{name}_making"
    with psycopg.connect(_named(database, "postgres"), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchall():
            connection.execute(f"DROP DATABASE IF EXISTS {making} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {making}")
            _migrate(_named(database, making), environment)
            connection.execute(f"ALTER DATABASE {making} RENAME TO {name}")
    return name


def _copy(database: str, template: str) -> None:
    """Put a copy of the template in the place of an empty database."""
    import psycopg

    name = urlsplit(database).path.removeprefix("/")
    with psycopg.connect(_named(database, "postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name}")  # refused while somebody is connected
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")


def _named(database: str, name: str) -> str:
    return urlunsplit(urlsplit(database)._replace(path=f"/{name}"))


def _migrate(database: str, environment: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        own = {**environment, "TIDELINE_DATA": folder, "TIDELINE_DATABASE": database, "TIDELINE_REDIS": ""}
        done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
