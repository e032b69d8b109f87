"""Legal holds: evidence that nothing lets go while they last. Who put or lifted one, when and why, stays on record."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from monitoring.models import Monitor, SettingChange, Snapshot
from monitoring.services.monitors import Actor, log_entry

_CHUNK = 500
HOLD = "legal hold"


def hold_monitors(ids: Iterable[int], *, held: bool, actor: Actor, reason: str) -> int:
    """How many monitors are held from now on with all their snapshots and checks (or no longer). Raises ValidationError without a reason."""
    reason = _reason(reason)
    count = 0
    for chunk in _chunks(ids):
        with transaction.atomic():
            rows = list(Monitor.objects.select_for_update().filter(pk__in=chunk, legal_hold=not held).order_by("pk"))
            Monitor.objects.filter(pk__in=[row.pk for row in rows]).update(legal_hold=held)
            SettingChange.objects.bulk_create(
                [log_entry(actor, HOLD, not held, held, reason=reason, monitor=row) for row in rows]
            )
        count += len(rows)
    return count


def hold_snapshots(ids: Iterable[int], *, held: bool, actor: Actor, reason: str) -> int:
    """The same for snapshots by themselves; it stands in the record of their monitors."""
    reason = _reason(reason)
    count = 0
    for chunk in _chunks(ids):
        with transaction.atomic():
            rows = list(Snapshot.objects.select_for_update().filter(pk__in=chunk, legal_hold=not held).order_by("pk"))
            Snapshot.objects.filter(pk__in=[row.pk for row in rows]).update(legal_hold=held)
            SettingChange.objects.bulk_create(
                [
                    log_entry(
                        actor, f"{HOLD}, snapshot {row.pk}", not held, held, reason=reason, monitor_id=row.monitor_id
                    )
                    for row in rows
                ]
            )
        count += len(rows)
    return count


def _reason(reason: str) -> str:
    if not reason.strip():
        raise ValidationError(_("Say why; the reason stays on record."), code="reason")
    return reason.strip()[:300]


def _chunks(ids: Iterable[int]) -> Iterable[list[int]]:
    ordered = sorted(set(ids))
    return (ordered[start : start + _CHUNK] for start in range(0, len(ordered), _CHUNK))
