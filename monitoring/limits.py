"""What a worker process may use: a page that makes us allocate without end must end one visit, not the machine."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.signals import connection_created

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

_STOOD_STILL = frozenset({"25P03", "25P04"})  # idle_in_transaction_session_timeout, transaction_timeout


def cap_memory(megabytes: int) -> bool:
    """Limit what this process may allocate; whether a limit is in force afterwards.

    The data segment counts (RLIMIT_DATA), not the address space: libraries and thread stacks reserve far more of that
    than they use. Only the soft limit is set, so that a child which is bounded otherwise (the browser's) can lift it.
    """
    if resource is None or megabytes <= 0:
        return False
    wanted = megabytes * 1024 * 1024
    _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    except (OSError, ValueError) as error:
        logger.warning("memory limit not set megabytes=%d: %s", megabytes, error)
        return False
    return True


def memory_mb() -> int:
    """Most memory that this process ever held; 0 where the system does not tell."""
    return 0 if resource is None else int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def children_cpu_s() -> float:
    """Processor time of child processes that have ended and were waited for."""
    used = None if resource is None else resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime if used else 0.0


def bound_transactions() -> None:
    """Bound the transactions of this process's connections from now on; for processes that serve without end.

    Not for commands: a migration or an import may compute for long in its transaction.
    """
    connection_created.connect(_bound, dispatch_uid="bound transactions")
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            _bound(connection=connection)


def _bound(*, connection: Any, **_: Any) -> None:
    """PostgreSQL ends a transaction in which we stand still for half a lease, and a wait of ours for a lock after a lease.

    A process or machine that is stopped in the middle of a write would otherwise keep its rows from whoever takes over,
    and somebody else's forgotten transaction would stop the ticker without a word.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('idle_in_transaction_session_timeout', %s, false), set_config('lock_timeout', %s, false)",
                [f"{settings.LEASE_S * 500}ms", f"{settings.LEASE_S * 1000}ms"],
            )


def is_cut_off(error: BaseException) -> bool:
    """Whether PostgreSQL ended the transaction because it stood still for too long: Django calls that an internal error.

    Django may have connected anew since, so that only the error tells.
    """
    return getattr(error.__cause__, "sqlstate", None) in _STOOD_STILL


def worker_started(**_: Any) -> None:
    """What the cluster calls in each new worker process."""
    cap_memory(settings.WORKER_MEMORY_MB)
    bound_transactions()
