"""The store of page bytes: once per SHA-256, on disk before a row names them, verified when written and when read.

A payload is stored whole (a keyframe) or as what differs from a keyframe of the same page (a delta); its row names the
object and, for a delta, the keyframe's row. An object is written once under a name of its own.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections import OrderedDict
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from threading import Lock

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Count, Min, Sum
from django.utils import timezone

from monitoring.models import Payload
from monitoring.storage.errors import (
    ObjectMissingError,
    PayloadDamageError,
    StorageError,
    StorageUnavailableError,
    StorageWriteError,
)
from monitoring.storage.packing import SMALLEST_KEYFRAME, Wear, pack, pack_delta, unpack, wears_out
from monitoring.storage.stores import FileStore, Store, StoredObject
from monitoring.storeaddress import FilePlace, Place

__all__ = [
    "GRACE", "FileStore", "ObjectMissingError", "PayloadDamageError", "StorageError", "StorageUnavailableError",
    "StorageWriteError", "Store", "StoredObject", "delete", "forget", "get", "opens", "path_of", "put", "store", "store_at",
]  # fmt: skip

logger = logging.getLogger(__name__)

CODEC = "zstd"
# Who was handed a payload or wrote an object has this long to name it in a row; retention leaves it alone until then.
GRACE = timedelta(days=1)
_KEYFRAMES_BYTES = 32 * 1024 * 1024


def store() -> Store:
    """The store in force."""
    return store_at(settings.STORAGE or FilePlace(Path(settings.PAYLOAD_DIR)))


@lru_cache(maxsize=8)
def store_at(place: Place) -> Store:
    """The store at a place. Raises `StorageError` where the packages that it takes are not installed."""
    if isinstance(place, FilePlace):
        return FileStore(place.folder)
    try:
        from monitoring.storage.s3 import S3Store
    except ImportError as error:
        raise StorageError(
            f"storing in S3 takes the packages of requirements/s3.txt ({error.name} is missing)"
        ) from error
    return S3Store(place)


def put(body: bytes, *, like: Payload | None = None) -> Payload:
    """The payload row of these bytes; their object is durable and verified before the row exists.

    `like` is an earlier capture of the same page, which these may be stored as a difference from. Call it outside the
    transaction that will refer to the payload: an object without a row is swept later, a row without an object would be
    lost evidence. Raises `StorageWriteError`, or `StorageUnavailableError` where the store can't say what it holds.
    """
    digest = hashlib.sha256(body).hexdigest()
    known = Payload.objects.filter(sha256=digest).first()
    if known is not None and _is_whole(known, body):
        if _claim(known):
            return known
        known = None  # retention was faster
    if known is not None:
        return _written_anew(known, body)
    packed, keyframe = _packed(body, like)
    try:
        return _written(body, digest, packed, keyframe)
    except IntegrityError:
        if keyframe is None:
            raise
        return _written(body, digest, pack(body), None)  # retention took the keyframe meanwhile


def get(payload: Payload) -> bytes:
    """The bytes of a payload, checked against their SHA-256.

    Raises `PayloadDamageError`, or `StorageUnavailableError` where the store does not answer.
    """
    if payload.keyframe_id is None:
        return _checked(payload, None)
    held = _KEYFRAMES.get(payload.keyframe_id)
    if held is not None:
        try:
            return _checked(payload, held)
        except PayloadDamageError:
            _KEYFRAMES.forget()  # perhaps it is not the delta that is wrong
    return _checked(payload, _keyframe(payload))


def opens(payload: Payload, packed: bytes) -> bool:
    """Whether these stored bytes are the payload's, which is stored whole."""
    try:
        _opened(payload, packed, None)
    except PayloadDamageError:
        return False
    return True


def delete(payload: Payload) -> None:
    """Remove a payload's object; call it after the row is gone. Raises `StorageUnavailableError`."""
    store().delete(payload.object_name)


def path_of(payload: Payload) -> Path:
    """The file of a payload, where the store keeps files."""
    kept = store()
    assert isinstance(kept, FileStore)  # noqa: S101 - the caller's claim
    return kept.path(payload.object_name)


def forget() -> None:
    """Drop the keyframes held in memory."""
    _KEYFRAMES.forget()


# -- writing -----------------------------------------------------------------------------


def _written(body: bytes, digest: str, packed: bytes, keyframe: Payload | None) -> Payload:
    suffix = secrets.token_hex(4)
    store().write(f"{digest}-{suffix}", packed)
    row, is_ours = Payload.objects.get_or_create(
        sha256=digest,
        defaults={
            "size_bytes": len(body),
            "stored_bytes": len(packed),
            "stored_sha256": hashlib.sha256(packed).hexdigest(),
            "codec": CODEC,
            "suffix": suffix,
            "keyframe": keyframe,
        },
    )
    if not is_ours:  # somebody stored the same bytes at the same time; ours is swept
        logger.info("payload %s was stored by another at the same time", digest[:12])
    return row


def _written_anew(known: Payload, body: bytes) -> Payload:
    """The row with its bytes made good: its object was missing or damaged. Whole, because deltas may rest on it."""
    logger.warning("payload %s is stored again: its object was missing or damaged", known.sha256[:12])
    packed, suffix = pack(body), secrets.token_hex(4)
    store().write(f"{known.sha256}-{suffix}", packed)
    values = {
        "suffix": suffix,
        "keyframe": None,
        "stored_bytes": len(packed),
        "stored_sha256": hashlib.sha256(packed).hexdigest(),
        "wanted_at": timezone.now(),
    }
    if not Payload.objects.filter(pk=known.pk, suffix=known.suffix).update(**values):
        return put(body)  # retention or another worker was faster
    for name, value in values.items():
        setattr(known, name, value)
    _KEYFRAMES.forget()
    return known


def _is_whole(payload: Payload, body: bytes) -> bool:
    try:
        return get(payload) == body
    except PayloadDamageError:
        return False


def _claim(payload: Payload) -> bool:
    """Whether the row is still there, and retention leaves it alone long enough for the caller to name it."""
    now = timezone.now()
    if max(payload.created_at, payload.wanted_at or payload.created_at) > now - GRACE / 2:
        return True
    return bool(Payload.objects.filter(pk=payload.pk).update(wanted_at=now))


def _packed(body: bytes, like: Payload | None) -> tuple[bytes, Payload | None]:
    """The bytes as they are stored, and the keyframe they rest on."""
    if like is None:
        return pack(body), None
    key = like.keyframe or like
    if key.stored_bytes < SMALLEST_KEYFRAME or not body:
        return pack(body), None
    wear = _wear(key)
    try:
        delta = pack_delta(body, _keyframe_bytes(key))
    except PayloadDamageError as error:
        logger.error("no delta against a damaged keyframe: %s", error)
        return pack(body), None
    if wears_out(wear, len(delta), key.stored_bytes * len(body) / key.size_bytes):
        return pack(body), None
    return delta, key


def _wear(key: Payload) -> Wear:
    found = Payload.objects.filter(keyframe=key).aggregate(
        n=Count("pk"), total=Sum("stored_bytes"), least=Min("stored_bytes")
    )
    return Wear(found["n"], found["total"] or 0, found["least"] or 0)


# -- reading -----------------------------------------------------------------------------


def _keyframe(delta: Payload) -> bytes:
    """The bytes of a delta's keyframe, checked."""
    key = delta.keyframe
    assert key is not None  # noqa: S101 - the caller asked
    try:
        return _keyframe_bytes(key)
    except PayloadDamageError as error:
        raise PayloadDamageError(f"payload {delta.sha256}: rests on a damaged keyframe ({error})") from error


def _keyframe_bytes(key: Payload) -> bytes:
    body = _KEYFRAMES.get(key.pk)
    if body is None:
        body = _checked(key, None)
        _KEYFRAMES.keep(key.pk, body)
    return body


def _checked(payload: Payload, keyframe: bytes | None) -> bytes:
    """The bytes of a payload from its object. A service that gave wrong ones is asked again before they count as damaged."""
    kept = store()
    for left in range(kept.reads - 1, -1, -1):
        try:
            return _opened(payload, kept.read(payload.object_name), keyframe)
        except PayloadDamageError as error:
            if not left:
                raise
            logger.warning("asked again: %s", error)
    raise AssertionError  # a store reads at least once


def _opened(payload: Payload, packed: bytes, keyframe: bytes | None) -> bytes:
    sha256 = payload.sha256
    if payload.stored_sha256 and hashlib.sha256(packed).hexdigest() != payload.stored_sha256:
        raise PayloadDamageError(f"payload {sha256}: its object holds other bytes than were stored")
    try:
        body = unpack(packed, size_bytes=payload.size_bytes, keyframe=keyframe)
    except ValueError as error:
        raise PayloadDamageError(f"payload {sha256}: {error}") from error
    if hashlib.sha256(body).hexdigest() != sha256:
        raise PayloadDamageError(f"payload {sha256}: the bytes have another digest")
    return body


class _Keyframes:
    """Keyframes lately read, checked and unpacked: the two sides of a change mostly rest on the same one."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._held = most_bytes, 0
        self._bodies: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, pk: int) -> bytes | None:
        with self._lock:
            body = self._bodies.get(key := (store().where, pk))
            if body is not None:
                self._bodies.move_to_end(key)
            return body

    def keep(self, pk: int, body: bytes) -> None:
        with self._lock:
            key = (store().where, pk)
            self._held += len(body) - len(self._bodies.pop(key, b""))
            self._bodies[key] = body
            while self._held > self._most:
                self._held -= len(self._bodies.popitem(last=False)[1])

    def forget(self) -> None:
        with self._lock:
            self._bodies.clear()
            self._held = 0


_KEYFRAMES = _Keyframes(_KEYFRAMES_BYTES)
