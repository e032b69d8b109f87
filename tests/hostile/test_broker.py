"""What somebody else queued: a task that can't run fails by itself, and the next one is worked."""

from __future__ import annotations

from multiprocessing import Queue, Value
from typing import Any

import pytest
from django_q.conf import Conf
from django_q.signing import BadSignature, SignedPackage
from django_q.worker import worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def workers_keep_their_limits_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that runs in the tests' own process caps the memory of nobody."""
    monkeypatch.setattr("monitoring.limits.cap_memory", lambda _megabytes: False)


def worked(*tasks: tuple[object, tuple[object, ...]]) -> list[tuple[bool, str]]:
    """Success and result of each (function, arguments), worked one after the other by one worker."""
    todo: Any = Queue()
    done: Any = Queue()
    for number, (func, args) in enumerate(tasks):
        todo.put({"id": str(number), "name": str(number), "func": func, "args": args, "kwargs": {}})
    todo.put("STOP")
    worker(todo, done, Value("i", -1), timeout=-1)
    return [(found["success"], str(found["result"])) for found in (done.get(timeout=10) for _ in tasks)]


def test_a_task_that_cannot_run_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conf, "MAX_RSS", None)  # the process that runs the tests is larger than a worker may be
    found = worked(
        ("monitoring.tasks.gone_since_the_last_release", (1,)),
        ("nothing.at.all", ()),
        ("monitoring.tasks.run_batch", ()),
        ("monitoring.tasks.run_batch", ("not a list", 7)),
        ("monitoring.tasks.run_batch", ([2**70, -1], "token")),
        ("monitoring.tasks.run_calibration", (2**40,)),
        ("monitoring.tasks.run_periodic", ("no-such-job",)),
        ("monitoring.tasks.run_periodic", ("wake-snoozed",)),
    )

    assert [success for success, _result in found[:3]] == [False, False, False]
    assert found[-2] == (True, "unknown job")
    assert found[-1] == (True, "0")


@pytest.mark.parametrize("payload", ["", "x", "gASVBAAAAAAAAABLAS4:1:forged", "a" * 100_000])
def test_an_unsigned_payload_is_never_unpacked(payload: str) -> None:
    with pytest.raises(BadSignature):
        SignedPackage.loads(payload)
