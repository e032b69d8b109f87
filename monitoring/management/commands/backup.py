"""A backup of the database and of all stored pages."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from monitoring.services import backups
from monitoring.services.postgres_tools import BackupError
from monitoring.storage import StorageError


class Command(BaseCommand):
    """`manage.py backup DEST`: while everything runs; copies only what DEST does not have."""

    help = (
        "Back up the database and stored pages to a folder; later backups there add what is new. --verify only reads."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dest", type=Path, help="a folder, better on another disk or machine")
        parser.add_argument("--verify", action="store_true", help="read the newest backup there whole, and make none")

    def handle(self, *args: Any, **options: Any) -> None:
        dest = Path(options["dest"]).resolve()
        try:
            if options["verify"]:
                self._verify(dest)
                return
            made = backups.make(dest, now=backups.utc_now())
        except (BackupError, StorageError) as error:
            raise CommandError(str(error)) from error
        manifest = made.manifest
        self.stdout.write(
            f"{made.folder}: database {manifest.database_bytes} bytes, {manifest.objects} objects of {manifest.objects_bytes} "
            f"bytes, {made.copied} of them ({made.copied_bytes} bytes) copied now"
        )
        for problem in made.missing[:20]:
            self.stderr.write(problem)
        if made.missing:
            raise CommandError(
                f"The backup is there, but {len(made.missing)} stored pages could not be read; they are damaged in the store itself."
            )

    def _verify(self, dest: Path) -> None:
        folder = backups.newest(dest)
        manifest, problems = backups.verify(folder)
        for problem in problems[:20]:
            self.stderr.write(problem)
        if problems:
            raise CommandError(f"{folder} is damaged: {len(problems)} parts are missing or have other bytes")
        self.stdout.write(
            f"{folder} is whole: {manifest.engine}, release {manifest.version}, {manifest.objects} objects, "
            f"{manifest.counts.get('monitoring_monitor', 0)} monitors, {manifest.counts.get('monitoring_change', 0)} changes"
        )
