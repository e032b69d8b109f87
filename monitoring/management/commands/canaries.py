"""Canaries on pages of somebody else; our own make themselves."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from monitoring.models import Outcome
from monitoring.services import canaries, canary_setup


class Command(BaseCommand):
    """`manage.py canaries list|add|remove`."""

    help = "List canaries, name one on somebody else's page whose changes are known beforehand, or give such a one up."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["list", "add", "remove"])
        parser.add_argument("target", nargs="?", default="", help="add: the page's address; remove: the canary's name")
        parser.add_argument("--key", default="", help="add: a short name for it")
        parser.add_argument("--expect", choices=Outcome.values, default=Outcome.CONTENT, help="what a visit must find")
        parser.add_argument("--every", type=int, default=86_400, help="seconds between two changes of the page")
        parser.add_argument("--phase", type=int, default=0, help="seconds after a multiple of that since 1970, UTC")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "add":
            self._add(options)
        elif options["action"] == "remove" and not canary_setup.remove(options["target"]):
            raise CommandError("No canary on somebody else's page has that name.")
        for one in canaries.standings(now=timezone.now()):
            last = f"{one.last.planted_at:%Y-%m-%d %H:%M} {one.last.state}" if one.last else "not tried yet"
            self.stdout.write(f"{one.canary.key:<12} {one.canary.expected:<8} {last:<26} {one.canary.monitor.url}")

    def _add(self, options: dict[str, Any]) -> None:  # Any: values of many types
        try:
            canary_setup.name_external(
                options["target"],
                key=options["key"],
                expected=options["expect"],
                every_s=options["every"],
                phase_s=options["phase"],
                now=timezone.now(),
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
