"""Web, ticker and workers of each class as processes of their own, as the units start them, on PostgreSQL and Redis."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.monitoring.cluster import ROOT, Cluster
from tests.monitoring.site import LocalSite
from tests.monitoring.test_cluster import _FIRST_LOOKS, _done, _page, postgres_cluster, slow_site

__all__ = ["postgres_cluster", "slow_site"]  # fixtures

pytestmark = [pytest.mark.slow, pytest.mark.services]

UNITS = ROOT / "deploy/systemd"


class Services:
    """The commands of the units, each in a process of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        cluster.environment |= {
            "TIDELINE_LEASE_S": "60",
            "TIDELINE_SECRET_KEY": "k" * 60,
            "TIDELINE_WORKERS": "1",
            "TIDELINE_BROWSER_WORKERS": "1",
            "TIDELINE_LOG_LEVEL": "INFO",
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, unit: str, instance: str = "") -> None:
        """Start what the unit starts."""
        text = (UNITS / f"{unit}.service").read_text()
        command = re.findall(r"^ExecStart=(.+)$", text, re.M)[0].replace("%i", instance).split()
        program, *arguments = command
        where = Path(sys.executable).parent / Path(program).name
        arguments = [argument.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}") for argument in arguments]
        with self.cluster.log.open("ab") as log:
            self.running[unit + instance] = subprocess.Popen(
                [str(where), *arguments], cwd=ROOT, env=self.cluster.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def stop(self, name: str) -> tuple[int, float]:
        """SIGTERM to the main process alone; how it ended, and after how long."""
        process = self.running.pop(name)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        return process.wait(120), time.monotonic() - began

    def kill(self) -> None:
        """End what is left."""
        for process in self.running.values():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()

    def says(self, path: str) -> tuple[int, str]:
        """What the web process answers; 0 while it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""


@pytest.fixture
def services(postgres_cluster: Cluster) -> Iterator[Services]:
    """Services on a database and a broker of their own."""
    found = Services(postgres_cluster)
    yield found
    found.kill()


def test_a_page_becomes_a_change_across_processes_and_a_stop_gives_work_back(
    services: Services, slow_site: LocalSite
) -> None:
    cluster = services.cluster
    assert "The database is that of release" in cluster.manage("upgrade")
    cluster.manage("collectstatic", "--no-input", "--verbosity", "0")
    urls = [slow_site.put(f"/page/{n}", _page(n, "is kept for twelve months")) for n in range(40)]
    cluster.fill(urls)
    for unit, instance in [("tideline-web", ""), ("tideline-ticker", ""), ("tideline-worker@", "http")]:
        services.start(unit, instance)
    cluster.wait(lambda: services.says("/health/live")[0] == 200, what="web")
    cluster.wait(lambda: _done(cluster, 1) == len(urls), what="first visits")
    cluster.wait(lambda: cluster.count(_FIRST_LOOKS) == 0, what="first looks")

    # Found by the ticker, visited by a worker, told by the web.
    slow_site.put("/page/0", _page(0, "is kept for ever"))
    cluster.execute("UPDATE monitoring_monitor SET next_check_at = last_checked_at")
    cluster.wait(lambda: cluster.count("SELECT count(*) FROM monitoring_change") == 1, what="the change")
    assert services.says("/login/")[0] == 200

    # Pages for a browser wait for their class, and the class http does not touch them.
    cluster.execute("UPDATE monitoring_monitor SET renderer = 'browser', by_browser = true WHERE name = 'Page 1'")
    cluster.execute("UPDATE monitoring_monitor SET next_check_at = now() - interval '5 minutes' WHERE name = 'Page 1'")
    cluster.wait(lambda: "no worker renders pages due=1" in cluster.log.read_text(errors="replace"), what="being told")
    visits = cluster.count("SELECT check_no FROM monitoring_monitor WHERE name = 'Page 1'")
    services.start("tideline-worker@", "browser")
    cluster.wait(
        lambda: cluster.count("SELECT check_no FROM monitoring_monitor WHERE name = 'Page 1'") > visits,
        what="a visit of the class browser",
    )
    assert services.stop("tideline-worker@browser")[0] == 0
    assert cluster.count("SELECT count(*) FROM monitoring_process WHERE queue = 'browser'") == 0

    # A stop in the middle of a batch: written or given back, and nothing waits for a lease to run out.
    slow_site.delay_s = 0.5
    before = cluster.count("SELECT count(*) FROM monitoring_check")
    cluster.execute("UPDATE monitoring_monitor SET next_check_at = last_checked_at WHERE renderer = 'http'")
    cluster.wait(lambda: cluster.count("SELECT count(*) FROM monitoring_check") > before, what="a batch under way")
    ended, _seconds = services.stop("tideline-worker@http")
    assert ended == 0
    assert services.stop("tideline-ticker")[0] == 0
    assert (
        cluster.count("SELECT count(*) FROM monitoring_monitor WHERE lease_token <> '' AND lease_token NOT LIKE 'w%'")
        == 0
    )
    assert cluster.count("SELECT count(*) FROM monitoring_monitor WHERE stage <> '' AND renderer = 'http'") == 0
    left = cluster.count("SELECT count(*) FROM monitoring_monitor WHERE next_check_at <= now()")
    assert left > 0, "the stop fell into the batch"
    slow_site.delay_s = 0.0
    services.start("tideline-ticker")
    services.start("tideline-worker@", "http")
    due = "SELECT count(*) FROM monitoring_monitor WHERE next_check_at <= now() AND renderer = 'http'"
    cluster.wait(lambda: cluster.count(due) == 0, what="the rest")
    numbers = (
        "SELECT count(*) FROM (SELECT monitor_id, check_no FROM monitoring_check GROUP BY 1, 2 HAVING count(*) > 1) t"
    )
    assert cluster.count(numbers) == 0
    assert services.stop("tideline-web")[0] == 0
