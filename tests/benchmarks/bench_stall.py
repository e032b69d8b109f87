"""Are the others late when one host never answers? 500 monitors over 50 hosts, with and without it, on one worker.

Run: python tests/benchmarks/bench_stall.py [MONITORS] [HOSTS]

Everything is due at once, three rounds; the ticker's turn and the worker's batch follow each other in one process, which
is the worst case: nobody else could take over what waits. Lateness is from a monitor's due time to its record. The silent
host takes connections and says nothing; its limit is the product's own (30 s). Loopback only, SQLite in a temporary folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = (
    b"<main><h1>Terms</h1>"
    + b"<p>The library of Halden keeps a record of each loan for some weeks.</p>" * 100
    + b"</main>"
)
ROUNDS = 3
MOST_LATER_S = 5.0


class Servers:
    """An honest server for each host, and one that never answers, each at an address of loopback of its own; in a thread."""

    def __init__(self, hosts: int) -> None:
        self.silent = "127.0.1.0"
        self.honest = [f"127.0.{1 + n // 250}.{1 + n % 250}" for n in range(hosts)]
        self.port = 0
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        async def honest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while await reader.readuntil(b"\r\n\r\n"):
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE
                    )
                    await writer.drain()
            except (OSError, asyncio.IncompleteReadError):
                writer.close()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, self.silent, 0)
        self.port = server.sockets[0].getsockname()[1]
        await asyncio.start_server(honest, self.honest, self.port)
        ready.set()
        await asyncio.Event().wait()


def measure(job: dict[str, Any]) -> None:
    """In a process of its own: the rounds, and how late each honest monitor was recorded."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from monitoring.models import Check, Monitor, PageType, Site, Team, Vantage
    from monitoring.services import capture, schedule

    call_command("migrate", verbosity=0)
    team, page_type = Team.objects.create(name="T"), PageType.objects.create(name="P", slug="p")
    vantage, now = Vantage.objects.create(name="v"), timezone.now()
    per_host = job["monitors"] // job["hosts"]
    rows = []
    for number in range(job["hosts"]):
        stuck = job["stall"] and number == 0
        site = Site.objects.create(
            name=str(number), host=f"h{number}", gap_s=0, robots_policy="ignore", robots_reason="bench"
        )
        address = job["silent"] if stuck else job["honest"][number]
        rows += [
            Monitor(name="stuck" if stuck else "honest", url=f"http://{address}:{job['port']}/{n}", site=site, team=team,
                    page_type=page_type, vantage=vantage, next_check_at=now)
            for n in range(per_host)
        ]  # fmt: skip
    Monitor.objects.bulk_create(rows)
    late: list[float] = []
    for _ in range(ROUNDS):
        due = timezone.now()
        Monitor.objects.filter(lease_until__isnull=True).update(next_check_at=due)
        for _turn in range(50):
            claims = schedule.claim_due(now=timezone.now(), limit=200, lease_s=90)
            if not claims:
                break
            for claim in claims:
                capture.run_batch(claim.ids, claim.token)
        done = Check.objects.filter(monitor__name="honest", started_at__gte=due).values_list(
            "started_at", "duration_ms"
        )
        late += [(at - due).total_seconds() + ms / 1000 for at, ms in done]
    print(json.dumps(late))


def run(servers: Servers, monitors: int, hosts: int, *, stall: bool) -> list[float]:
    """Lateness of the honest monitors in seconds."""
    allowed = [f"{address}:{servers.port}" for address in (servers.silent, *servers.honest)]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "TIDELINE_DATA": folder,
            "TIDELINE_DATABASE": f"sqlite:///{folder}/db.sqlite3",
            "TIDELINE_TEST_ALLOWED_ADDRESSES": ",".join(allowed),
            "TIDELINE_WORKERS": "1",
            "TIDELINE_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONPATH": str(ROOT),
        }
        job: dict[str, Any] = {"monitors": monitors, "hosts": hosts, "stall": stall, "port": servers.port}
        job |= {"honest": servers.honest, "silent": servers.silent}
        command = [sys.executable, str(Path(__file__)), "--measure", json.dumps(job)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        found: list[float] = json.loads(done.stdout)
        return found


def main() -> int:
    """Print both and fail when the silent host makes the others late."""
    monitors, hosts = (int(text) for text in [*sys.argv[1:], "500", "50"][:2])
    servers = Servers(hosts)
    tables = {}
    for stall in (False, True):
        began = time.monotonic()
        late = sorted(run(servers, monitors, hosts, stall=stall))
        tables[stall] = late
        print(
            f"{'one host never answers' if stall else 'all hosts answer':<24} {len(late)} checks of the others, late by "
            f"median {statistics.median(late):.2f} s, p95 {late[int(len(late) * 0.95)]:.2f} s, most {late[-1]:.2f} s "
            f"(run of {time.monotonic() - began:.0f} s)"
        )
    wanted = ROUNDS * (monitors - monitors // hosts)
    later = tables[True][int(len(tables[True]) * 0.95)] - tables[False][int(len(tables[False]) * 0.95)]
    print(f"p95 later by {later:.2f} s (at most {MOST_LATER_S:g})")
    return 0 if later <= MOST_LATER_S and len(tables[True]) >= wanted else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(json.loads(sys.argv[2]))
    else:
        sys.exit(main())
