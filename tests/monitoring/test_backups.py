"""Backups made while everything runs, and what comes back from them; what is wrong with a backup is told before anything changes."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from monitoring.services import backups
from monitoring.services.backups import Manifest
from monitoring.services.postgres_tools import BackupError
from tests.monitoring.cluster import Cluster
from tests.monitoring.site import LocalSite
from tests.monitoring.test_cluster import _FIRST_LOOKS, _done, _page, postgres_cluster, slow_site, sqlite_cluster

__all__ = ["postgres_cluster", "slow_site", "sqlite_cluster"]  # fixtures

PAGES = 24


# -- what a backup says of itself -----------------------------------------------------------------------------------


BODY = b"stored bytes"
NAME = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small backup of SQLite, made by hand."""
    found = tmp_path / "backups" / "20261130T190000Z"
    found.mkdir(parents=True)
    with closing(sqlite3.connect(found / "database.sqlite3")) as database:
        database.execute("CREATE TABLE monitoring_monitor (id integer)")
        database.commit()
    path = backups.object_path(found.parent, NAME)
    path.parent.mkdir(parents=True)
    path.write_bytes(BODY)
    (found / "objects.txt").write_text(f"{NAME} {NAME} {len(BODY)}\n")
    describe(found)
    return found


def describe(folder: Path, **changes: Any) -> None:
    """Write the manifest that fits the folder, but for the changes."""
    database, listed = folder / "database.sqlite3", folder / "objects.txt"
    manifest = Manifest(
        made_at="2026-11-30T19:00:00+00:00",
        version="0.1.0",
        engine="sqlite",
        database_sha256=backups.digest_of(database),
        database_bytes=database.stat().st_size,
        objects_sha256=backups.digest_of(listed),
        objects=1,
        objects_bytes=len(BODY),
        migrations=(("monitoring", "0001_initial"),),
        counts={"monitoring_monitor": 0},
    )
    (folder / "manifest.json").write_text(json.dumps({**json.loads(manifest.to_json()), **changes}))


def test_a_whole_backup_is_found_and_verified(folder: Path) -> None:
    assert backups.newest(folder.parent) == folder == backups.newest(folder)
    manifest, problems = backups.verify(folder)

    assert problems == []
    assert (manifest.objects, manifest.migrations) == (1, (("monitoring", "0001_initial"),))


@pytest.mark.parametrize(
    "name",
    [
        "../../../../tmp/evil",
        "/etc/passwd",
        "..",
        NAME + "/../../x",
        NAME[:-1] + "G",
        NAME + "-../x",
        NAME.upper(),
        "a" * 63,
    ],
)
def test_names_in_a_backup_are_never_paths(folder: Path, name: str) -> None:
    (folder / "objects.txt").write_text(f"{name} {NAME} {len(BODY)}\n")
    describe(folder)

    with pytest.raises(BackupError, match="names an object that is none of ours"):
        backups.verify(folder)
    with pytest.raises(BackupError, match="is no object's name"):
        backups.object_path(folder.parent, name)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"format": 2}, "is not of format 1"),
        ({"engine": "../x"}, "is no manifest of ours: engine"),
        ({"database_bytes": "many"}, "database_bytes is no number"),
        ({"objects": -1}, "objects is no number"),
        ({"database_sha256": "x"}, "database_sha256 is no digest"),
        ({"counts": {"a; DROP TABLE b": 1}}, "counts"),
        ({"counts": {'a"b': 1}}, "counts"),
        ({"migrations": 7}, "is no manifest of ours"),
        ({"surprise": 1}, "is no manifest of ours"),
        ({"objects": 2}, "names 1 objects"),
        ({"objects_bytes": 999}, "names 1 objects"),
        ({"objects_sha256": "0" * 64}, "is not the list that the manifest names"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(folder: Path, changes: dict[str, Any], expected: str) -> None:
    describe(folder, **changes)

    with pytest.raises(BackupError, match=expected):
        backups.verify(folder)


def test_sizes_are_looked_at_before_anything_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(path: Path) -> bytes:
        raise AssertionError(f"{path} was read")

    with (folder / "manifest.json").open("w") as file:
        file.truncate(backups.MOST_MANIFEST_BYTES + 1)
    monkeypatch.setattr(Path, "read_text", reads)
    with pytest.raises(BackupError, match="no file of a usual size"):
        backups.read_manifest(folder)

    monkeypatch.setattr(Path, "read_bytes", reads)
    backups.object_path(folder.parent, NAME).write_bytes(BODY * 2)
    with pytest.raises(BackupError, match="of another size"):
        backups.object_bytes(folder.parent, backups.Stored(NAME, NAME, len(BODY)))

    (folder / "objects.txt").write_text(f"{NAME} {NAME} {1 << 40}\n")
    monkeypatch.undo()
    describe(folder, objects_bytes=1 << 40)
    with pytest.raises(BackupError, match="names an object of 1099511627776 bytes"):
        backups.verify(folder)


def test_a_link_in_a_backup_is_no_part_of_it(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(BODY)
    path = backups.object_path(folder.parent, NAME)
    path.unlink()
    path.symlink_to(secret)

    assert backups.verify(folder)[1] == [f"object {NAME}: missing, or other bytes than were written"]
    with pytest.raises(BackupError, match="missing"):
        backups.object_bytes(folder.parent, backups.Stored(NAME, NAME, len(BODY)))


def test_changed_bytes_are_told_by_part(folder: Path) -> None:
    backups.object_path(folder.parent, NAME).write_bytes(BODY[:-1] + b"!")
    database = folder / "database.sqlite3"
    database.write_bytes(database.read_bytes()[:-1] + b"!")

    assert [problem.partition(":")[0] for problem in backups.verify(folder)[1]] == [
        "database.sqlite3",
        f"object {NAME}",
    ]


def test_a_folder_without_a_backup_says_so(tmp_path: Path) -> None:
    (tmp_path / "20261130T190000Z").mkdir()  # cut short before its manifest was written

    with pytest.raises(BackupError, match="holds no backup"):
        backups.newest(tmp_path)


# -- the whole way --------------------------------------------------------------------------------------------------


type Elsewhere = Callable[[Cluster], Cluster]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    """An empty installation of the same kind on another machine."""
    made: list[Callable[[], object]] = []

    def empty(like: Cluster) -> Cluster:
        folder = tmp_path / f"elsewhere{len(made)}"
        folder.mkdir()
        if like.database.startswith("sqlite"):
            database = f"sqlite://{folder}/restored.sqlite3"
        else:
            database = like.database + "_restored"
            like.execute_alone(f"CREATE DATABASE {database.rpartition('/')[2]}")
            made.append(lambda: like.execute_alone(f"DROP DATABASE {database.rpartition('/')[2]} WITH (FORCE)"))
        found = Cluster(
            folder,
            database,
            redis=like.environment["TIDELINE_REDIS"],
            allowed=like.environment["TIDELINE_TEST_ALLOWED_ADDRESSES"],
        )
        made.append(found.kill)
        return found

    yield empty
    for undo in reversed(made):
        undo()


@pytest.mark.slow
@pytest.mark.long
def test_a_backup_under_load_comes_back_on_sqlite(
    sqlite_cluster: Cluster, slow_site: LocalSite, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    _there_and_back(sqlite_cluster, slow_site, elsewhere, tmp_path / "backups")


@pytest.mark.slow
@pytest.mark.services
def test_a_backup_under_load_comes_back_on_postgresql(
    postgres_cluster: Cluster, slow_site: LocalSite, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    if shutil.which("pg_dump") is None:
        pytest.skip("PostgreSQL's client programs are not installed")
    _there_and_back(postgres_cluster, slow_site, elsewhere, tmp_path / "backups")


def _there_and_back(cluster: Cluster, site: LocalSite, elsewhere: Elsewhere, dest: Path) -> None:
    paths = [f"/page/{n}" for n in range(PAGES)]
    cluster.migrate()
    cluster.fill([site.put(path, _page(n, "is kept for twelve months")) for n, path in enumerate(paths)])
    cluster.start()
    cluster.wait(lambda: _done(cluster, 1) == PAGES, what="every first visit")
    cluster.wait(lambda: cluster.count(_FIRST_LOOKS) == 0, what="every first look")
    for n, path in enumerate(paths[: PAGES // 2]):
        site.put(path, _page(n, "is kept for ever"))
    cluster.execute("UPDATE monitoring_monitor SET next_check_at = last_checked_at")
    cluster.wait(lambda: _done(cluster, 2) == PAGES, what="every second visit")
    queue = _queue(cluster)

    cluster.execute("UPDATE monitoring_monitor SET next_check_at = last_checked_at, min_interval_s = 1, interval_s = 1")
    cluster.wait(lambda: _done(cluster, 3) > 0, what="visits while the backup is made")
    said = cluster.manage("backup", str(dest))
    cluster.wait(lambda: _done(cluster, 4) > 0, what="visits after it")
    assert f"{PAGES + PAGES // 2} objects" in said
    again = cluster.manage("backup", str(dest))
    assert ", 0 of them (0 bytes) copied now" in again  # nothing new but rows
    assert "is whole" in cluster.manage("backup", "--verify", str(dest))
    refused = cluster.manage("restore", str(dest), fails=True)
    assert "stop web, ticker and workers first" in refused
    cluster.kill()
    manifest = backups.read_manifest(backups.newest(dest))

    other = elsewhere(cluster)
    done = other.manage("restore", str(dest))

    assert "every table has its rows" in done
    assert f"{PAGES + PAGES // 2} payloads are whole" in done
    assert other.count("SELECT count(*) FROM monitoring_check") == manifest.counts["monitoring_check"]
    assert other.count("SELECT count(*) FROM monitoring_change") == PAGES // 2
    assert (
        other.count("SELECT count(*) FROM monitoring_monitor WHERE lease_until IS NOT NULL OR lease_token <> ''") == 0
    )
    assert _queue(other) == queue
    assert "this installation is not empty" in other.manage("restore", str(dest), fails=True)
    visits = other.count("SELECT max(check_no) FROM monitoring_monitor")
    other.start()
    other.wait(lambda: _done(other, visits + 1) == PAGES, what="visits go on where they were")
    other.kill()
    assert other.count("SELECT count(*) FROM monitoring_change") == PAGES // 2
    other.execute("DELETE FROM monitoring_process")  # killed, not stopped: their signs of life are fresh
    if other.database.startswith("sqlite"):
        assert "is now" in other.manage("restore", "--force", str(dest))
    else:
        other.manage("restore", "--force", str(dest))
    assert other.count("SELECT count(*) FROM monitoring_check") == manifest.counts["monitoring_check"]


def _queue(cluster: Cluster) -> str:
    """What the queue page and a change's page say there."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.monitoring.queue_page"],
        cwd=Path(__file__).resolve().parents[2],
        env={**cluster.environment, "TIDELINE_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Notice" in done.stdout
    assert "twelve months" in done.stdout  # what was there before, on the change's page
    return done.stdout
