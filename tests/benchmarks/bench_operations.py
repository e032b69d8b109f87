"""What looking at a large installation costs, and what counting a visit costs; ends with 1 beyond a limit.

    bench_operations.py [MONITORS]        default 100,000; on SQLite, or on TIDELINE_BENCH_DATABASE (emptied by nobody: name a new one)

Looks are measured in processor time of this process and in time of the statements, the best of five; both count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

LOOK_MS = 100.0
VISIT_US = 10.0  # a hundredth of a visit that is answered with 304
SITES = 2000
DUE_SHARE = 0.03


def load(count: int) -> None:
    """Monitors over some sites, 3 % of them due, the longest for 50 minutes."""
    from django.core.management import call_command
    from django.utils import timezone

    from monitoring.models import Monitor, PageType, Site, Team, Vantage

    call_command("migrate", interactive=False, verbosity=0)
    if Monitor.objects.exists():
        return
    team, kind = Team.objects.create(name="T", budget=1000), PageType.objects.create(name="P", slug="p")
    vantage, now = Vantage.objects.create(name="v"), timezone.now()
    Site.objects.bulk_create([Site(name=f"s{n}", host=f"s{n}.example") for n in range(SITES)])
    sites = list(Site.objects.values_list("pk", flat=True))
    Monitor.objects.bulk_create(
        Monitor(
            name=f"Page {n}", url=f"https://s{n % SITES}.example/{n}", site_id=sites[n % SITES], team=team,
            page_type=kind, vantage=vantage, state="ok",
            next_check_at=now + timedelta(seconds=(n * 7919) % 100_000 - 100_000 * DUE_SHARE),
            deadline_at=now + timedelta(seconds=(n * 7919) % 100_000 - 500),
        )
        for n in range(SITES)
    )  # fmt: skip
    from django.db import connection

    columns = [field.column for field in Monitor._meta.local_concrete_fields if not field.primary_key]
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        for turn in range(1, -(-count // SITES)):  # the same again under other addresses
            values = ", ".join("url || %s" if name == "url" else f'"{name}"' for name in columns)
            cursor.execute(
                f"INSERT INTO monitoring_monitor ({names}) SELECT {values} FROM monitoring_monitor WHERE id <= %s",
                [f"/{turn}", SITES],
            )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def cost_ms(look: Callable[[], object]) -> tuple[float, float, int]:
    """Processor time, time of statements and their number, of the best of five."""
    from django.db import connection, reset_queries

    found = []
    connection.force_debug_cursor = True
    for _ in range(5):
        reset_queries()
        began = time.process_time()
        look()
        cpu = time.process_time() - began
        found.append(
            (cpu * 1000, sum(float(q["time"]) for q in connection.queries_log) * 1000, len(connection.queries_log))
        )
    return min(found)


def main() -> int:
    """The table; 1 when a limit is passed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="tideline-bench-") as folder:
        os.environ |= {
            "TIDELINE_DATA": folder,
            "TIDELINE_DATABASE": os.environ.get("TIDELINE_BENCH_DATABASE", f"sqlite://{folder}/bench.sqlite3"),
            "TIDELINE_LOG_LEVEL": "WARNING",
            "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "config.settings"),
        }
        import django

        django.setup()
        load(count)
        return measure()


def measure() -> int:
    """Print a line for each look, and one for counting."""
    from django.db import connection
    from django.utils import timezone

    from monitoring.models import Monitor
    from monitoring.services import census, health, metrics, standing, tallies

    now = timezone.now()
    census.take(now=now)
    last = census.latest()
    print(
        f"{connection.vendor}, {Monitor.objects.count()} monitors; census {last.took_ms if last else 0} ms, every 60 s or 100 times that"
    )
    looks: dict[str, Callable[[], object]] = {
        "/health/ready": lambda: health.collect(now=now),
        "/metrics": lambda: metrics.text(now=now),
        "manage.py status": lambda: standing.lines(standing.look(now=now), now=now),
    }
    failed = False
    for name, look in looks.items():
        cpu, statements, number = cost_ms(look)
        failed |= max(cpu, statements) > LOOK_MS
        print(f"{name:<18} cpu {cpu:6.1f} ms   statements {number:3d} in {statements:6.1f} ms   limit {LOOK_MS:.0f} ms")
    check = {"outcome": "none", "duration_ms": 40, "not_modified": True, "size_bytes": 0, "started_at": now}
    monitor = Monitor(next_check_at=now)
    tallies.stages.begin()
    began = time.process_time()
    for _ in range(20_000):
        for stage in ("judge", "record"):
            tallies.stages.switch(tallies.stages.switch(stage))
        tallies.visit(check, monitor)
    visit_us = (time.process_time() - began) / 20_000 * 1e6
    tallies.stages.end()
    failed |= visit_us > VISIT_US
    print(f"counting a visit   cpu {visit_us:6.1f} µs   limit {VISIT_US:.0f} µs")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
