"""Many processes write to one SQLite file at once, through the product's services: nobody may find it locked, no row may be missing.

Run: python -m tests.scale.writers [--processes 8] [--writes 10000] [--profile]

Each process does what workers and people do. It claims pages in competition with the others, writes down their visits (every
second one finds a change, with its evidence), decides on that change, alters a setting of the page and writes a mail. Claims
come on top of the writes that are counted. Every so often it closes its connection and opens another, as commands and threads
of the web server do. Ends with 1 when a write failed or the database does not hold all that was written.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import os
import pstats
import statistics
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from django.contrib.auth.models import User

    from monitoring.models import Monitor
    from monitoring.services import schedule
    from monitoring.services.findings import Finding
    from monitoring.services.ledger import Ledger

KINDS = ("visit", "change", "verdict", "setting", "mail")  # one of each is written for every two pages
WRITES = 10_000
BATCH = 20
RECONNECT = 100  # writes between two connections
LEASE_S = 3_600.0
WAITS_S = 900.0


@dataclass
class Told:
    """What one process did: milliseconds of each write by kind, and what went wrong."""

    times: dict[str, list[float]] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)

    def timed(self, kind: str, work: Callable[[], object]) -> None:
        """Do one write; an error is told and costs the others nothing."""
        began = time.perf_counter()
        try:
            good = work()
        except Exception as error:  # noqa: BLE001 - every failure is what is looked for
            self.wrong[f"{kind}: {type(error).__name__}: {error}"] += 1
            return
        finally:
            self.times.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
        if not good:
            self.wrong[f"{kind}: refused"] += 1


@dataclass(frozen=True)
class Found:
    """The whole run: what all processes told, rows that are missing by kind, and the seconds between start and end."""

    told: Told
    missing: dict[str, int]
    seconds: float
    processes: int

    @property
    def locked(self) -> int:
        """How often somebody found the database locked."""
        return sum(n for text, n in self.told.wrong.items() if "locked" in text or "busy" in text)

    @property
    def writes(self) -> int:
        """Writes that were tried, claims left out."""
        return sum(len(self.told.times.get(kind, ())) for kind in KINDS)

    @property
    def whole(self) -> bool:
        """Whether nothing failed and nothing is missing."""
        return not self.told.wrong and not any(self.missing.values())


def run(processes: int, writes: int, *, profile: bool = False) -> Found:
    """Fill a database of its own, write to it from so many processes at once, and look at what it holds."""
    pages = 2 * -(-writes // len(KINDS))
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="tideline-writers-") as folder:
        _in_process(spawn, _fill, folder, pages)
        start, told = spawn.Barrier(processes + 1), spawn.Queue()
        workers = [
            spawn.Process(target=_work, args=(folder, number, start, told, profile and number == 0))
            for number in range(processes)
        ]
        for worker in workers:
            worker.start()
        start.wait(timeout=WAITS_S)
        began = time.perf_counter()
        whole = Told()
        for _ in workers:
            one: Told = told.get(timeout=WAITS_S)
            whole.wrong.update(one.wrong)
            for kind, times in one.times.items():
                whole.times.setdefault(kind, []).extend(times)
        seconds = time.perf_counter() - began
        for worker in workers:
            worker.join()
        missing = _in_process(spawn, _look, folder, pages)
        return Found(whole, missing, seconds, processes)


def _in_process(spawn: Any, work: Callable[[Any, str, int], None], folder: str, pages: int) -> Any:
    """What one process of its own tells; this one opens no database."""
    answer = spawn.Queue()
    process = spawn.Process(target=work, args=(answer, folder, pages))
    process.start()
    found = answer.get(timeout=WAITS_S)
    process.join()
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def _begin(folder: str) -> None:
    os.environ.pop("DATABASE_URL", None)
    os.environ |= {
        "TIDELINE_DATA": folder,
        "TIDELINE_DATABASE": f"sqlite://{folder}/writers.sqlite3",
        "TIDELINE_LOG_LEVEL": "ERROR",
        "TIDELINE_PRODUCTION": "0",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    import django

    django.setup()


def _fill(answer: Any, folder: str, pages: int) -> None:
    """A migrated database with so many pages, all due, and each with a baseline."""
    try:
        _begin(folder)
        from django.contrib.auth.models import User
        from django.core.management import call_command
        from django.db import transaction

        from monitoring.models import Monitor, Site, Snapshot
        from tests import factories

        call_command("migrate", interactive=False, verbosity=0)
        with transaction.atomic():
            User.objects.create(username="ines")
            site = Site.objects.create(name="Many hands", host="hands.example", gap_s=0)
            first = factories.make_monitor(site=site, url="https://hands.example/0", state="ok")
            seen = factories.make_snapshot(first)
            _copies(first, [{"url": f"https://hands.example/{n}", "name": f"Page {n}"} for n in range(1, pages)])
            _copies(seen, [{"monitor_id": first.pk + n} for n in range(1, pages)])
            baselines = dict(Snapshot.objects.values_list("monitor_id", "pk"))
            rows = list(Monitor.objects.only("pk"))
            for monitor in rows:
                monitor.baseline_id = baselines[monitor.pk]
            Monitor.objects.bulk_update(rows, ["baseline"], batch_size=500)
        answer.put(None)
    except BaseException:
        answer.put(traceback.format_exc())
        raise


def _copies(row: Any, differing: list[dict[str, Any]]) -> None:
    """Rows like this one but for what is given for each."""
    model = type(row)
    columns = {f.attname: getattr(row, f.attname) for f in model._meta.local_concrete_fields if not f.primary_key}
    model.objects.bulk_create([model(**(columns | given)) for given in differing], batch_size=500)


def _work(folder: str, number: int, start: Any, told: Any, profile: bool) -> None:
    """One process: batches until nothing is due."""
    _begin(folder)
    from django.contrib.auth.models import User

    seen = Told()
    with cProfile.Profile() if profile else nullcontext() as found:
        try:
            actor = User.objects.get(username="ines")
            start.wait(timeout=WAITS_S)
            while _batch(seen, actor, f"w{number}"):
                pass
        except Exception as error:  # noqa: BLE001 - told, and the run goes on without this one
            seen.wrong[f"process: {type(error).__name__}: {error}"] += 1
    told.put(seen)
    if isinstance(found, cProfile.Profile):
        pstats.Stats(found).sort_stats("tottime").print_stats(15)


def _batch(seen: Told, actor: User, name: str) -> bool:
    """Claim some pages and do all there is to do with each; False when none was left."""
    from django.utils import timezone

    from monitoring.models import Monitor
    from monitoring.services import schedule
    from monitoring.services.ledger import Ledger

    claims: list[schedule.Claim] = []
    now = timezone.now()
    seen.timed("claim", lambda: _put(claims, schedule.claim_due(now=now, limit=BATCH, lease_s=LEASE_S, workers=1)))
    for claim in claims:
        tokens: list[str] = []
        seen.timed("take over", partial(_taken, tokens, claim))
        token = tokens[0] if tokens else ""
        desk = Ledger(
            token,
            written=lambda outcome: None,
            lost=lambda pk: seen.wrong.update([f"visit: lease of {pk} lost"]),
            crashed=lambda pk, error: seen.wrong.update([f"visit: {type(error).__name__}: {error}"]),
        )
        for monitor in Monitor.objects.filter(pk__in=claim.ids).select_related(
            "page_type", "team", "site", "vantage", "baseline"
        ):
            _page(seen, desk, monitor, actor, name)
    if not claims:
        return Monitor.objects.filter(check_no=0, lease_until=None).exists()  # the others were faster
    return True


def _put[T](found: list[T], more: list[T]) -> bool:
    found.extend(more)
    return True


def _taken(tokens: list[str], claim: schedule.Claim) -> bool:
    from django.utils import timezone

    from monitoring.services import schedule

    tokens.append(schedule.take_over(claim.ids, claim.token, now=timezone.now()))
    return bool(tokens[0])


def _page(seen: Told, desk: Ledger, monitor: Monitor, actor: User, name: str) -> None:
    """The visit of one page; of two pages in a row one has changed, the other is configured."""
    from django.db import connection
    from django.utils import timezone

    from monitoring.models import Change
    from monitoring.services import monitors, outbox
    from review.models import Verdict
    from review.services import verdicts

    now = timezone.now()
    if monitor.pk % 2:
        seen.timed("change", partial(_visited, desk, _changed(monitor, now), monitor, now))
        change = Change.objects.filter(monitor=monitor).first()
        if change is None:
            return  # told already
        shown = verdicts.Seen(change.version, change.diff_hash, f"{name}-{change.pk}", 9.0)
        seen.timed(
            "verdict",
            lambda: isinstance(
                verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=actor, seen=shown, now=now),
                verdicts.Recorded,
            ),
        )
    else:
        seen.timed("visit", partial(_visited, desk, _unchanged(monitor, now), monitor, now))
        monitor.refresh_from_db()
        seen.timed("setting", lambda: monitors.change_settings(monitor, {"threshold": 7}, actor=actor, reason="load"))
        seen.timed(
            "mail",
            lambda: outbox.enqueue(
                key=f"load-{monitor.pk}",
                kind="alert",
                recipient="ines@example.test",
                subject="News",
                text="It changed.",
                now=now,
            ),
        )
    if monitor.pk % (RECONNECT // 2) < 2:
        connection.close()


def _visited(desk: Ledger, finding: Finding, monitor: Monitor, now: datetime) -> bool:
    """Write a visit down by itself; results that could wait for others don't. What went wrong the ledger tells."""
    from monitoring.services.rules import Rules

    desk.add(finding, monitor, rules=Rules(), now=now)
    desk.flush()
    return True


def _unchanged(monitor: Monitor, now: datetime) -> Finding:
    from monitoring.models import Outcome
    from monitoring.services.findings import Finding

    return Finding(outcome=Outcome.NONE, reason="same-bytes", started_at=now, duration_ms=1, final_url=monitor.url)


def _changed(monitor: Monitor, now: datetime) -> Finding:
    from monitoring.fetching.capture import Capture
    from monitoring.models import Change, Outcome, Snapshot
    from monitoring.services.findings import Finding
    from tests import factories

    text = f"<p>We may share it with {monitor.pk} others.</p>" * 40
    capture = Capture(
        key=monitor.pk, url=monitor.url, final_url=monitor.url, status=200, headers=(("content-type", "text/html"),),
        body=text.encode(), html=text, charset="utf-8", charset_source="header", content_type="text/html", redirects=(),
        peer_address="192.0.2.1", certificate_sha256="", started_at=now, duration_ms=1,
    )  # fmt: skip
    return Finding(
        outcome=Outcome.CONTENT, reason="score", started_at=now, duration_ms=1, final_url=monitor.url, capture=capture,
        keep=Snapshot.Role.CHANGE, expires_at=now + timedelta(days=90), opens=Change.Kind.CONTENT,
        diff=factories.DIFF, raw_sha256=f"{monitor.pk:064x}", text_hash=f"{monitor.pk:064x}", fingerprint="0" * 16,
    )  # fmt: skip


def _look(answer: Any, folder: str, pages: int) -> None:
    """Rows that are missing, by kind, and whether SQLite finds the file sound."""
    try:
        _begin(folder)
        from django.db import connection

        from monitoring.models import Change, Check, Monitor, OutboxMessage, SettingChange, Snapshot
        from review.models import Verdict

        half = pages // 2
        checks = Check.objects.values_list("monitor_id", flat=True)
        decided = Change.objects.filter(state=Change.State.APPROVED)
        missing = {
            "visit": half - checks.filter(outcome="none").distinct().count(),
            "change": half - decided.filter(new__role=Snapshot.Role.CHANGE, check_row__outcome="content").count(),
            "verdict": half - Verdict.objects.filter(change__in=decided).values("change").distinct().count(),
            "setting": half - SettingChange.objects.filter(monitor__threshold=7).count(),
            "mail": half - OutboxMessage.objects.values("key").distinct().count(),
            "claim": Monitor.objects.exclude(check_no=1, lease_token="", lease_until=None).count(),
        }
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            missing["sound file"] = int(cursor.fetchall() != [("ok",)])
            cursor.execute("PRAGMA foreign_key_check")
            missing["referenced row"] = len(cursor.fetchall())
        answer.put(missing)
    except BaseException:
        answer.put(traceback.format_exc())
        raise


def table(found: Found) -> str:
    """The run as a table."""
    lines = [
        f"-- {found.processes} processes, {found.writes:,} writes to one SQLite file: {found.locked} found it locked, "
        f"{found.seconds:.0f} s, {found.writes / found.seconds:.0f} writes a second",
        f"   {'':12}{'writes':>8}{'missing':>9}{'p50 ms':>10}{'p95 ms':>10}{'slowest ms':>12}",
    ]
    for kind, times in sorted(found.told.times.items(), key=lambda item: [*KINDS, "claim", "take over"].index(item[0])):
        ordered = sorted(times)
        missing = found.missing.get(kind, "")
        lines.append(
            f"   {kind:12}{len(times):8,}{missing:>9}{statistics.median(ordered):10.1f}"
            f"{ordered[len(ordered) * 95 // 100]:10.1f}{ordered[-1]:12.1f}"
        )
    lines += [f"   MISSED {n} {text}" for text, n in sorted(found.told.wrong.items())]
    lines += [f"   MISSED {n:,} missing: {kind}" for kind, n in found.missing.items() if n]
    return "\n".join(lines)


def main() -> int:
    """Print the table; 1 when anything failed or is missing."""
    parser = argparse.ArgumentParser(prog="tests.scale.writers")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writes", type=int, default=WRITES)
    parser.add_argument("--profile", action="store_true", help="print where the first process spent its time")
    options = parser.parse_args()
    found = run(options.processes, options.writes, profile=options.profile)
    print(table(found))
    return 0 if found.whole else 1


if __name__ == "__main__":
    raise SystemExit(main())
