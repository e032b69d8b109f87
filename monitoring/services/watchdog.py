"""A worker that gives no sign of life ends itself, even where it is stuck in native code and holds the interpreter.

Signals are heard only between bytecodes, and the broker's own limit comes long after a lease has ended: until then the
next worker would take the same page and be stuck as well, and the one after it. So a thread of C, which needs nothing
of the interpreter, ends the process when its lease would end; the page that it was at is known by its stage.
"""

from __future__ import annotations

import faulthandler
import time
from typing import Self


class Watchdog:
    """Ends the process `limit_s` seconds after the last sign of life, and says on standard error where it stood.

    Use as a context manager; one per process at a time. A sign costs a thread, so those in quick succession are left out.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._told = 0.0

    def __enter__(self) -> Self:
        self._arm(time.monotonic())
        return self

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()

    def alive(self) -> None:
        """Give a sign of life."""
        now = time.monotonic()
        if now - self._told > self._limit_s / 10:
            self._arm(now)

    def _arm(self, now: float) -> None:
        self._told = now
        faulthandler.dump_traceback_later(self._limit_s, exit=True)
