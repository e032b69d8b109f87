"""What is known of how often a page changes: a fold over its checks, kept on the monitor and built again from the log.

Every visit that brought a page to compare is evidence: noise says "not changed", a block page or an error nothing.
"""

from __future__ import annotations

from datetime import datetime

from monitoring.models import Check, Monitor, Outcome
from monitoring.scheduling import Rate, Settings, loosened, observe
from monitoring.services.findings import GOOD
from monitoring.services.memories import FIRST_CAPTURE, OUR_CHANGE

SETTINGS = Settings()
PRIOR = Rate(SETTINGS.prior_a, SETTINGS.prior_b)
_CHANGED = frozenset({Outcome.CONTENT, Outcome.FIELD})
_DAY_S = 86_400.0
_LAST = 2**63 - 1
_TRIES = 3
# Causes of a new baseline: with another address nothing is known; these two say nothing of the page.
_OTHER_PAGE = "address changed"
_SAME_PAGE = frozenset({"detector version", "baseline damaged"})


def after(rate: Rate, *, outcome: str, reason: str, detail: str, since: datetime | None, at: datetime) -> Rate:
    """The rate once a visit at `at` came to this; `since` is the last good visit before it."""
    if outcome not in GOOD or reason == FIRST_CAPTURE:
        return rate
    if reason == OUR_CHANGE:
        return _read_anew(rate, detail)
    if since is None:
        return rate
    return observe(rate, (at - since).total_seconds() / _DAY_S, outcome in _CHANGED, SETTINGS)


def differs(monitor_id: int, *, write: bool) -> bool:
    """Whether the stored rate was not the fold of the checks; with `write` it is now."""
    for _ in range(_TRIES):
        held = Monitor.objects.filter(pk=monitor_id).values_list("check_no", "rate_a", "rate_b").first()
        if held is None:
            return False
        number, *stored = held
        rate = rebuild(monitor_id, until=number)
        if tuple(stored) == rate:
            return False
        # Only while no visit came in between: the next one goes on from what is written here.
        row = Monitor.objects.filter(pk=monitor_id, check_no=number, lease_until__isnull=True)
        if not write or row.update(rate_a=rate.a, rate_b=rate.b):
            return True
    return True


def rebuild(monitor_id: int, *, until: int | None = None) -> Rate:
    """The rate from the check rows alone, up to check number `until` if given.

    Where the oldest rows were let go, the fold begins with what the oldest kept one says was known after it.
    """
    rows = (
        Check.objects.filter(monitor_id=monitor_id, check_no__lte=_LAST if until is None else until)
        .order_by("check_no")
        .values_list("check_no", "outcome", "reason", "detail", "started_at", "rate_a", "rate_b")
    )
    rate = PRIOR
    since: datetime | None = None
    begun = False
    for number, outcome, reason, detail, at, a, b in rows.iterator(chunk_size=2000):
        if not begun and number > 1 and a is not None and b is not None:
            rate = Rate(a, b)
        else:
            rate = after(rate, outcome=outcome, reason=reason, detail=detail, since=since, at=at)
        begun = True
        if outcome in GOOD:
            since = at
    return rate


def _read_anew(rate: Rate, cause: str) -> Rate:
    if _OTHER_PAGE in cause:
        return PRIOR
    return rate if cause in _SAME_PAGE else loosened(rate, s=SETTINGS)
