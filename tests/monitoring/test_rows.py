"""Statements built once write the same as Django's own."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitoring.models import Check, Monitor, Outcome
from monitoring.services import rows
from tests.factories import NOW, make_monitor, make_snapshot

pytestmark = pytest.mark.django_db


def full_check(monitor: Monitor, number: int) -> Check:
    """A check with a value of every kind of column."""
    return Check(
        monitor=monitor, check_no=number, started_at=NOW, duration_ms=12, outcome=Outcome.NOISE, reason="clock",
        status=200, not_modified=True, size_bytes=7, score=0.25, cut=0.5, distance=3, threshold=3,
        reasons=[{"code": "a", "text": "ä”", "data": {"n": 1}}], delta=b"\x00\xff", fields={"price": {"value": "1"}},
        snapshot=make_snapshot(monitor), detector_version="1", next_check_at=NOW + timedelta(hours=6),
    )  # fmt: skip


def test_insert_writes_what_save_writes() -> None:
    monitor = make_monitor()
    ours = rows.insert(full_check(monitor, 1))
    theirs = full_check(monitor, 2)
    theirs.save()

    assert ours.pk is not None
    stored, expected = (Check.objects.values().get(pk=row.pk) for row in (ours, theirs))
    for values in (stored, expected):
        del values["id"], values["check_no"], values["snapshot_id"]
    assert stored == expected


def test_update_writes_where_everything_fits_and_counts() -> None:
    monitor, snapshot = make_monitor(lease_token="t"), make_snapshot(make_monitor())
    values = {"baseline": snapshot, "fields": {"a": None}, "state": "ok", "lease_until": None, "last_ok_at": NOW}

    assert rows.update(Monitor, values, id=monitor.pk, lease_token="other") == 0
    assert rows.update(Monitor, values, id=monitor.pk, lease_token="t") == 1

    monitor.refresh_from_db()
    assert (monitor.baseline, monitor.fields, monitor.state) == (snapshot, {"a": None}, "ok")
    assert (monitor.lease_until, monitor.last_ok_at) == (None, NOW)
