"""Who is looking at a change, and what of it somebody saw when they last looked. Nothing is locked by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from monitoring.models import Change
from review import roles
from review.models import Visit

if TYPE_CHECKING:
    from django.contrib.auth.models import User

HEARTBEAT = timedelta(seconds=20)
GONE_AFTER = timedelta(seconds=50)  # two heartbeats lost, and some
KEPT = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Looking:
    """Somebody else who has the change open."""

    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class LastSight:
    """What the person had on screen when they last looked, if the page has changed since."""

    snapshot: int
    at: datetime


def arrive(user: User, change: Change, *, now: datetime) -> LastSight | None:
    """Note that the person looks at the change; what they saw last time, where another capture stands there by now.

    An absence longer than `GONE_AFTER` begins a new visit. Two windows of one person are one visit.
    """
    visit = Visit.objects.filter(change=change, user=user).first()
    if visit is None:
        try:
            with transaction.atomic():
                Visit.objects.create(
                    change=change, user=user, since=now, seen_at=now, snapshot_id=change.new_id, version=change.version
                )
        except IntegrityError:
            pass  # the other window was faster
        return None
    values: dict[str, object] = {"seen_at": now, "version": change.version, "snapshot_id": change.new_id}
    if visit.seen_at < now - GONE_AFTER:
        values |= {"since": now, "before_id": visit.snapshot_id, "before_at": visit.seen_at}
        visit.before_id, visit.before_at = visit.snapshot_id, visit.seen_at
    Visit.objects.filter(pk=visit.pk).update(**values)
    if visit.before_id is None or visit.before_at is None or visit.before_id == change.new_id or change.new_id is None:
        return None
    return LastSight(visit.before_id, visit.before_at)


def stay(user: User, change: Change, *, now: datetime) -> None:
    """A heartbeat: the person still looks."""
    if not Visit.objects.filter(change=change, user=user, seen_at__gte=now - GONE_AFTER).update(seen_at=now):
        arrive(user, change, now=now)


def others(user: User, change: Change, *, now: datetime) -> list[Looking]:
    """Who else looks at the change, the earliest first."""
    visits = (
        Visit.objects.filter(change=change, seen_at__gte=now - GONE_AFTER)
        .exclude(user=user)
        .select_related("user")
        .order_by("since")[:5]
    )
    return [Looking(roles.display_name(visit.user), visit.since) for visit in visits]
