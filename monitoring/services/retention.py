"""Letting go: snapshots past their time, payloads nothing refers to, leftovers of writes that were cut short.

Evidence that a change or a hold refers to is never touched.
"""

from __future__ import annotations

import logging
from datetime import datetime
from itertools import batched

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, ProtectedError, Q, QuerySet

from monitoring import storage
from monitoring.models import Change, Monitor, Payload, Snapshot

logger = logging.getLogger(__name__)

CHUNK = 500


def sweep(*, now: datetime) -> dict[str, int]:
    """How many snapshots, payloads and files were removed."""
    counts = {
        "snapshots": _snapshots(now),
        "payloads": _payloads(now),
        "files": _orphans(now) + storage.store().sweep(now - storage.GRACE),
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
    """Remove payload rows that no snapshot has and no delta rests on, then their objects."""
    removed = 0
    below: int | None = None
    while True:  # newest first: deltas go before the keyframe that they rest on
        idle = _idle(now) if below is None else _idle(now).filter(pk__lt=below)
        chunk = list(idle.order_by("-pk")[:CHUNK])
        if not chunk:
            return removed
        below = chunk[-1].pk
        for payload in _let_go(chunk, now):
            _forget_object(payload.object_name)
            removed += 1


def _idle(now: datetime) -> QuerySet[Payload]:
    """Payloads that nothing refers to, and that nobody was handed lately."""
    used = Snapshot.objects.filter(
        Q(payload=OuterRef("pk")) | Q(screenshot=OuterRef("pk")) | Q(thumbnail=OuterRef("pk"))
    )
    deltas = Payload.objects.filter(keyframe=OuterRef("pk"))
    before = now - storage.GRACE
    return Payload.objects.filter(
        Q(wanted_at__isnull=True) | Q(wanted_at__lte=before), ~Exists(used), ~Exists(deltas), created_at__lte=before
    )


def _let_go(chunk: list[Payload], now: datetime) -> list[Payload]:
    """Those of the payloads whose rows are gone now: still idle at the moment of the one statement that deletes."""
    ids = [payload.pk for payload in chunk]
    try:
        with transaction.atomic():
            _idle(now).filter(pk__in=ids)._raw_delete(using=Payload.objects.db)
    except IntegrityError:
        if len(chunk) == 1:
            return []  # somebody began to refer to it in the same moment
        middle = len(chunk) // 2
        return _let_go(chunk[:middle], now) + _let_go(chunk[middle:], now)
    left = set(Payload.objects.filter(pk__in=ids).values_list("pk", flat=True))
    return [payload for payload in chunk if payload.pk not in left]


def _forget_object(name: str) -> None:
    try:
        storage.store().delete(name)
    except storage.StorageError as error:
        logger.warning("object left for the next sweep: %s", error)


def _orphans(now: datetime) -> int:
    """Remove objects that no row names: their transaction never came."""
    removed = 0
    old = (found.name for found in storage.store().objects() if found.written_at <= now - storage.GRACE)
    for names in batched(old, CHUNK):
        digests = {name.partition("-")[0] for name in names}
        known = {payload.object_name for payload in Payload.objects.filter(sha256__in=digests)}
        for name in names:
            if name not in known:
                _forget_object(name)
                removed += 1
    return removed
