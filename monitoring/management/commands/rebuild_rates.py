"""Builds what is known of how often pages change from their check rows."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from monitoring.models import Monitor
from monitoring.services import rates


class Command(BaseCommand):
    """`manage.py rebuild_rates [--check] [ID ...]`."""

    help = (
        "Build the rates of change of monitors anew from their checks; --check only compares and fails on a difference."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="monitors; all of them when none is named")
        parser.add_argument("--check", action="store_true", help="write nothing, name rates that differ")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = Monitor.objects.order_by("pk")
        if options["ids"]:
            rows = rows.filter(pk__in=options["ids"])
            missing = set(options["ids"]) - set(rows.values_list("pk", flat=True))
            if missing:
                raise CommandError(f"no monitor has the id {', '.join(map(str, sorted(missing)))}")
        pks = list(rows.values_list("pk", flat=True))
        different = [pk for pk in pks if rates.differs(pk, write=not options["check"])]
        if options["check"] and different:
            raise CommandError(f"the rates of these monitors differ: {', '.join(map(str, different))}")
        self.stdout.write(f"{len(pks)} rates, {len(different)} differed")
