"""A calibration run at work: the monitor's page several times in quick succession, as its checks would ask for it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils import timezone

from monitoring.detection.blocks import Reading
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.quality import assess
from monitoring.fetching.capture import Capture, Failure, FetchRequest
from monitoring.fetching.http import fetch
from monitoring.models import CalibrationRun, Monitor
from monitoring.services import calibrate, documents, following, pools, rendering
from monitoring.services.capture import request_for
from monitoring.services.egress import address_policy, is_our_page
from monitoring.services.judge import page_facts
from monitoring.services.politeness import LONGEST_REST
from monitoring.services.robots import Book
from monitoring.services.rules import Rules, rules_of
from monitoring.services.secrets import SecretError

LONGEST_PAUSE_S = 5.0
MOMENTS = timedelta(seconds=15)
LONGEST_RUN = timedelta(hours=1)
FIRST_LOOKS_S = 8.0  # at a time, so that checks get their turn between
MOST_FIRST_LOOKS = 50


def work(run_id: int) -> str:
    """Fetch, measure and propose for one waiting run; a short text for the log."""
    row = CalibrationRun.objects.select_related(
        "monitor__site", "monitor__vantage", "monitor__page_type", "monitor__baseline__payload"
    ).get(pk=run_id)
    monitor = row.monitor
    if monitor is None:
        raise ValueError(f"calibration run {run_id} has no monitor to fetch")
    rules = rules_of([monitor])[monitor.pk]

    def read_page(capture: Capture) -> Reading:
        kind, pinned = documents.type_for(monitor, capture), documents.pinned_type(monitor)
        if monitor.link_selector and capture.link is None:
            raise ValueError("The page has no link to a document that could be measured.")
        if pinned is not None and kind is not pinned:
            raise ValueError(f"The site sent {kind} where {pinned} was expected.")
        source = documents.source_of(capture, kind, sha256=hashlib.sha256(capture.body).hexdigest())
        reading = documents.reading_of(source, monitor, rules, region=monitor.region_path)
        quality = assess(page_facts(capture, kind), documents.assessed(kind, reading), None)
        if not quality.is_good:
            raise ValueError(quality.sentence)
        return reading

    return calibrate.run(
        run_id,
        fetch=lambda: _fetch(monitor),
        read=read_page,
        pause=lambda: time.sleep(min(monitor.site.effective_gap_s, LONGEST_PAUSE_S)),
        now=timezone.now,
        before=_baseline(monitor, rules) if row.basis == CalibrationRun.Basis.FIRST_LOOK else None,
    )


def first_looks(*, now: datetime, budget_s: float = FIRST_LOOKS_S, by_browser: bool = False) -> int:
    """Work off first looks that wait, oldest first, for so many seconds; how many ended."""
    ends = time.monotonic() + budget_s
    done = 0
    for run_id in _waiting_first_looks(now, by_browser).values_list("pk", flat=True)[:MOST_FIRST_LOOKS]:
        if time.monotonic() >= ends:
            break
        work(run_id)
        done += 1
    return done


def any_first_look(*, now: datetime) -> bool:
    """Whether a first look over HTTP waits."""
    return _waiting_first_looks(now, False).exists()


def browser_first_looks(*, now: datetime) -> int:
    """The same for pages that a browser renders."""
    return first_looks(now=now, by_browser=True)


def any_browser_first_look(*, now: datetime) -> bool:
    """Whether one in a browser waits, and somebody could do it."""
    return _waiting_first_looks(now, True).exists() and pools.somebody_renders(now=now)


def give_up(*, now: datetime) -> int:
    """End runs whose worker died or whose message was lost, so that a new one can be started. Gives how many."""
    state = CalibrationRun.State
    lost = Q(state=state.RUNNING) | Q(state=state.WAITING, basis=CalibrationRun.Basis.REFETCH)
    return CalibrationRun.objects.filter(lost, created_at__lte=now - LONGEST_RUN).update(
        state=state.FAILED, problem="The worker ended before the run was done.", finished_at=now
    )


def _waiting_first_looks(now: datetime, by_browser: bool) -> QuerySet[CalibrationRun]:
    """Those whose site is not left alone at the moment, of pages for a browser or of the others."""
    bases = [CalibrationRun.Basis.FIRST_LOOK, CalibrationRun.Basis.QUIET]
    waiting = CalibrationRun.objects.filter(
        state=CalibrationRun.State.WAITING,
        basis__in=bases,
        monitor__by_browser=by_browser,
    )
    rests = Q(monitor__site__rest_until__gt=now, monitor__site__rest_until__lte=now + LONGEST_REST)
    return waiting.exclude(rests).order_by("pk")


def _baseline(monitor: Monitor, rules: Rules) -> tuple[Reading, datetime] | None:
    """The capture that a first look follows, if it was taken moments ago: what differs from an older one may be a change."""
    if monitor.baseline is None or monitor.baseline.taken_at < timezone.now() - MOMENTS:
        return None
    try:
        stored = documents.stored_source(monitor.baseline)
        reading = documents.reading_of(stored, monitor, rules, region=monitor.region_path)
    except DocumentFault:
        return None
    return reading, monitor.baseline.taken_at


def _fetch(monitor: Monitor) -> Capture | Failure:
    """The page without conditions: a 304 would measure nothing. Not where the site's robots.txt forbids it."""
    now = timezone.now()
    decision = Book([monitor.site]).decide(monitor.site, monitor.url, now=now)
    if not decision.allowed and not is_our_page(monitor):
        raise ValueError(decision.sentence)
    try:
        request = replace(request_for(monitor, now=now), etag="", last_modified="")
    except (SecretError, ValidationError) as error:
        return rendering.unresolved(monitor, error, now=now)
    return following.fetched(request, monitor.link_selector, _asked)


def _asked(request: FetchRequest) -> Capture | Failure:
    if request.render is not None:
        from monitoring.fetching.browser import render  # Playwright takes a while to import

        return render(request, policy=address_policy(), chromium_path=settings.CHROMIUM)
    return asyncio.run(fetch(request, policy=address_policy()))
