"""A second vantage asked before a change is raised: what is seen from one place only may differ by place.

A page that still shows the earlier text from there is held back, and recorded as that. Silence hides no change: after
three such checks, or two over a day, it is raised all the same and says so.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from monitoring.detection.blocks import Reading
from monitoring.detection.fields import FieldEdit, FieldValue
from monitoring.detection.normalise import normalise
from monitoring.fetching.capture import Capture, Failure, FetchRequest
from monitoring.fetching.capture import Outcome as Fetched
from monitoring.models import Monitor, Outcome, Snapshot, Vantage
from monitoring.services import vantages
from monitoring.services.findings import PLACE, Finding
from monitoring.services.judge import NOISE_KEPT, Look, look_at
from monitoring.services.rules import Rules

CHECKS = 3
SPAN = timedelta(hours=24)
REASON = "differs-by-vantage"
_HALF = 0.5

SAME, OLD, OTHER, UNREACHED, STILL_OLD = (
    "vantage-same", "vantage-old", "vantage-other", "vantage-unreached", "vantage-still-old",
)  # fmt: skip


def request_from(request: FetchRequest, vantage: Vantage) -> FetchRequest:
    """The same request as another vantage makes it, without conditions: the validators are not that one's."""
    return replace(request, vantage=vantages.spec_of(vantage), etag="", last_modified="")


def confirm_elsewhere(monitor: Monitor, finding: Finding, fetched: Fetched, *, rules: Rules, now: datetime) -> Finding:
    """The finding once the second vantage was asked: raised, or held back because the earlier text still stands there."""
    vantage = monitor.confirm_vantage
    assert vantage is not None  # noqa: S101 - it was asked
    if isinstance(fetched, Failure):
        return unreached(finding, vantage, fetched.message)
    look = look_at(monitor, fetched, rules=rules, now=now)
    if look.problem:
        return unreached(finding, vantage, look.problem)
    code = _seen(finding, look)
    if code == SAME:
        return _with(finding, SAME, f"Seen from {vantage.name} too.", vantage)
    if code == OTHER:
        text = f"From {vantage.name} the page reads differently anyway, so it can't confirm this."
        return _with(finding, OTHER, text, vantage)
    return _still_old(monitor, finding, fetched, vantage, now)


def unreached(finding: Finding, vantage: Vantage, why: str) -> Finding:
    """The finding as it is, with the reason that the second vantage brought no page."""
    return _with(finding, UNREACHED, f"From {vantage.name} the page could not be had. {why}", vantage)


def _still_old(monitor: Monitor, finding: Finding, fetched: Capture, vantage: Vantage, now: datetime) -> Finding:
    again = monitor.suspect == PLACE and monitor.suspect_detail == vantage.name and monitor.suspect_since is not None
    count = monitor.suspect_count + 1 if again else 1
    since = monitor.suspect_since if again and monitor.suspect_since else now
    evidence: dict[str, Any] = {"elsewhere": fetched, "elsewhere_from": vantage}
    if count >= CHECKS or (count > 1 and now - since >= SPAN):
        text = f"After {count} checks {vantage.name} still shows the earlier text; raised all the same."
        return replace(_with(finding, STILL_OLD, text, vantage, checks=count), **evidence)
    text = f"From {vantage.name} the page still shows the earlier text."
    held = _with(finding, OLD, text, vantage)
    # The memory learns nothing of it: a text it had seen as noise would be noise when it is raised.
    return replace(
        held,
        outcome=Outcome.NOISE,
        reason=REASON,
        detail=text[:500],
        judgement=replace(finding.judgement, delta=b"") if finding.judgement else None,
        memory=None,
        fields=None,
        field_edits=(),
        keep=Snapshot.Role.NOISE,
        expires_at=now + NOISE_KEPT,
        rebase=False,
        forget_bytes=False,
        opens=None,
        diff=None,
        say=(),
        fold=None,
        flags=(),
        earlier=None,
        suspect=PLACE,
        suspect_detail=vantage.name,
        confirmed=False,
        **evidence,
    )


def _with(finding: Finding, code: str, text: str, vantage: Vantage, **data: Any) -> Finding:
    reason = {"code": code, "text": text[:300], "data": {"vantage": vantage.name, **data}}
    return replace(finding, reasons=(reason, *finding.reasons))


def _seen(finding: Finding, look: Look) -> str:
    """Which side of the change the second vantage shows."""
    if finding.judgement is not None and finding.reading is not None and finding.judgement.edits:
        gone, come, kept = _sides(finding, look.baseline)
        if gone or come:
            return _by_text(gone, come, kept, _texts(look.reading))
    return _by_fields(finding.field_edits, look.values)


def _sides(finding: Finding, baseline: Reading) -> tuple[set[str], set[str], set[str]]:
    """The texts that the change takes away, those that it brings, and those that stand on both sides."""
    assert finding.judgement is not None  # noqa: S101 - the caller looked
    assert finding.reading is not None  # noqa: S101
    edits = [edit for edit in finding.judgement.edits if not edit.explained]
    gone = {normalise(baseline.blocks[edit.old].text) for edit in edits if edit.old >= 0}
    come = {normalise(finding.reading.blocks[edit.new].text) for edit in edits if edit.new >= 0}
    kept = _texts(baseline) & _texts(finding.reading)
    return gone - come, come - gone, kept


def _texts(reading: Reading) -> set[str]:
    return {normalise(block.text) for block in reading.visible}


def _by_text(gone: set[str], come: set[str], kept: set[str], there: set[str]) -> str:
    if kept and len(kept & there) < _HALF * len(kept):
        return OTHER  # another language, another page: what it lacks says nothing
    shows_new = len(come & there) / len(come) if come else float(not gone & there)
    shows_old = len(gone & there) / len(gone) if gone else float(not come & there)
    if shows_new >= _HALF:
        return SAME
    return OLD if shows_old >= _HALF else OTHER


def _by_fields(edits: tuple[FieldEdit, ...], there: dict[str, FieldValue]) -> str:
    def shown(value: FieldValue | None) -> object:
        return None if value is None else value.value

    if any(shown(there.get(edit.name)) == shown(edit.new) for edit in edits):
        return SAME
    return OLD if edits and all(shown(there.get(edit.name)) == shown(edit.old) for edit in edits) else OTHER
