"""How hosts are left alone: what 429, 503 and Retry-After ask for, and what a host that answers nobody can't bear."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from monitoring.fetching.capture import Capture, Outcome
from monitoring.fetching.politeness import MAX_RETRY_AFTER_S, backoff_s, next_request_at, retry_after_s
from monitoring.models import Site

logger = logging.getLogger(__name__)

REFUSED_STATUSES = frozenset({429, 503})
# No server was met: what else this host is asked now would most likely only wait as long.
_UNMET = frozenset({"dns", "connect"})
_UNMET_CAUSES = frozenset({"timeout-lookup", "timeout-connect", "timeout-tls", "timeout-head"})
ENOUGH_FAILURES = 2
LONGEST_BACKOFF_S = 3600.0
# A rest that ends later than this was written by a clock that was wrong.
LONGEST_REST = timedelta(seconds=MAX_RETRY_AFTER_S + 3600)


def note(site: Site, outcome: Outcome, *, now: datetime, through_proxy: bool = False) -> bool:
    """Learn from an answer of a host; whether it is to be left alone from now on. `site` is changed along.

    A refusal (429, 503) rests the host for as long as Retry-After says, at most a day, and at least for a back-off that
    doubles; so do two failures in a row in which no server was met. What comes through a proxy may be the proxy's fault.
    """
    # What was under way when a rest began says nothing new, unless it asks for a longer one.
    rests = site.rests(now)
    if isinstance(outcome, Capture):
        if outcome.status not in REFUSED_STATUSES:
            return rests or _answered(site)
        asked = retry_after_s(outcome.header("Retry-After"), now=now)
        refusals = site.refusals if rests else min(site.refusals + 1, 30_000)
        _rest(site, backoff_s(refusals, max_s=LONGEST_BACKOFF_S), asked, now, refusals=refusals)
        return True
    unmet = outcome.reason in _UNMET or outcome.cause in _UNMET_CAUSES
    if rests or not unmet or through_proxy:
        return rests
    failures = min(site.failures + 1, 30_000)
    if failures < ENOUGH_FAILURES:
        _write(site, failures=failures)
        return False
    pause = backoff_s(failures + 1 - ENOUGH_FAILURES, max_s=LONGEST_BACKOFF_S)
    _rest(site, pause, None, now, failures=failures)
    return True


def _rest(site: Site, pause_s: float, asked_s: float | None, now: datetime, **counts: int) -> None:
    until = datetime.fromtimestamp(next_request_at(now.timestamp(), pause_s, retry_after=asked_s), UTC)
    why = "unreachable" if "failures" in counts else ("retry-after" if asked_s else "refused")
    if site.rest_until is not None and now < site.rest_until <= now + LONGEST_REST:
        until = max(until, site.rest_until)  # a shorter wish of another page does not end a longer one
    _write(site, rest_until=until, rest_reason=why, **counts)
    logger.warning("site=%d rests until=%s reason=%s", site.pk, until.isoformat(timespec="seconds"), why)


def _answered(site: Site) -> bool:
    if site.failures or site.refusals:
        _write(site, failures=0, refusals=0)
    return False


def _write(site: Site, **values: datetime | int | str) -> None:
    for name, value in values.items():
        setattr(site, name, value)
    Site.objects.filter(pk=site.pk).update(**values)
