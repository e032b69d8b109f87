"""Builds the memory of monitors from their check rows."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from monitoring.models import Monitor, MonitorMemory
from monitoring.services import memories


class Command(BaseCommand):
    """`manage.py rebuild_memory [--check] [ID ...]`."""

    help = "Build the memory of monitors anew from their checks; --check only compares and fails on a difference."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="monitors; all of them when none is named")
        parser.add_argument("--check", action="store_true", help="write nothing, name memories that differ")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = MonitorMemory.objects.order_by("pk")
        if options["ids"]:
            missing = set(options["ids"]) - set(
                Monitor.objects.filter(pk__in=options["ids"]).values_list("pk", flat=True)
            )
            if missing:
                raise CommandError(f"no monitor has the id {', '.join(map(str, sorted(missing)))}")
            rows = rows.filter(pk__in=options["ids"])
        different = [pk for pk in rows.values_list("pk", flat=True) if self._rebuild(pk, write=not options["check"])]
        if options["check"] and different:
            raise CommandError(f"the memory of these monitors differs: {', '.join(map(str, different))}")
        self.stdout.write(f"{rows.count()} memories, {len(different)} differed")

    def _rebuild(self, pk: int, *, write: bool) -> bool:
        """Whether the stored memory differed from the fold of its checks."""
        with transaction.atomic():
            row = MonitorMemory.objects.select_for_update().get(pk=pk)
            data = memories.rebuild(pk, until=row.folded_check_no).to_bytes()
            if data == bytes(row.data):
                return False
            if write:
                row.data = data
                row.save(update_fields=["data", "updated_at"])
            return True
