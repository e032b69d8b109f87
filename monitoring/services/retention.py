"""Letting go: snapshots past their time, payloads nothing refers to, leftovers of writes that were cut short.

Evidence that a change or a hold refers to is never touched.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import batched

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Count, Exists, OuterRef, ProtectedError, Q, QuerySet

from monitoring import storage
from monitoring.models import Change, MissedCase, Monitor, PageType, Payload, Snapshot
from monitoring.services import pruning

logger = logging.getLogger(__name__)

CHUNK = 500


def sweep(*, now: datetime) -> dict[str, int]:
    """How many snapshots, payloads and files were removed."""
    counts = {
        "snapshots": _expired(now) + _aged(now) + _surplus(),
        "checks": pruning.prune(now=now),
        "payloads": _payloads(now),
        "files": _orphans(now) + storage.store().sweep(now - storage.GRACE),
    }
    _refresh_statistics()
    logger.info("swept snapshots=%(snapshots)d checks=%(checks)d payloads=%(payloads)d files=%(files)d", counts)
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


def _expired(now: datetime) -> int:
    """Remove snapshots that were kept for a time that is over."""
    return _remove_all(_free().filter(expires_at__lte=now))


def _aged(now: datetime) -> int:
    """Remove snapshots that are older than their page type says."""
    removed = 0
    for page_type in PageType.objects.filter(keep_days__isnull=False):
        before = now - timedelta(days=page_type.keep_days or 0)
        removed += _remove_all(_free().filter(monitor__page_type=page_type, taken_at__lt=before))
    return removed


def _surplus() -> int:
    """Remove a monitor's oldest snapshots where there are more than its page type says."""
    removed = 0
    for page_type in PageType.objects.filter(keep_snapshots__isnull=False):
        keep = page_type.keep_snapshots or 0
        for monitor in _with_more(page_type, keep):
            newest = Snapshot.objects.filter(monitor=monitor).order_by("-taken_at", "-pk")
            at, pk = newest.values_list("taken_at", "pk")[keep - 1]
            removed += _remove_all(_free().filter(Q(taken_at__lt=at) | Q(taken_at=at, pk__lt=pk), monitor=monitor))
    return removed


def _with_more(page_type: PageType, keep: int) -> Iterator[int]:
    """The monitors of a page type with more snapshots than so many, a chunk at a time."""
    last = 0
    while True:
        ids = list(page_type.monitors.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:CHUNK])
        if not ids:
            return
        last = ids[-1]
        counts = Snapshot.objects.filter(monitor__in=ids).order_by().values("monitor").annotate(n=Count("pk"))
        yield from counts.filter(n__gt=keep).values_list("monitor", flat=True)


def _free() -> QuerySet[Snapshot]:
    """Snapshots that may go: no change, no baseline and no missed case rests on them, and no hold is on them or their monitor."""
    used = (
        Exists(Change.objects.filter(Q(prior=OuterRef("pk")) | Q(new=OuterRef("pk"))))
        | Exists(Monitor.objects.filter(baseline=OuterRef("pk")))
        | Exists(MissedCase.objects.filter(Q(before=OuterRef("pk")) | Q(after=OuterRef("pk"))))
    )
    return Snapshot.objects.filter(~used, legal_hold=False, monitor__legal_hold=False)


def _remove_all(snapshots: QuerySet[Snapshot]) -> int:
    removed = 0
    last: int | None = 0
    while True:
        ids = list(snapshots.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:CHUNK])
        if not ids:
            return removed
        last = ids[-1]
        removed += sum(_remove(pk) for pk in ids)


def _remove(pk: int) -> bool:
    """Whether the snapshot is gone: still free once its row and its monitor's are locked."""
    try:
        with transaction.atomic():
            row = Snapshot.objects.filter(pk=pk).values_list("monitor", flat=True).first()
            list(Monitor.objects.select_for_update().filter(pk=row or 0).values_list("pk"))
            list(Snapshot.objects.select_for_update().filter(pk=pk).values_list("pk"))
            return bool(_free().filter(pk=pk).delete()[0])
    except (ProtectedError, IntegrityError):
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
    # One question for each column: together, as "or", they make SQLite read every snapshot for every payload.
    used = (
        Exists(Snapshot.objects.filter(**{column: OuterRef("pk")})) for column in ("payload", "screenshot", "thumbnail")
    )
    deltas = Payload.objects.filter(keyframe=OuterRef("pk"))
    before = now - storage.GRACE
    return Payload.objects.filter(
        Q(wanted_at__isnull=True) | Q(wanted_at__lte=before),
        *(~found for found in used),
        ~Exists(deltas),
        created_at__lte=before,
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
