"""Workers: the queue library's cluster, of one class or of both, that gives its work back when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from monitoring import stopping
from monitoring.models import WorkerClass


class Command(BaseCommand):
    """`manage.py qcluster`: without a name it serves both queues, the second one from a process of its own."""

    help = "Start the workers of this machine: both classes, or the one whose queue Q_CLUSTER_NAME names."
    requires_system_checks = []  # the web server makes them
    _stopping = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("-n", "--name", default="", help="the queue to serve; the same as Q_CLUSTER_NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] and options["name"] != settings.CLUSTER_NAME:
            # The queue library reads the variable when it is imported, which it is by now.
            os.environ["Q_CLUSTER_NAME"] = options["name"]
            os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - our own command line again
        beside = None
        if not settings.CLUSTER_NAME and settings.BROWSER_WORKERS:
            environment = {**os.environ, "Q_CLUSTER_NAME": settings.QUEUES[WorkerClass.BROWSER]}
            beside = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, sys.argv[0], "qcluster"], env=environment, preexec_fn=stopping.end_with_parent
            )
        kind = WorkerClass.BROWSER if settings.QUEUES["browser"] == settings.CLUSTER_NAME else WorkerClass.HTTP
        if kind == WorkerClass.BROWSER and not settings.BROWSER_WORKERS:
            raise CommandError("TIDELINE_BROWSER_WORKERS is 0: this machine has no workers that render pages.")
        self._serve(kind, beside)

    def _serve(self, kind: WorkerClass, beside: subprocess.Popen[bytes] | None) -> None:
        """Run a cluster until it is stopped; fails when it, or the one beside it, ends by itself."""
        from django_q.cluster import Cluster

        stopping.prepare()
        cluster = Cluster()
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, self._stop)
        connections.close_all()
        cluster.start()
        failed = ""
        while not self._stopping and not failed:
            time.sleep(0.25)
            if not cluster.sentinel.is_alive():
                failed = f"The cluster of class {kind} ended by itself"
            elif beside is not None and beside.poll() is not None:
                failed = "The cluster of class browser ended by itself"
        stopping.request()
        if beside is not None and beside.poll() is None:
            beside.terminate()
        if cluster.sentinel.is_alive():
            cluster.stop()
        if beside is not None:
            beside.wait()
        if failed:
            raise CommandError(f"{failed}; the lines above say why.")

    def _stop(self, *_: object) -> None:
        self._stopping = True
