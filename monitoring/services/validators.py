"""Validators that can lie: when "not modified" is asked for, and when it is no longer believed.

ETag and Last-Modified belong to the baseline, and are sent back as they came. Compared they are loosely: a proxy that
compresses marks a validator as weak or adds a suffix, and the page is the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from monitoring.fetching.capture import Capture
from monitoring.models import Monitor, Outcome
from monitoring.services import rates
from monitoring.services.findings import Finding

TRUST_EVERY = 20  # every so many visits a page is asked for without conditions: a 304 is not believed for ever
WHOLE_EVERY = timedelta(days=7)
DISTRUST = timedelta(days=90)
_SLACK = 1.1  # the next visit comes up to a tenth of the interval later than planned

_CODING = r"(?:gzip|br|brotli|deflate|zstd|df)"
_SUFFIX = re.compile(rf"(?:--?|;|:|\+|_){_CODING}$", re.IGNORECASE)
_OUTSIDE = re.compile(rf'"(?:--?|;){_CODING}$', re.IGNORECASE)

OLDEST_DAYS = 90.0  # a page that has stood for longer tells no more than that
FRESH = timedelta(hours=1)  # a date so close to the visit was most likely made for it
_EPOCH_YEAR = 1995  # servers without a clock say 1970 or 1980
LIED = "validator-lied"
OTHER = "validator-other"


def wants_whole(monitor: Monitor, now: datetime) -> bool:
    """Whether this visit asks without conditions: each 20th does, one a week does, and all while a validator is distrusted.

    A monitor that would come back only after the week is over asks now.
    """
    if (monitor.check_no + 1) % TRUST_EVERY == 0:
        return True
    if monitor.distrusted_until is not None and monitor.distrusted_until > now:
        return True
    next_one = now + timedelta(seconds=monitor.usual_interval_s * _SLACK)
    return monitor.last_full_at is None or monitor.last_full_at + WHOLE_EVERY <= next_one


def answers_unchanged(monitor: Monitor, finding: Finding, now: datetime) -> bool:
    """Whether the site is known, after this visit, to answer "not modified" when it is asked with conditions.

    A whole page that says the same although it was asked with conditions shows that it does not.
    """
    capture = finding.capture
    if capture is None or not finding.good:
        return monitor.gives_304
    if capture.not_modified:
        return True
    if finding.outcome not in {Outcome.NONE, Outcome.NOISE} or finding.rebase or wants_whole(monitor, now):
        return monitor.gives_304
    return False


def core(etag: str) -> str:
    """An ETag without what says nothing of the page: weakness, quotes, and the suffix of a compression.

    `W/"abc-gzip"`, `"abc;br"` and `"abc"-gzip` are all `abc`.
    """
    text = _OUTSIDE.sub('"', etag.strip().removeprefix("W/"))
    return _SUFFIX.sub("", text.strip('"'))


def is_same(monitor: Monitor, capture: Capture) -> bool:
    """Whether the answer carries the validator that is stored: the ETag where both have one, else Last-Modified."""
    etag, modified = capture.header("ETag"), capture.header("Last-Modified")
    if monitor.etag and etag:
        return core(monitor.etag) == core(etag)
    return bool(modified) and not monitor.etag and not etag and monitor.last_modified == modified


def lie_in(monitor: Monitor, capture: Capture, outcome: str) -> dict[str, Any] | None:
    """The reason to believe a validator no longer, or None.

    A substantive change under the validator of the text before: whoever asks with it is told "not modified". A 304
    for another validator than the one that was sent speaks of another text.
    """
    if capture.not_modified:
        named = capture.header("ETag")
        if monitor.etag and named and core(named) != core(monitor.etag):
            text = "The site answered “not modified” and named another version than the one it was asked about."
            return {"code": OTHER, "text": text, "data": {}}
        return None
    if outcome not in {Outcome.CONTENT, Outcome.FIELD} or not is_same(monitor, capture):
        return None
    text = (
        "The page changed and the site still gives it the same validator; “not modified” is not believed for 90 days."
    )
    return {
        "code": LIED,
        "text": text,
        "data": {"days": DISTRUST.days, "which": "ETag" if monitor.etag else "Last-Modified"},
    }


def answered_for_another(reasons: tuple[Mapping[str, Any], ...]) -> bool:
    """Whether a 304 was about another version, so that nothing is known of this one."""
    return any(reason.get("code") == OTHER for reason in reasons)


def distrusted(reasons: tuple[Mapping[str, Any], ...]) -> bool:
    """Whether a finding's reasons hold one after which the validator is distrusted."""
    return any(reason.get("code") in {LIED, OTHER} for reason in reasons)


def age_in(capture: Capture, *, now: datetime) -> dict[str, Any] | None:
    """The reason that says for how long the page has not changed, by its Last-Modified, or None where that tells nothing."""
    try:
        at = parsedate_to_datetime(capture.header("Last-Modified"))
    except (TypeError, ValueError):  # none, or no date
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    age = now - at
    if age < FRESH or at.year < _EPOCH_YEAR:
        return None
    days = round(min(age / timedelta(days=1), OLDEST_DAYS), 2)
    return {
        "code": rates.AGE,
        "text": f"By its own date the page has not changed for {days:g} days.",
        "data": {"days": days},
    }
