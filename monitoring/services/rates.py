"""What is known of how often a page changes: a fold over its checks, kept on the monitor and built again from the log.

Every visit that brought a page to compare is evidence: noise says "not changed", a block page or an error nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from monitoring.models import Change, Check, Monitor, Outcome
from monitoring.scheduling import Rate, Settings, loosened, observe
from monitoring.services.findings import GOOD
from monitoring.services.memories import FIRST_CAPTURE, OUR_CHANGE

SETTINGS = Settings()
PRIOR = Rate(SETTINGS.prior_a, SETTINGS.prior_b)
_CHANGED = frozenset({Outcome.CONTENT, Outcome.FIELD})
_DAY_S = 86_400.0
_LAST = 2**63 - 1
_TRIES = 3
AGE = "last-modified-age"  # the reason that says how old the site said the page was when it was first read
_REFOLDED = 500  # rates folded anew in one run
# A verdict that turns a check's bit: what was raised and dismissed was no substantive change, a sample of noise that
# was approved was one.
_TURNED: dict[tuple[str, str], bool] = {
    (Change.Kind.CONTENT, Change.State.DISMISSED): False,
    (Change.Kind.FIELD, Change.State.DISMISSED): False,
    (Change.Kind.AUDIT, Change.State.APPROVED): True,
}
# Causes of a new baseline: with another address nothing is known; these two say nothing of the page.
_OTHER_PAGE = "address changed"
_SAME_PAGE = frozenset({"detector version", "baseline damaged"})


@lru_cache(maxsize=1024)
def settings_for(prior_b: float) -> Settings:
    """The settings of a monitor that began with this prior; a later prior is for those that begin later."""
    return SETTINGS if prior_b == SETTINGS.prior_b else Settings(prior_b=prior_b)


def after(
    rate: Rate,
    *,
    outcome: str,
    reason: str,
    detail: str,
    since: datetime | None,
    at: datetime,
    s: Settings = SETTINGS,
    age_days: float = 0.0,
    turned: bool | None = None,
) -> Rate:
    """The rate once a visit at `at` came to this; `since` is the last good visit before it.

    `age_days` is for a first visit: how long the site says the page has not changed. `turned` is a person's word on
    whether there was a substantive change, where it differs from ours.
    """
    if outcome not in GOOD:
        return rate
    if reason == FIRST_CAPTURE:
        return observe(rate, age_days, False, s)
    if reason == OUR_CHANGE:
        return _read_anew(rate, detail, s)
    if since is None:
        return rate
    changed = outcome in _CHANGED if turned is None else turned
    return observe(rate, (at - since).total_seconds() / _DAY_S, changed, s)


def age_in(reasons: Iterable[Mapping[str, Any]]) -> float:
    """Days for which the site says the page had not changed when it was first read; 0 where it says nothing."""
    for one in reasons:
        if one.get("code") == AGE:
            days = one.get("data", {}).get("days", 0)
            return float(days) if isinstance(days, int | float) else 0.0
    return 0.0


def refold(*, now: datetime) -> int:
    """Fold anew the rates of monitors whose results a verdict has turned; one that is being visited has its turn later."""
    count = 0
    for pk in list(Monitor.objects.filter(rate_stale=True).order_by("pk").values_list("pk", flat=True)[:_REFOLDED]):
        free = Monitor.objects.filter(pk=pk, rate_stale=True, lease_until__isnull=True)
        if not free.update(rate_stale=False):
            continue
        if differs(pk, write=True):
            count += 1
            if differs(pk, write=False):  # a visit came in between
                Monitor.objects.filter(pk=pk).update(rate_stale=True)
    return count


def any_stale(*, now: datetime) -> bool:
    """Whether a verdict has turned a result since."""
    return Monitor.objects.filter(rate_stale=True).exists()


def differs(monitor_id: int, *, write: bool) -> bool:
    """Whether the stored rate was not the fold of the checks; with `write` it is now."""
    for _ in range(_TRIES):
        held = Monitor.objects.filter(pk=monitor_id).values_list("check_no", "rebaseline", "rate_a", "rate_b").first()
        if held is None:
            return False
        number, awaited, *stored = held
        # With another address nothing is known, and its first visit is still to come.
        rate = _prior_of(monitor_id) if _OTHER_PAGE in awaited else rebuild(monitor_id, until=number)
        if tuple(stored) == rate:
            return False
        # Only while no visit came in between: the next one goes on from what is written here.
        row = Monitor.objects.filter(pk=monitor_id, check_no=number, lease_until__isnull=True)
        if not write or row.update(rate_a=rate.a, rate_b=rate.b):
            return True
    return True


def rebuild(monitor_id: int, *, until: int | None = None) -> Rate:
    """The rate from the check rows alone, up to check number `until` if given.

    Where rows were let go, the fold begins anew with what the first one after them says was known after it.
    """
    rows = (
        Check.objects.filter(monitor_id=monitor_id, check_no__lte=_LAST if until is None else until)
        .order_by("check_no")
        .values_list("check_no", "outcome", "reason", "detail", "started_at", "rate_a", "rate_b")
    )
    rate = _prior_of(monitor_id)
    s, turned, ages = settings_for(rate.b), _turned_in(monitor_id), _ages_in(monitor_id)
    since: datetime | None = None
    before = 0
    for number, outcome, reason, detail, at, a, b in rows.iterator(chunk_size=2000):
        if number > before + 1 and a is not None and b is not None:
            rate = Rate(a, b)
        else:
            rate = after(
                rate, outcome=outcome, reason=reason, detail=detail, since=since, at=at, s=s,
                age_days=ages.get(number, 0.0), turned=turned.get(number),
            )  # fmt: skip
        before = number
        if outcome in GOOD:
            since = at
    return rate


def _prior_of(monitor_id: int) -> Rate:
    return Rate(SETTINGS.prior_a, Monitor.objects.values_list("prior_b", flat=True).get(pk=monitor_id))


def _turned_in(monitor_id: int) -> dict[int, bool]:
    """Check numbers whose bit a verdict turned, with what it is now."""
    rows = Change.objects.filter(monitor_id=monitor_id, state__in=[Change.State.DISMISSED, Change.State.APPROVED])
    return {
        number: _TURNED[kind, state]
        for kind, state, number in rows.values_list("kind", "state", "check_row__check_no")
        if (kind, state) in _TURNED
    }


def _ages_in(monitor_id: int) -> dict[int, float]:
    """What the site said of the page's age, by number of the first visit."""
    rows = Check.objects.filter(monitor_id=monitor_id, reason=FIRST_CAPTURE).values_list("check_no", "reasons")
    return {number: age_in(reasons) for number, reasons in rows}


def _read_anew(rate: Rate, cause: str, s: Settings) -> Rate:
    if _OTHER_PAGE in cause:
        return Rate(s.prior_a, s.prior_b)
    return rate if cause in _SAME_PAGE else loosened(rate, s=s)
