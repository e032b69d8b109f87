"""Checks that the stored evidence is whole: every payload's bytes are there and have their digest."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from monitoring import storage
from monitoring.services.inspection import Fault, inspect


class Command(BaseCommand):
    """`manage.py verify`: fails and names the first damaged payloads."""

    help = (
        "Read every stored payload with the keyframe it rests on, and compare it with its checksums; fails when one is "
        "missing or damaged. Needs little memory; --after goes on where an earlier run stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--show", type=int, default=20, help="how many damaged payloads to name")
        parser.add_argument("--after", type=int, default=0, metavar="N", help="begin after payload number N")
        parser.add_argument("--every", type=int, default=10_000, metavar="N", help="say how far it is after so many")

    def handle(self, *args: Any, **options: Any) -> None:
        seen = bad = 0
        last = options["after"]
        try:
            for payload, fault in inspect(after=last):
                seen, last = seen + 1, payload.pk
                if fault is not None:
                    bad += 1
                    self._name(fault, first=bad == 1, shown=bad <= options["show"])
                if seen % options["every"] == 0:
                    self.stdout.write(f"{seen} payloads read, {bad} damaged; up to number {last}")
        except storage.StorageUnavailableError as error:
            raise CommandError(
                f"the store does not answer ({error}); {seen} payloads were read, go on with --after {last}"
            ) from error
        if bad:
            raise CommandError(f"{bad} of {seen} payloads are damaged")
        self.stdout.write(f"{seen} payloads are whole")

    def _name(self, fault: Fault, *, first: bool, shown: bool) -> None:
        if first:
            self.stderr.write(f"first damaged record: {fault.line}")
        elif shown:
            self.stderr.write(fault.line)
