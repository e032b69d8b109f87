"""Many processes write to one SQLite file at once, through the product's services: nobody may find it locked.

Run: python -m tests.scale.writers [--processes 8] [--writes 10000]

A third of the writes each: results of visits (the ledger, a few in one transaction), verdicts, settings. Ends with 1 when a write
failed or one is missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from typing import Any


def _begin(folder: str) -> None:
    os.environ |= {
        "TIDELINE_DATA": folder,
        "TIDELINE_DATABASE": f"sqlite://{folder}/writers.sqlite3",
        "TIDELINE_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    import django

    django.setup()


def _fill(processes: int, each: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    from monitoring.models import Monitor, Site
    from tests import factories

    call_command("migrate", interactive=False, verbosity=0)
    person = factories.make_user()
    site = Site.objects.create(name="One", host="one.example", gap_s=0)
    for number in range(processes):
        monitor = factories.make_monitor(site=site, name=f"visited by {number}", state="ok", lease_token=f"t{number}")
        for n in range(each):
            owned = factories.make_monitor(
                site=site, name=f"judged by {number}", url=f"https://one.example/{number}/{n}"
            )
            factories.make_change(owned)
        Monitor.objects.filter(pk=monitor.pk).update(lease_until=factories.NOW, last_ok_at=factories.NOW)
    assert person.pk
    connection.close()


def _write(folder: str, number: int, each: int, start: Any, told: Any) -> None:
    """One process: `each` writes of every kind."""
    _begin(folder)
    from django.contrib.auth.models import User
    from django.db import DatabaseError
    from django.utils import timezone

    from monitoring.models import Change, Check, Monitor, Outcome
    from monitoring.services import ledger, monitors
    from monitoring.services.findings import Finding
    from monitoring.services.rules import Rules
    from review.models import Verdict
    from review.services import verdicts

    person = User.objects.get(username="ines")
    mine = list(Change.objects.filter(monitor__name=f"judged by {number}").order_by("pk"))
    visited = Monitor.objects.select_related("page_type", "team", "site", "vantage", "baseline").get(
        name=f"visited by {number}"
    )
    done: Counter[str] = Counter()
    slowest = 0.0

    def crashed(pk: int, error: Exception) -> None:
        done[f"failed: {error}"] += 1

    token = f"t{number}"
    start.wait(timeout=600)
    for n, change in enumerate(mine):
        now = timezone.now()
        began = time.monotonic()
        try:
            desk = ledger.Ledger(
                token, written=lambda outcome: None, lost=lambda pk: crashed(pk, RuntimeError("lost")), crashed=crashed
            )
            finding = Finding(
                outcome=Outcome.NONE, reason="same-bytes", started_at=now, duration_ms=1, final_url=visited.url
            )
            desk.add(finding, visited, rules=Rules(), now=now)
            desk.flush()
            done["visit"] += Check.objects.filter(monitor=visited, check_no=visited.check_no + 1).count()
            Monitor.objects.filter(pk=visited.pk).update(lease_token=token, lease_until=now)
            visited.refresh_from_db(fields=["check_no", "lease_token", "lease_until", "last_ok_at"])
            seen = verdicts.Seen(change.version, change.diff_hash, f"w{number}-{n}", None)
            kept = verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=person, seen=seen, now=now)
            done["verdict"] += isinstance(kept, verdicts.Recorded)
            rows = monitors.change_settings(change.monitor, {"threshold": 1 + n % 60}, actor=person, reason="load")
            done["setting"] += len(rows)
        except DatabaseError as error:
            done[f"failed: {error}"] += 1
        slowest = max(slowest, time.monotonic() - began)
    told.put((number, dict(done), slowest))


def run(processes: int, writes: int) -> tuple[Counter[str], float, float]:
    """What was written by all of them, the longest that one round of three writes took, and how long all took."""
    each = -(-writes // (3 * processes))
    with tempfile.TemporaryDirectory(prefix="tideline-writers-") as folder:
        spawn = multiprocessing.get_context("spawn")
        filler = spawn.Process(target=_prepare, args=(folder, processes, each))
        filler.start()
        filler.join()
        assert filler.exitcode == 0, "the database could not be filled"
        start, told = spawn.Barrier(processes), spawn.Queue()
        workers = [spawn.Process(target=_write, args=(folder, n, each, start, told)) for n in range(processes)]
        for worker in workers:
            worker.start()
        began = time.monotonic()
        found: Counter[str] = Counter()
        slowest = 0.0
        for _ in workers:
            _number, done, longest = told.get(timeout=1200)
            found.update(done)
            slowest = max(slowest, longest)
        for worker in workers:
            worker.join()
        return found, slowest, time.monotonic() - began


def _prepare(folder: str, processes: int, each: int) -> None:
    _begin(folder)
    _fill(processes, each)


def main() -> int:
    """Print what was written; 1 when anything failed or is missing."""
    parser = argparse.ArgumentParser(prog="tests.scale.writers")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writes", type=int, default=10_000)
    options = parser.parse_args()
    found, slowest, seconds = run(options.processes, options.writes)
    each = -(-options.writes // (3 * options.processes)) * options.processes
    failed = {name: n for name, n in found.items() if name.startswith("failed")}
    print(
        f"{options.processes} processes on one SQLite file: {sum(found.values()):,} writes in {seconds:.0f} s, longest round {slowest:.2f} s"
    )
    print(
        f"   visits {found['visit']:,}, verdicts {found['verdict']:,}, settings {found['setting']:,}; failed: {failed or 0}"
    )
    whole = all(found[kind] == each for kind in ("visit", "verdict", "setting"))
    return 0 if whole and not failed else 1


if __name__ == "__main__":
    raise SystemExit(main())
