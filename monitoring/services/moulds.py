"""Telling from bytes alone that a page's text is the same: for which visits, what is stored, and when it is not believed.

See `monitoring.detection.mould` for why that is sound. A monitor's mould is learned when a reading found the baseline's
text in other bytes, and goes with the baseline. Every so many visits the page is read all the same, and learned anew.
"""

from __future__ import annotations

from monitoring import storage
from monitoring.detection.mould import Mould, learn
from monitoring.fetching.capture import Capture
from monitoring.models import Monitor
from monitoring.services.rules import Rules
from monitoring.services.validators import TRUST_EVERY

RESTLESS = b"-"
"""Stored in place of a mould: this page changes in more than tokens."""


def may_be_used(monitor: Monitor, capture: Capture, rules: Rules) -> bool:
    """Whether nothing that this monitor reads could stand in a token, and the bytes mean what the baseline's did."""
    baseline = monitor.baseline
    return bool(
        baseline is not None
        and capture.html
        and not capture.rendered
        and not rules.specs
        and not any("[" in selector for selector in (*rules.ignore_selectors, monitor.main_selector))
        and capture.charset == monitor.charset
        and capture.content_type[:200] == baseline.content_type
    )


def fits(monitor: Monitor, capture: Capture, rules: Rules) -> bool:
    """Whether the capture is the baseline but for tokens, and this is no visit that reads the page all the same."""
    stored = bytes(monitor.mould)
    if len(stored) <= len(RESTLESS) or _is_read_anyway(monitor) or not may_be_used(monitor, capture, rules):
        return False
    return Mould.from_bytes(stored).fits(capture.body)


def learned(monitor: Monitor, capture: Capture, rules: Rules) -> bytes | None:
    """What to store after a reading found the baseline's text in other bytes; None for nothing new."""
    stored = bytes(monitor.mould)
    if not may_be_used(monitor, capture, rules) or (stored == RESTLESS and not _is_read_anyway(monitor)):
        return None
    assert monitor.baseline is not None  # noqa: S101 - `may_be_used` has seen it
    if stored and stored != RESTLESS and not Mould.from_bytes(stored).fits(capture.body):
        fresh = RESTLESS  # more moves than was seen first
    else:
        try:
            mould = learn(storage.get(monitor.baseline.payload), capture.body)
        except storage.PayloadDamageError:
            return None  # found and told where the baseline is read
        fresh = mould.to_bytes() if mould is not None else RESTLESS
    return fresh if fresh != stored else None


def _is_read_anyway(monitor: Monitor) -> bool:
    return (monitor.check_no + 1) % TRUST_EVERY == 0
