"""An installation, back from a backup."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from monitoring.services import backups, restoring
from monitoring.services.postgres_tools import BackupError
from monitoring.storage import StorageError


class Command(BaseCommand):
    """`manage.py restore SRC`: into an empty installation whose processes are stopped."""

    help = "Restore the newest backup of a folder, or the one that the folder is, and check it; refuses to replace anything."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path)
        parser.add_argument("--force", action="store_true", help="replace what is in this installation")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done = restoring.restore(Path(options["source"]).resolve(), force=options["force"], now=backups.utc_now())
        except (BackupError, StorageError) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The database refused: {error}") from error
        if done.put_aside:
            self.stdout.write(f"The database that was here is now {done.put_aside}")
        self.stdout.write(
            f"Restored the backup of {done.manifest.made_at}: {done.written} objects written, every table has its rows, "
            f"{done.freed} visits that were under way are due again"
        )
        call_command("verify", stdout=self.stdout, stderr=self.stderr)
