"""Figures that need a look at whole tables, taken now and then by a worker and kept in one row.

It costs seconds where there are a million monitors. So it is made no sooner than a hundred times as long after the last one
as that took: one percent of one core at most.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum

from monitoring.models import Census, Change, Monitor, OutboxMessage, Payload
from monitoring.services import heartbeat

SOONEST = timedelta(seconds=60)
SHARE = 100


def is_due(*, now: datetime) -> bool:
    """Whether it is time for another; one that a clock which was wrong dated into the future counts as none."""
    last = Census.objects.filter(pk=1).values_list("at", "took_ms").first()
    if last is None or last[0] > now:
        return True
    return now >= last[0] + max(SOONEST, timedelta(milliseconds=last[1] * SHARE))


def take(*, now: datetime) -> str:
    """Count, and keep what was found; also forget processes that are gone."""
    began = time.monotonic()
    figures = _figures()
    took_ms = round((time.monotonic() - began) * 1000)
    Census.objects.update_or_create(pk=1, defaults={"at": now, "took_ms": took_ms, "figures": figures})
    gone = heartbeat.prune()
    return f"took_ms={took_ms} forgotten={gone}"


def latest() -> Census | None:
    """The last one, if there was any."""
    return Census.objects.filter(pk=1).first()


def _figures() -> dict[str, Any]:  # Any: JSON
    """The figures by name."""
    watched = Monitor.objects.filter(enabled=True, quarantined_at__isnull=True)
    states = dict(watched.order_by().values_list("state").annotate(n=Count("pk")))
    apart = Monitor.objects.aggregate(
        quarantined=Count("pk", filter=Q(quarantined_at__isnull=False)),
        off=Count("pk", filter=Q(enabled=False, quarantined_at__isnull=True)),
    )
    changes = dict(Change.objects.order_by().values_list("state").annotate(n=Count("pk")))
    stored = Payload.objects.aggregate(n=Count("pk"), stored=Sum("stored_bytes"), size=Sum("size_bytes"))
    return {
        "monitors": {**states, **apart},
        "changes": changes,
        "payloads": stored["n"],
        "stored_bytes": stored["stored"] or 0,
        "page_bytes": stored["size"] or 0,
        "mail_given_up": OutboxMessage.objects.filter(state=OutboxMessage.State.FAILED).count(),
    }
