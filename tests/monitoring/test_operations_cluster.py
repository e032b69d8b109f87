"""Real workers and a ticker: they are seen, what they do is counted to the last visit, and nobody is missed who ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.monitoring.cluster import Cluster
from tests.monitoring.site import LocalSite

pytestmark = pytest.mark.slow
PAGES = 12


@pytest.fixture
def pages() -> Iterator[LocalSite]:
    """A site on loopback."""
    site = LocalSite()
    for n in range(PAGES):
        site.put(f"/{n}", f"<p>Fees of plan {n} are ten euros a month.</p>")
    yield site
    site.close()


@pytest.fixture
def cluster(tmp_path: Path, pages: LocalSite) -> Iterator[Cluster]:
    """A cluster on SQLite."""
    made = Cluster(tmp_path, f"sqlite://{tmp_path}/seen.sqlite3", allowed=pages.address)
    made.migrate()
    yield made
    made.kill()


@pytest.mark.long
def test_what_workers_do_is_seen_and_counted(cluster: Cluster, pages: LocalSite) -> None:
    cluster.fill([pages.url(f"/{n}") for n in range(PAGES)])
    cluster.start()
    checks = "SELECT count(*) FROM monitoring_check"
    cluster.wait(lambda: cluster.count(checks) >= PAGES, what="all pages visited")
    kinds = "SELECT DISTINCT kind || ' ' || queue FROM monitoring_process"
    cluster.wait(
        lambda: {row[0] for row in cluster.query(kinds)} >= {"ticker default", "worker http"}, what="all are seen"
    )
    group = cluster._group
    assert group is not None
    os.kill(group.pid, signal.SIGTERM)  # the cluster itself, as a service manager does
    with contextlib.suppress(ProcessLookupError):
        cluster.wait(lambda: group.poll() is not None, what="the cluster has ended by itself")
    workers = "SELECT count(*) FROM monitoring_process WHERE kind = 'worker'"
    cluster.wait(lambda: cluster.count(workers) == 0, what="workers have signed off")

    counted = sum(
        number
        for (counts,) in cluster.query("SELECT counts FROM monitoring_tally")
        for series, number in json.loads(counts).items()
        if series.startswith("checks\t")
    )
    assert counted == cluster.count(checks)
