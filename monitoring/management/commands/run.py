"""Starts the whole product on one machine: database, account, sample workspace, web, workers, ticker."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from monitoring.stopping import end_with_parent

_STOP_S = 15.0
_SETTLED_S = 10.0  # who ends sooner on its first start can't work here, and starting it again would not help
_LONGEST_PAUSE_S = 60.0


def _port_is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class _Child:
    """One of the three processes. It is started again when it ends: at once, and after a while where it keeps ending."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._pause_s = 0.0
        self._again_at = 0.0
        self._settled = False
        self._start()

    def _start(self) -> None:
        self._began = time.monotonic()
        self.process = subprocess.Popen(  # noqa: S603 - our own commands
            self._command, cwd=settings.BASE_DIR, start_new_session=True, preexec_fn=end_with_parent
        )

    def ended(self) -> bool:
        """Whether it ended by itself."""
        return self.process.poll() is not None

    def start_again(self) -> bool:
        """Start it anew once its pause is over; False where it never worked."""
        now = time.monotonic()
        if not self._again_at:
            lived = now - self._began
            self._settled = self._settled or lived >= _SETTLED_S
            if not self._settled:
                return False
            self._pause_s = 0.0 if lived >= _LONGEST_PAUSE_S else min(max(1.0, self._pause_s * 2), _LONGEST_PAUSE_S)
            self._again_at = now + self._pause_s
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # what it left behind
        if now >= self._again_at:
            self._again_at = 0.0
            self._start()
        return True


class Command(BaseCommand):
    """`manage.py run`: what `make run` calls once the packages are there."""

    help = "Prepare the database and start web server, workers and ticker; Ctrl-C stops them all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the web server on 127.0.0.1")
        parser.add_argument(
            "--sample", type=int, choices=[0, 1], default=1, help="0 starts without the sample workspace"
        )

        parser.add_argument("--admin-email", default="admin@localhost", help="where the first account's mail goes")

    def handle(self, *args: Any, **options: Any) -> None:
        port = options["port"]
        if not _port_is_free(port):
            raise CommandError(
                f"Port {port} is in use. Stop what listens there, or choose another: make run PORT={port + 1}"
            )
        environment = self._environment(port)
        if any(os.environ.get(name) != value for name, value in environment.items()):
            # The settings of this process were read before the port was known: read them again.
            os.environ.update(environment)
            os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - our own command line again
        self._prepare(sample=bool(options["sample"]), admin_email=options["admin_email"])
        self._supervise(port)

    def _environment(self, port: int) -> dict[str, str]:
        given = os.environ
        return {
            "TIDELINE_ORIGIN": given.get("TIDELINE_ORIGIN") or f"http://127.0.0.1:{port}",
            "TIDELINE_FRAME_ORIGIN": given.get("TIDELINE_FRAME_ORIGIN") or f"http://localhost:{port}",
            "TIDELINE_SAMPLE_ORIGIN": given.get("TIDELINE_SAMPLE_ORIGIN") or f"http://127.0.0.1:{port}",
            "PYTHONUNBUFFERED": "1",
        }

    def _prepare(self, *, sample: bool, admin_email: str) -> None:
        Path(settings.DATA_DIR).mkdir(parents=True, exist_ok=True)
        self.stdout.write("Preparing the database")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        call_command("ensure_defaults", verbosity=0)
        call_command("create_admin", email=admin_email)
        if sample:
            call_command("sample", "ensure")

    def _supervise(self, port: int) -> None:
        commands = {
            "web": [
                sys.executable, "-m", "gunicorn", "config.wsgi:application", "--bind", f"127.0.0.1:{port}",
                "--worker-class", "gthread", "--workers", "2", "--threads", "8", "--timeout", "60",
                "--graceful-timeout", "5", "--log-level", "warning", "--no-control-socket",
            ],
            "workers": [sys.executable, "manage.py", "qcluster"],
            "ticker": [sys.executable, "manage.py", "tick"],
        }  # fmt: skip
        stopping = False

        def stop(signum: int, frame: object) -> None:
            nonlocal stopping
            stopping = True

        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)
        children = {name: _Child(command) for name, command in commands.items()}
        self.stdout.write(self.style.SUCCESS(f"\nTideline is at {settings.APP_ORIGIN}/   (Ctrl-C stops it)\n"))
        self.stdout.flush()
        failed = ""
        while not stopping and not failed:
            time.sleep(0.25)
            for name, child in children.items():
                if child.ended() and not child.start_again():
                    failed = name
        self.stdout.write("Stopping")
        self._stop([child.process for child in children.values()])
        if failed:
            raise CommandError(
                f"The {failed} process ended by itself; its last lines above say why. Everything was stopped."
            )

    def _stop(self, children: list[subprocess.Popen[bytes]]) -> None:
        """Ask every process group to end, then insist."""
        for child in children:
            if child.poll() is None:
                child.terminate()
        deadline = time.monotonic() + _STOP_S
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.1, deadline - time.monotonic()))
        for child in children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            child.wait()
