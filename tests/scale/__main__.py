"""`make scale`: a fleet of ROWS monitors on SQLite and on PostgreSQL, what it weighs and how long everything takes on it.

Run: python -m tests.scale [--rows 1000000] [--databases sqlite,postgresql] [--keep]

PostgreSQL is found by TIDELINE_SCALE_POSTGRESQL (default postgresql://postgres@127.0.0.1:5432); a database of its own is made
there and dropped again. SQLite lies in a temporary folder. Ends with 1 when a figure misses its mark.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

BYTES, CLAIM_MS, PAGE_MS = 250, 100.0, 100.0
SERVER = os.environ.get("TIDELINE_SCALE_POSTGRESQL", "postgresql://postgres@127.0.0.1:5432")
ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """All databases, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="tests.scale")
    parser.add_argument("--rows", type=int, default=1_000_000, help="monitors; ten times as many checks")
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--times", type=int, default=15, help="requests for each page")
    parser.add_argument("--only", default="", help="parts: size, claims, pages, jobs, writers; comma-separated")
    parser.add_argument("--page", default="", help="only pages whose name holds this")
    parser.add_argument("--slow", action="store_true", help="print the slowest statements of slow pages")
    parser.add_argument("--at", default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--keep", default="", metavar="NAME", help="leave the databases; the next run with this name loads nothing"
    )
    options = parser.parse_args()
    if options.at:
        return _one(options)
    bad = _writers(options.rows) if "writers" in _parts(options) else 0
    for vendor in options.databases.split(",") if _parts(options) - {"writers"} else ():
        folder = (
            Path(tempfile.gettempdir(), f"tideline-scale-{options.keep}")
            if options.keep
            else Path(tempfile.mkdtemp(prefix="tideline-scale-"))
        )
        folder.mkdir(exist_ok=True)
        name = f"tideline_scale_{options.keep or os.getpid()}"
        address = f"sqlite://{folder}/scale.sqlite3"
        if vendor == "postgresql":
            address = f"{SERVER}/{name}"
            _postgres(f"CREATE DATABASE {name}", may_fail=bool(options.keep))
        try:
            environment = os.environ | {
                "TIDELINE_DATA": str(folder), "TIDELINE_DATABASE": address, "TIDELINE_LOG_LEVEL": "ERROR",
                "DJANGO_SETTINGS_MODULE": "config.settings", "TIDELINE_PRODUCTION": "0",
            }  # fmt: skip
            environment.pop("DATABASE_URL", None)
            bad |= subprocess.run(
                [sys.executable, "-m", "tests.scale", *sys.argv[1:], "--at", vendor],
                env=environment,
                cwd=ROOT,
                check=False,
            ).returncode
        finally:
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
                if vendor == "postgresql":
                    _postgres(f"DROP DATABASE {name}")
    return bad


def _parts(options: argparse.Namespace) -> set[str]:
    return set(options.only.split(",")) if options.only else {"size", "claims", "pages", "jobs", "writers"}


def _writers(rows: int) -> int:
    """Eight processes on one SQLite file, which is not the large one; 1 when a write failed or is missing."""
    from tests.scale import writers

    found = writers.run(8, min(writers.WRITES, rows))
    print(writers.table(found), flush=True)
    return 0 if found.whole else 1


def _postgres(statement: str, *, may_fail: bool = False) -> None:
    import psycopg

    with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as link:
        try:
            link.execute(statement.encode())
        except psycopg.errors.DuplicateDatabase:
            if not may_fail:
                raise


def _one(options: argparse.Namespace) -> int:
    """One database: load it where it is empty, then every part; 1 when a figure misses its mark."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)  # pages name their files by content
    from django.conf import settings
    from django.db import connection

    from monitoring.models import Change, Monitor
    from tests.scale import load

    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    now = load.moment_now()
    size = load.Size.of(options.rows)
    parts = _parts(options) - {"writers"}
    print(
        f"\n== {options.at}: {size.monitors:,} monitors, {size.checks:,} checks, {size.changes:,} changes, {size.sites:,} sites"
    )
    missed: list[str] = []
    if not Change.objects.exists():
        load.fast()
    if parts == {"size"}:
        load.one_vantage()
        _timed("visits", lambda: load.visits(size, now))
        _timed("unchanged checks", lambda: load.checks(now, only_unchanged=True, say=_quiet))
        return _told(_sizes())
    if not Monitor.objects.exists():
        _timed("monitors", lambda: load.fleet(size, now, _quiet))
        _timed("visits", lambda: load.visits(size, now))
        if "size" in parts:
            _timed("unchanged checks", lambda: load.checks(now, only_unchanged=True, say=_quiet))
            load.analyze()
            missed += _sizes()
            load.empty_checks()
    if not Change.objects.exists():
        _timed("checks", lambda: load.checks(now, only_unchanged=False, say=_quiet))
        load.run("DROP TABLE scale_visit")
        _timed("evidence", lambda: load.evidence(size, now, _quiet))
        _timed("statistics", load.analyze)
        connection.close()  # with the settings for loading
    if "claims" in parts:
        missed += _claims()
    if "jobs" in parts:
        missed += _jobs()
    if "pages" in parts:
        missed += _pages(options)
    return _told(missed)


def _told(missed: list[str]) -> int:
    for line in missed:
        print("MISSED", line)
    return 1 if missed else 0


def _quiet(text: str) -> None:
    pass


def _timed(what: str, work: object) -> None:
    began = time.perf_counter()
    assert callable(work)
    work()
    print(f"   loaded {what} in {time.perf_counter() - began:.0f} s", flush=True)


def _sizes() -> list[str]:
    from monitoring.models import Check
    from tests.scale import sizes

    count = Check.objects.count()
    found = sizes.sizes("monitoring_check")
    total = sum(found.values()) / count
    print(f"-- bytes per unchanged check, {count:,} rows")
    for name, size in sorted(found.items(), key=lambda item: -item[1]):
        print(f"   {name:45} {size:15,} {size / count:8.1f}")
    print(f"   {'all':45} {sum(found.values()):15,} {total:8.1f}   (at most {BYTES})", flush=True)
    return [f"{total:.0f} bytes per unchanged check"] if total > BYTES else []


def _claims() -> list[str]:
    from monitoring.models import Monitor
    from tests.scale import claims, load

    missed = []
    print(f"-- claim of {claims.WANTED}, ms")
    for name, prepare in (("as usual", False), ("200,000 due", True)):
        now = load.moment_now()
        claims.settle()
        if prepare:
            claims.overdue(now, min(200_000, Monitor.objects.count() // 5))
        bad = claims.scans(now)
        claims.settle()
        at = now if prepare else now + timedelta(minutes=2)
        claims.claim_times(2, at)
        times, got = claims.claim_times(20, at + timedelta(seconds=5))
        half, most = statistics.median(times), sorted(times)[18]
        print(
            f"   {name:20} p50 {half:7.1f}   p95 {most:7.1f}   claimed {got:,}   {bad or 'no scan of monitors'}",
            flush=True,
        )
        missed += [f"claim, {name}: {line}" for line in bad]
        missed += [f"claim, {name}: {most:.0f} ms"] if most > CLAIM_MS else []
        claims.settle()
    return missed


def _jobs() -> list[str]:
    from tests.scale import jobs, load

    missed = []
    print("-- by the clock, seconds")
    for name, period, seconds in jobs.measure(load.moment_now()):
        share = seconds / period
        print(f"   {name:22} every {period:8,.0f}   {seconds:8.3f}   {100 * share:6.2f} %", flush=True)
        if share > jobs.SHARE:
            missed.append(f"{name}: {seconds:.2f} s of {period:.0f} s")
    return missed


def _pages(options: argparse.Namespace) -> list[str]:
    from tests.scale import pages

    missed = []
    for username in ("boss", "lead"):
        print(f"-- pages for {username}, ms of the server")
        for timed in pages.measure(options.times, username=username, only=options.page):
            slow = timed.median > PAGE_MS
            print(
                f"   {timed.name:26} p50 {timed.median:8.1f}   p95 {timed.p95:8.1f}   statements {len(timed.statements):3}{'   SLOW' if slow else ''}",
                flush=True,
            )
            if slow:
                missed.append(f"{timed.name} for {username}: {timed.median:.0f} ms")
                if options.slow:
                    for ms, sql in sorted(timed.statements, reverse=True)[:3]:
                        print(f"        {ms:8.1f} {sql[:1500]}")
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
