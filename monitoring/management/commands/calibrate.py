"""`manage.py calibrate MONITOR`: quiet re-fetches and a proposed threshold, with progress."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from monitoring.models import CalibrationRun, Monitor
from monitoring.services import calibrate, refetch


class Command(BaseCommand):
    """Proposes; a person applies."""

    help = "Fetch a monitor's page several times in quick succession and propose a threshold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("monitor", type=int, help="the monitor's number, as in its address")
        parser.add_argument("--fetches", type=int, default=calibrate.FETCHES)

    def handle(self, *args: Any, **options: Any) -> None:
        monitor = Monitor.objects.filter(pk=options["monitor"]).first()
        if monitor is None:
            raise CommandError(f"There is no monitor {options['monitor']}.")
        try:
            run = calibrate.start_run(monitor, fetches=options["fetches"], enqueue=False)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        refetch.work(run.pk)
        run.refresh_from_db()
        if run.state == CalibrationRun.State.FAILED:
            raise CommandError(f"Fetch {run.fetched + 1} of {run.fetches}: {run.problem}")
        self.stdout.write(f"{run.fetched} fetches, distances {sorted(run.distances)} bits")
        self.stdout.write(
            f"Proposed threshold: {run.proposed_threshold} (in force: {monitor.effective_threshold}). "
            "Apply it on the monitor's calibration page."
        )
