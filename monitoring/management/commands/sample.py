"""`manage.py sample ensure|remove`: the sample workspace."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from monitoring.models import Monitor
from monitoring.sample import workspace


class Command(BaseCommand):
    """Makes the sample workspace on a first run, or removes it."""

    help = "Make the sample workspace (first run only), or remove it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["ensure", "remove"])

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "remove":
            self.stdout.write(f"Removed {workspace.remove()} sample monitors")
            return
        marker = Path(settings.DATA_DIR) / "sample-made"
        if marker.exists() or Monitor.objects.filter(is_canary=False).exists():
            return
        made = workspace.make(timezone.now())
        marker.touch()
        self.stdout.write(f"Sample workspace: {made} fictional pages; the first finds arrive within two minutes")
