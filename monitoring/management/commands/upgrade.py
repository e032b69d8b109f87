"""An upgrade of the database while the release before goes on working."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from monitoring.services import backups
from monitoring.services.postgres_tools import BackupError

LOCK_TIMEOUT_MS = 2_000
RETRIES = 30
PAUSE_S = 2.0
_LOCKED = {"55P03", "40P01", "57014"}  # lock not available, deadlock, statement cancelled


class Command(BaseCommand):
    """`manage.py upgrade`: what `migrate` does, but it never holds up others for long, and can be repeated at any point."""

    help = "Bring the database to this release, one migration at a time; waits for no lock longer than two seconds."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--plan", action="store_true", help="only show what would be done")
        parser.add_argument(
            "--lock-timeout-ms", type=int, default=LOCK_TIMEOUT_MS, help="PostgreSQL: longest wait for a lock"
        )
        parser.add_argument(
            "--retries", type=int, default=RETRIES, help="how often a step that met a lock is tried again"
        )
        parser.add_argument("--no-backup", action="store_true", help="SQLite: do not copy the database file first")

    def handle(self, *args: Any, **options: Any) -> None:
        steps = self._steps()
        if not steps:
            self.stdout.write("The database is that of this release; nothing to do")
            return
        for step in steps:
            self.stdout.write(f"  {step.app_label}.{step.name}: {self._words(step)}")
        if options["plan"]:
            return
        if connection.vendor == "sqlite" and not options["no_backup"] and self._is_filled():
            self._keep_copy()
        for step in steps:
            self._apply(step, lock_ms=options["lock_timeout_ms"], retries=options["retries"])
        call_command("migrate", interactive=False, verbosity=0)  # permissions and content types of new tables
        self._analyse()
        self.stdout.write(self.style.SUCCESS(f"The database is that of release {settings.VERSION}"))

    def _analyse(self) -> None:
        """Tell the database what is in its tables now.

        PostgreSQL takes a new column that it knows nothing of for rarely empty, and SQLite forgets what it knew of a table
        that was made anew for a new column.
        """
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")

    def _steps(self) -> list[Migration]:
        executor = MigrationExecutor(connection)
        if conflicts := executor.loader.detect_conflicts():
            raise CommandError(
                f"Migrations of {', '.join(sorted(conflicts))} have more than one end; this is no release."
            )
        if unknown := self._of_a_newer_release(executor):
            raise CommandError(
                f"The database has migrations that this release does not know ({', '.join(unknown[:3])}): it is that of a newer "
                "release. Start that one, or restore a backup from before it."
            )
        return [step for step, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes())]

    def _of_a_newer_release(self, executor: MigrationExecutor) -> list[str]:
        ours = {"monitoring", "review"}
        known = executor.loader.disk_migrations
        return sorted(
            f"{app}.{name}"
            for app, name in executor.loader.applied_migrations
            if app in ours and (app, name) not in known
        )

    def _words(self, step: Migration) -> str:
        words = ", ".join(operation.describe() for operation in step.operations) or "no change of tables"
        return words if len(words) <= 300 else f"{words[:297]}..."

    def _is_filled(self) -> bool:
        with connection.cursor() as cursor:
            return "monitoring_monitor" in connection.introspection.table_names(cursor)

    def _keep_copy(self) -> None:
        """A copy of the database file beside it, made while others read and write."""
        source = Path(str(connection.settings_dict["NAME"]))
        copy = source.with_name(f"{source.name}.before-{settings.VERSION}-{backups.utc_now():%Y%m%dT%H%M%SZ}")
        try:
            backups.copy_sqlite(source, copy)
        except (BackupError, OSError) as error:
            copy.unlink(missing_ok=True)
            raise CommandError(f"No copy of the database could be made, nothing was changed: {error}") from error
        self.stdout.write(f"A copy of the database is {copy}")

    def _apply(self, step: Migration, *, lock_ms: int, retries: int) -> None:
        """One migration. A step that met a lock is rolled back, or where it is several transactions begun again."""
        for left in range(retries, -1, -1):
            try:
                self._set_lock_timeout(lock_ms)
                # Not the command: what it does afterwards (roles, permissions) needs the tables of all applications.
                MigrationExecutor(connection).migrate([(step.app_label, step.name)])
            except OperationalError as error:
                if not left or getattr(error.__cause__, "sqlstate", "") not in _LOCKED:
                    raise CommandError(f"{step.app_label}.{step.name} failed, and may be repeated: {error}") from error
                self.stdout.write(f"  {step.app_label}.{step.name}: a lock was held too long, again in {PAUSE_S:.0f} s")
                time.sleep(PAUSE_S)
            else:
                self.stdout.write(f"  {step.app_label}.{step.name}: done")
                return
            finally:
                self._set_lock_timeout(0)

    def _set_lock_timeout(self, milliseconds: int) -> None:
        if connection.vendor != "postgresql":
            return
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [str(milliseconds)])
