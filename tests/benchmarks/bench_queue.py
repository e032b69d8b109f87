"""CPU time of the queue for one check: hand out, take, claim, take over, acknowledge; in batches and one task a check.

Run: python tests/benchmarks/bench_queue.py [--monitors 2000]

Brokers are those that the product has: the database's own (SQLite; PostgreSQL where TIDELINE_SCALE_POSTGRESQL leads to a server)
and Redis (TIDELINE_SCALE_REDIS, over SQLite). Each runs in a process of its own; time of the database's and Redis's servers is not in it.
The tasks do nothing but what every batch does before its first page. Ends with 1 where batches of 200 cost more than 0.3 ms a check.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

MOST_MS = 0.3
BATCHES = (200, 100, 1)
STAGES = ("claim", "enqueue", "dequeue", "take over", "ack")
POSTGRESQL = os.environ.get("TIDELINE_SCALE_POSTGRESQL", "postgresql://postgres@127.0.0.1:5432")
REDIS = os.environ.get("TIDELINE_SCALE_REDIS", "redis://127.0.0.1:6379/2")


def _one(monitors: int) -> int:
    """One broker: a line for each size of batch."""
    import django

    django.setup()
    from django.utils import timezone
    from django_q.brokers import get_broker
    from django_q.signing import SignedPackage

    from monitoring import queueing
    from monitoring.models import Monitor, Site
    from monitoring.services import schedule
    from tests.benchmarks.worker import fill

    fill([f"https://q.example/{n}" for n in range(monitors)])
    Site.objects.update(gap_s=0)
    broker = get_broker()
    spent: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], Any]) -> Any:  # Any: whatever the work gives
        began = time.process_time()
        found = work()
        spent[stage] = spent.get(stage, 0.0) + time.process_time() - began
        return found

    met = True
    for size in BATCHES:
        spent.clear()
        wanted = monitors if size > 1 else min(monitors, 200)
        now = timezone.now()
        Monitor.objects.update(next_check_at=now, lease_until=None, lease_token="")
        schedule.BATCH_LEAST = schedule.BATCH_MOST = size
        done = 0
        while done < wanted:
            claims = timed("claim", lambda: schedule.claim_due(now=now, limit=max(size, 1), lease_s=600))  # noqa: B023 - called at once
            for claim in claims:
                timed("enqueue", lambda: queueing.enqueue_batch(claim.ids, claim.token))  # noqa: B023
                (key, package), *_ = timed("dequeue", broker.dequeue)
                task = timed("dequeue", lambda: SignedPackage.loads(package))  # noqa: B023
                ids, token = task["args"][:2]
                own = timed("take over", lambda: schedule.take_over(ids, token, now=now))  # noqa: B023
                assert own, "the batch was not ours"
                timed("ack", lambda: broker.acknowledge(key))  # noqa: B023
                done += len(ids)
        each = {stage: 1000 * spent[stage] / done for stage in STAGES}
        total = sum(each.values())
        met &= size != BATCHES[0] or total <= MOST_MS
        parts = "  ".join(f"{stage} {ms:6.3f}" for stage, ms in each.items())
        print(f"   tasks of {size:3}: {total:7.3f} ms a check   ({parts})", flush=True)
    return 0 if met else 1


def main() -> int:
    """Every broker that is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--monitors", type=int, default=2_000)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return _one(options.monitors)
    bad = 0
    name = f"tideline_scale_queue_{os.getpid()}"
    for title, database, redis in (
        ("database broker, SQLite", "", ""),
        ("database broker, PostgreSQL", f"{POSTGRESQL}/{name}", ""),
        ("Redis broker, SQLite", "", REDIS),
    ):
        print(title, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            if database and not _postgres(f"CREATE DATABASE {name}"):
                print("   no server")
                continue
            environment = os.environ | {
                "TIDELINE_DATA": folder, "TIDELINE_DATABASE": database or f"sqlite://{folder}/queue.sqlite3",
                "TIDELINE_REDIS": redis, "TIDELINE_LOG_LEVEL": "ERROR", "DJANGO_SETTINGS_MODULE": "config.settings",
            }  # fmt: skip
            arguments = [sys.executable, __file__, "--one", "--monitors", str(options.monitors)]
            bad |= subprocess.run(arguments, env=environment, cwd=ROOT, check=False).returncode
            if database:
                _postgres(f"DROP DATABASE {name}")
    return bad


def _postgres(statement: str) -> bool:
    import psycopg

    try:
        with psycopg.connect(f"{POSTGRESQL}/postgres", autocommit=True) as link:
            link.execute(statement.encode())
    except psycopg.OperationalError:
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(main())
