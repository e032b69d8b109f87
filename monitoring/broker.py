"""The queue's two brokers, the database and Redis, made fit for what happens to queues and to their processes.

Two things the library leaves open. It unpacks whatever is signed: a message of another release whose class is gone ends the
process that takes messages, and one written with a stolen key runs code. So a message is read here first, as plain values
only, and one that is no task of ours is dropped with a line in the log; what it stood for is due in our own tables still.
And its processes share queues behind locks: one that is killed from outside while it holds such a lock leaves the others
waiting for ever, all of them alive. So who watches over them ends them all then, and the cluster is started anew.
"""

from __future__ import annotations

import ctypes
import faulthandler
import hashlib
import io
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import time
from importlib import import_module
from typing import Any, Final, NoReturn

import redis
from django.db import DatabaseError
from django_q import core_signing
from django_q.brokers import Broker
from django_q.brokers.orm import ORM
from django_q.brokers.redis_broker import Redis
from django_q.conf import Conf

logger = logging.getLogger(__name__)

TASK_MODULES: Final = frozenset({"monitoring.tasks", "review.tasks"})
MOST_BYTES: Final = 200_000  # the largest message of ours, a batch, has a few thousand
HANGS_AFTER_S: Final = 30  # who watches over a cluster says so twice a second
TOLD_EVERY_S: Final = 60.0
CONNECT_S: Final = 5.0
ANSWER_S: Final = 15.0  # a worker waits one second for a message
_PLAIN: Final = frozenset({("datetime", "datetime"), ("datetime", "timedelta"), ("datetime", "timezone")})
_PR_SET_PDEATHSIG: Final = 1


# -- messages ----------------------------------------------------------------------------


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, texts, lists, tuples, mappings and times; nothing that has a name in a module of anybody's."""

    def find_class(self, module: str, name: str) -> Any:
        """The few classes of times; everything else is refused before it is looked for."""
        if (module, name) in _PLAIN:
            return getattr(import_module(module), name)
        raise pickle.UnpicklingError(f"holds a {module}.{name}")


class _Plain:
    """The library's serializer, but for plain values."""

    @staticmethod
    def loads(data: bytes) -> Any:
        """The values."""
        return _PlainUnpickler(io.BytesIO(data)).load()


def fault_of(package: str | bytes) -> str:
    """Why a message is no task that a worker can be given; empty for one that is."""
    if len(package) > MOST_BYTES:
        return f"has {len(package)} bytes, more than {MOST_BYTES}"
    try:
        text = package if isinstance(package, str) else package.decode("ascii")
        if text.startswith("."):
            return "is compressed, which ours are not"
        task = core_signing.loads(text, key=Conf.SECRET_KEY, salt=Conf.PREFIX, serializer=_Plain)
    except core_signing.BadSignature:
        return "was not signed with this installation's key"
    except Exception as error:  # noqa: BLE001 - whatever unpacking may raise on bytes of anybody's
        return f"can't be read: {type(error).__name__}: {error}"[:300]
    return _fault_of_task(task)


def _fault_of_task(task: object) -> str:
    if (
        not isinstance(task, dict)
        or not isinstance(task.get("args"), tuple)
        or not isinstance(task.get("kwargs"), dict)
    ):
        return "is not a task"
    path = task.get("func")
    if not isinstance(path, str) or not all(isinstance(task.get(name), str) for name in ("id", "name")):
        return "is not a task"
    module, _, name = path.rpartition(".")
    if module not in TASK_MODULES:
        return f"calls {path[:100]!r}, which is none of our tasks"
    try:
        found = getattr(import_module(module), name, None)
    except ImportError:
        found = None
    if not callable(found) or getattr(found, "__module__", "") != module:
        return f"calls {path[:100]!r}, which this release does not have"
    return ""


# -- the processes of a cluster ----------------------------------------------------------


class Warden:
    """Watches over a cluster from inside the process that makes its other processes; `look` is called twice a second.

    A child that was killed from outside may have held the lock of a queue: then all are ended. The same when nobody has
    looked for so long, because the watching process waits for such a lock itself. No process outlives the one that made it.
    """

    def __init__(self) -> None:
        self._pid = self._parent = self._forking = 0
        self._children: set[Any] = set()  # multiprocessing's own process objects

    def look(self) -> None:
        """Note who is there, and end the cluster where one of them was killed."""
        if self._pid != os.getpid():
            self._begin()
        faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=True)
        # Who was started since the last look may have ended already. Not `active_children`: it forgets who ended.
        known = self._children | set(multiprocessing.process._children)  # type: ignore[attr-defined]
        codes = {child: child.exitcode for child in known}  # asked once: nobody ends between two answers
        for child, code in codes.items():
            if code is not None and code < 0:
                self._end(child)
        self._children = {child for child, code in codes.items() if code is None}

    def _begin(self) -> None:
        self._pid, self._parent = os.getpid(), os.getppid()
        self._children = set()
        _die_with(self._parent)
        # The timer is a thread of C; a fork while it is armed would leave its lock taken in the child.
        os.register_at_fork(before=self._forks, after_in_child=self._born)

    def _forks(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._forking = os.getpid()

    def _born(self) -> None:
        if self._forking == self._pid:  # not `getppid`: the parent may have been killed by now
            _die_with(self._pid)

    def _end(self, killed: Any) -> NoReturn:
        logger.critical(
            "process %s of the cluster was killed by signal %d; the queues between the others can't be trusted: all end, start again",
            killed.pid, -killed.exitcode,
        )  # fmt: skip
        for child in multiprocessing.active_children():
            child.kill()
        if self._parent > 1 and os.getppid() == self._parent:
            os.kill(self._parent, signal.SIGKILL)  # it only waits for us, and would say that all went well
        os._exit(1)


def _die_with(parent: int) -> None:
    """Linux: this process is killed when its parent ends."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before it could be asked for


_warden = Warden()


# -- the brokers -------------------------------------------------------------------------


class _Tended(Broker):  # type: ignore[misc]  # the library has no types
    """What both brokers do besides the library's own."""

    _told = 0.0

    def dequeue(self) -> list[tuple[Any, Any]] | None:
        """Messages that workers can be given; others are dropped."""
        found = super().dequeue()
        if not found:
            return None
        good = []
        for ack_id, package in found:
            if fault := fault_of(package):
                self._drop(ack_id, package, fault)
            else:
                good.append((ack_id, package))
        return good

    def _drop(self, ack_id: Any, package: str | bytes, fault: str) -> None:
        data = package if isinstance(package, bytes) else package.encode(errors="replace")
        logger.error(
            "message sha256=%s bytes=%d dropped: it %s", hashlib.sha256(data).hexdigest()[:16], len(data), fault
        )
        self.fail(ack_id)

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        """Keep the cluster's figures; called twice a second by the process that watches over it."""
        _warden.look()
        try:
            super().set_stat(key, value, timeout)
        except (redis.RedisError, DatabaseError, OSError) as error:
            now = time.monotonic()
            if not self._told or now - self._told > TOLD_EVERY_S:
                logger.error("the broker is away: %s", error)
                self._told = now
        else:
            self._told = 0.0


class DatabaseBroker(_Tended, ORM):  # type: ignore[misc]
    """Messages in a table of the product's own database."""


class RedisBroker(_Tended, Redis):  # type: ignore[misc]
    """Messages in a list of Redis."""

    @staticmethod
    def get_connection(list_key: str | None = None) -> redis.Redis:
        """A connection that notices a server which went away."""
        found: redis.Redis = redis.from_url(
            Conf.REDIS, socket_connect_timeout=CONNECT_S, socket_timeout=ANSWER_S, health_check_interval=30
        )
        return found

    def delete(self, task_id: Any) -> None:
        """Nothing: a message is gone once it was taken."""

    def fail(self, task_id: Any) -> None:
        """Nothing: a message is gone once it was taken."""
