"""Whether the workers of this cluster are asked to stop: work in hand is given back then, and not begun.

The event is made before the worker processes are forked from the one that hears the signal.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
from multiprocessing.synchronize import Event

_PR_SET_PDEATHSIG = 1
_event: Event | None = None


def prepare() -> None:
    """Make what the processes started from this one will look at."""
    global _event
    _event = multiprocessing.get_context("fork").Event()


def request() -> None:
    """Ask all workers of this cluster to stop."""
    if _event is not None:
        _event.set()


def is_requested() -> bool:
    """Whether this worker is to stop."""
    return _event is not None and _event.is_set()


def end_with_parent() -> None:
    """Linux: when the process that started this one is killed outright, this one is told to stop as well."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
