"""Processes of the product, forked from one that has everything imported, so that a new life costs milliseconds."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path

from tests.chaos import faults
from tests.chaos.world import alone

logger = logging.getLogger(__name__)


def die_with_parent() -> None:
    """Linux: whoever ends the one that started this process ends this one, stopped or not."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Life:
    """A forked process."""

    def __init__(self, body: Callable[[], object], log: Path) -> None:
        alone()
        self.status: int | None = None
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            die_with_parent()
            os.setsid()
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            body()
            code = 0
        except BaseException:  # noqa: BLE001 - the top of a process
            traceback.print_exc()
        finally:
            os._exit(code)

    def ended(self) -> bool:
        """Whether it has ended; `status` says how."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return self.status is not None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    def send(self, signum: int) -> None:
        """A signal to it alone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """SIGKILL to its session, and wait."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.send(signal.SIGKILL)
        while not self.ended():
            time.sleep(0.01)


def only_mail_by_the_clock(every_s: float = 0.3) -> None:
    """Of the periodic jobs keep the one that sends mail, more often: what the others do is not counted here."""
    from datetime import timedelta

    from monitoring import queueing
    from monitoring.services import outbox

    vars(queueing)["_registry"].clear()
    queueing.periodic("outbox", every_s, "monitoring.services.outbox.send_due", when="monitoring.queueing.mail_waits")
    vars(outbox)["LEASE"] = timedelta(seconds=3)


def unwatched() -> None:
    """As `solo`, but its watchdog does not end it: what stands between a stale result and the disk is the lease alone."""
    from monitoring import tasks

    vars(tasks)["Watchdog"] = lambda _limit_s: contextlib.nullcontext(types.SimpleNamespace(alive=lambda: None))
    solo()


def solo(most: int = 8) -> None:
    """A ticker and a worker in one, without a broker between them: turn after turn, and every task that is handed over.

    It takes few monitors at a time, so that the next life has something to do until the leases of this one are over.
    """
    from django.conf import settings
    from django.db import Error, close_old_connections
    from django.utils import timezone
    from django.utils.module_loading import import_string

    from monitoring import limits, queueing
    from monitoring.models import WorkerClass
    from monitoring.services import pools, schedule, ticker

    limits.worker_started()
    vars(pools)["capacity"] = lambda **_: dict.fromkeys(WorkerClass, 0)  # turns hand nothing out: this loop does
    waiting: list[tuple[str, tuple[object, ...]]] = []
    vars(queueing)["async_task"] = lambda path, *args, **_: waiting.append((path, args))
    while True:
        try:
            ticker.turn(now=timezone.now())
            for claim in schedule.claim_due(now=timezone.now(), limit=most, lease_s=settings.LEASE_S, workers=1):
                queueing.enqueue_batch(claim.ids, claim.token)
            while waiting:
                path, args = waiting.pop(0)
                import_string(path)(*args)
        except Error:
            logger.exception("the database")
            faults.refuse()
            close_old_connections()
        time.sleep(0.05)


def workers() -> None:
    """What `manage.py qcluster` runs, until it ends."""
    from django.core.management import call_command

    call_command("qcluster")
    for child in multiprocessing.active_children():
        child.join()


def ticking() -> None:
    """What `manage.py tick` runs."""
    from django.core.management import call_command

    call_command("tick", every=0.3)
