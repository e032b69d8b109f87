"""Telling from bytes alone that a page's text is the same: for which visits, what is stored, and when it is not believed.

See `monitoring.detection.mould` for why that is sound. A monitor's mould is learned when a reading found the baseline's
text in other bytes, and goes with the baseline. Where the baseline's bytes differ in more than tokens, the capture itself
is kept for a while, and the mould is learned from the next. Every so many visits the page is read all the same, and learned anew.
"""

from __future__ import annotations

from monitoring import storage
from monitoring.detection.mould import Mould, learn
from monitoring.fetching.capture import Capture
from monitoring.models import Monitor, Snapshot
from monitoring.services.rules import Rules
from monitoring.services.validators import TRUST_EVERY

RESTLESS = b"-"
"""Stored in place of a mould: this page changes in more than tokens."""

KEEP = b"k"
"""Not stored: the capture is to be kept, and `kept` to be stored, to learn from the next one."""

_MOULD, _KEPT = b"m", b"s"  # what the stored bytes begin with


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
    if stored[:1] != _MOULD or _is_read_anyway(monitor) or not may_be_used(monitor, capture, rules):
        return False
    return Mould.from_bytes(stored[1:]).fits(capture.body)


def learned(monitor: Monitor, capture: Capture, rules: Rules) -> bytes | None:
    """What to store after a reading found the baseline's text in other bytes; `KEEP`, or None for nothing new."""
    stored = bytes(monitor.mould)
    if not may_be_used(monitor, capture, rules) or (stored == RESTLESS and not _is_read_anyway(monitor)):
        return None
    fresh = _learned(monitor, stored, capture.body)
    return fresh if fresh != stored else None


def kept(snapshot: Snapshot) -> bytes:
    """What to store for a capture that was kept to learn from."""
    return _KEPT + str(snapshot.pk).encode()


def _learned(monitor: Monitor, stored: bytes, body: bytes) -> bytes:
    if stored[:1] == _MOULD and Mould.from_bytes(stored[1:]).fits(body):
        return stored  # this was a visit that reads all the same
    if stored[:1] == _KEPT:
        return _against(Snapshot.objects.filter(pk=int(stored[1:])).first(), body) or RESTLESS
    return _against(monitor.baseline, body) or (RESTLESS if stored[:1] == _MOULD else KEEP)


def _against(snapshot: Snapshot | None, body: bytes) -> bytes:
    """The mould as it is stored, b"" when the two differ in more than tokens or the older one can't be had."""
    try:
        mould = learn(storage.get(snapshot.payload), body) if snapshot is not None else None
    except storage.StorageError:
        return b""  # told where the baseline is read, and by `manage.py verify`
    return _MOULD + mould.to_bytes() if mould is not None else b""


def _is_read_anyway(monitor: Monitor) -> bool:
    return (monitor.check_no + 1) % TRUST_EVERY == 0
