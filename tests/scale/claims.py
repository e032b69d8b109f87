"""Claims of 500 at the full size, by the product's own `claim_due`: their time, and the plans of their statements."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from monitoring.models import Monitor, Site
from monitoring.services import schedule

WANTED = 500
_SCANS = ("Seq Scan on monitoring_monitor", "SCAN monitoring_monitor")


def claim_times(times: int, now: datetime) -> tuple[list[float], int]:
    """Milliseconds of claims one after the other, each with a clock a second on; and how many monitors they got."""
    found, got = [], 0
    for number in range(times):
        at = now + timedelta(seconds=number)
        began = time.perf_counter()
        claims = schedule.claim_due(now=at, limit=WANTED, lease_s=90)
        found.append(1000 * (time.perf_counter() - began))
        got += sum(len(claim.ids) for claim in claims)
    return found, got


def settle() -> None:
    """As before any claim: no leases, no slots taken."""
    Monitor.objects.exclude(lease_until=None).update(lease_until=None, lease_token="")
    Site.objects.exclude(next_free_at=None).update(next_free_at=None)


def overdue(now: datetime, count: int) -> None:
    """So many monitors due, up to a day late, and half of their promises about to end."""
    with connection.cursor() as cursor:
        late = "86400.0 * (id %% 997) / 997" if connection.vendor != "postgresql" else "86400.0 * (id % 997) / 997"
        if connection.vendor == "postgresql":
            at, ends = f"to_timestamp({now.timestamp()} - {late})", f"to_timestamp({now.timestamp()} + 43200 - {late})"
        else:
            at = f"strftime('%%Y-%%m-%%d %%H:%%M:%%f', {now.timestamp()} - {late}, 'unixepoch') || '417'"
            ends = f"strftime('%%Y-%%m-%%d %%H:%%M:%%f', {now.timestamp()} + 43200 - {late}, 'unixepoch') || '417'"
        cursor.execute(
            f"UPDATE monitoring_monitor SET next_check_at = {at}, deadline_at = {ends} WHERE id <= {count}",
            [] if connection.vendor != "postgresql" else None,
        )


@contextmanager
def written_down() -> Iterator[list[tuple[str, Any]]]:
    """The statements within the block, with their parameters."""
    seen: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # Any: as the driver has it
        if not many:
            seen.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield seen


def plan_of(sql: str, params: Any) -> str:
    """What the database says it does."""
    explain = "EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN "
    with connection.cursor() as cursor:
        cursor.execute(explain + sql, params)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def scans(now: datetime) -> list[str]:
    """Statements of a claim whose plan reads all monitors without an index; nothing is left claimed."""
    with written_down() as seen:
        schedule.claim_due(now=now, limit=WANTED, lease_s=90)
    found = []
    for sql, params in seen:
        if "monitoring_monitor" in sql and sql.split()[0] in ("SELECT", "UPDATE"):
            plan = plan_of(sql, params)
            lines = [line.strip() for line in plan.splitlines()]
            bad = [ln for ln in lines for mark in _SCANS if mark in ln and "USING" not in ln]
            if bad:
                found.append(f"{bad[0]}: {sql[:100]}")
    return found
