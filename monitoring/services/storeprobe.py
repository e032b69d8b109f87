"""Whether the store of page bytes takes and gives back, and how much room is left."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from monitoring import storage

SERVICE_EVERY_S = 60.0  # a service is paid by the request, and has no disk of ours that fills up

_last: tuple[float, str] | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """Free and whole space of the disk that holds a folder."""

    path: Path
    free_bytes: int
    total_bytes: int


def why_unfit() -> str:
    """Why page bytes can't be stored at this moment, or the empty string; cheap enough to be asked every few seconds."""
    global _last
    if settings.STORAGE is None:
        return _why_folder_is_unfit(Path(settings.PAYLOAD_DIR))
    if _last is None or time.monotonic() - _last[0] > SERVICE_EVERY_S:
        _last = time.monotonic(), try_store()
    return _last[1]


def try_store() -> str:
    """Write an object as pages are written, read it back and remove it: why that failed, or the empty string.

    Should removing fail, the object is one that no row names, and retention removes it after a day.
    """
    name = f"{secrets.token_hex(32)}-probe"
    body = secrets.token_bytes(64)
    try:
        kept = storage.store()
        kept.write(name, body)
        found = kept.read(name)
        kept.delete(name)
    except (storage.StorageError, OSError) as error:
        return str(error) or type(error).__name__
    return "" if found == body else "other bytes came back than were written"


def _why_folder_is_unfit(folder: Path) -> str:
    path = folder / f"probe-{os.getpid()}-{secrets.token_hex(4)}"
    body = secrets.token_bytes(64)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            path.write_bytes(body)
            if path.read_bytes() != body:
                return "other bytes came back than were written"
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def rooms() -> list[Room]:
    """The disks that page bytes and data are on, each once."""
    kept = [] if settings.STORAGE is not None else [Path(settings.PAYLOAD_DIR)]
    return rooms_of([*kept, Path(settings.DATA_DIR)])


def rooms_of(folders: Iterable[Path]) -> list[Room]:
    """The disks that these folders are on, each once; of a folder that is not there yet the nearest above it."""
    found: dict[int, Room] = {}
    for folder in folders:
        there = next((place for place in (folder, *folder.parents) if place.exists()), None)
        if there is None:
            continue
        usage = shutil.disk_usage(there)
        found.setdefault(there.stat().st_dev, Room(folder, usage.free, usage.total))
    return list(found.values())
