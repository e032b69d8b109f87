"""What is let go, and what never is."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from monitoring import storage
from monitoring.models import Monitor, Payload, Snapshot
from monitoring.services import retention
from tests.factories import NOW, make_change, make_check, make_monitor, make_snapshot

pytestmark = pytest.mark.django_db


def test_a_snapshot_past_its_time_goes_and_its_check_stays() -> None:
    monitor = make_monitor()
    old = make_snapshot(monitor, role=Snapshot.Role.NOISE, expires_at=NOW - timedelta(seconds=1))
    fresh = make_snapshot(monitor, role=Snapshot.Role.NOISE, expires_at=NOW + timedelta(days=1))
    check = make_check(monitor, snapshot=old)

    counts = retention.sweep(now=NOW)

    assert counts["snapshots"] == 1
    assert list(Snapshot.objects.all()) == [fresh]
    check.refresh_from_db()
    assert check.snapshot is None


def test_evidence_of_a_change_a_baseline_and_a_hold_stay() -> None:
    past = NOW - timedelta(days=1)
    change = make_change()
    held = make_snapshot(change.monitor, legal_hold=True)
    base = make_snapshot(change.monitor)
    Monitor.objects.update(baseline=base)
    Snapshot.objects.update(expires_at=past)

    retention.sweep(now=NOW)

    assert set(Snapshot.objects.all()) == {change.prior, change.new, held, base}


def test_bytes_go_with_the_last_snapshot_that_has_them() -> None:
    monitor = make_monitor()
    payload = storage.put(b"shared")
    first = make_snapshot(monitor, payload=payload, expires_at=NOW)
    second = make_snapshot(monitor, payload=payload)
    later = timezone.now() + timedelta(days=2)

    retention.sweep(now=later)
    assert not Snapshot.objects.filter(pk=first.pk).exists()
    assert storage.get(payload) == b"shared"
    second.delete()
    retention.sweep(now=later)

    assert not Payload.objects.exists()
    assert list(storage.store().objects()) == []


def test_a_young_file_without_a_row_may_still_get_one(settings: Any) -> None:
    path = storage.FileStore(settings.PAYLOAD_DIR).path("ab" * 32)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    part = path.with_name(f"{path.name}.1234.part")
    part.write_bytes(b"x")
    assert retention.sweep(now=timezone.now())["files"] == 0
    old = (timezone.now() - timedelta(days=2)).timestamp()
    os.utime(path, (old, old))
    os.utime(part, (old, old))

    assert retention.sweep(now=timezone.now())["files"] == 2


def test_the_command_says_what_went(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sweep")

    assert capsys.readouterr().out.strip() == "0 snapshots, 0 payloads, 0 files"


def test_a_busy_database_does_not_fail_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*args: object, **kwargs: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(CursorWrapper, "execute", busy)

    retention._refresh_statistics()
