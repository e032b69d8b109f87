"""Removes what retention lets go; the ticker does the same once a day."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from monitoring.services.retention import sweep


class Command(BaseCommand):
    """`manage.py sweep`."""

    help = "Remove snapshots past their time, payloads nothing refers to, and leftovers of interrupted writes."

    def handle(self, *args: Any, **options: Any) -> None:
        counts = sweep(now=timezone.now())
        self.stdout.write(", ".join(f"{count} {what}" for what, count in counts.items()))
