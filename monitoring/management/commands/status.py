"""How the installation is doing, at one look."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.utils import timezone

from monitoring.services import standing

LEAST_S = 0.5
_HOME, _REST = "\x1b[H", "\x1b[J"  # to the top left; from here to the end of the screen, emptied


class Command(BaseCommand):
    """`manage.py status`: ends with 1 when something keeps the product from being ready."""

    requires_system_checks = []  # it is asked when things are wrong
    help = "Show due work, processes, queue, mail, budgets, storage and the last errors; ends with 1 when not ready."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="as JSON, for programs")
        parser.add_argument("--watch", type=float, metavar="SECONDS", help="again every so many seconds, until Ctrl-C")
        parser.add_argument("--times", type=int, default=0, help="with --watch: end after so many looks")

    def handle(self, *args: Any, **options: Any) -> None:
        every_s: float | None = options["watch"]
        looks = 0
        ready = False
        try:
            while True:
                ready = self._show(as_json=options["json"], in_place=every_s is not None and self.stdout.isatty())
                looks += 1
                if every_s is None or looks == options["times"]:
                    break
                connection.close()  # a look costs one connection, not one for as long as somebody looks on
                time.sleep(max(every_s, LEAST_S))
        except KeyboardInterrupt:
            self.stdout.write("")
        if not ready:
            raise SystemExit(1)

    def _show(self, *, as_json: bool, in_place: bool) -> bool:
        now = timezone.now()
        found = standing.look(now=now)
        if as_json:
            told = json.dumps(standing.as_json(found), cls=DjangoJSONEncoder)
        else:
            told = "\n".join(standing.lines(found, now=now)) + "\n"
        if in_place:
            # Over what stands there, line by line: no flicker, and nothing of the last look is left behind.
            told = _HOME + told.replace("\n", "\x1b[K\n") + _REST
        self.stdout.write(told, ending="" if in_place else "\n")
        self.stdout.flush()
        return found.health.is_ready()
