"""The brake: many unrelated pages that change together are held under one banner until a lead decides.

A look costs nothing while few changes come. Held changes stay what they are and are only left out of the queue.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Count, F, QuerySet
from django.dispatch import Signal
from django.utils.translation import gettext as _

from monitoring.calibrating.brake import LEAST, SHARES, WINDOWS_S, Group, first_crossing, grouped, usual_share
from monitoring.models import Change, Hold, Monitor, MonitorMemory, SiteDay
from monitoring.services.changes import UNDECIDED

logger = logging.getLogger(__name__)

USUAL_DAYS = 28
_GOOD = ("none", "noise", "content", "field")
_KINDS = (Change.Kind.CONTENT, Change.Kind.GONE, Change.Kind.REDIRECT, Change.Kind.TYPE)

held = Signal()
"""Sent inside the transaction that begins a hold: `hold`, `now`."""


def is_wanted(*, now: datetime) -> bool:
    """Whether enough pages changed within a day for a look to be worth it; cheap."""
    return _changed(now - timedelta(seconds=WINDOWS_S[-1])).count() >= LEAST


def _changed(since: datetime) -> QuerySet[Change]:
    """Changes that were opened or folded into since, of real pages."""
    return Change.objects.filter(
        updated_at__gt=since, kind__in=_KINDS, state__in=UNDECIDED, monitor__is_sample=False, monitor__enabled=True
    )


def look(*, now: datetime) -> int:
    """Hold what crosses, or add to what is held; how many changes were held by this look."""
    group = first_crossing(_groups(now))
    if group is None:
        return 0
    since = now - timedelta(seconds=group.window_s)
    try:
        with transaction.atomic():
            hold = Hold.objects.select_for_update().filter(state=Hold.State.ACTIVE).first()
            decided = Hold.objects.exclude(state=Hold.State.ACTIVE).order_by("-decided_at").first()
            if hold is None and decided is not None and decided.decided_at is not None:
                since = max(since, decided.decided_at)  # what a lead released is not held again
            wanted = _of_way(group.way, _changed(since).filter(hold__isnull=True))
            if hold is None and wanted.count() < LEAST:
                return 0
            if hold is None:
                hold = Hold.objects.create(since=since, opened_at=now, crossed_at=now, **_figures(group))
                logger.error("hold=%d way=%s pages=%d of %d", hold.pk, hold.way, hold.pages_changed, hold.pages)
                held.send(sender=Hold, hold=hold, now=now)
            else:
                Hold.objects.filter(pk=hold.pk).update(crossed_at=now, **_figures(group))
            return Change.objects.filter(pk__in=list(wanted.values_list("pk", flat=True))).update(
                hold=hold, version=F("version") + 1
            )
    except IntegrityError:  # another worker began the hold at the same moment
        return 0


def _figures(group: Group) -> dict[str, int | str]:
    return {
        "way": group.way,
        "window_s": group.window_s,
        "pages": group.visited,
        "pages_changed": group.changed,
        "sites": group.sites_visited,
        "sites_changed": group.sites_changed,
    }


def _groups(now: datetime) -> Iterator[Group]:
    """Pages visited within each window that may cross: all, those of one renderer, and those of one vantage.

    Most looks end with counting how many were visited in each way: sites are read only where enough of a way changed.
    """
    usual = _usual(now)
    for window in WINDOWS_S:
        since = now - timedelta(seconds=window)
        found = _changed(since).values_list("monitor", "monitor__by_browser", "monitor__vantage").distinct()
        changed = {pk: _ways(by_browser, vantage) for pk, by_browser, vantage in found}
        if len(changed) < LEAST:
            continue
        visited = Monitor.objects.real().filter(enabled=True, last_ok_at__gt=since)
        counts: Counter[str] = Counter()
        for by_browser, vantage, count in (
            visited.order_by().values_list("by_browser", "vantage").annotate(n=Count("pk"))
        ):
            counts.update(dict.fromkeys(_ways(by_browser, vantage), count))
        hits = Counter(way for ways in changed.values() for way in ways)
        rows: dict[str, list[tuple[int, bool]]] = {
            way: [] for way, count in counts.items() if hits[way] >= max(LEAST, SHARES[window] * count)
        }
        columns = ("pk", "site", "by_browser", "vantage")
        for pk, site, by_browser, vantage in visited.values_list(*columns).iterator(chunk_size=5_000) if rows else ():
            for way in rows.keys() & _ways(by_browser, vantage):
                rows[way].append((site, pk in changed))
        for way, pages in rows.items():
            yield grouped(way, window, pages, usual_share(*usual, window))


def _ways(by_browser: bool, vantage: int) -> tuple[str, str, str]:
    return "all", "browser" if by_browser else "http", f"vantage {vantage}"


def _usual(now: datetime) -> tuple[float, float]:
    """How often a day a page was found changed in the last weeks, today left out, and at which share of its visits."""
    since = (now - timedelta(days=USUAL_DAYS)).date()
    finds, visits, days = 0, 0, set()
    rows = SiteDay.objects.filter(day__gte=since, day__lt=now.date()).values_list("day", "counts")
    for day, counts in rows.iterator(chunk_size=5_000):
        days.add(day)
        finds += counts.get("content", 0)
        visits += sum(counts.get(outcome, 0) for outcome in _GOOD)
    pages = Monitor.objects.real().filter(enabled=True).count()
    return (finds / len(days) / pages if days and pages else 0.0), (finds / visits if visits else 0.0)


def _of_way(way: str, changes: QuerySet[Change]) -> QuerySet[Change]:
    if way.startswith("vantage "):
        return changes.filter(monitor__vantage=int(way.removeprefix("vantage ")))
    if way == "all":
        return changes
    return changes.filter(monitor__by_browser=way == "browser")


def active() -> Hold | None:
    """The hold that waits for a lead, if there is one."""
    return Hold.objects.filter(state=Hold.State.ACTIVE).first()


def release(hold: Hold, *, actor: User, reason: str, now: datetime) -> int:
    """Give all that is held to the queue; how many changes. Raises ValidationError without a reason or when it is decided."""
    with transaction.atomic():
        _decide(hold, Hold.State.RELEASED, actor=actor, reason=reason, now=now)
        return Change.objects.filter(hold=hold).update(hold=None, version=F("version") + 1)


def drop(hold: Hold, *, actor: User, reason: str, now: datetime) -> int:
    """Close all that is held as a fault of ours; how many changes. Raises like `release`.

    Each page is compared from its last good capture again: a real change among those that were dropped is found anew
    at the next visit.
    """
    with transaction.atomic():
        _decide(hold, Hold.State.DROPPED, actor=actor, reason=reason, now=now)
        rows = Change.objects.select_for_update().filter(hold=hold, state__in=UNDECIDED).select_related("prior")
        dropped = list(rows)
        for change in dropped:
            _back_to(change)
        Change.objects.filter(pk__in=[change.pk for change in dropped]).update(
            state=Change.State.DISMISSED, closed_at=now, snoozed_until=None, version=F("version") + 1
        )
    return len(dropped)


def _back_to(change: Change) -> None:
    """The prior capture as baseline again, without validators: they prove nothing of it."""
    Monitor.objects.filter(pk=change.monitor_id).update(
        baseline=change.prior,
        baseline_raw_sha256="",
        baseline_text_hash=change.prior.text_hash,
        baseline_fingerprint=change.prior.fingerprint,
        region_path=change.prior.region_path,
        fields=change.prior.fields,
        etag="",
        last_modified="",
        mould=b"",
    )
    MonitorMemory.objects.filter(monitor=change.monitor_id).delete()  # built anew when it is needed


def _decide(hold: Hold, state: Hold.State, *, actor: User, reason: str, now: datetime) -> None:
    if not reason.strip():
        raise ValidationError(_("Say why: the reason stands in the record beside the decision."))
    taken = Hold.objects.filter(pk=hold.pk, state=Hold.State.ACTIVE).update(
        state=state, decided_by=actor, decided_at=now, reason=reason.strip()[:300]
    )
    if not taken:
        raise ValidationError(_("Somebody has decided on this already."))
