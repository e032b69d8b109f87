"""The store of page bytes: one compressed file per SHA-256, on disk before a row names it."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import zstandard
from django.conf import settings

from monitoring.models import Payload

LEVEL = 3
CODEC = "zstd"


class StorageError(Exception):
    """The store can't do what was asked."""


class StorageWriteError(StorageError):
    """Bytes could not be written: no space, no permission, a broken disk."""


class PayloadDamageError(StorageError):
    """A payload's file is missing, can't be decompressed, or holds other bytes than its name says."""


def path_of(sha256: str) -> Path:
    """Where the bytes of a digest are kept."""
    return Path(settings.PAYLOAD_DIR) / sha256[:2] / sha256[2:4] / f"{sha256}.zst"


def put(body: bytes) -> Payload:
    """The payload row of these bytes; their file is written, fsynced and renamed before the row exists.

    Call it outside the transaction that will refer to the payload: a file without a row is swept later, a row
    without a file would be lost evidence. Raises `StorageWriteError`.
    """
    digest = hashlib.sha256(body).hexdigest()
    known = Payload.objects.filter(sha256=digest).first()
    if known is not None and path_of(digest).exists():
        return known
    stored = _write(path_of(digest), zstandard.compress(body, LEVEL))
    payload, _ = Payload.objects.get_or_create(
        sha256=digest, defaults={"size_bytes": len(body), "stored_bytes": stored, "codec": CODEC}
    )
    return payload


def get(payload: Payload) -> bytes:
    """The bytes of a payload, checked against their SHA-256. Raises `PayloadDamageError`."""
    return read(payload.sha256, size_bytes=payload.size_bytes)


def read(sha256: str, *, size_bytes: int) -> bytes:
    """The bytes of a digest, checked; never decompresses to more than `size_bytes`. Raises `PayloadDamageError`."""
    try:
        packed = path_of(sha256).read_bytes()
    except OSError as error:
        raise PayloadDamageError(f"payload {sha256}: {error.strerror}") from error
    try:
        declared = zstandard.frame_content_size(packed)
        if declared > size_bytes:
            raise PayloadDamageError(f"payload {sha256}: holds {declared} bytes, expected {size_bytes}")
        body = zstandard.decompress(packed, max_output_size=max(size_bytes, 1))
    except zstandard.ZstdError as error:
        raise PayloadDamageError(f"payload {sha256}: {error}") from error
    if hashlib.sha256(body).hexdigest() != sha256:
        raise PayloadDamageError(f"payload {sha256}: the bytes have another digest")
    return body


def delete(sha256: str) -> None:
    """Remove the bytes of a digest; call it after the row is gone. A missing file is fine."""
    path_of(sha256).unlink(missing_ok=True)


def files() -> Iterator[Path]:
    """Every payload file there is."""
    yield from Path(settings.PAYLOAD_DIR).glob("??/??/*.zst")


def leftovers() -> Iterator[Path]:
    """Temporary files of writes that were cut short."""
    yield from Path(settings.PAYLOAD_DIR).glob("??/??/*.part")


def _write(path: Path, data: bytes) -> int:
    """Number of bytes written to `path`, durably and in one step."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise StorageWriteError(f"payload {path.stem}: {error.strerror}") from error
    return len(data)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
