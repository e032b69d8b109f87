"""Letting go: snapshots past their time, payloads nothing refers to, leftovers of writes that were cut short.

Evidence that a change or a hold refers to is never touched.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, ProtectedError, Q

from monitoring import storage
from monitoring.models import Change, Monitor, Payload, Snapshot

logger = logging.getLogger(__name__)

# A file or payload row younger than this may belong to a transaction that is still under way.
GRACE = timedelta(days=1)
CHUNK = 500


def sweep(*, now: datetime) -> dict[str, int]:
    """How many snapshots, payloads and files were removed."""
    counts = {
        "snapshots": _snapshots(now),
        "payloads": _payloads(now),
        "files": _orphans(now) + _leftovers(now),
    }
    _refresh_statistics()
    logger.info("swept snapshots=%(snapshots)d payloads=%(payloads)d files=%(files)d", counts)
    return counts


def _refresh_statistics() -> None:
    """SQLite plans by statistics that somebody has to ask for; PostgreSQL keeps its own."""
    if connection.vendor != "sqlite":
        return
    try:
        with transaction.atomic(), connection.cursor() as cursor:  # the lock first: it can't be had halfway
            cursor.execute("PRAGMA optimize=0x10002")
    except OperationalError as problem:  # somebody writes just now; tomorrow's sweep asks again
        logger.info("statistics not refreshed: %s", problem)


def _snapshots(now: datetime) -> int:
    """Remove snapshots whose time is over and that nothing refers to."""
    used = Exists(Change.objects.filter(Q(prior=OuterRef("pk")) | Q(new=OuterRef("pk")))) | Exists(
        Monitor.objects.filter(baseline=OuterRef("pk"))
    )
    removed = 0
    last = 0
    while True:
        ids = list(
            Snapshot.objects.filter(~used, expires_at__lte=now, legal_hold=False, pk__gt=last)
            .order_by("pk")
            .values_list("pk", flat=True)[:CHUNK]
        )
        if not ids:
            return removed
        last = ids[-1]
        removed += sum(_remove(pk) for pk in ids)


def _remove(pk: int) -> bool:
    try:
        with transaction.atomic():
            return bool(Snapshot.objects.filter(pk=pk, legal_hold=False).delete()[0])
    except ProtectedError:
        return False  # somebody began to refer to it meanwhile


def _payloads(now: datetime) -> int:
    """Remove payload rows that no snapshot has, then their bytes."""
    used = Snapshot.objects.filter(
        Q(payload=OuterRef("pk")) | Q(screenshot=OuterRef("pk")) | Q(thumbnail=OuterRef("pk"))
    )
    unused = Payload.objects.filter(~Exists(used), created_at__lte=now - GRACE)
    removed = 0
    for pk, sha256 in list(unused.values_list("pk", "sha256")):
        try:
            with transaction.atomic():
                gone = Payload.objects.filter(~Exists(used), pk=pk).delete()[0]
        except ProtectedError:
            continue
        if gone:
            storage.delete(sha256)
            removed += 1
    return removed


def _orphans(now: datetime) -> int:
    """Remove files that no row names: their transaction never came."""
    removed = 0
    for chunk in _chunks(path for path in storage.files() if _is_old(path, now)):
        names = {path.stem: path for path in chunk}
        known = set(Payload.objects.filter(sha256__in=names).values_list("sha256", flat=True))
        for name, path in names.items():
            if name not in known:
                path.unlink(missing_ok=True)
                removed += 1
    return removed


def _leftovers(now: datetime) -> int:
    old = [path for path in storage.leftovers() if _is_old(path, now)]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def _is_old(path: Path, now: datetime) -> bool:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC) <= now - GRACE
    except FileNotFoundError:
        return False


def _chunks(paths: Iterator[Path]) -> Iterator[list[Path]]:
    chunk: list[Path] = []
    for path in paths:
        chunk.append(path)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
