"""Workers by class: what `qcluster` does, with a name that says so."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from monitoring.models import WorkerClass


class Command(BaseCommand):
    """`manage.py work http`, `manage.py work browser`; without a class both."""

    help = "Start this machine's workers: of one class, or of both."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", nargs="?", choices=[kind.value for kind in WorkerClass], help="default: both")
        parser.add_argument("--processes", type=int, help="how many workers, instead of what the settings say")

    def handle(self, *args: Any, **options: Any) -> None:
        kind, processes = options["kind"], options["processes"]
        if kind:
            os.environ["Q_CLUSTER_NAME"] = settings.QUEUES[kind]
        if processes is not None:
            name = "TIDELINE_BROWSER_WORKERS" if kind == WorkerClass.BROWSER else "TIDELINE_WORKERS"
            os.environ[name] = str(processes)
        os.execv(sys.executable, [sys.executable, sys.argv[0], "qcluster"])  # noqa: S606 - ourselves, with other settings
