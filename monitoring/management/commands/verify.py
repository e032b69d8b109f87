"""Checks that the stored evidence is whole: every payload's bytes are there and have their digest."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from monitoring import storage
from monitoring.models import Payload


class Command(BaseCommand):
    """`manage.py verify`: fails and names the first damaged payloads."""

    help = "Read every stored payload and compare it with its SHA-256; fails when one is missing or damaged."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--show", type=int, default=20, help="how many damaged payloads to name")

    def handle(self, *args: Any, **options: Any) -> None:
        good = 0
        problems: list[str] = []
        for payload in Payload.objects.order_by("pk").iterator(chunk_size=200):
            try:
                storage.get(payload)
            except storage.PayloadDamageError as error:
                problems.append(str(error))
            else:
                good += 1
        for problem in problems[: options["show"]]:
            self.stderr.write(problem)
        if problems:
            raise CommandError(f"{len(problems)} of {good + len(problems)} payloads are damaged")
        self.stdout.write(f"{good} payloads are whole")
