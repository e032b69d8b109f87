"""A real cluster with its ticker on a database of its own, to be killed. Run as a module it fills that database."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import tables

ROOT = Path(__file__).resolve().parents[2]


class Cluster:
    """qcluster and ticker in one process group; `kill` ends the group as a power cut would."""

    def __init__(self, folder: Path, database: str, *, redis: str = "", allowed: str) -> None:
        self.folder, self.database = folder, database
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TIDELINE_")},
            "TIDELINE_DATA": str(folder),
            "TIDELINE_DATABASE": database,
            "TIDELINE_REDIS": redis,
            "TIDELINE_TEST_ALLOWED_ADDRESSES": allowed,
            "TIDELINE_LEASE_S": "3",
            "TIDELINE_CONFIRM_DELAY_S": "1",
            "TIDELINE_WORKERS": "2",
            "TIDELINE_CANARY_S": "0",
            "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "config.settings"),
        }
        self.lose_messages: Callable[[], object] = lambda: self.execute("DELETE FROM django_q_ormq")
        self.log = folder / "cluster.log"
        self._group: subprocess.Popen[bytes] | None = None

    def manage(self, *arguments: str, fails: bool = False) -> str:
        """Run a management command to its end, which it must reach or, where it `fails`, must not; its output."""
        return self._run([sys.executable, "manage.py", *arguments], fails=fails)

    def migrate(self) -> None:
        """Make the tables."""
        tables.fill(self.database, self.environment)

    def fill(self, urls: list[str]) -> None:
        """A monitor for each address, due at once."""
        self._run([sys.executable, "-m", "tests.monitoring.cluster"], stdin=json.dumps(urls))

    def start(self) -> None:
        """Start workers and ticker."""
        python = sys.executable
        line = f'"{python}" manage.py tick --every 0.3 & exec "{python}" manage.py qcluster'
        with self.log.open("ab") as log:
            self._group = subprocess.Popen(
                ["sh", "-c", line], cwd=ROOT, env=self.environment, start_new_session=True, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """SIGKILL to every process of the group."""
        if self._group is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._group.pid, signal.SIGKILL)
        self._group.wait()
        self._group = None

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query in the cluster's database."""
        if self.database.startswith("sqlite"):
            with contextlib.closing(sqlite3.connect(self.database.removeprefix("sqlite://"), timeout=30)) as connection:
                return connection.execute(sql).fetchall()
        import psycopg

        with psycopg.connect(self.database) as connection:
            return connection.execute(sql).fetchall()

    def count(self, sql: str) -> int:
        """The one number that a query gives."""
        return int(self.query(sql)[0][0])

    def execute(self, sql: str) -> None:
        """Run a statement in the cluster's database."""
        if self.database.startswith("sqlite"):
            with contextlib.closing(sqlite3.connect(self.database.removeprefix("sqlite://"), timeout=30)) as connection:
                connection.execute(sql)
                connection.commit()
            return
        import psycopg

        with psycopg.connect(self.database) as connection:
            connection.execute(sql)

    def execute_alone(self, sql: str) -> None:
        """Run a statement outside any transaction, in the server's own database (PostgreSQL)."""
        import psycopg

        with psycopg.connect(self.database.rpartition("/")[0] + "/postgres", autocommit=True) as connection:
            connection.execute(sql)

    def wait(self, condition: Callable[[], bool], *, what: str, within_s: float = 180.0) -> None:
        """Wait until a condition holds; fails with the end of the cluster's log."""
        ends = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > ends:
                tail = self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""
                raise AssertionError(f"not within {within_s:.0f} s: {what}\n{tail}")
            time.sleep(0.05)

    def _run(self, command: list[str], *, stdin: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + (done.stderr if fails else "")


def _fill(urls: list[str]) -> None:
    import django

    django.setup()
    from django.utils import timezone

    from monitoring.models import Monitor, PageType, Site, Team, Vantage

    site = Site.objects.create(name="Local", host="local", gap_s=0)
    team = Team.objects.create(name="Team")
    page_type = PageType.objects.create(name="Page", slug="page")
    vantage = Vantage.objects.create(name="plain")
    now = timezone.now()
    Monitor.objects.bulk_create(
        [
            Monitor(
                name=f"Page {n}", url=url, site=site, team=team, page_type=page_type, vantage=vantage, next_check_at=now
            )
            for n, url in enumerate(urls)
        ]
    )


if __name__ == "__main__":
    _fill(json.load(sys.stdin))
