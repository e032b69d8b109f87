"""Backups: the database as of one moment, and every object that its rows name, in a folder that later backups add to.

    DEST/objects/ab/cd/NAME           stored page bytes as the store keeps them, shared by all backups in DEST
    DEST/20261130T194500Z/manifest.json, objects.txt, database.sqlite3 or database.dump

Objects are copied before the database and those of rows that came meanwhile after it, so retention may go on: a row in the copy
was there at one of the two times. What is read back is judged by what we know, not by what it says: names are matched
against what objects are called and never used as paths, and sizes are looked at before anything is read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from monitoring import storage
from monitoring.models import Payload
from monitoring.services import postgres_tools
from monitoring.services.postgres_tools import BackupError

logger = logging.getLogger(__name__)

FORMAT = 1
MANIFEST, OBJECTS = "manifest.json", "objects.txt"
DATABASE_FILES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}
MOST_MANIFEST_BYTES = 2_000_000
MOST_LINE_BYTES = 200
MOST_OBJECT_BYTES = 1 << 30
_NAME = re.compile(r"[0-9a-f]{64}(?:-[0-9a-f]{1,16})?")
_STAMP = re.compile(r"\d{8}T\d{6}Z")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """An object in a backup."""

    name: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds, as it says itself."""

    made_at: str
    version: str
    engine: str
    database_sha256: str
    database_bytes: int
    objects_sha256: str
    objects: int
    objects_bytes: int
    migrations: tuple[tuple[str, str], ...]
    counts: dict[str, int]

    def to_json(self) -> str:
        """The manifest's file."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({"format": FORMAT, **values}, indent=1, sort_keys=True) + "\n"


@dataclass(slots=True)
class Made:
    """What a backup came to."""

    folder: Path
    manifest: Manifest
    copied: int = 0
    copied_bytes: int = 0
    missing: list[str] = field(default_factory=list)


# -- making -------------------------------------------------------------------------------------------------------


def make(dest: Path, *, now: datetime) -> Made:
    """A backup in a new folder of DEST. Raises `BackupError` and leaves no folder that looks whole where it fails."""
    folder = dest / f"{now:%Y%m%dT%H%M%SZ}"
    part = dest / f".{folder.name}.part"
    if folder.exists():
        raise BackupError(f"{folder} exists already; wait a second")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        copier = _Copier(dest, _latest_objects(dest))
        copier.copy_all()
        engine = connection.vendor
        database = part / DATABASE_FILES[engine]
        counts, migrations = _copy_database(engine, database)
        copier.copy_all()
        missing = copier.missing()
        stored = sorted(copier.stored.values(), key=lambda one: one.name)
        listed = "".join(f"{one.name} {one.sha256} {one.size_bytes}\n" for one in stored)
        _write_durably(part / OBJECTS, listed.encode())
        manifest = Manifest(
            made_at=now.isoformat(timespec="seconds"),
            version=settings.VERSION,
            engine=engine,
            database_sha256=digest_of(database),
            database_bytes=database.stat().st_size,
            objects_sha256=hashlib.sha256(listed.encode()).hexdigest(),
            objects=len(stored),
            objects_bytes=sum(one.size_bytes for one in stored),
            migrations=tuple(sorted(migrations)),
            counts=counts,
        )
        _write_durably(part / MANIFEST, manifest.to_json().encode())
        part.rename(folder)
        _sync(dest)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise BackupError(f"{error.filename or dest}: {error.strerror or error}") from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return Made(folder, manifest, copier.copied, copier.copied_bytes, missing)


class _Copier:
    """Copies the objects that rows name and DEST does not have."""

    def __init__(self, dest: Path, known: dict[str, Stored]) -> None:
        self.dest, self.known = dest, known
        self.stored: dict[str, Stored] = {}
        self.failed: dict[str, str] = {}
        self.copied = self.copied_bytes = 0

    def copy_all(self) -> None:
        """Everything that rows name at this moment."""
        for payload in Payload.objects.order_by("pk").iterator(chunk_size=2000):
            name = payload.object_name
            if name not in self.stored:
                self._copy(name, payload.stored_sha256)

    def missing(self) -> list[str]:
        """What rows name still and could not be read: damaged before, and not by the backup."""
        names = {payload.object_name for payload in Payload.objects.iterator(chunk_size=2000)} if self.failed else set()
        return sorted(reason for name, reason in self.failed.items() if name in names and name not in self.stored)

    def _copy(self, name: str, expected: str) -> None:
        path = object_path(self.dest, name)
        if (there := _regular_size(path)) is not None:
            before = self.known.get(name)
            if before is not None and before.size_bytes == there:
                self.stored[name] = before
            else:
                self.stored[name] = Stored(name, digest_of(path), there)
            return
        try:
            data = storage.store().read(name)
        except (storage.ObjectMissingError, storage.PayloadDamageError) as error:
            self.failed[name] = str(error)
            return
        if expected and hashlib.sha256(data).hexdigest() != expected:
            self.failed[name] = f"payload {name}: its object holds other bytes than were stored"
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_durably(path, data)
        self.copied += 1
        self.copied_bytes += len(data)
        self.stored[name] = Stored(name, hashlib.sha256(data).hexdigest(), len(data))


def _copy_database(engine: str, path: Path) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Copy the database as it is at one moment; its tables' counts and its migrations at that moment."""
    if engine == "postgresql":
        return postgres_tools.dump(connection.settings_dict, path, count=_counts, applied=_migrations)
    copy_sqlite(Path(str(connection.settings_dict["NAME"])), path)
    with closing(sqlite3.connect(path)) as copy:
        tables = [name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {
            name: copy.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - the schema's own names
            for name in tables
            if not name.startswith("sqlite_")
        }
        migrations = list(copy.execute("SELECT app, name FROM django_migrations"))
    return counts, migrations


def copy_sqlite(source: Path, target: Path) -> None:
    """A checked copy of an SQLite database that others may use meanwhile; raises `BackupError`."""
    # In one step: in WAL it holds up no writer, and none of their writes makes it begin anew.
    try:
        with closing(sqlite3.connect(source, timeout=60)) as live, closing(sqlite3.connect(target)) as copy:
            live.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode=DELETE")
            _check_sqlite(copy)
    except sqlite3.Error as error:
        raise BackupError(f"{source} could not be copied: {error}") from error


def _check_sqlite(database: sqlite3.Connection) -> None:
    found = database.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise BackupError(f"the database is damaged: {found}")


def _counts() -> dict[str, int]:
    """Rows of every table, in the connection's present transaction."""
    with connection.cursor() as cursor:
        counts = {}
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - introspected names
            counts[table] = int(cursor.fetchone()[0])
    return counts


def _migrations() -> list[tuple[str, str]]:
    return list(MigrationRecorder(connection).applied_migrations())


# -- reading ------------------------------------------------------------------------------------------------------


def newest(source: Path) -> Path:
    """The folder of the newest whole backup in SOURCE, or SOURCE itself where it is one."""
    if (source / MANIFEST).is_file():
        return source
    found = sorted(path for path in _folders(source) if (path / MANIFEST).is_file())
    if not found:
        raise BackupError(f"{source} holds no backup: no folder in it has a {MANIFEST}")
    return found[-1]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup; raises `BackupError` with what is wrong with it."""
    path = folder / MANIFEST
    size = _regular_size(path)
    if size is None or size > MOST_MANIFEST_BYTES:
        raise BackupError(f"{path} is no file of a usual size")
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))  # Any: judged below
    except ValueError as error:
        raise BackupError(f"{path} is no manifest: {error}") from error
    if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
        raise BackupError(f"{path} is not of format {FORMAT}; it was made by another release")
    try:
        manifest = Manifest(
            **{**values, "migrations": tuple((str(app), str(name)) for app, name in values["migrations"])}
        )
        _judge(manifest)
    except (TypeError, ValueError, KeyError) as error:
        raise BackupError(f"{path} is no manifest of ours: {error}") from error
    return manifest


def _judge(manifest: Manifest) -> None:
    if manifest.engine not in DATABASE_FILES:
        raise ValueError(f"engine {manifest.engine!r}")
    for name in ("database_bytes", "objects", "objects_bytes"):
        if not isinstance(getattr(manifest, name), int) or getattr(manifest, name) < 0:
            raise ValueError(f"{name} is no number")
    for name in ("database_sha256", "objects_sha256"):
        if not re.fullmatch(r"[0-9a-f]{64}", str(getattr(manifest, name))):
            raise ValueError(f"{name} is no digest")
    if not all(isinstance(n, int) and re.fullmatch(r"\w{1,63}", str(table)) for table, n in manifest.counts.items()):
        raise ValueError("counts")


def listed(folder: Path, manifest: Manifest) -> Iterator[Stored]:
    """The objects of a backup; raises `BackupError` where the list is not the one of the manifest."""
    path = folder / OBJECTS
    size = _regular_size(path)
    if size is None or size > manifest.objects * MOST_LINE_BYTES or digest_of(path) != manifest.objects_sha256:
        raise BackupError(f"{path} is not the list that the manifest names")
    number = total = 0
    with path.open(encoding="ascii") as lines:
        for line in lines:
            name, sha256, bytes_text = [*line.split(), "", ""][:3]
            if not _NAME.fullmatch(name) or not re.fullmatch(r"[0-9a-f]{64}", sha256) or not bytes_text.isdigit():
                raise BackupError(f"{path} names an object that is none of ours: {name[:80]!r}")
            one = Stored(name, sha256, int(bytes_text))
            if one.size_bytes > MOST_OBJECT_BYTES:
                raise BackupError(f"{path} names an object of {one.size_bytes} bytes")
            number, total = number + 1, total + one.size_bytes
            yield one
    if (number, total) != (manifest.objects, manifest.objects_bytes):
        raise BackupError(f"{path} names {number} objects of {total} bytes; the manifest says otherwise")


def verify(folder: Path) -> tuple[Manifest, list[str]]:
    """The manifest, and what of the backup is missing or has other bytes than it should."""
    manifest = read_manifest(folder)
    problems = []
    database = folder / DATABASE_FILES[manifest.engine]
    if _regular_size(database) != manifest.database_bytes or digest_of(database) != manifest.database_sha256:
        problems.append(f"{database.name}: missing, or other bytes than were written")
    elif manifest.engine == "sqlite":
        with closing(sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)) as copy:
            _check_sqlite(copy)
    for one in listed(folder, manifest):
        path = object_path(folder.parent, one.name)
        if _regular_size(path) != one.size_bytes or digest_of(path) != one.sha256:
            problems.append(f"object {one.name}: missing, or other bytes than were written")
    return manifest, problems


def object_path(dest: Path, name: str) -> Path:
    """Where a backup folder keeps an object; only for names that are ours."""
    if not _NAME.fullmatch(name):
        raise BackupError(f"{name[:80]!r} is no object's name")
    return dest / "objects" / name[:2] / name[2:4] / name


def object_bytes(dest: Path, one: Stored) -> bytes:
    """An object of a backup, checked; raises `BackupError`."""
    path = object_path(dest, one.name)
    if _regular_size(path) != one.size_bytes:
        raise BackupError(f"object {one.name}: missing, or of another size than was written")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != one.sha256:
        raise BackupError(f"object {one.name}: has other bytes than were written")
    return data


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _latest_objects(dest: Path) -> dict[str, Stored]:
    """What the newest backup in DEST says of its objects, so that they need not be read again."""
    try:
        folder = newest(dest)
        return {one.name: one for one in listed(folder, read_manifest(folder))}
    except (BackupError, OSError):
        return {}


def _folders(dest: Path) -> list[Path]:
    if not dest.is_dir():
        return []
    return [path for path in dest.iterdir() if _STAMP.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]


def _regular_size(path: Path) -> int | None:
    """Size of a regular file; None for anything else, links included."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _write_durably(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def utc_now() -> datetime:
    """The time that names a backup."""
    return datetime.now(tz=UTC)
