"""Server time of the pages, in this process, middleware included: what a person waits for besides the network."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from monitoring.models import Change, Check, Monitor, Site, Snapshot
from review.selectors import keyset, queue
from tests.scale.load import BUSY

MOST_MS = 100.0
_COUNTS = re.compile(r"\bCOUNT\(", re.IGNORECASE)
# An uncapped count names one of these without a LIMIT inside.
LARGE = (
    "monitoring_check",
    "monitoring_change",
    "monitoring_snapshot",
    "monitoring_fieldchange",
    "review_verdict",
    "monitoring_monitor",
)


@dataclass(slots=True)
class Timed:
    """A page's times in milliseconds, and the statements of one request with theirs."""

    name: str
    address: str
    ms: list[float] = field(default_factory=list)
    statements: list[tuple[float, str]] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    @property
    def p95(self) -> float:
        return sorted(self.ms)[max(0, round(len(self.ms) * 0.95) - 1)]


def deep_cursor() -> str:
    """A cursor in the middle of the queue."""
    waiting = Change.objects.filter(state="open").order_by(*queue.ORDERS[""].columns)
    rows = waiting[: 2 * queue.CAPPED]
    change = list(rows)[-1] if rows else None
    return keyset.to_cursor(queue.ORDERS[""].key(change)) if change else ""


def addresses() -> dict[str, str]:
    """Every page that is measured, by name."""
    change = Change.objects.filter(state="open").order_by("pk").values_list("pk", flat=True)[0]
    usual = Monitor.objects.filter(pk__gt=BUSY, state="ok").order_by("pk").values_list("pk", flat=True)[3]
    site = Site.objects.order_by("pk").values_list("pk", flat=True)[0]
    snapshot = Snapshot.objects.order_by("pk").values_list("pk", flat=True)[0]
    check = Check.objects.order_by("-pk").values_list("pk", flat=True)[0]
    admin = "/admin/monitoring"
    return {
        "queue": "/queue/",
        "queue, deep": f"/queue/?after={deep_cursor()}",
        "queue, one site": f"/queue/?site={site}",
        "queue, high, by size": "/queue/?view=high&sort=size",
        "queue, search": "/queue/?q=partner+42",
        "queue count": "/queue/count/",
        "change page": f"/c/{change}/",
        "today": "/",
        "monitors": "/monitors/",
        "monitors, search": "/monitors/?q=page-4242",
        "monitors, blocked": "/monitors/?state=blocked",
        "monitor": f"/m/{usual}/",
        "monitor, busy": f"/m/{BUSY}/",
        "monitor, busy, changes": f"/m/{BUSY}/?kind=content",
        "sites": "/sites/",
        "fleet": "/fleet/",
        "overdue": "/fleet/overdue/",
        "verdicts": "/verdicts/",
        "verdicts, mine today": "/verdicts/?who=me&when=today",
        "verdicts, one site": f"/verdicts/?site={site}",
        "verdicts, rare": "/verdicts/?action=second",
        "verdict report": "/verdicts/report/",
        "held back": "/queue/?kind=noise",
        "fields": "/fields/",
        "fields, one name": "/fields/?name=version",
        "admin monitors": f"{admin}/monitor/",
        "admin monitors, search": f"{admin}/monitor/?q=page-4242",
        "admin monitor": f"{admin}/monitor/{usual}/change/",
        "admin checks": f"{admin}/check/",
        "admin checks, noise": f"{admin}/check/?outcome__exact=noise",
        "admin check": f"{admin}/check/{check}/change/",
        "admin snapshots": f"{admin}/snapshot/",
        "admin snapshot": f"{admin}/snapshot/{snapshot}/change/",
        "admin changes": f"{admin}/change/",
        "admin field changes": f"{admin}/fieldchange/",
        "admin sites": f"{admin}/site/",
        "health": "/health/ready",
        "metrics": "/metrics",
    }


def measure(times: int, *, username: str = "boss", only: str = "", most_s: float = 20.0) -> Iterator[Timed]:
    """Each page asked for so many times after a warm-up, and once more with its statements written down."""
    user = User.objects.get(username=username)
    client = Client(raise_request_exception=True)
    client.force_login(user)
    for name, address in addresses().items():
        if only and only not in name:
            continue
        timed = Timed(name, address)
        status = client.get(address).status_code
        if status == 404 and address in ("/health/ready", "/metrics"):
            continue  # not in this version
        if status in (302, 403) and username != "boss":
            continue  # not for this person
        is_told = address == "/health/ready" and status == 503  # nobody works here, and it says so
        assert status == 200 or is_told, f"{address}: {status}"
        ends = time.perf_counter() + most_s
        while len(timed.ms) < times and (time.perf_counter() < ends or len(timed.ms) < 3):
            began = time.perf_counter()
            client.get(address)
            timed.ms.append(1000 * (time.perf_counter() - began))
        timed.statements = statements(client, address)
        yield timed


def statements(client: Client, address: str) -> list[tuple[float, str]]:
    """The statements of one request, with milliseconds."""
    seen: list[tuple[float, str]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # Any: as the driver has it
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            seen.append((1000 * (time.perf_counter() - began), sql))

    with connection.execute_wrapper(note):
        client.get(address)
    return seen


def uncapped_counts(sql: str) -> list[str]:
    """Large tables that a statement counts from end to end: a count over them with no LIMIT and no narrow condition."""
    if not _COUNTS.search(sql) or " LIMIT " in sql or "GROUP BY" in sql:
        return []
    return [table for table in LARGE if f'FROM "{table}"' in sql and "WHERE" not in sql]
