"""What the benchmarks of whole visits share: a worker's process over an empty SQLite file, filled with monitors, and its rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any


def prepare(folder: str, port: int) -> None:
    """Make this process a worker of a product of its own in `folder`, which may visit a port of loopback."""
    os.environ |= {
        "TIDELINE_DATA": folder,
        "TIDELINE_DATABASE": f"sqlite://{folder}/bench.sqlite3",
        "TIDELINE_TEST_ALLOWED_ADDRESSES": f"127.0.0.1:{port}",
        "TIDELINE_LOG_LEVEL": "WARNING",
        "TIDELINE_CONFIRM_DELAY_S": "0",
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "config.settings"),
    }
    import django

    django.setup()


def fill(urls: Iterable[str]) -> None:
    """The tables, and a monitor for each page."""
    from django.core.management import call_command
    from django.utils import timezone

    from monitoring.models import Monitor, PageType, Site, Team, Vantage

    call_command("migrate", interactive=False, verbosity=0)
    common: dict[str, Any] = {
        "site": Site.objects.create(name="Local", host="local", gap_s=0),
        "team": Team.objects.create(name="Bench"),
        "page_type": PageType.objects.create(name="Bench", slug="bench"),
        "vantage": Vantage.objects.create(name="bench"),
        "next_check_at": timezone.now(),
    }
    Monitor.objects.bulk_create([Monitor(name=f"Page {n}", url=url, **common) for n, url in enumerate(urls)])


def visit_all() -> tuple[int, float, float]:
    """Visits of every monitor once: how many, CPU seconds, seconds."""
    from django.utils import timezone

    from monitoring.models import Monitor
    from monitoring.services import capture, schedule

    now = timezone.now()
    Monitor.objects.update(next_check_at=now, lease_until=None)
    cpu, wall, done = time.process_time(), time.perf_counter(), 0
    while claims := schedule.claim_due(now=now, limit=200, lease_s=600):
        for claim in claims:
            counts = capture.run_batch(claim.ids, claim.token, budget_s=600)
            done += sum(counts.values())
    return done, time.process_time() - cpu, time.perf_counter() - wall
