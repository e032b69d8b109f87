"""Team, vantage and page types of a new installation."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from monitoring.services.defaults import ensure_defaults


class Command(BaseCommand):
    """`manage.py ensure_defaults`: makes what is missing; changes nothing that is there."""

    help = "Make the first team, vantage and page types where they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        made = ensure_defaults()
        if options["verbosity"]:
            self.stdout.write("\n".join(f"made {what}" for what in made) or "nothing was missing")
