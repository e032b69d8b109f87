"""What is let go, and what never is."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from monitoring import storage
from monitoring.models import Check, Monitor, MonitorMemory, Payload, SettingChange, Snapshot
from monitoring.services import holds, memories, pruning, rates, retention
from tests import tables
from tests.factories import NOW, make_change, make_check, make_monitor, make_page_type, make_snapshot, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.test_pipeline import CLAUSES, page
from tests.monitoring.test_storage import edited, words

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

    assert capsys.readouterr().out.strip() == "0 snapshots, 0 checks, 0 payloads, 0 files"


def test_a_busy_database_does_not_fail_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*args: object, **kwargs: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(CursorWrapper, "execute", busy)

    retention._refresh_statistics()


# -- page types and holds ----------------------------------------------------------------


def noise(monitor: Monitor, days: float, **extra: Any) -> Snapshot:
    """A snapshot of a monitor so many days old, which nothing refers to."""
    return make_snapshot(monitor, role=Snapshot.Role.NOISE, taken_at=NOW - timedelta(days=days), **extra)


def test_a_page_type_says_how_old_snapshots_become() -> None:
    monitor, other = make_monitor(page_type=make_page_type("news", keep_days=30)), make_monitor()
    old, young, others = noise(monitor, 31), noise(monitor, 29), noise(other, 4000)

    assert retention.sweep(now=NOW)["snapshots"] == 1

    assert set(Snapshot.objects.all()) == {young, others}
    assert old.pk


def test_a_page_type_says_how_many_snapshots_a_monitor_keeps() -> None:
    kind = make_page_type("news", keep_snapshots=2)
    monitor, few, other = make_monitor(page_type=kind), make_monitor(page_type=kind), make_monitor()
    rows = [noise(monitor, days) for days in (5, 4, 3, 2, 2)]
    kept = [noise(few, 9), noise(few, 8), *(noise(other, days) for days in range(4))]

    assert retention.sweep(now=NOW)["snapshots"] == 3

    assert set(Snapshot.objects.all()) == {*rows[3:], *kept}


@pytest.mark.parametrize("keep", [{"keep_days": 1}, {"keep_snapshots": 1}])
def test_a_hold_wins_over_age_count_and_expiry(keep: dict[str, int]) -> None:
    kind = make_page_type("news", **keep)
    monitor, held_monitor = make_monitor(page_type=kind), make_monitor(page_type=kind)
    free, held, newest = noise(monitor, 9), noise(monitor, 8, expires_at=NOW), noise(monitor, 0)
    under = [noise(held_monitor, days, expires_at=NOW) for days in (9, 8, 7)]
    holds.hold_snapshots([held.pk], held=True, actor=None, reason="letter of 3 May")
    holds.hold_monitors([held_monitor.pk], held=True, actor=None, reason="letter of 3 May")

    retention.sweep(now=NOW)
    assert set(Snapshot.objects.all()) == {held, newest, *under}

    holds.hold_snapshots([held.pk], held=False, actor=None, reason="settled")
    holds.hold_monitors([held_monitor.pk], held=False, actor=None, reason="settled")
    retention.sweep(now=NOW)
    assert set(Snapshot.objects.all()) == {newest}
    assert free.pk


def test_a_hold_says_who_when_and_why_and_counts_once() -> None:
    person, monitor = make_user("noa", role="admin"), make_monitor()
    snapshot = noise(monitor, 1)

    assert holds.hold_snapshots([snapshot.pk], held=True, actor=person, reason=" case 12 ") == 1
    assert holds.hold_snapshots([snapshot.pk], held=True, actor=person, reason="again") == 0
    assert holds.hold_monitors([monitor.pk], held=True, actor=person, reason="case 12") == 1

    rows = list(
        SettingChange.objects.order_by("pk").values_list("name", "old", "new", "reason", "actor_name", "monitor")
    )
    assert rows == [
        (f"legal hold, snapshot {snapshot.pk}", "no", "yes", "case 12", "noa", monitor.pk),
        ("legal hold", "no", "yes", "case 12", "noa", monitor.pk),
    ]
    with pytest.raises(ValidationError, match="Say why"):
        holds.hold_monitors([monitor.pk], held=False, actor=person, reason=" ")
    assert Monitor.objects.get(pk=monitor.pk).legal_hold


@pytest.mark.parametrize("model", ["monitor", "snapshot"])
def test_holds_are_put_and_lifted_in_admin(client: Client, model: str) -> None:
    monitor = make_monitor()
    row: Any = monitor if model == "monitor" else noise(monitor, 1)
    client.force_login(make_user("root", role="", is_superuser=True, is_staff=True))
    address = reverse(f"admin:monitoring_{model}_changelist")
    asked = {"action": "put_hold", "_selected_action": [row.pk], "index": 0}

    page = client.post(address, asked)
    assert "While it is held" in page.content.decode()
    refused = client.post(address, {**asked, "hold": "1", "reason": ""})
    assert "This field is required" in refused.content.decode()
    row.refresh_from_db()
    assert not row.legal_hold
    client.post(address, {**asked, "hold": "1", "reason": "case 12"})

    row.refresh_from_db()
    assert row.legal_hold
    client.post(address, {**asked, "action": "lift_hold", "hold": "1", "reason": "settled"})
    row.refresh_from_db()
    assert not row.legal_hold
    assert SettingChange.objects.filter(actor_name="root").count() == 2


def test_an_auditor_puts_no_hold(client: Client) -> None:
    snapshot = noise(make_monitor(), 1)
    auditor = make_user("ada", role="auditor", is_staff=True)
    auditor.user_permissions.set(Permission.objects.filter(codename="view_snapshot"))
    client.force_login(auditor)

    client.post(
        reverse("admin:monitoring_snapshot_changelist"),
        {"action": "put_hold", "_selected_action": [snapshot.pk], "hold": "1", "reason": "x", "index": 0},
    )

    snapshot.refresh_from_db()
    assert not snapshot.legal_hold


# -- what is referenced stays ---------------------------------------------------------------


def test_a_keyframe_stays_as_long_as_a_difference_rests_on_it() -> None:
    monitor = make_monitor()
    key = storage.put(words(1, 500))
    delta = storage.put(edited(words(1, 500), 1), like=key)
    last = make_snapshot(monitor, payload=delta)
    later = timezone.now() + timedelta(days=2)

    assert retention.sweep(now=later)["payloads"] == 0
    assert storage.get(delta) == edited(words(1, 500), 1)
    last.delete()

    assert retention.sweep(now=later)["payloads"] == 2  # the difference first, then what it rested on
    assert list(storage.store().objects()) == []


@pytest.mark.django_db(transaction=True)
def test_a_payload_that_is_being_stored_again_is_not_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = storage.put(b"page")
    Payload.objects.update(created_at=NOW - timedelta(days=9))
    found = retention._let_go

    def stored_again(chunk: list[Payload], now: datetime) -> list[Payload]:
        assert storage.put(b"page") == payload  # between the sweeper's look and its deletion
        return found(chunk, now)

    monkeypatch.setattr(retention, "_let_go", stored_again)

    assert retention.sweep(now=timezone.now())["payloads"] == 0
    assert storage.get(payload) == b"page"


@pytest.mark.django_db(transaction=True)
def test_a_payload_named_in_the_same_moment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = make_monitor()
    payloads = [storage.put(b"page %d" % number) for number in range(5)]
    Payload.objects.update(created_at=NOW - timedelta(days=9))
    found = retention._let_go

    def named(chunk: list[Payload], now: datetime) -> list[Payload]:
        if not Snapshot.objects.exists():
            make_snapshot(monitor, payload=payloads[2])
        return found(chunk, now)

    monkeypatch.setattr(retention, "_let_go", named)

    assert retention.sweep(now=timezone.now())["payloads"] == 4
    assert storage.get(payloads[2]) == b"page 2"


@pytest.mark.slow
def test_nothing_that_is_referenced_is_lost_while_others_write(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TIDELINE_", "DATABASE_URL"))}
    own = {"TIDELINE_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings", "TIDELINE_LOG_LEVEL": "ERROR"}
    tables.fill(f"sqlite://{tmp_path}/tideline.sqlite3", kept | own)

    done = subprocess.run(
        [sys.executable, "-m", "tests.monitoring.churn", "40"],
        env=kept | own,
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "lost 0" in done.stdout


# -- checks ------------------------------------------------------------------------------


def old_checks(monitor: Monitor, count: int, *, outcome: str = "none", **extra: Any) -> list[Check]:
    """Checks of a monitor, an hour apart, the newest a day ago."""
    first = monitor.check_no + 1
    rows = [
        make_check(
            monitor,
            check_no=first + n,
            started_at=NOW - timedelta(hours=24 + count - n),
            outcome=outcome,
            reason="same-bytes" if outcome == "none" else "",
            detector_version="",
            **extra,
        )
        for n in range(count)
    ]
    Monitor.objects.filter(pk=monitor.pk).update(check_no=first + count - 1)
    monitor.refresh_from_db()
    return rows


def aged(days: int) -> None:
    """All checks as they would be so many days later."""
    Check.objects.update(started_at=F("started_at") - timedelta(days=days))


def test_old_checks_that_nothing_needs_go_and_all_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "CHUNK", 3)
    kind = make_page_type("news", keep_checks_days=30)
    monitor, held, other = make_monitor(page_type=kind), make_monitor(page_type=kind), make_monitor()
    holds.hold_monitors([held.pk], held=True, actor=None, reason="case 12")
    (first,) = old_checks(monitor, 1, rebased=True, text_hash="a" * 32, fields={"price": 1})
    Check.objects.filter(pk=first.pk).update(reason="first-capture", detector_version="d1", vantage=monitor.vantage)
    spare = old_checks(monitor, 8)
    (content,) = old_checks(monitor, 1, outcome="content")
    change = make_change(monitor, check_row=old_checks(monitor, 1, outcome="gone")[0])
    (with_snapshot,) = old_checks(monitor, 1, outcome="noise", snapshot=noise(monitor, 1))
    errors = old_checks(monitor, 3, outcome="error")
    for one in (held, other):
        old_checks(one, 4)
    aged(60)
    newest = old_checks(monitor, 2)

    assert retention.sweep(now=NOW)["checks"] == len(spare) + len(errors)

    kept = set(monitor.checks.all())
    assert kept == {first, content, change.check_row, with_snapshot, *newest}
    assert held.checks.count() == other.checks.count() == 4
    newest[1].refresh_from_db()
    assert newest[1].as_then("text_hash") == "a" * 32
    assert newest[1].as_then("detector_version") == "d1"
    assert newest[1].as_then("vantage_id") == monitor.vantage_id
    assert retention.sweep(now=NOW)["checks"] == 0


def test_the_newest_check_stays_however_old_it_is() -> None:
    monitor = make_monitor(page_type=make_page_type("news", keep_checks_days=30))
    rows = old_checks(monitor, 3)
    aged(400)

    retention.sweep(now=NOW)

    assert list(monitor.checks.all()) == [rows[-1]]


def test_memory_and_rate_are_the_same_with_and_without_the_old_checks(watch: Any, site: Any) -> None:
    monitor = watch("/a", page(), page_type=make_page_type("news", keep_checks_days=30))
    visit(monitor)
    for n in range(14):
        site.put(
            "/a",
            page(clauses=CLAUSES[n % 3 // 2 :], extra=f"<p>Updated {n} minutes ago</p>", head=f"<script>{n}</script>"),
        )
        visit(monitor)
    Snapshot.objects.filter(role=Snapshot.Role.NOISE).delete()
    for row in Check.objects.filter(check_no__lte=11):
        Check.objects.filter(pk=row.pk).update(started_at=row.started_at - timedelta(days=40))
    memory, rate = memories.rebuild(monitor.pk), rates.rebuild(monitor.pk)
    assert memory.visits > 5

    assert retention.sweep(now=timezone.now())["checks"] >= 3

    assert memories.rebuild(monitor.pk).to_bytes() == memory.to_bytes()
    assert rates.rebuild(monitor.pk) == pytest.approx(rate)
    memories.forget(monitor.pk)
    assert memories.load(monitor).to_bytes() == memory.to_bytes()
    site.put("/a", page(clauses=CLAUSES[2:]))
    visit(monitor)
    stored = MonitorMemory.objects.get(monitor=monitor)
    assert memories.rebuild(monitor.pk, until=stored.folded_check_no).to_bytes() == bytes(stored.data)
