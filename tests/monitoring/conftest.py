"""A local site, monitors of its pages, and one visit at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from monitoring.models import Check, Monitor, Site
from tests.factories import make_monitor
from tests.monitoring.site import LocalSite

type Visit = Callable[..., Check]


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
