"""Letting go of old check rows: visits that found nothing and left nothing, once their page type says so.

Kept whatever their age: rows of changes and of field values, content and fields found, rows whose snapshot is kept, the newest
row of a monitor, and the ones that lean rows after them point back to (`Check.as_then`). What a monitor's memory needs of the rows
that go is settled first (`memories.settle`); a rate says in each row what was known after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from monitoring.models import Change, Check, FieldChange, Monitor, Outcome, PageType
from monitoring.services import memories

CHUNK = 1_000
_MONITORS = 200
_FOUND = (Outcome.CONTENT, Outcome.FIELD)
_GOOD = (Outcome.NONE, Outcome.NOISE, *_FOUND)
# The newest row before the limit with each of these is what rows after it leave out.
_POINTED_TO = (
    Q(rebased=True),
    Q(vantage__isnull=False),
    ~Q(detector_version=""),
    ~Q(fields={}),
    Q(reason__in=memories.RESTARTS),
)


def prune(*, now: datetime) -> int:
    """How many check rows were removed, at most `CHUNK` in a transaction."""
    removed = 0
    for page_type in PageType.objects.filter(keep_checks_days__isnull=False):
        before = now - timedelta(days=page_type.keep_checks_days or 0)
        for monitor in _monitors(page_type):
            removed += _prune(monitor, before)
    return removed


def _monitors(page_type: PageType) -> Iterator[int]:
    last = 0
    while True:
        free = page_type.monitors.filter(pk__gt=last, legal_hold=False).order_by("pk")
        ids = list(free.values_list("pk", flat=True)[:_MONITORS])
        if not ids:
            return
        last = ids[-1]
        yield from ids


def _prune(monitor: int, before: datetime) -> int:
    old = Check.objects.filter(monitor=monitor, started_at__lt=before)
    through = old.aggregate(last=Max("check_no"))["last"]
    if through is None:
        return 0
    spare = _spare(monitor, through)
    if not spare.exists():
        return 0
    memories.settle(monitor, through=through)
    removed = 0
    while ids := list(spare.order_by("check_no").values_list("pk", flat=True)[:CHUNK]):
        gone = _delete(monitor, ids)
        removed += gone
        if not gone:
            break
    return removed


def _spare(monitor: int, through: int) -> QuerySet[Check]:
    """The rows up to a number that nothing needs any more."""
    rows = Check.objects.filter(monitor=monitor, check_no__lte=through)
    newest = Check.objects.filter(monitor=monitor).aggregate(last=Max("check_no"))["last"]
    kept = {newest}
    for condition in _POINTED_TO:
        kept.add(rows.filter(condition, outcome__in=_GOOD).aggregate(last=Max("check_no"))["last"])
    return rows.filter(
        ~Exists(Change.objects.filter(check_row=OuterRef("pk"))),
        ~Exists(FieldChange.objects.filter(check_row=OuterRef("pk"))),
        snapshot__isnull=True,
    ).exclude(Q(outcome__in=_FOUND) | Q(check_no__in=kept - {None}))


def _delete(monitor: int, ids: list[int]) -> int:
    try:
        with transaction.atomic():
            if not Monitor.objects.select_for_update().filter(pk=monitor, legal_hold=False).exists():
                return 0
            return Check.objects.filter(pk__in=ids)._raw_delete(using=Check.objects.db)
    except IntegrityError:  # never by a visit: changes are only made with newer rows
        return 0
