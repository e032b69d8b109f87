"""Restoring a backup into an empty installation: bytes first, then the database, then what was under way is due again."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.utils import DatabaseError

from monitoring import storage
from monitoring.models import Monitor, Process
from monitoring.services import backups, postgres_tools
from monitoring.services.backups import Manifest
from monitoring.services.heartbeat import ALIVE
from monitoring.services.postgres_tools import BackupError

logger = logging.getLogger(__name__)

_FILLED = ("monitoring_monitor", "monitoring_payload", "auth_user")
_SPARE = 1.1  # of the space that a restore takes


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore came to."""

    manifest: Manifest
    written: int  # objects that the store did not have
    freed: int  # monitors that were under way when the backup was made
    put_aside: str = ""  # where the database that was there before is now


def restore(source: Path, *, force: bool, now: datetime) -> Restored:
    """Restore the newest backup in SOURCE, or the one that SOURCE is. Raises `BackupError` before anything is changed wherever that
    can be known; a restore that was cut short can be repeated."""
    folder = backups.newest(source)
    manifest, problems = backups.verify(folder)
    if problems:
        raise BackupError(f"the backup is damaged ({len(problems)} parts), first: {problems[0]}")
    _check_fits(manifest)
    _check_target(force=force, now=now)
    _check_space(manifest)
    written = 0
    for one in backups.listed(folder, manifest):
        if not _is_there(one):
            storage.store().write(one.name, backups.object_bytes(folder.parent, one))
            written += 1
    aside = _load(manifest, folder / backups.DATABASE_FILES[manifest.engine], now=now)
    _compare(manifest)
    call_command("migrate", interactive=False, verbosity=0)
    return Restored(manifest, written, settle(), aside)


def settle() -> int:
    """Give back what was under way when the backup was made; how many monitors that were. All that was due is due."""
    with transaction.atomic():
        freed = Monitor.objects.exclude(lease_token="").update(lease_until=None, lease_token="")
        Process.objects.all().delete()
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_q_ormq")  # messages of that day; the ticker makes new ones
    return freed


def _check_fits(manifest: Manifest) -> None:
    if manifest.engine != connection.vendor:
        raise BackupError(
            f"the backup is of {manifest.engine}, this installation runs on {connection.vendor}: restore it where it came from"
        )
    known = set(MigrationLoader(None).disk_migrations)
    if newer := sorted(set(manifest.migrations) - known):
        raise BackupError(
            f"the backup was made by release {manifest.version}, which is newer than this one (it has the migration "
            f"{'.'.join(newer[-1])}): install that release first"
        )


def _check_target(*, force: bool, now: datetime) -> None:
    """Refuse to restore over something, or under the feet of running processes."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    if "monitoring_process" in tables and (
        alive := Process.objects.filter(seen_at__gt=now - ALIVE, seen_at__lt=now + ALIVE).count()
    ):
        raise BackupError(
            f"{alive} processes of this installation gave a sign of life within a minute: stop web, ticker and workers first"
        )
    with connection.cursor() as cursor:
        filled = []
        for table in sorted(tables & set(_FILLED)):
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - from our own list
            filled += [table] if cursor.fetchone() else []
    if filled and not force:
        raise BackupError(
            f"this installation is not empty ({', '.join(filled)} have rows). Restore into an empty one, or add --force: what "
            "is here is replaced then"
        )


def _check_space(manifest: Manifest) -> None:
    folder = Path(settings.DATA_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = int((manifest.database_bytes + manifest.objects_bytes) * _SPARE)
    if (free := shutil.disk_usage(folder).free) < wanted:
        raise BackupError(f"{folder} has {free} bytes free, the backup takes up to {wanted}")


def _is_there(one: backups.Stored) -> bool:
    """Whether the store has the very bytes already."""
    try:
        return hashlib.sha256(storage.store().read(one.name)).hexdigest() == one.sha256
    except storage.StorageError:
        return False


def _load(manifest: Manifest, path: Path, *, now: datetime) -> str:
    """Put the database in its place; where the one before went."""
    if manifest.engine == "sqlite":
        return _load_sqlite(path, now=now)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        schema = connection.ops.quote_name(cursor.fetchone()[0])
        cursor.execute(f"DROP SCHEMA {schema} CASCADE")
        cursor.execute(f"CREATE SCHEMA {schema}")
    connections.close_all()
    try:
        postgres_tools.load(connection.settings_dict, path)
    finally:
        connections.close_all()
    return ""


def _load_sqlite(path: Path, *, now: datetime) -> str:
    target = Path(connection.settings_dict["NAME"])
    connections.close_all()
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.restored")
    shutil.copyfile(path, fresh)
    with closing(sqlite3.connect(fresh)) as database:
        database.execute("PRAGMA journal_mode=WAL")
    handle = os.open(fresh, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    aside = ""
    if target.exists() and target.stat().st_size:
        with closing(sqlite3.connect(target, timeout=20)) as before:
            before.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        kept = target.with_name(f"{target.name}.before-{now:%Y%m%dT%H%M%SZ}")
        target.rename(kept)
        aside = str(kept)
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    fresh.rename(target)
    return aside


def _compare(manifest: Manifest) -> None:
    """Whether every table has the rows that were counted when the backup was made."""
    wrong = []
    with connection.cursor() as cursor:
        for table, expected in sorted(manifest.counts.items()):
            try:
                cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - judged by its letters
                found = int(cursor.fetchone()[0])
            except DatabaseError:
                found = -1
            if found != expected:
                wrong.append(f"{table}: {found} instead of {expected}")
    if wrong:
        raise BackupError(f"the restored database does not have the rows of the backup: {'; '.join(wrong[:5])}")
