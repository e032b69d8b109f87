"""A cluster killed in the middle of its work, its broker emptied: nothing is lost and nothing is done twice."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.monitoring.cluster import Cluster
from tests.monitoring.site import LocalSite

MONITORS = 60
KILLS = 3

pytestmark = pytest.mark.slow


@pytest.fixture
def slow_site() -> Iterator[LocalSite]:
    """A site that takes its time, so that a kill falls into a batch."""
    site = LocalSite(delay_s=0.03)
    yield site
    site.close()


@pytest.fixture
def sqlite_cluster(tmp_path: Path, slow_site: LocalSite) -> Iterator[Cluster]:
    """A cluster on SQLite with the database as broker."""
    cluster = Cluster(tmp_path, f"sqlite://{tmp_path}/kill.sqlite3", allowed=slow_site.address)
    yield cluster
    cluster.kill()


@pytest.fixture
def postgres_cluster(tmp_path: Path, slow_site: LocalSite) -> Iterator[Cluster]:
    """A cluster on a scratch PostgreSQL database with Redis as broker."""
    if not (_listens(5432) and _listens(6379)):
        if os.environ.get("TIDELINE_REQUIRE_SERVICES") == "1":
            pytest.fail("PostgreSQL on 5432 and Redis on 6379 are required here")
        pytest.skip("PostgreSQL and Redis are not running")
    import psycopg
    import redis

    name = f"tideline_kill_{secrets.token_hex(4)}"
    server = "postgresql://postgres@127.0.0.1:5432"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    broker = redis.Redis(host="127.0.0.1", port=6379, db=9)
    broker.flushdb()
    cluster = Cluster(tmp_path, f"{server}/{name}", redis="redis://127.0.0.1:6379/9", allowed=slow_site.address)
    cluster.lose_messages = broker.flushdb
    yield cluster
    cluster.kill()
    broker.flushdb()
    broker.close()
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_killed_cluster_on_sqlite_loses_and_repeats_nothing(sqlite_cluster: Cluster, slow_site: LocalSite) -> None:
    _kill_and_recover(sqlite_cluster, slow_site)


@pytest.mark.services
def test_killed_cluster_on_postgresql_and_redis_loses_and_repeats_nothing(
    postgres_cluster: Cluster, slow_site: LocalSite
) -> None:
    _kill_and_recover(postgres_cluster, slow_site)


def _kill_and_recover(cluster: Cluster, site: LocalSite) -> None:
    paths = [f"/page/{n}" for n in range(MONITORS)]
    urls = [site.put(path, _page(n, "is kept for twelve months")) for n, path in enumerate(paths)]
    cluster.migrate()
    cluster.fill(urls)
    cluster.start()
    cluster.wait(lambda: _done(cluster, 1) == MONITORS, what="every first visit")

    # A page that changes during its first look would be taken for one that changes by itself.
    cluster.wait(lambda: cluster.count(_FIRST_LOOKS) == 0, what="every first look")
    for n, path in enumerate(paths):
        site.put(path, _page(n, "is kept for ever"))
    cluster.execute("UPDATE monitoring_monitor SET next_check_at = last_checked_at")
    killed_at = []
    for kill in range(KILLS):
        share = MONITORS * (kill + 1) // (KILLS + 2)
        cluster.wait(lambda share=share: _done(cluster, 2) >= share, what=f"{share} second visits")  # type: ignore[misc]
        cluster.kill()
        cluster.lose_messages()
        killed_at.append(_done(cluster, 2))
        cluster.start()
    cluster.wait(lambda: _done(cluster, 2) == MONITORS, what="every second visit")
    cluster.wait(
        lambda: cluster.count("SELECT count(*) FROM monitoring_monitor WHERE lease_until IS NOT NULL") == 0,
        what="no lease left",
    )

    assert killed_at[0] < MONITORS, "the first kill must fall into the work"
    assert cluster.count("SELECT count(*) FROM monitoring_check") == 2 * MONITORS
    assert cluster.count("SELECT count(*) FROM monitoring_change") == MONITORS
    assert cluster.count("SELECT count(*) FROM monitoring_change WHERE folded > 0 OR version > 1") == 0
    assert cluster.count("SELECT count(*) FROM monitoring_snapshot") == 2 * MONITORS
    assert cluster.count("SELECT count(*) FROM monitoring_monitor WHERE quarantined_at IS NOT NULL") == 0
    assert "damaged" not in cluster.manage("verify")
    _kill_while_nothing_changes(cluster)


def _kill_while_nothing_changes(cluster: Cluster) -> None:
    """Routine results wait a little before they are written: those that a kill takes are made again, once."""
    cluster.execute("UPDATE monitoring_monitor SET next_check_at = last_checked_at")
    cluster.wait(lambda: _done(cluster, 3) > 0, what="a first group of third visits")
    cluster.kill()
    cluster.lose_messages()
    killed_at = _done(cluster, 3)
    cluster.start()
    cluster.wait(lambda: _done(cluster, 3) == MONITORS, what="every third visit")

    assert killed_at < MONITORS, "the kill must fall into the work"
    assert cluster.count("SELECT count(*) FROM monitoring_check") == 3 * MONITORS
    assert cluster.count("SELECT count(*) FROM monitoring_check WHERE outcome = 'none'") == MONITORS + MONITORS
    assert cluster.count("SELECT count(*) FROM monitoring_monitor WHERE check_no <> 3") == 0


def test_a_worker_stuck_in_native_code_is_killed_and_only_its_page_is_set_aside(
    sqlite_cluster: Cluster, slow_site: LocalSite
) -> None:
    """Well before the broker's own limit, so that the page does not take the next workers with it."""
    sqlite_cluster.environment["DJANGO_SETTINGS_MODULE"] = "tests.monitoring.stuck"
    urls = [slow_site.put(f"/page/{n}", _page(n, "is kept for twelve months")) for n in range(20)]
    sqlite_cluster.migrate()
    sqlite_cluster.fill([*urls[:10], slow_site.put("/stuck", _page(99, "is kept")), *urls[10:]])
    sqlite_cluster.start()

    sqlite_cluster.wait(lambda: sqlite_cluster.count(_HELD) == 1, what="the page set aside", within_s=120.0)
    sqlite_cluster.wait(lambda: _done(sqlite_cluster, 1) == len(urls), what="the other pages", within_s=60.0)

    held = sqlite_cluster.query("SELECT url, stage, stage_failures FROM monitoring_monitor WHERE quarantined_at > ''")
    assert held == [(slow_site.url("/stuck"), "judge", 3)]
    assert "reincarnated worker" in sqlite_cluster.log.read_text(errors="replace")


_HELD = "SELECT count(*) FROM monitoring_monitor WHERE quarantined_at IS NOT NULL"
_FIRST_LOOKS = "SELECT count(*) FROM monitoring_calibrationrun WHERE state IN ('waiting', 'running')"


def _done(cluster: Cluster, visits: int) -> int:
    return cluster.count(f"SELECT count(*) FROM monitoring_monitor WHERE check_no >= {visits}")


def _page(number: int, clause: str) -> str:
    return (
        f"<html><head><title>Notice {number}</title></head><body><main><h1>Notice {number}</h1>"
        f"<p>What you tell branch {number} of our library {clause} after your account has been closed.</p>"
        "<p>You may ask for a copy of everything we hold about you by writing to the data office.</p>"
        "</main></body></html>"
    )
