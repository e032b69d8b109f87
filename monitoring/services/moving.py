"""Copying stored objects from one store to another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from monitoring import storage
from monitoring.models import Payload

_CHUNK = 200


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one payload's object."""

    copied: bool = False
    was_there: bool = False
    problem: str = ""


def move(source: storage.Store, target: storage.Store) -> Iterator[Step]:
    """Copy every payload's object as it is. An object that is there whole is passed over; a damaged one is never copied.

    Raises `StorageWriteError` or `StorageUnavailableError`, after which it can be begun again.
    """
    last = 0
    while chunk := list(Payload.objects.filter(pk__gt=last).order_by("pk")[:_CHUNK]):
        last = chunk[-1].pk
        for payload in chunk:
            yield _moved(payload, source, target)


def _moved(payload: Payload, source: storage.Store, target: storage.Store) -> Step:
    if _is_there(payload, target):
        return Step(was_there=True)
    try:
        packed = source.read(payload.object_name)
        if not _is_right(payload, packed):
            packed = source.read(payload.object_name)
    except storage.PayloadDamageError as error:
        return Step(problem=str(error))
    if not _is_right(payload, packed):
        return Step(problem=f"payload {payload.sha256}: its object holds other bytes than were stored")
    target.write(payload.object_name, packed)
    return Step(copied=True)


def _is_there(payload: Payload, target: storage.Store) -> bool:
    try:
        return _is_right(payload, target.read(payload.object_name))
    except storage.PayloadDamageError:
        return False


def _is_right(payload: Payload, packed: bytes) -> bool:
    """Whether these are the bytes that were stored. Rows from before there were checksums of those are opened."""
    if payload.stored_sha256:
        return hashlib.sha256(packed).hexdigest() == payload.stored_sha256
    return storage.opens(payload, packed)
