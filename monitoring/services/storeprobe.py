"""Whether the store of page bytes takes and gives back, and how much room is left."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Room:
    """Free and whole space of the disk that holds a folder."""

    path: Path
    free_bytes: int
    total_bytes: int


def try_store() -> str:
    """Write a few bytes, read them back and remove them: why that failed, or the empty string."""
    folder = Path(settings.PAYLOAD_DIR)
    path = folder / f"probe-{os.getpid()}-{secrets.token_hex(4)}.part"
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
    return rooms_of([Path(settings.PAYLOAD_DIR), Path(settings.DATA_DIR)])


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
