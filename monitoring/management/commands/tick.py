"""The ticker: a long-running process that hands due work to the workers."""

from __future__ import annotations

import logging
import signal
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import close_old_connections
from django.utils import timezone

from monitoring import limits
from monitoring.models import Process
from monitoring.services import heartbeat, promises, tallies
from monitoring.services.ticker import Turn, turn

logger = logging.getLogger(__name__)

TELL_AGAIN_S = 600.0
LONGEST_WAIT_S = 30.0
STAND_IN_S = 30.0


class Command(BaseCommand):
    """`manage.py tick`: several may run; `--once` makes one turn and ends."""

    requires_system_checks = []  # the web server makes them; a ticker has no pages
    _stopping = False
    _told_until = 0.0
    _looks_at = 0.0
    help = "Hand due monitors and periodic jobs to the workers, every few seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--every", type=float, default=2.0, help="seconds between two turns")
        parser.add_argument("--once", action="store_true", help="make one turn and end")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["once"]:
            self.stdout.write(str(turn(now=timezone.now())))
            return
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, self._stop)
        limits.bound_transactions()
        wait = every = options["every"]
        heart = heartbeat.Heart(Process.Kind.TICKER)
        while not self._stopping:
            try:
                self._tell(turn(now=timezone.now()))
                heart.beat_if_due()
                self._stand_in()
                tallies.flush_due()
            except Exception:
                wait = min(wait * 2, LONGEST_WAIT_S)
                logger.exception("ticker failed, next turn in %.0f s", wait)
                close_old_connections()
            else:
                wait = every
            self._rest(wait)

    def _tell(self, done: Turn) -> None:
        """Say every ten minutes that pages wait for workers that do not exist."""
        if done.unrendered and time.monotonic() >= self._told_until:
            self._told_until = time.monotonic() + TELL_AGAIN_S
            logger.warning("no worker renders pages due=%d; start one with: manage.py work browser", done.unrendered)

    def _stand_in(self) -> None:
        """Look after promises every half minute where no worker is there to do it."""
        if time.monotonic() >= self._looks_at:
            self._looks_at = time.monotonic() + STAND_IN_S
            if promises.stand_in(now=timezone.now()):
                logger.warning("no worker looks after promises; the ticker does")

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _rest(self, seconds: float) -> None:
        """Wait, but notice within a quarter of a second that the process is to end."""
        ends = time.monotonic() + seconds
        while not self._stopping and (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, 0.25))
