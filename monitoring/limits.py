"""What a worker process may use: a page that makes us allocate without end must end one visit, not the machine."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)


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


def worker_started(**_: Any) -> None:
    """What the cluster calls in each new worker process."""
    cap_memory(settings.WORKER_MEMORY_MB)
