"""A thorough look at the installation."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from config.logs import escaped, hidden
from monitoring.services.doctor import TOPICS, Grade, Line, examine


class Command(BaseCommand):
    """`manage.py doctor`: ends with 1 when there is a problem."""

    requires_system_checks = []  # it makes them itself
    help = (
        "Try database, store, broker, browser, mail and more, and say what to do; ends with 1 when there is a problem."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", action="append", choices=list(TOPICS), metavar="TOPIC", help=f"one of {', '.join(TOPICS)}; may be repeated")  # fmt: skip
        parser.add_argument("--skip", action="append", choices=list(TOPICS), metavar="TOPIC", default=[], help="leave this out; may be repeated")  # fmt: skip
        parser.add_argument("--json", action="store_true", help="as JSON, for programs")
        parser.add_argument("--send-to", default="", metavar="ADDRESS", help="send a test mail there")

    def handle(self, *args: Any, **options: Any) -> None:
        topics = [name for name in options["only"] or TOPICS if name not in options["skip"]]
        counts: Counter[Grade] = Counter()
        lines = []
        for line in examine(topics, send_to=options["send_to"]):
            counts[line.grade] += 1
            lines.append(line)
            if not options["json"]:
                self._show(line)
        if options["json"]:
            self.stdout.write(hidden(json.dumps({"lines": [asdict(line) for line in lines]})))
        else:
            self.stdout.write(
                f"\n{counts[Grade.OK]} ok, {counts[Grade.WARNING]} warnings, {counts[Grade.PROBLEM]} problems"
            )
        if counts[Grade.PROBLEM]:
            raise SystemExit(1)

    def _show(self, line: Line) -> None:
        style = {Grade.OK: self.style.SUCCESS, Grade.WARNING: self.style.WARNING, Grade.PROBLEM: self.style.ERROR}
        self.stdout.write(f"{style[line.grade](f'{line.grade:<8}')} {line.topic:<11} {escaped(hidden(line.found))}")
        if line.advice:
            self.stdout.write(f"{'':<20} → {escaped(hidden(line.advice))}")
        self.stdout.flush()
