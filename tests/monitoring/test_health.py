"""Each fault is found, named and graded; a sound installation is ready."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from monitoring.models import OutboxMessage, Process
from monitoring.services import brokers, health, heartbeat, storeprobe
from monitoring.services.health import Finding, State
from monitoring.services.heartbeat import Heart
from tests.factories import make_monitor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sound() -> None:
    """A ticker and a worker are there."""
    Heart(Process.Kind.TICKER).beat()
    for queue in heartbeat.expected():
        Heart(Process.Kind.WORKER, queue=queue).beat()


def look(name: str) -> Finding:
    """The finding of one part."""
    found = health.collect(now=timezone.now())
    return next(finding for finding in found.findings if finding.name == name)


def ago(**length: float) -> Any:
    """A time before now."""
    return timezone.now() - timedelta(**length)


def test_a_sound_installation_is_ready() -> None:
    found = health.collect(now=timezone.now())

    assert [f for f in found.findings if f.state != State.OK] == []
    assert found.is_ready()


@pytest.mark.parametrize(("age_s", "state"), [(20, "ok"), (40, "warning"), (130, "problem")])
def test_a_ticker_that_stopped(age_s: int, state: str) -> None:
    Process.objects.filter(kind="ticker").update(seen_at=ago(seconds=age_s))

    assert look("ticker").state == state


def test_no_ticker_at_all() -> None:
    Process.objects.filter(kind="ticker").delete()

    assert look("ticker") == Finding("ticker", State.PROBLEM, "none was seen for 15 min; start manage.py tick")


@pytest.mark.parametrize(("age_s", "state"), [(50, "ok"), (70, "warning"), (310, "problem")])
def test_workers_that_are_gone(age_s: int, state: str) -> None:
    Process.objects.filter(kind="worker").update(seen_at=ago(seconds=age_s))

    assert look("workers").state == state


def test_a_class_of_workers_that_is_gone_is_named() -> None:
    heart = Heart(Process.Kind.WORKER, queue="night")
    heart.beat()
    Process.objects.filter(queue="night").update(seen_at=ago(minutes=6))
    found = look("workers")

    assert found.state == State.PROBLEM
    assert "no worker of class night was seen for 6 min" in found.said


def test_a_class_that_the_settings_name_is_missed(settings: Any) -> None:
    settings.QUEUES = {**settings.QUEUES, "night": "tideline-night"}

    assert "no worker of class night" in look("workers").said


@pytest.mark.parametrize(("minutes", "state"), [(5, "ok"), (15, "warning"), (70, "problem")])
def test_visits_that_are_late(minutes: int, state: str) -> None:
    make_monitor(next_check_at=ago(minutes=minutes))

    assert look("due").state == state


@pytest.mark.parametrize("held", ["rest_until", "next_free_at"])
def test_visits_that_their_site_holds_back_are_not_late(held: str) -> None:
    monitor = make_monitor(next_check_at=ago(hours=9))
    setattr(monitor.site, held, timezone.now() + timedelta(minutes=5))
    monitor.site.save()

    assert look("due").state == State.OK


def test_a_late_one_behind_many_that_are_held_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitoring.services.readings.LOOKED", 2)
    full = make_monitor(next_check_at=ago(hours=9))
    full.site.rest_until = timezone.now() + timedelta(hours=1)
    full.site.save()
    for hours in (8, 7, 6):
        make_monitor(next_check_at=ago(hours=hours), site=full.site)
    make_monitor(next_check_at=ago(hours=2))

    assert look("due").state == State.PROBLEM


@pytest.mark.parametrize(("seconds", "state"), [(20, "ok"), (90, "warning"), (700, "problem")])
def test_leases_that_nobody_frees(seconds: int, state: str) -> None:
    make_monitor(lease_until=ago(seconds=seconds), lease_token="t")

    assert look("leases").state == state


@pytest.mark.parametrize(
    ("hours", "attempts", "state"), [(0, 0, "ok"), (1, 0, "warning"), (0, 3, "warning"), (25, 9, "problem")]
)
def test_mail_that_does_not_go_out(hours: int, attempts: int, state: str) -> None:
    mail = OutboxMessage.objects.create(key="k", kind="x", recipient="a@b.example", subject="", text="", message_id="", attempts=attempts, last_error="451 later", next_attempt_at=ago(hours=0))  # fmt: skip
    OutboxMessage.objects.filter(pk=mail.pk).update(created_at=ago(hours=hours))
    found = look("outbox")

    assert found.state == state
    assert ("451 later" in found.said) == (attempts >= 3)


@pytest.mark.parametrize(("off_s", "state"), [(0.5, "ok"), (-3, "warning"), (45, "problem")])
def test_a_clock_that_is_wrong(off_s: float, state: str) -> None:
    Process.objects.filter(kind="worker").update(clock_off_s=off_s)

    assert look("clock").state == state


def test_a_migration_that_is_missing() -> None:
    app, name = health._leaves()[-1]
    MigrationRecorder.Migration.objects.filter(app=app, name=name).delete()
    found = look("migrations")

    assert found.state == State.PROBLEM
    assert f"{app}.{name}" in found.said


def test_a_newer_schema_than_this_release_is_fine() -> None:
    MigrationRecorder.Migration.objects.create(app="monitoring", name="9999_of_tomorrow")

    assert look("migrations").state == State.OK


def test_a_store_that_takes_nothing(settings: Any, tmp_path: Path) -> None:
    settings.PAYLOAD_DIR = tmp_path / "file"
    settings.PAYLOAD_DIR.write_text("no folder")

    assert look("storage").state == State.PROBLEM


def test_trying_the_store_leaves_nothing(settings: Any) -> None:
    assert storeprobe.why_unfit() == ""
    assert storeprobe.try_store() == ""
    assert [path for path in Path(settings.PAYLOAD_DIR).rglob("*") if path.is_file()] == []


def test_a_store_that_gives_back_other_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitoring.storage.FileStore.read", lambda self, name: b"other")

    assert storeprobe.try_store() == "other bytes came back than were written"


def test_a_service_is_asked_once_a_minute(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def ask() -> str:
        asked.append(1)
        return "it answers 503"

    settings.STORAGE = object()
    monkeypatch.setattr(storeprobe, "_last", None)
    monkeypatch.setattr(storeprobe, "try_store", ask)
    found = [look("storage") for _ in range(3)]

    assert {(f.state, f.said) for f in found} == {(State.PROBLEM, "page bytes can't be stored: it answers 503")}
    assert len(asked) == 1


@pytest.mark.parametrize(("free", "state"), [(3 << 30, "ok"), (1 << 30, "warning"), (100 << 20, "problem")])
def test_a_disk_that_fills_up(free: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storeprobe, "rooms", lambda: [storeprobe.Room(Path("/data"), free, 9 << 30)])

    assert look("disk").state == state


def test_the_nearest_folder_that_exists_tells_the_room(tmp_path: Path) -> None:
    assert len(storeprobe.rooms_of([tmp_path / "a" / "b", tmp_path])) == 1


def test_a_broker_that_is_away(settings: Any) -> None:
    settings.REDIS_URL = "redis://:canary@127.0.0.1:1/0"
    found = look("broker")

    assert found.state == State.PROBLEM
    assert "canary" not in found.said
    assert brokers.waiting() is None


def test_a_database_that_is_away_is_the_only_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        vendor = "postgresql"

        def cursor(self) -> Any:
            raise OperationalError("connection refused")

    monkeypatch.setattr(health, "connection", Away())
    found = health.collect(now=timezone.now())
    states = {finding.name: finding.state for finding in found.findings}

    assert [finding.name for finding in found.problems] == ["database"]
    assert states["due"] == State.UNKNOWN
    assert states["storage"] == State.OK
    assert not found.is_ready(health.WEB)


def test_one_look_that_the_database_refuses_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> Any:
        raise OperationalError("canceling statement")

    monkeypatch.setattr("monitoring.services.readings.mail", refused)
    found = health.collect(now=timezone.now())

    assert [finding.name for finding in found.problems] == ["outbox"]


def test_a_web_process_can_be_ready_without_workers() -> None:
    Process.objects.all().delete()
    found = health.collect(now=timezone.now())

    assert not found.is_ready()
    assert found.is_ready(health.WEB)


def test_each_part_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/operations.md").read_text()

    for name in ("database", *health._LOOKS):
        assert f"| `{name}` |" in page
