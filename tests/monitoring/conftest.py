"""A local site, monitors of its pages, and one visit at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from monitoring.models import Check, Monitor, Site
from tests.factories import make_monitor
from tests.monitoring.site import LocalSite

type Visit = Callable[..., Check]


class WrittenWhileReadError(AssertionError):
    """Rows were written while others were still being read."""


@pytest.fixture(autouse=True)
def read_before_written(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No rows are written while `iterator` still reads: SQLite refuses that at once where somebody else wrote meanwhile.

    With more rows than are fetched at a time it is "database is locked", however long one would wait for a lock.
    """
    iterator = QuerySet.iterator
    reading: list[QuerySet[Any]] = []

    def watched(rows: QuerySet[Any], chunk_size: int | None = None) -> Iterator[Any]:
        reading.append(rows)
        try:
            yield from iterator(rows, chunk_size)
        finally:
            reading.remove(rows)

    def refuse(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        if reading and sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE")):
            raise WrittenWhileReadError(sql)
        return execute(sql, *args)

    monkeypatch.setattr(QuerySet, "iterator", watched)
    with connection.execute_wrapper(refuse):
        yield


@pytest.fixture
def site(settings: Any) -> Iterator[LocalSite]:
    """A site on loopback that the address guard lets through."""
    local = LocalSite()
    settings.TEST_ALLOWED_ADDRESSES = [local.address]
    settings.CONFIRM_DELAY_S = 0
    yield local
    local.close()


@pytest.fixture
def watch(site: LocalSite) -> Callable[..., Monitor]:
    """`watch(path, html)`: a monitor of a page of the local site, due now."""

    def make(path: str, html: str = "", **extra: Any) -> Monitor:
        if html:
            site.put(path, html)
        host, _ = Site.objects.get_or_create(host=site.address, defaults={"name": "Local", "gap_s": 0})
        return make_monitor(url=site.url(path), site=host, next_check_at=timezone.now(), **extra)

    return make


def visit(*monitors: Monitor) -> Check:
    """Visit monitors as a worker does, due or not; the newest check row."""
    from monitoring.services import capture, schedule

    ids = [m.pk for m in monitors]
    now = timezone.now()
    Monitor.objects.filter(pk__in=ids).update(next_check_at=now, lease_until=None, lease_token="")
    Site.objects.filter(monitors__in=ids).update(rest_until=None)
    for claim in schedule.claim_due(now=now, limit=len(ids), lease_s=60):
        capture.run_batch(claim.ids, claim.token)
    for monitor in monitors:
        monitor.refresh_from_db()
    return Check.objects.latest("pk")


def later(monitor: Monitor, field: str, by: timedelta) -> datetime:
    """Set back a time of the monitor's row, as if `by` had passed since."""
    value: datetime = getattr(monitor, field) - by
    Monitor.objects.filter(pk=monitor.pk).update(**{field: value})
    monitor.refresh_from_db()
    return value
