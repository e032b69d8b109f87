"""Each process is seen while it lives, and forgotten some time after it does not."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from config import logs
from monitoring.models import Process
from monitoring.services import heartbeat
from monitoring.services.heartbeat import Heart, Pulse

pytestmark = pytest.mark.django_db
WORKER = Process.Kind.WORKER


def test_a_beat_writes_one_row_and_the_next_renews_it(monkeypatch: pytest.MonkeyPatch) -> None:
    heart = Heart(WORKER, queue="browser")
    heart.beat()
    first = Process.objects.get()
    later = first.seen_at + timedelta(minutes=3)
    monkeypatch.setattr(heartbeat, "database_clock", lambda: later)
    heart.facts["at"] = "checks-ab"
    heart.beat()
    again = Process.objects.get()

    assert (first.kind, first.queue, first.facts.get("at", "")) == ("worker", "browser", "")
    assert again.seen_at == later
    assert again.started_at == first.started_at
    assert again.facts["at"] == "checks-ab"
    assert again.facts["memory_mb"] > 10


def test_two_processes_have_two_rows() -> None:
    Heart(WORKER).beat()
    Heart(WORKER).beat()

    assert Process.objects.count() == 2


def test_beats_in_quick_succession_are_left_out() -> None:
    now = [100.0]
    heart = Heart(WORKER, clock=lambda: now[0])

    assert heart.beat_if_due()
    assert not heart.beat_if_due()
    now[0] += heartbeat.LEAST_S
    assert heart.beat_if_due()


def test_how_far_the_own_clock_is_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        vendor = "postgresql"

    monkeypatch.setattr(heartbeat, "connection", Elsewhere())
    monkeypatch.setattr(heartbeat, "database_clock", lambda: timezone.now() - timedelta(seconds=90))
    Heart(WORKER).beat()

    assert Process.objects.get().clock_off_s == pytest.approx(90, abs=1)


def test_the_last_errors_stand_in_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_errors", type(logs._errors)(maxlen=3))
    handler = logs.RecentErrors(level="ERROR")
    for n in range(5):
        handler.handle(logging.makeLogRecord({"msg": f"broke {n}\nx://a:canary@b", "levelno": 40, "name": "m"}))
    Heart(WORKER).beat()

    told = [error["event"] for error in Process.objects.get().facts["errors"]]
    assert told == [f"broke {n}\\nx://[hidden]@b" for n in (2, 3, 4)]


def test_a_process_that_ends_takes_its_row_with_it() -> None:
    heart = Heart(WORKER)
    heart.beat()
    heart.stop()

    assert not Process.objects.exists()


def test_those_long_gone_and_those_of_a_wrong_clock_are_forgotten() -> None:
    now = timezone.now()
    ages = {"seen": timedelta(minutes=1), "gone": timedelta(minutes=16), "future": -timedelta(hours=1)}
    for key, age in ages.items():
        Process.objects.create(key=key, kind=WORKER, host="h", pid=1, version="1", started_at=now, seen_at=now - age)

    assert heartbeat.prune() == 2
    assert Process.objects.get().key == "seen"


def test_a_pulse_survives_a_database_that_is_away_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pulse, beats = Pulse(Heart(WORKER)), []

    def beat() -> None:
        beats.append(1)
        if len(beats) in (1, 2, 4):
            raise OperationalError("gone")

    monkeypatch.setattr(pulse.heart, "beat", beat)
    monkeypatch.setattr(heartbeat, "connection", type("C", (), {"close": staticmethod(lambda: None)}))
    for _ in range(4):
        pulse.once()

    assert len(beats) == 4
    assert len(caplog.records) == 2


def test_a_pulse_beats_in_its_own_thread_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    beaten = threading.Event()
    heart = Heart(WORKER)
    monkeypatch.setattr(heart, "beat", beaten.set)
    monkeypatch.setattr(
        "monitoring.services.tallies.flush", lambda: None
    )  # in memory its thread's connection would stay open
    pulse = Pulse(heart, every_s=0.01)
    pulse.start()

    assert beaten.wait(10)
    pulse.stop()
    assert not pulse._thread.is_alive()


def test_a_worker_tells_what_it_is_at() -> None:
    heartbeat._worker.cache_clear()
    heartbeat.task_begins({"name": "checks-ab12"})
    busy = dict(heartbeat._worker().facts)
    heartbeat.task_ended()
    idle = dict(heartbeat._worker().facts)
    heartbeat._worker.cache_clear()

    assert busy["at"] == "checks-ab12"
    assert (idle["at"], idle["tasks"]) == ("", 1)


def test_the_ticker_is_seen_after_its_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitoring.management.commands.tick import Command

    monkeypatch.setattr(Command, "_rest", lambda self, seconds: self._stop())
    monkeypatch.setattr("signal.signal", lambda *args: None)
    call_command("tick")

    assert Process.objects.get().kind == "ticker"


def test_a_worker_is_of_the_class_whose_queue_it_serves(monkeypatch: pytest.MonkeyPatch, settings: object) -> None:
    from django_q.conf import Conf

    monkeypatch.setattr(Conf, "CLUSTER_NAME", "tideline-browser")
    assert heartbeat.own_queue() == "browser"
    monkeypatch.setattr(Conf, "CLUSTER_NAME", "tideline")
    assert heartbeat.own_queue() == "http"


def test_nobody_expects_browsers_where_there_are_to_be_none(settings: Any) -> None:
    settings.BROWSER_WORKERS = 0

    assert heartbeat.expected() == {"http"}
