"""Signs of life: each process writes its row every few seconds, so that one which is missing is missed.

Rows are timed by the database's clock, which all share; how far a process's own clock is off stands beside it.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from multiprocessing import parent_process
from multiprocessing.util import Finalize
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from config import logs
from monitoring.limits import memory_mb
from monitoring.models import Process, WorkerClass
from monitoring.services import tallies

logger = logging.getLogger(__name__)

EVERY_S = 15.0
LEAST_S = 5.0
ALIVE = timedelta(seconds=60)  # seen within it, a process is there
FORGOTTEN = timedelta(minutes=15)
DEFAULT_QUEUE = "default"


def database_clock() -> datetime:
    """What time it is for the database; SQLite has this machine's clock."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


class Heart:
    """The sign of life of this process. `facts` is what it tells of itself."""

    def __init__(
        self, kind: Process.Kind, *, queue: str = DEFAULT_QUEUE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.kind, self.queue, self._clock = kind, queue, clock
        self.facts: dict[str, Any] = {}  # Any: JSON
        self._host = socket.gethostname()[:80]
        self._key = f"{self._host}:{os.getpid()}:{secrets.token_hex(4)}"
        self._began = timezone.now()
        self._last: float | None = None

    def beat(self) -> None:
        """Write the row. Raises where the database is away."""
        self._last = self._clock()
        before = timezone.now()
        seen_at = database_clock()
        asked_s = (timezone.now() - before).total_seconds()
        off_s = (before - seen_at).total_seconds() + asked_s / 2 if connection.vendor != "sqlite" else 0.0
        row = Process(
            key=self._key,
            kind=self.kind,
            queue=self.queue,
            host=self._host,
            pid=os.getpid(),
            version=settings.VERSION,
            started_at=self._began,
            seen_at=seen_at,
            clock_off_s=round(off_s, 3),
            facts={**self.facts, "memory_mb": memory_mb(), "errors": logs.recent_errors()},
        )
        Process.objects.bulk_create(
            [row],
            update_conflicts=True,
            unique_fields=["key"],
            update_fields=["seen_at", "clock_off_s", "facts"],
        )

    def beat_if_due(self, every_s: float = LEAST_S) -> bool:
        """Write the row unless that was done just now; whether it was."""
        if self._last is not None and self._clock() - self._last < every_s:
            return False
        self.beat()
        return True

    def stop(self) -> None:
        """Take the row away: this process ends by itself and is not missed."""
        Process.objects.filter(key=self._key).delete()


class Pulse:
    """A heart that beats in a thread of its own, whatever the process waits for or works at.

    The thread has a database connection only while it writes.
    """

    def __init__(self, heart: Heart, *, every_s: float = EVERY_S) -> None:
        self.heart, self._every_s = heart, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pulse", daemon=True)
        self._is_away = False

    def start(self) -> None:
        """Begin; the first beat is at once."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for the thread."""
        self._over.set()
        self._thread.join(timeout=5)

    def _work(self) -> None:
        while not self._over.is_set():
            self.once()
            self._over.wait(self._every_s)

    def once(self) -> None:
        """One beat; a database that is away is said once, not every few seconds."""
        try:
            self.heart.beat()
            tallies.flush()
        except (DatabaseError, InterfaceError) as problem:
            if not self._is_away:
                logger.warning("no sign of life could be written: %s", problem)
            self._is_away = True
        else:
            self._is_away = False
        finally:
            connection.close()


def prune() -> int:
    """Forget processes that were not seen for a while, and those seen in a future that a wrong clock wrote."""
    now = database_clock()
    gone = Process.objects.filter(seen_at__lt=now - FORGOTTEN) | Process.objects.filter(seen_at__gt=now + FORGOTTEN)
    return gone.delete()[0]


# -- workers and web processes ----------------------------------------------------------------


@cache
def _worker() -> Heart:
    return Heart(Process.Kind.WORKER, queue=own_queue())


def expected() -> set[str]:
    """The classes of workers that this deployment is set to have."""
    return {kind for kind in settings.QUEUES if kind != WorkerClass.BROWSER or settings.BROWSER_WORKERS}


def own_queue() -> str:
    """The class of workers of this process's cluster, by the queue that it takes its tasks from."""
    from django_q.conf import Conf

    name: str = Conf.CLUSTER_NAME
    return next((kind for kind, key in settings.QUEUES.items() if key == name), name)


def worker_started(**_: Any) -> None:
    """What the cluster calls in each new worker process; one that is replaced writes what it counted before it ends."""
    if parent_process() is None:  # a worker in somebody's own process (tests) lives no life of its own
        return
    Finalize(None, tallies.flush, exitpriority=10)
    Pulse(_worker()).start()
    Finalize(None, _sign_off, exitpriority=1)  # the exit handlers of the parent are not called in its children


def _sign_off() -> None:
    """A worker that is stopped or replaced is not counted any more; the row of one that was killed grows old."""
    try:
        _worker().stop()
    except (DatabaseError, InterfaceError) as problem:
        logger.warning("a worker could not sign off: %s", problem)


def task_begins(task: dict[str, Any], **_: Any) -> None:
    """What the cluster calls in a worker process before a task."""
    _worker().facts |= {"at": str(task.get("name", ""))[:60], "since": timezone.now().isoformat(timespec="seconds")}


def task_ended(**_: Any) -> None:
    """What the cluster calls there after it."""
    facts = _worker().facts
    facts |= {"at": "", "since": timezone.now().isoformat(timespec="seconds"), "tasks": facts.get("tasks", 0) + 1}


def web_started() -> None:
    """A web process tells of itself from its start on."""
    Pulse(Heart(Process.Kind.WEB)).start()
