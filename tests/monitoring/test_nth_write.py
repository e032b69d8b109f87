"""The N-th write of a visit fails, N = 1, 2, 3 ... until none does; and the power fails at any moment.

Whatever fails, every row's bytes are there and right, nothing is half written, the sweeper leaves no orphan, and the next visit succeeds.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from monitoring import storage
from monitoring.models import Change, Check, FieldChange, FieldRule, Monitor, Payload, Snapshot
from monitoring.services import capture, ledger, record, retention
from monitoring.storage.packing import unpack
from tests import tables
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page
from tests.monitoring.test_record import claimed
from tests.monitoring.test_storage import words

type Watch = Callable[..., Monitor]

CUTS = int(os.environ.get("TIDELINE_TEST_POWER_CUTS", "20"))


class Writes:
    """Counts every step that writes, of files and of rows, and fails the n-th with the error of its kind."""

    def __init__(self, nth: int) -> None:
        self.nth, self.count, self.failed = nth, 0, ""

    def step(self, what: str, error: Exception) -> None:
        self.count += 1
        if self.count == self.nth:
            self.failed = what
            raise error

    def sql(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self.step(sql.split(" (")[0][:60], DatabaseError("the n-th write fails"))
        return execute(sql, params, many, context)


class _HalfFile:
    """A file whose write may end halfway, as on a full disk."""

    def __init__(self, file: Any, writes: Writes) -> None:
        self._file, self._writes = file, writes

    def __enter__(self) -> _HalfFile:
        return self

    def __exit__(self, *args: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        try:
            self._writes.step("write", OSError(errno.ENOSPC, "No space left on device"))
        except OSError:
            self._file.write(data[: len(data) // 2])
            raise
        return int(self._file.write(data))


@contextmanager
def failing(nth: int) -> Iterator[Writes]:
    """The n-th write within the block fails."""
    writes = Writes(nth)
    full = OSError(errno.ENOSPC, "No space left on device")
    fsync, replace, mkdir, opened = os.fsync, Path.replace, Path.mkdir, Path.open

    def noting[**P, R](what: str, call: Callable[P, R]) -> Callable[P, R]:
        def noted(*args: P.args, **more: P.kwargs) -> R:
            writes.step(what, full)
            return call(*args, **more)

        return noted

    def opening(path: Path, mode: str = "r", *args: Any, **more: Any) -> Any:
        if mode != "wb":
            return opened(path, mode, *args, **more)
        writes.step("open", full)
        return _HalfFile(opened(path, mode, *args, **more), writes)

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", noting("fsync", fsync))
        patch.setattr(Path, "replace", noting("rename", replace))
        patch.setattr(Path, "mkdir", noting("mkdir", mkdir))
        patch.setattr(Path, "open", opening)
        stack.enter_context(connection.execute_wrapper(writes.sql))
        yield writes


def faults() -> list[str]:
    """What is wrong with the store: rows whose bytes are not right, leftovers that retention would not find."""
    storage.forget()
    found = []
    for payload in Payload.objects.all():
        try:
            storage.get(payload)
        except storage.StorageError as error:
            found.append(str(error))
    return found


def rows() -> dict[str, list[Any]]:
    return {
        "checks": list(Check.objects.order_by("pk").values()),
        "snapshots": list(Snapshot.objects.order_by("pk").values()),
        "changes": list(Change.objects.order_by("pk").values()),
        "fields": list(FieldChange.objects.order_by("pk").values()),
    }


def swept() -> set[str]:
    """The objects that are left two days later, every file counted; folders without any go, so that each try makes its own."""
    retention.sweep(now=timezone.now() + timedelta(days=2))
    root = storage.store().root  # type: ignore[attr-defined]
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    return {path.name.removesuffix(".zst") for path in root.rglob("*") if path.is_file()}


def sized(clauses: list[str], price: str) -> str:
    """A page large enough for its captures to be stored as differences."""
    filler = f"<p hidden data-x='{words(1, 600).decode()}'></p>"
    return page(clauses=clauses, extra=f"<b class=price>{price}</b>", head=f"<script>{filler}</script>")


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_whichever_write_fails_the_store_is_consistent(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", sized(CLAUSES, "89.00 EUR"))
    FieldRule.objects.create(monitor=monitor, name="price", source="css", selector="b.price", type="price")
    visit(monitor)
    site.put("/a", sized(CLAUSES[1:], "79.00 EUR"))
    write = record.record
    failed: list[str] = []

    for nth in range(1, 100):
        batch = claimed(monitor)
        before = rows()
        with failing(nth) as writes:
            writes.nth = 0  # the claim's own writes are done; from here on they count

            def record_failing(*args: Any, writes: Writes = writes, nth: int = nth, **more: Any) -> Check:
                writes.nth, writes.count = nth, 0
                try:
                    return write(*args, **more)
                finally:
                    writes.nth = 0

            monkeypatch.setattr(ledger, "record", record_failing)
            counts = capture.run_batch(batch.ids, batch.token)
        assert faults() == [], (nth, writes.failed)
        if not writes.failed:
            assert counts == {"content": 1}
            break
        failed.append(writes.failed)
        after = rows()
        for what in ("snapshots", "changes", "fields"):
            assert after[what] == before[what], (nth, writes.failed, what)
        if writes.failed[:6] in ("INSERT", "UPDATE", "DELETE"):
            assert after["checks"] == before["checks"], (nth, writes.failed)
        else:  # a file: the visit says that it could not be kept
            assert counts == {"error": 1}
            (new,) = after["checks"][len(before["checks"]) :]
            assert (new["reason"], new["reasons"][0]["code"]) == ("storage", "storage-full")
        Monitor.objects.update(quarantined_at=None, stage_failures=0)
        assert swept() == {payload.object_name for payload in Payload.objects.all()}, (nth, writes.failed)
        assert Payload.objects.count() == 1

    assert {"mkdir", "open", "write", "fsync", "rename"} <= set(failed)
    assert len(failed) >= 16
    assert (Change.objects.count(), Snapshot.objects.count(), FieldChange.objects.count()) == (1, 2, 1)
    assert Payload.objects.exclude(keyframe=None).count() == 1
    assert swept() == {payload.object_name for payload in Payload.objects.all()}


# -- power -------------------------------------------------------------------------------

WRITER = """
import itertools, os, random, sys
sys.path.insert(0, {root!r})
os.environ |= {{"TIDELINE_DATA": {folder!r}, "DJANGO_SETTINGS_MODULE": "config.settings", "TIDELINE_LOG_LEVEL": "ERROR"}}
import django
django.setup()
from django.core.management import call_command
from django.db import transaction
from monitoring import storage
from tests.factories import make_monitor, make_snapshot
call_command("migrate", interactive=False, verbosity=0)
monitor = make_monitor()
rng = random.Random(1)
words = [b"%x" % rng.getrandbits(48) for _ in range(400)]
last = None
print("ready", flush=True)
for number in itertools.count():
    words[rng.randrange(400)] = b"%x" % rng.getrandbits(48)
    last = storage.put(b" ".join(words), like=last)
    with transaction.atomic():
        make_snapshot(monitor, payload=last)
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_copy_of_any_moment_is_whole(tmp_path: Path) -> None:
    """What a power cut leaves: the database and its log are copied first, then the objects, while a process writes."""
    folder = tmp_path / "live"
    folder.mkdir()
    root = str(Path(__file__).resolve().parents[2])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDELINE_")}
    tables.fill(f"sqlite://{folder}/tideline.sqlite3", environment)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER.format(root=root, folder=str(folder))],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert writer.stdout is not None
    try:
        assert writer.stdout.readline().strip() == "ready"
        rng = random.Random(2)
        seen = 0
        for cut in range(CUTS):
            for _ in range(rng.randrange(4)):
                writer.stdout.readline()
            copy = tmp_path / f"cut{cut}"
            _stop_and_copy(writer.pid, folder, copy)
            seen = max(seen, _check(copy))
            shutil.rmtree(copy)
        assert seen >= CUTS
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def _stop_and_copy(pid: int, folder: Path, copy: Path) -> None:
    """All files as they are at one moment, in the middle of whatever the process does."""
    os.kill(pid, signal.SIGSTOP)
    try:
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "Tt":
            time.sleep(0)
        shutil.copytree(folder, copy)
    finally:
        os.kill(pid, signal.SIGCONT)


def _check(copy: Path) -> int:
    """How many rows name bytes, all of which are there and right."""
    (copy / "tideline.sqlite3-shm").unlink(missing_ok=True)  # memory, and gone with the power
    database = sqlite3.connect(copy / "tideline.sqlite3")
    try:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        found = database.execute(
            "SELECT p.id, p.sha256, p.suffix, p.size_bytes, p.keyframe_id FROM monitoring_payload p"
            " JOIN monitoring_snapshot s ON s.payload_id = p.id"
        ).fetchall()
        every = {
            row[0]: row
            for row in database.execute("SELECT id, sha256, suffix, size_bytes, keyframe_id FROM monitoring_payload")
        }
    finally:
        database.close()
    bodies: dict[int, bytes] = {}
    for pk in sorted(every, key=lambda pk: (every[pk][4] is not None, pk)):
        _pk, sha256, suffix, size, key = every[pk]
        path = copy / "payloads" / sha256[:2] / sha256[2:4] / f"{sha256}-{suffix}.zst"
        bodies[pk] = unpack(path.read_bytes(), size_bytes=size, keyframe=bodies.get(key))
        assert hashlib.sha256(bodies[pk]).hexdigest() == sha256
    assert {row[0] for row in found} <= set(bodies)
    return len(found)


# -- a full disk ---------------------------------------------------------------------------


def test_a_file_that_can_not_grow_is_no_space_and_leaves_nothing(tmp_path: Path) -> None:
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "monitoring"], USE_TZ=True)
django.setup()
from pathlib import Path
from monitoring.storage import FileStore, StorageWriteError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
store = FileStore(Path({str(tmp_path)!r}))
store.write("ab12", b"x" * 5_000)
try:
    store.write("cd34", b"x" * 50_000)
except StorageWriteError as error:
    print("refused", error.no_space)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(store.read("ab12")), [path.name for path in Path({str(tmp_path)!r}).rglob("*") if path.is_file()])
store.write("cd34", b"x" * 50_000)
print(len(store.read("cd34")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == ["refused True", "5000 ['ab12.zst']", "50000"], done.stderr
