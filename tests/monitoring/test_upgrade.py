"""An upgrade from the last release: shown first, never waiting long, repeatable wherever it was cut short."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.monitoring.cluster import ROOT, Cluster
from tests.monitoring.site import LocalSite
from tests.monitoring.test_cluster import postgres_cluster, slow_site, sqlite_cluster
from tests.monitoring.test_schema_changes import since

__all__ = ["postgres_cluster", "slow_site", "sqlite_cluster"]  # fixtures

pytestmark = pytest.mark.slow


def last_release(cluster: Cluster) -> None:
    """The tables of the last release, with a few rows as it writes them: through its own models, which name the old columns."""
    cluster.manage("shell", "--no-imports", "--verbosity", "0", "-c", _LAST_RELEASE)


_LAST_RELEASE = """
from django.core.management import call_command
from tests.monitoring.test_schema_changes import RELEASE, _made, loader, old
for app, name in loader().graph.leaf_nodes():
    call_command("migrate", app, RELEASE.get(app, name), verbosity=0)
models = old().apps
first = {name: _made(models.get_model("monitoring", name), {}) for name in ("site", "team", "pagetype", "vantage")}
Monitor = models.get_model("monitoring", "monitor")
for n, extra in enumerate([{}, {"renderer": "browser"}, {"renderer": "auto", "steps": [{"do": "consent"}]}]):
    Monitor.objects.create(
        name=str(n), url=f"https://a.example/{n}", site=first["site"], team=first["team"],
        page_type=first["pagetype"], vantage=first["vantage"], **extra,
    )
"""


@pytest.mark.long
def test_an_upgrade_on_sqlite_shows_its_plan_keeps_a_copy_and_may_be_killed(sqlite_cluster: Cluster) -> None:
    last_release(sqlite_cluster)

    plan = sqlite_cluster.manage("upgrade", "--plan")

    assert all(f"{step.app_label}.{step.name}" in plan for step in since())
    assert sqlite_cluster.count(_APPLIED) == 0
    _killed_again_and_again(sqlite_cluster)
    copies = sorted(Path(sqlite_cluster.folder).glob("kill.sqlite3.before-*"))
    assert copies
    with closing(sqlite3.connect(copies[0])) as copy:
        assert copy.execute("SELECT count(*) FROM monitoring_monitor").fetchone() == (3,)
        assert copy.execute(_APPLIED).fetchone() == (0,)
    _is_upgraded(sqlite_cluster)


@pytest.mark.services
def test_an_upgrade_on_postgresql_may_be_killed_and_waits_for_no_lock(postgres_cluster: Cluster) -> None:
    import psycopg

    last_release(postgres_cluster)

    with psycopg.connect(postgres_cluster.database) as other:
        other.execute("SELECT * FROM monitoring_team")  # held until this transaction ends
        other.execute("SELECT * FROM monitoring_monitor")
        said = postgres_cluster.manage("upgrade", "--lock-timeout-ms", "200", "--retries", "1", fails=True)
        assert "a lock was held too long, again in 2 s" in said
        assert "may be repeated" in said
        with psycopg.connect(postgres_cluster.database) as third:  # nobody stands behind a waiting upgrade
            third.execute("SET statement_timeout = 1000")
            assert third.execute("SELECT count(*) FROM monitoring_monitor").fetchone() == (3,)
    _killed_again_and_again(postgres_cluster)
    _is_upgraded(postgres_cluster)


@pytest.mark.services
def test_an_index_that_was_cut_short_in_the_background_is_made_anew(postgres_cluster: Cluster) -> None:
    postgres_cluster.execute(
        "CREATE TABLE monitoring_monitor (id bigint, by_browser boolean, next_check_at timestamptz, enabled boolean, "
        "quarantined_at timestamptz)"
    )
    make = ("shell", "--no-imports", "--verbosity", "0", "-c", _MAKE_INDEX)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'monitor_due_class'::regclass"
    postgres_cluster.manage(*make)
    assert postgres_cluster.query(valid) == [(True,)]
    postgres_cluster.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'monitor_due_class'::regclass")

    postgres_cluster.manage(*make)

    assert postgres_cluster.query(valid) == [(True,)]


_MAKE_INDEX = """
from django.db import connection
from tests.monitoring.test_schema_changes import loader, new
step = loader().disk_migrations["monitoring", "0017_claims_by_class"].operations[1]
with connection.schema_editor(atomic=False) as editor:
    step.database_forwards("monitoring", editor, new(), new())
    step.database_forwards("monitoring", editor, new(), new())  # there already
"""


_APPLIED = "SELECT count(*) FROM django_migrations WHERE app = 'monitoring' AND name > '0012'"


KILLED_AFTER = 3  # steps more


def _killed_again_and_again(cluster: Cluster) -> None:
    """Start upgrades and kill each when it has made a few steps more and is at the next."""
    command = [sys.executable, "manage.py", "upgrade"]
    environment = {**cluster.environment, "PYTHONUNBUFFERED": "1"}
    for kills in range(len(since()) + 2):
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            watchdog = threading.Timer(300, process.kill)
            watchdog.start()
            assert process.stdout is not None
            done = 0
            for line in process.stdout:
                done += line.rstrip().endswith(": done")
                if done == KILLED_AFTER:
                    process.kill()
            watchdog.cancel()
        if process.returncode == 0:
            assert kills
            return
    raise AssertionError("the upgrade never came to its end")


def _is_upgraded(cluster: Cluster) -> None:
    assert "nothing to do" in cluster.manage("upgrade")
    assert [bool(by_browser) for (by_browser,) in cluster.query(_CLASSES)] == [False, True, True]
    assert "No changes detected" in cluster.manage("makemigrations", "--check", "--dry-run")


_CLASSES = "SELECT by_browser FROM monitoring_monitor ORDER BY id"


def test_a_database_of_a_newer_release_is_refused(sqlite_cluster: Cluster) -> None:
    sqlite_cluster.migrate()
    sqlite_cluster.execute(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('monitoring', '9999_later', '2027-01-01')"
    )

    said = sqlite_cluster.manage("upgrade", fails=True)

    assert "migrations that this release does not know (monitoring.9999_later)" in said


def test_what_the_release_before_has_queued_is_worked_off(sqlite_cluster: Cluster, slow_site: LocalSite) -> None:
    """A thousand messages in its form, of batches whose leases still stand: none stops the queue, each page is visited once."""
    pages = 20
    body = "<html><body><main><p>What you tell us is kept for twelve months after you left.</p></main></body></html>"
    sqlite_cluster.migrate()
    sqlite_cluster.fill([slow_site.put(f"/page/{n}", body) for n in range(pages)])
    sqlite_cluster.environment["TIDELINE_LEASE_S"] = "60"
    sqlite_cluster.manage("shell", "--no-imports", "--verbosity", "0", "-c", _QUEUE_AS_BEFORE)
    assert sqlite_cluster.count("SELECT count(*) FROM django_q_ormq") == 1000

    sqlite_cluster.start()
    sqlite_cluster.wait(lambda: sqlite_cluster.count("SELECT count(*) FROM django_q_ormq") == 0, what="an empty queue")
    sqlite_cluster.wait(lambda: sqlite_cluster.count(_VISITED) == pages, what="every visit")

    assert sqlite_cluster.count("SELECT count(*) FROM monitoring_check") == pages
    log = sqlite_cluster.log.read_text(errors="replace")
    assert "reincarnated" not in log
    assert "Failed to" not in log


_VISITED = "SELECT count(*) FROM monitoring_monitor WHERE check_no = 1"
_QUEUE_AS_BEFORE = """
from django.utils import timezone
from django_q.tasks import async_task
from monitoring.services import schedule
(claim,) = schedule.claim_due(now=timezone.now(), limit=200, lease_s=60)
for n in range(1000):  # the real one, the same again, batches of leases long gone, jobs
    ids, token = (list(claim.ids), claim.token) if n % 100 == 0 else ([n], f"{n:032x}")
    if n % 7 == 0:
        async_task("monitoring.tasks.run_periodic", "job-of-that-release", task_name=f"job-{n}", save=False)
    else:
        async_task("monitoring.tasks.run_batch", ids, token, task_name=f"checks-{n}", save=False)
"""
