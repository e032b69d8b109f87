"""The same page from two vantages: what differs by place, shown once and kept apart from what changes with time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from monitoring import queueing
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.judge import judge
from monitoring.detection.memory import Memory
from monitoring.detection.quality import assess
from monitoring.fetching.capture import Capture, Failure, FetchRequest
from monitoring.fetching.http import fetch
from monitoring.models import Monitor, Vantage, VantageComparison
from monitoring.services import documents, following, places, politeness, pools, rendering, robots
from monitoring.services.capture import request_for
from monitoring.services.egress import address_policy, is_our_page
from monitoring.services.judge import page_facts, readings_of, settings_of
from monitoring.services.record import scrubbed
from monitoring.services.rules import Rules, rules_of
from monitoring.services.secrets import SecretError
from monitoring.services.showing import document_of

logger = logging.getLogger(__name__)

LONGEST_PAUSE_S = 5.0
LONGEST_RUN = timedelta(minutes=15)
KEPT = 10  # per monitor, the newest ones
CRASHED = "The comparison ended with an error of Tideline's own."
GIVEN_UP = "The worker ended before the comparison was done."
State = VantageComparison.State


def start(monitor: Monitor, *, first: Vantage, second: Vantage, actor: Any) -> VantageComparison:
    """A comparison that waits for a worker. Raises ValidationError for twice the same vantage, or while one is under way."""
    if first.pk == second.pk:
        raise ValidationError(_("Choose two different vantages."), code="vantage")
    try:
        with transaction.atomic():
            row = VantageComparison.objects.create(monitor=monitor, first=first, second=second, requested_by=actor)
            kind = pools.class_for(monitor, now=timezone.now())
            transaction.on_commit(lambda: queueing.enqueue_comparison(row.pk, kind))
    except IntegrityError as error:
        raise ValidationError(_("A comparison of this page is under way; wait for it."), code="under-way") from error
    return row


def work(comparison_id: int, *, pause: Callable[[float], None] = time.sleep) -> str:
    """Ask from both vantages and note what differs; a short text for the log. A second call finds nothing to do."""
    if not VantageComparison.objects.filter(pk=comparison_id, state=State.WAITING).update(state=State.RUNNING):
        return "not waiting"
    row = VantageComparison.objects.select_related(
        "monitor__site", "monitor__page_type", "monitor__vantage", "monitor__baseline", "first", "second"
    ).get(pk=comparison_id)
    try:
        values = compared(row.monitor, row.first, row.second, pause=pause)
    except Exception:
        logger.exception("comparison=%d crashed", comparison_id)
        values = {"state": State.FAILED, "problem": CRASHED}
    VantageComparison.objects.filter(pk=comparison_id).update(**values, finished_at=timezone.now())
    _forget(row.monitor)
    return str(values["state"])


def compared(
    monitor: Monitor, first: Vantage, second: Vantage, *, pause: Callable[[float], None] = time.sleep
) -> dict[str, Any]:
    """Facts of both sides and their diff, as columns of a comparison; `failed` with a problem where one brought no page."""
    rules = rules_of([monitor])[monitor.pk]
    captures: list[Capture] = []
    facts: list[dict[str, Any]] = []
    problem = ""
    for vantage in (first, second):
        if facts:
            pause(min(monitor.site.gap_s, LONGEST_PAUSE_S))
        outcome = _outcome(monitor, vantage)
        found = _facts(outcome, vantage, monitor, rules)
        facts.append(found)
        if isinstance(outcome, Capture):
            captures.append(outcome)
        if found["problem"] and not problem:
            problem = f"{vantage.name}: {found['problem']}"[:300]
    if problem or len(captures) < 2:
        return {"state": State.FAILED, "problem": problem, "facts": facts}
    one, other = readings_of(monitor, captures, rules)
    pair = (one, other)
    judgement = judge(one, other, Memory(), settings=settings_of(monitor, rules))
    document = scrubbed(document_of(judgement, pair, pair))
    return {"state": State.DONE, "problem": "", "facts": facts, "diff": document}


def _outcome(monitor: Monitor, vantage: Vantage) -> Capture | Failure:
    """What this vantage is shown; nothing is asked of a site that is left alone, or that forbids the page to all."""
    now = timezone.now()
    monitor.site.refresh_from_db()
    if monitor.site.rests(now):
        return _unasked(
            monitor, "site-rests", "The site is left alone for now; its page in the admin says until when.", now
        )
    decision = robots.Book([monitor.site]).decide(monitor.site, monitor.url, now=now)
    if not decision.allowed and not is_our_page(monitor):
        return _unasked(monitor, robots.DISALLOWED, decision.sentence, now)
    try:
        request = places.request_from(request_for(monitor, now=now), vantage)
    except (SecretError, ValidationError) as error:
        return rendering.unresolved(monitor, error, now=now)
    outcome = following.fetched(request, monitor.link_selector, _asked)
    politeness.note(monitor.site, outcome, now=timezone.now(), through_proxy=bool(vantage.proxy_url))
    return outcome


def _unasked(monitor: Monitor, reason: str, message: str, now: datetime) -> Failure:
    return Failure(
        key=monitor.pk, url=monitor.url, reason=reason, message=message, transient=True, started_at=now, duration_ms=0
    )


def _asked(request: FetchRequest) -> Capture | Failure:
    if request.render is not None:
        from monitoring.fetching.browser import render  # Playwright takes a while to import

        return render(request, policy=address_policy(), chromium_path=settings.CHROMIUM)
    return asyncio.run(fetch(request, policy=address_policy()))


def _facts(outcome: Capture | Failure, vantage: Vantage, monitor: Monitor, rules: Rules) -> dict[str, Any]:
    found: dict[str, Any] = {
        "vantage": vantage.name,
        "country": vantage.country,
        "final_url": outcome.final_url,
        "at": outcome.started_at.isoformat(),
        "ms": outcome.duration_ms,
        "problem": "",
    }
    if isinstance(outcome, Failure):
        told = {"reason": outcome.reason, "cause": outcome.cause, "data": dict(outcome.data)}
        return found | told | {"problem": outcome.message}
    try:
        (reading,) = readings_of(monitor, [outcome], rules)
    except DocumentFault as fault:
        return found | {"reason": fault.code, "problem": fault.sentence}
    kind = documents.type_for(monitor, outcome)
    quality = assess(page_facts(outcome, kind), documents.assessed(kind, reading))
    return scrubbed(
        found
        | {
            "status": outcome.status,
            "size_bytes": len(outcome.body),
            "charset": outcome.charset,
            "title": reading.title[:400],
            "language": reading.lang[:20],
            "reason": quality.code,
            "problem": "" if quality.is_good else quality.sentence,
        }
    )


def _forget(monitor: Monitor) -> None:
    """Keep the newest ones only; they are no evidence."""
    old = list(monitor.comparisons.order_by("-pk").values_list("pk", flat=True)[KEPT : KEPT + 100])
    VantageComparison.objects.filter(pk__in=old).delete()


def give_up(*, now: datetime) -> int:
    """End comparisons whose worker died or whose message was lost, so that a new one can be started. Gives how many."""
    lost = VantageComparison.objects.filter(state__in=[State.WAITING, State.RUNNING], created_at__lte=now - LONGEST_RUN)
    return lost.update(state=State.FAILED, problem=GIVEN_UP, finished_at=now)
