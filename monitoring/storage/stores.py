"""Where objects are kept: a folder of this machine, or a service that speaks S3 (`monitoring.storage.s3`).

An object is written once under a name of its own and never again, so whoever lets an object go by its name can't take
one that somebody is just writing.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from monitoring.storage.errors import ObjectMissingError, StorageUnavailableError, StorageWriteError

SUFFIX = ".zst"
_PART = ".part"
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as a store lists it."""

    name: str
    size_bytes: int
    written_at: datetime


class Store(Protocol):
    """A place for objects."""

    reads: int
    """How often bytes that are not what they should be are asked for again."""

    @property
    def where(self) -> str:
        """The place in words, without credentials."""

    def write(self, name: str, data: bytes) -> None:
        """Keep the bytes: durable, and verified to be those, when this returns. Raises `StorageWriteError`."""

    def read(self, name: str) -> bytes:
        """What is kept under the name. Raises `ObjectMissingError` or `StorageUnavailableError`."""

    def delete(self, name: str) -> None:
        """Let the object go; one that is not there is fine. Raises `StorageUnavailableError`."""

    def objects(self) -> Iterator[StoredObject]:
        """Everything that is kept, a little at a time. Raises `StorageUnavailableError`."""

    def sweep(self, before: datetime) -> int:
        """How many leftovers of writes that were cut short before then were removed."""


def key_of(name: str) -> str:
    """An object's place below the store's root."""
    return f"{name[:2]}/{name[2:4]}/{name}{SUFFIX}"


class FileStore:
    """Objects as files of a folder."""

    reads = 1

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def where(self) -> str:
        return str(self.root)

    def path(self, name: str) -> Path:
        """The file of an object."""
        return self.root / key_of(name)

    def write(self, name: str, data: bytes) -> None:
        path = self.path(name)
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_PART}")
        try:
            self._make_folder(path.parent)
            try:
                with part.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                if part.read_bytes() != data:
                    raise StorageWriteError(f"payload {name}: the disk gives back other bytes than were written")
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            _sync_folder(path.parent)
        except OSError as error:
            raise StorageWriteError(
                f"payload {name}: {error.strerror or error}", no_space=error.errno in _NO_SPACE
            ) from error

    def read(self, name: str) -> bytes:
        try:
            return self.path(name).read_bytes()
        except FileNotFoundError as error:
            if not self.root.is_dir():
                raise StorageUnavailableError(f"{self.root} is not there") from error
            raise ObjectMissingError(f"payload {name}: {error.strerror}") from error
        except OSError as error:
            raise StorageUnavailableError(f"payload {name}: {error.strerror}") from error

    def delete(self, name: str) -> None:
        try:
            self.path(name).unlink(missing_ok=True)
        except OSError as error:
            raise StorageUnavailableError(f"payload {name}: {error.strerror}") from error

    def objects(self) -> Iterator[StoredObject]:
        for path in self._walk(SUFFIX):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            yield StoredObject(
                path.name.removesuffix(SUFFIX), found.st_size, datetime.fromtimestamp(found.st_mtime, tz=UTC)
            )

    def sweep(self, before: datetime) -> int:
        removed = 0
        for path in self._walk(_PART):
            try:
                if datetime.fromtimestamp(path.stat().st_mtime, tz=UTC) <= before:
                    path.unlink()
                    removed += 1
            except FileNotFoundError:
                continue  # its write came to an end
        return removed

    def _walk(self, suffix: str) -> Iterator[Path]:
        """The files in order of their names, one folder of about a 65,536th of them at a time."""
        for first in _folders(self.root):
            for second in _folders(first):
                yield from sorted(path for path in second.iterdir() if path.name.endswith(suffix))

    def _make_folder(self, folder: Path) -> None:
        """The folder, with every folder made on the way durable in the one above."""
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for new in reversed(missing):
            new.mkdir(exist_ok=True)
            _sync_folder(new.parent)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if len(path.name) == 2 and path.is_dir())
    except FileNotFoundError:
        return []


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
