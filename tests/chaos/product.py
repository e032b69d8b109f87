"""The three processes of the product as an operator starts them, over this process's environment, and a signed-in reader."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.chaos.lives import die_with_parent
from tests.chaos.servers import free_port
from tests.chaos.site import ROOT


class Product:
    """Web, workers and ticker; nobody starts them again."""

    def __init__(self, log: Path) -> None:
        self.log, self.port = log, free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._cookie = ""

    def start(self, *names: str) -> None:
        """Start some of `web`, `workers` and `ticker`."""
        commands = {
            "web": [
                "-m", "gunicorn", "config.wsgi:application", "--bind", f"127.0.0.1:{self.port}", "--worker-class", "gthread",
                "--workers", "2", "--threads", "4", "--log-level", "warning", "--no-control-socket",
            ],
            "workers": ["manage.py", "qcluster"],
            "ticker": ["manage.py", "tick", "--every", "0.5"],
        }  # fmt: skip
        for name in names:
            with self.log.open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, *commands[name]], cwd=ROOT, start_new_session=True, stdout=log, stderr=log,
                    preexec_fn=die_with_parent,
                    env=os.environ | {"TIDELINE_ORIGIN": f"http://127.0.0.1:{self.port}"},
                )  # fmt: skip

    def ended(self) -> list[str]:
        """Names of those that ended by themselves."""
        return [name for name, process in self.processes.items() if process.poll() is not None]

    def kill(self, *names: str) -> None:
        """End some of them, or all."""
        for name in names or list(self.processes):
            process = self.processes.pop(name)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def sign_in(self) -> None:
        """Read pages as a person of the team from now on; the database has to be there."""
        from django.conf import settings
        from django.contrib.auth.models import User
        from django.core.management import call_command
        from django.test import Client

        call_command("collectstatic", interactive=False, verbosity=0)
        client = Client()
        client.force_login(User.objects.get(username="ines"), backend="django.contrib.auth.backends.ModelBackend")
        name = settings.SESSION_COOKIE_NAME
        self._cookie = f"{name}={client.cookies[name].value}"

    def get(self, path: str = "/queue/") -> tuple[int, str, str, float]:
        """Status, Retry-After, text and seconds of a page; status 0 where nobody answers."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Cookie": self._cookie})
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
            return response.status, response.getheader("Retry-After", ""), text, time.monotonic() - began
        except (OSError, http.client.HTTPException):
            return 0, "", "", time.monotonic() - began
        finally:
            connection.close()

    def wait_for_page(self, within_s: float) -> float:
        """Seconds until the queue page is there again."""
        began = time.monotonic()
        while self.get()[0] != 200 and time.monotonic() - began < within_s:
            time.sleep(0.2)
        return time.monotonic() - began
