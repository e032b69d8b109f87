"""How long to leave a host alone: pure arithmetic, no clock and no state of its own."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER_S = 24 * 3600.0
BASE_BACKOFF_S = 60.0

_SECONDS = re.compile(r"[0-9]{1,12}")


def next_request_at(last_at: float, gap: float, *, retry_after: float | None = None) -> float:
    """When a host may be asked again, on whatever scale `last_at` is in seconds."""
    return last_at + max(gap, retry_after or 0.0)


def retry_after_s(value: str, *, now: datetime, max_s: float = MAX_RETRY_AFTER_S) -> float | None:
    """Seconds that a Retry-After header asks for, at most `max_s`, or None when it says nothing usable.

    Takes both forms of RFC 9110 section 10.2.3: `120`, and `Wed, 21 Oct 2026 07:28:00 GMT`. A date in the past is 0.
    """
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), max_s)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max((at - now).total_seconds(), 0.0), max_s)


def backoff_s(failures: int, *, base_s: float = BASE_BACKOFF_S, max_s: float = MAX_RETRY_AFTER_S) -> float:
    """Seconds before a transient failure is tried again: doubling, bounded; the caller adds jitter. 0 for no failure."""
    if failures <= 0:
        return 0.0
    return min(base_s * 2.0 ** min(failures - 1, 32), max_s)
