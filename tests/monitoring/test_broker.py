"""Messages that are no tasks of ours are dropped, and a cluster with a killed process is ended whole."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from multiprocessing import Event
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.pusher import pusher
from django_q.signing import SignedPackage

from monitoring import broker, queueing

ROOT = Path(__file__).resolve().parents[2]


class Gone:
    """A class that is not there any more where its pickle is read."""


RAN: list[str] = []


def message(**changes: Any) -> str:
    """A message as the library signs it."""
    task: dict[str, Any] = {
        "id": "1", "name": "job", "func": "monitoring.tasks.run_periodic", "args": ("outbox",), "kwargs": {},
        "started": timezone.now(), "save": False, "ack_failure": True,
    }  # fmt: skip
    package: str = SignedPackage.dumps(task | changes)
    return package


def dead(monkeypatch: pytest.MonkeyPatch) -> str:
    """A message with an object whose class is gone."""
    package = message(args=(Gone(),))
    monkeypatch.delitem(globals(), "Gone")
    return package


@pytest.mark.parametrize(
    ("package", "says"),
    [
        (message(func="os.system", args=("true",)), "none of our tasks"),
        (message(func="monitoring.tasks.gone_since_the_last_release"), "this release does not have"),
        (message(func="monitoring.tasks.timezone.now"), "none of our tasks"),
        (message(func="monitoring.tasks.Watchdog"), "this release does not have"),
        (message(func="review.tasks.not_written_yet"), "this release does not have"),
        (message(args=(os.getpid,)), "posix.getpid"),
        (message(func=print), "builtins.print"),
        (message(args=["outbox"]), "not a task"),
        (message(args=("x" * broker.MOST_BYTES,)), "more than"),
        (str(SignedPackage.dumps({"args": "x" * 5000}, True)), "compressed"),
        (str(SignedPackage.dumps(17)), "not a task"),
        (message()[:-1], "not signed"),
        ("", "not signed"),
        ("x" * 1000, "not signed"),
        ("gASVBAAAAAAAAABLAS4:1:forged", "not signed"),
    ],
    ids=range(15),
)
def test_what_is_no_task_of_ours_is_told_apart(package: str, says: str) -> None:
    assert says in broker.fault_of(package)
    assert says in broker.fault_of(package.encode())


def test_a_class_that_is_gone_is_a_fault_and_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    package = dead(monkeypatch)

    with pytest.raises(AttributeError):
        SignedPackage.loads(package)
    assert "Gone" in broker.fault_of(package)


def test_reading_a_message_runs_nothing_of_it() -> None:
    class Canary:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, (f"import {__name__} as t; t.RAN.append('code')",)

    package = message(args=(Canary(),))
    SignedPackage.loads(package)
    assert RAN == ["code"]
    RAN.clear()

    assert "builtins.exec" in broker.fault_of(package)
    assert RAN == []


def test_bytes_that_are_no_text_are_a_fault() -> None:
    assert "can't be read" in broker.fault_of(b"\xff\x00\x80")


def test_the_library_cuts_a_message_of_ours_to_nothing_we_refuse() -> None:
    assert broker.fault_of(message(func="monitoring.tasks.run_batch", args=([2**60] * 200, "f" * 32))) == ""


@pytest.mark.django_db
def test_the_process_that_takes_messages_survives_what_it_cannot_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = queueing.enqueue_job
    good("outbox")
    for package in (dead(monkeypatch), message(args=(print,)), "forged", message(func="os.system")):
        OrmQ.objects.create(key=Conf.CLUSTER_NAME, payload=package, lock=timezone.now())
    good("digests")
    monkeypatch.setattr(Conf, "BULK", 10)
    done = Event()
    done.set()  # one turn
    taken: list[Any] = []

    class Queue:
        put = staticmethod(taken.append)

    with caplog.at_level(logging.ERROR, "monitoring.broker"):
        pusher(Queue(), done, get_broker())

    assert [task["args"] for task in taken] == [("outbox",), ("digests",)]
    assert OrmQ.objects.count() == 2
    assert len([line for line in caplog.messages if "dropped" in line]) == 4


_CLUSTER = """
import multiprocessing, os, sys, time
import django
django.setup()
from monitoring import broker
kind = sys.argv[1]
context = multiprocessing.get_context("fork")
def child():
    time.sleep(600)
def watching():
    warden = broker.Warden()
    warden.look()
    children = [context.Process(target=child) for _ in range(3)]
    for process in children:
        process.start()
    print(" ".join(str(process.pid) for process in children), flush=True)
    if kind == "hangs":
        broker.HANGS_AFTER_S = 1
        warden.look()
        time.sleep(600)
    while True:
        warden.look()
        time.sleep(0.05)
main = context.Process(target=watching)
main.start()
print(main.pid, flush=True)
main.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["child", "sentinel", "main", "hangs"])
def test_no_process_of_a_cluster_outlives_a_killed_one(kind: str) -> None:
    """The others may wait for a lock that the killed one held; whoever started the cluster learns of it."""
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(_CLUSTER), kind],
        cwd=ROOT, env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with program, contextlib.ExitStack() as stack:
        stack.callback(program.kill)
        assert program.stdout is not None
        sentinel = int(program.stdout.readline())
        children = [int(pid) for pid in program.stdout.readline().split()]

        if kind != "hangs":
            os.kill({"child": children[1], "sentinel": sentinel, "main": program.pid}[kind], signal.SIGKILL)
        status = program.wait(timeout=60)
        ends = time.monotonic() + 60
        while any(_lives(pid) for pid in (sentinel, *children)) and time.monotonic() < ends:
            os.sched_yield()

        assert not [pid for pid in (sentinel, *children) if _lives(pid)]
        assert status == {"child": -signal.SIGKILL, "main": -signal.SIGKILL}.get(kind, 0)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
