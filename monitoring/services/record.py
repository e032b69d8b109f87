"""Recording a visit: payloads first, then one transaction for everything the visit means.

The transaction ends with an UPDATE of the monitor on (id, token, visit number). When that meets no row, somebody
else holds the monitor by now, and all of it is rolled back.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from monitoring import storage
from monitoring.detection.diff import diff_hash, edit_hash, rows_of
from monitoring.detection.fields import FieldEdit
from monitoring.fetching.capture import Capture
from monitoring.models import (
    Change,
    Check,
    EarlierDiff,
    FieldChange,
    Monitor,
    MonitorMemory,
    MonitorState,
    Outcome,
    Payload,
    Renderer,
    Snapshot,
    Vantage,
)
from monitoring.models.check import BY_PRICE, FIXED, SAID, UNCHANGED
from monitoring.scheduling import Rate
from monitoring.services import (
    calibrate,
    documents,
    hints,
    memories,
    moulds,
    rates,
    rows,
    schedule,
    searching,
    validators,
    vantages,
)
from monitoring.services.alerts import change_opened, important_field_changed
from monitoring.services.findings import DETECTOR, PLACE, Document, Finding, without_storage
from monitoring.services.robots import DISALLOWED
from monitoring.services.rules import Rules

logger = logging.getLogger(__name__)

NOISE_SNAPSHOTS = 20  # newest ones kept per monitor
BLOCKED_SNAPSHOTS = 5
SEARCH_CHARS = 8_000
CHECK_REASONS = 12
CONFIRMATION_KEPT = timedelta(days=365)
UNANSWERED_AGAIN = timedelta(minutes=5)
PLACE_AGAIN = timedelta(hours=8)  # three sightings within the time after which a change is raised anyway


class StaleLeaseError(Exception):
    """The lease was lost: nothing of this visit was written."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The payloads of what is kept: the capture, the one before it that it confirms, the page from a second vantage."""

    page: Payload
    screenshot: Payload | None
    thumbnail: Payload | None
    earlier: Payload | None
    elsewhere: Payload | None


def record(finding: Finding, monitor: Monitor, *, token: str, rules: Rules, now: datetime) -> Check:
    """The check row, with all that belongs to it, written in one transaction.

    Raises `StaleLeaseError` when the token no longer holds the monitor, with nothing written. A store that can't
    be written makes the check an `error` with the reason `storage`; the page is compared again at the next visit.
    """
    kept = None
    if finding.keep is not None and finding.capture is not None:
        try:
            kept = _store(finding, monitor)
        except storage.StorageError as error:
            logger.error("monitor=%d kept nothing: %s", monitor.pk, error)
            finding = without_storage(
                error,
                started_at=finding.started_at,
                duration_ms=finding.duration_ms,
                capture=finding.capture,
                final_url=finding.final_url,
            )
    try:
        with transaction.atomic():
            return _write(finding, monitor, kept, token=token, rules=rules, now=now)
    except IntegrityError as error:
        # Two holders of one visit: the unique (monitor, check_no) let the other one in.
        if Check.objects.filter(monitor=monitor, check_no=monitor.check_no + 1).exists():
            raise StaleLeaseError(f"monitor {monitor.pk} check {monitor.check_no + 1}") from error
        raise


def _store(finding: Finding, monitor: Monitor) -> Kept:
    capture = finding.capture
    assert capture is not None  # noqa: S101 - the caller asked
    page = storage.put(capture.body, like=_relative(monitor, capture))
    screenshot = storage.put(capture.screenshot) if capture.screenshot else None
    thumbnail = storage.put(capture.thumbnail) if capture.thumbnail else None
    like = page if capture.is_text else None
    others = (
        storage.put(other.body, like=like if other.is_text else None) if other else None
        for other in (finding.earlier, finding.elsewhere)
    )
    return Kept(page, screenshot, thumbnail, *others)


def _relative(monitor: Monitor, capture: Capture) -> Payload | None:
    """The newest stored capture of the same kind, which this one may be stored as a difference from; None for what is no text."""
    if not capture.is_text:
        return None
    of_kind = Snapshot.objects.filter(
        monitor=monitor, content_type=capture.content_type[:200], rendered=capture.rendered
    )
    newest = of_kind.order_by("-taken_at", "-pk").select_related("payload__keyframe").only("payload")[:1]
    return next((snapshot.payload for snapshot in newest), None)


def _write(finding: Finding, monitor: Monitor, kept: Kept | None, *, token: str, rules: Rules, now: datetime) -> Check:
    number = monitor.check_no + 1
    snapshot = _snapshot(finding, monitor, kept) if kept else None
    if kept is not None and kept.earlier is not None:
        _earlier_snapshot(finding, monitor, kept.earlier, now)
    if kept is not None and kept.elsewhere is not None:
        _snapshot_elsewhere(finding, monitor, kept.elsewhere, now)
    visit = next_visit(finding, monitor, number, now)
    columns = check_values(finding, monitor, number, snapshot, visit)
    check = rows.insert(Check(**columns))
    change = _open_or_fold(finding, monitor, check, snapshot, now)
    _field_changes(finding, monitor, check, change, rules, now)
    if finding.memory is not None:
        MonitorMemory.objects.update_or_create(
            monitor=monitor, defaults={"data": finding.memory, "folded_check_no": number}
        )
    values = monitor_values(finding, monitor, number, snapshot, visit, now)
    if rows.update(Monitor, values, id=monitor.pk, lease_token=token, check_no=monitor.check_no) != 1:
        raise StaleLeaseError(f"monitor {monitor.pk} check {number}")
    if monitor.plan_reason == hints.SIGNAL:
        hints.settle(monitor, good=finding.good, changed=finding.outcome in (Outcome.CONTENT, Outcome.FIELD))
    if finding.reason == memories.FIRST_CAPTURE and not monitor.is_canary:
        calibrate.first_look(monitor)
    if finding.keep in _BOUNDS:
        _bound(monitor, finding.keep, now)
    log_visit(columns, change)
    return check


def log_visit(columns: Mapping[str, Any], change: Change | None = None) -> None:
    """One line for a visit that was recorded, from the columns of its row."""
    logger.info(
        "monitor=%d check=%d outcome=%s reason=%s change=%s ms=%d",
        columns["monitor_id"], columns["check_no"], columns["outcome"], columns["reason"],
        change.pk if change else "", columns["duration_ms"],
    )  # fmt: skip


# -- the rows ----------------------------------------------------------------------------


def check_values(
    finding: Finding, monitor: Monitor, number: int, snapshot: Snapshot | None, visit: schedule.NextVisit
) -> dict[str, Any]:
    """The columns of a visit's row. What an unchanged visit has in common with an earlier one is left out."""
    judged = finding.judgement
    capture = finding.capture
    same = _is_as_baseline(finding, monitor)
    return {
        "monitor_id": monitor.pk,
        "check_no": number,
        "started_at": finding.started_at,
        "duration_ms": finding.duration_ms,
        "outcome": finding.outcome,
        "reason": finding.reason[:40],
        "detail": scrubbed(finding.detail)[:500],
        "status": capture.status if capture else None,
        "not_modified": capture.not_modified if capture else False,
        "size_bytes": len(capture.body) if capture else 0,
        "final_url": finding.final_url[:2000] if finding.final_url != monitor.url else "",
        "raw_sha256": "" if same else finding.raw_sha256,
        "text_hash": "" if same else finding.text_hash,
        "fingerprint": "" if same else finding.fingerprint,
        "distance": judged.distance if judged else None,
        "threshold": judged.settings.threshold if judged else None,
        "score": judged.score if judged else None,
        "cut": judged.settings.cut if judged else None,
        "visible_difference": judged.visible_difference if judged else False,
        "reasons": [] if same and _says_no_more(finding) else scrubbed(list(finding.reasons[:CHECK_REASONS])),
        "delta": judged.delta if judged else b"",
        "quiet_slots": finding.quiet_slots,
        "rebased": finding.rebase,
        "fields": {} if same and finding.fields == monitor.fields else _present(finding.fields),
        "snapshot_id": snapshot.pk if snapshot else None,
        "vantage_id": None if same else monitor.vantage_id,  # a monitor that changes it gets a new baseline
        "detector_version": "" if same else DETECTOR,
        "next_check_at": visit.at,
        "plan_reason": "" if same and visit.reason == _usual(visit) else visit.reason,
        "why": monitor.plan_reason if monitor.plan_reason in _CALLED else "",
        "rate_a": visit.rate.a,
        "rate_b": visit.rate.b,
        "plan_price": visit.price,
    }


def _is_as_baseline(finding: Finding, monitor: Monitor) -> bool:
    """Whether a visit met the baseline's text and kept nothing: then its hashes are those of the check that set the baseline."""
    return (
        finding.reason in UNCHANGED
        and finding.keep is None
        and not (finding.rebase or monitor.rebaseline)
        and finding.text_hash == monitor.baseline_text_hash
    )


def _says_no_more(finding: Finding) -> bool:
    """Whether the reasons only repeat the row's reason."""
    return len(finding.reasons) == 1 and finding.reasons[0] == SAID.get(finding.reason)


def _usual(visit: schedule.NextVisit) -> str:
    return FIXED if visit.price is None else BY_PRICE


def _snapshot(finding: Finding, monitor: Monitor, kept: Kept) -> Snapshot:
    capture, reading = finding.capture, finding.reading
    assert capture is not None  # noqa: S101 - `kept` exists only with both
    assert finding.keep is not None  # noqa: S101
    return Snapshot.objects.create(
        monitor=monitor,
        role=finding.keep,
        payload=kept.page,
        screenshot=kept.screenshot,
        thumbnail=kept.thumbnail,
        picture=asdict(capture.picture) if capture.picture else {},
        title=scrubbed(reading.title)[:400] if reading else "",
        language=reading.lang[:20] if reading else "",
        fingerprint=finding.fingerprint,
        text_hash=finding.text_hash,
        region_path=reading.region_path[:1000] if reading else monitor.region_path,
        fields=_present(finding.fields),
        expires_at=finding.expires_at,
        document_type=documents.type_for(monitor, capture),
        **_how_taken(capture, monitor.vantage),
    )


def _earlier_snapshot(finding: Finding, monitor: Monitor, payload: Payload, now: datetime) -> None:
    """The first of two captures; it stays as long as the second would without a change that refers to it."""
    assert finding.earlier is not None  # noqa: S101 - its payload was stored
    Snapshot.objects.create(
        monitor=monitor,
        role=Snapshot.Role.CONFIRMATION,
        payload=payload,
        expires_at=finding.expires_at or now + CONFIRMATION_KEPT,
        document_type=documents.type_for(monitor, finding.earlier),
        **_how_taken(finding.earlier, monitor.vantage),
    )


def _snapshot_elsewhere(finding: Finding, monitor: Monitor, payload: Payload, now: datetime) -> None:
    """What a second vantage was shown; it stays as long as the capture it differs from."""
    assert finding.elsewhere is not None  # noqa: S101 - its payload was stored
    assert finding.elsewhere_from is not None  # noqa: S101 - who saw it
    Snapshot.objects.create(
        monitor=monitor,
        role=Snapshot.Role.VANTAGE,
        payload=payload,
        expires_at=finding.expires_at or now + CONFIRMATION_KEPT,
        **_how_taken(finding.elsewhere, finding.elsewhere_from),
    )


def _how_taken(capture: Capture, vantage: Vantage) -> dict[str, Any]:
    """The columns of a snapshot that say when, whence and as whom it was taken."""
    return {
        "taken_at": capture.started_at,
        "duration_ms": capture.duration_ms,
        "url": capture.url[:2000],
        "final_url": capture.final_url[:2000],
        "status": capture.status,
        "headers": scrubbed([list(pair) for pair in capture.headers]),
        "redirects": [{"status": hop.status, "url": hop.url, "location": hop.location} for hop in capture.redirects],
        "peer_address": capture.peer_address[:60],
        "certificate_sha256": capture.certificate_sha256,
        "content_type": capture.content_type[:200],
        "link": scrubbed(asdict(capture.link)) if capture.link else {},
        "charset": capture.charset[:40],
        "charset_source": capture.charset_source[:20],
        "rendered": capture.rendered,
        "vantage": vantages.facts_of(vantage),
        "detector_version": DETECTOR,
        "product_version": settings.VERSION,
    }


def _present(fields: dict[str, Any] | None) -> dict[str, Any]:
    """The fields that the page has; only the monitor's row remembers that one was missing."""
    return {name: scrubbed(value) for name, value in (fields or {}).items() if value is not None}


_CALLED = frozenset({"asked", "first", hints.SIGNAL, "confirm"})

_STATES = {
    Outcome.BLOCKED: MonitorState.BLOCKED,
    Outcome.ERROR: MonitorState.ERROR,
    Outcome.GONE: MonitorState.ERROR,  # until it is confirmed
}


def next_visit(finding: Finding, monitor: Monitor, number: int, now: datetime) -> schedule.NextVisit:
    """When the page is visited after this visit, and why then."""
    if finding.good or finding.reason == DISALLOWED:  # what the site forbids is asked again in its usual time
        visit = schedule.plan_next(monitor, now=now, check_no=number, rate=_rate(finding, monitor))
        soon = _sooner(finding)
        return replace(visit, at=now + soon, reason="confirm") if soon and now + soon < visit.at else visit
    return schedule.plan_retry(monitor, now=now, fails=monitor.fail_no + 1, retry_after_s=finding.retry_after_s)


def _rate(finding: Finding, monitor: Monitor) -> Rate:
    """What is known of how often the page changes once this visit counts."""
    return rates.after(
        monitor.rate,
        outcome=finding.outcome,
        reason=finding.reason,
        detail=finding.detail,
        since=monitor.last_ok_at,
        at=finding.started_at,
        s=rates.settings_for(monitor.prior_b),
        age_days=rates.age_in(finding.reasons) if finding.reason == memories.FIRST_CAPTURE else 0.0,
    )


def _sooner(finding: Finding) -> timedelta | None:
    """How soon a page is looked at again whose visit left something open."""
    if validators.answered_for_another(finding.reasons):
        return UNANSWERED_AGAIN
    return PLACE_AGAIN if finding.suspect == PLACE and not finding.confirmed else None


def monitor_values(
    finding: Finding,
    monitor: Monitor,
    number: int,
    snapshot: Snapshot | None,
    visit: schedule.NextVisit,
    now: datetime,
) -> dict[str, Any]:
    """What the monitor's row becomes; only what this visit has a say in."""
    values: dict[str, Any] = {
        "check_no": number,
        "lease_until": None,
        "lease_token": "",
        "stage": "",
        "stage_failures": 0,
        "next_check_at": visit.at,
        "plan_reason": visit.reason,
        "last_checked_at": finding.started_at,
        "rate_a": visit.rate.a,
        "rate_b": visit.rate.b,
        "plan_price": visit.price,
        "planned_s": visit.planned_s,
        "deadline_at": schedule.deadline_of(monitor, since=finding.started_at if finding.good else None),
        "gives_304": validators.answers_unchanged(monitor, finding, now),
    }
    values |= _suspicion_values(finding, monitor, now)
    values |= _learned_values(finding, monitor, now)
    state = _state(finding, monitor)
    if state != monitor.state:
        values |= {"state": state, "state_since": now}
    if finding.good:
        values |= {"fail_no": 0, "last_ok_at": finding.started_at}
    elif finding.reason != DISALLOWED:  # the site did not fail
        values["fail_no"] = monitor.fail_no + 1
    if finding.fields is not None and finding.good:
        values["fields"] = scrubbed(finding.fields)
    if snapshot is not None and finding.good and (finding.keep == Snapshot.Role.AUDIT or finding.rebase):
        values["last_audit_at"] = finding.started_at
    if finding.rebase and snapshot is not None:
        values |= _baseline_values(finding, snapshot)
    elif finding.reason == "same-bytes" and finding.capture is not None and _is_baselines_address(monitor, finding):
        values |= _validators(finding.capture)
    if finding.good and finding.capture is not None and not finding.capture.not_modified:
        values["last_full_at"] = finding.started_at
        if finding.capture.charset and not finding.capture.rendered and finding.reason != "same-bytes":
            values["charset"] = finding.capture.charset[:40]  # it read well: the next undeclared page is read so too
    if finding.mould is not None and not finding.rebase:
        values["mould"] = _mould(finding.mould, snapshot)
    if finding.forget_bytes:
        values |= {"baseline_raw_sha256": "", "etag": "", "last_modified": ""}
    if validators.distrusted(finding.reasons):
        values["distrusted_until"] = now + validators.DISTRUST
    return values


def _learned_values(finding: Finding, monitor: Monitor, now: datetime) -> dict[str, Any]:
    """What “auto” found out at this visit."""
    values: dict[str, Any] = {}
    if finding.tried_browser or finding.learned == Renderer.BROWSER:
        values["browser_tried_at"] = now
    if finding.learned and finding.learned != monitor.learned_renderer:
        values |= {"learned_renderer": finding.learned, "learned_since": now}
    by_browser = monitor.would_use_browser(finding.learned or monitor.learned_renderer)
    if by_browser != monitor.by_browser:
        values["by_browser"] = by_browser
    return values


def _mould(fresh: bytes, snapshot: Snapshot | None) -> bytes:
    if fresh != moulds.KEEP:
        return fresh
    return moulds.kept(snapshot) if snapshot is not None else b""


def _suspicion_values(finding: Finding, monitor: Monitor, now: datetime) -> dict[str, Any]:
    """One sighting more, none any more, or (after a visit that says nothing about it) as many as before."""
    if finding.suspect and not finding.confirmed:
        again = monitor.suspect == finding.suspect and monitor.suspect_detail == finding.suspect_detail
        return {
            "suspect": finding.suspect,
            "suspect_detail": finding.suspect_detail,
            "suspect_since": monitor.suspect_since if again and monitor.suspect_since else now,
            "suspect_count": min(monitor.suspect_count + 1, 30_000) if again else 1,
        }
    if finding.good or finding.confirmed:
        return {"suspect": "", "suspect_detail": "", "suspect_since": None, "suspect_count": 0}
    return {}


def _state(finding: Finding, monitor: Monitor) -> str:
    if finding.good:
        return MonitorState.OK
    if finding.outcome == Outcome.GONE and (finding.confirmed or monitor.state == MonitorState.GONE):
        return MonitorState.GONE
    if monitor.baseline_id is None:
        return MonitorState.UNREAD
    return _STATES[finding.outcome]


def _baseline_values(finding: Finding, snapshot: Snapshot) -> dict[str, Any]:
    capture = finding.capture
    assert capture is not None  # noqa: S101 - a snapshot has one
    return {
        "baseline": snapshot,
        "baseline_raw_sha256": finding.raw_sha256,
        "baseline_text_hash": finding.text_hash,
        "baseline_fingerprint": finding.fingerprint,
        "mould": b"",
        "charset": capture.charset[:40],
        "region_path": snapshot.region_path,
        "rebaseline": "",
        **_validators(capture),
    }


def _is_baselines_address(monitor: Monitor, finding: Finding) -> bool:
    """Whether these validators come from the address they will be sent to; a link may lead to the same bytes elsewhere."""
    return monitor.baseline is not None and monitor.baseline.final_url == finding.final_url


def _validators(capture: Capture) -> dict[str, str]:
    """ETag and Last-Modified as they came; one too long to keep whole is not kept."""
    etag, modified = scrubbed(capture.header("ETag")), scrubbed(capture.header("Last-Modified"))
    return {"etag": etag if len(etag) <= 500 else "", "last_modified": modified if len(modified) <= 100 else ""}


_BOUNDS = {
    Snapshot.Role.NOISE: NOISE_SNAPSHOTS,
    Snapshot.Role.BLOCKED: BLOCKED_SNAPSHOTS,
    Snapshot.Role.ERROR: BLOCKED_SNAPSHOTS,
}


def _bound(monitor: Monitor, role: Snapshot.Role, now: datetime) -> None:
    """Let the oldest of a role go to retention when there are more than are kept."""
    kept = Snapshot.objects.filter(monitor=monitor, role=role, expires_at__gt=now).order_by("-taken_at", "-pk")
    surplus = list(kept.values_list("pk", flat=True)[_BOUNDS[role] : _BOUNDS[role] + 50])
    if surplus:
        Snapshot.objects.filter(pk__in=surplus, legal_hold=False).update(expires_at=now)


# -- the queue ---------------------------------------------------------------------------


def _open_or_fold(
    finding: Finding, monitor: Monitor, check: Check, snapshot: Snapshot | None, now: datetime
) -> Change | None:
    """The change this visit opened or folded into."""
    if finding.opens is None:
        return None
    if monitor.is_canary and finding.opens == Change.Kind.AUDIT:
        return None  # the audit measures what people are spared
    waiting = (
        Change.objects.select_for_update()
        .filter(monitor=monitor, state__in=[Change.State.OPEN, Change.State.SNOOZED])
        .first()
    )
    if waiting is None:
        return _open(finding, monitor, check, snapshot, now)
    if finding.opens == Change.Kind.AUDIT:
        return None  # a sample of noise adds nothing to what a person will look at anyway
    return _fold(waiting, finding, check, snapshot, now)


def _open(finding: Finding, monitor: Monitor, check: Check, snapshot: Snapshot | None, now: datetime) -> Change:
    assert monitor.baseline_id is not None  # noqa: S101 - only a comparison opens a change
    assert finding.opens is not None  # noqa: S101 - the caller asked
    change = Change.objects.create(
        monitor=monitor,
        check_row=check,
        prior_id=monitor.baseline_id,
        new=snapshot if finding.opens != Change.Kind.GONE else None,
        kind=finding.opens,
        state=Change.State.CANARY if monitor.is_canary else Change.State.OPEN,
        opened_at=now,
        updated_at=now,
        reasons=check.reasons,
        flags=list(finding.flags),
        priority=finding.priority,
        sample_share=finding.sample_share,
        **_judged(finding),
        **_shown(finding, finding.diff, monitor),
    )
    if not monitor.is_canary:
        change_opened.send(sender=Change, change=change, monitor=monitor, now=now)
    return change


_WITHOUT_DIFF = frozenset({Change.Kind.GONE, Change.Kind.REDIRECT, Change.Kind.TYPE})


def _fold(waiting: Change, finding: Finding, check: Check, snapshot: Snapshot | None, now: datetime) -> Change:
    """Fold a newer capture into the change that waits: its prior side stays, the version rises."""
    fold = finding.fold if finding.fold and finding.fold.change == waiting.pk else None
    values: dict[str, Any] = {
        "updated_at": now,
        "version": F("version") + 1,
        "folded": F("folded") + 1,
        "priority": max(waiting.priority, finding.priority),
        "flags": sorted({*waiting.flags, *finding.flags}),
    }
    if waiting.state == Change.State.SNOOZED and waiting.snoozed_until is None:
        values["state"] = Change.State.OPEN  # it slept until the page changes again
    if finding.opens in _WITHOUT_DIFF:
        values["flags"] = sorted({*values["flags"], str(finding.opens)})
        values["reasons"] = [*waiting.reasons, *check.reasons][:CHECK_REASONS]
    elif waiting.kind == Change.Kind.TYPE:
        # What changed in the document since it has its new type can't be shown against the prior side.
        values |= {"new": snapshot, "check_row": check}
        values["reasons"] = [*waiting.reasons, *check.reasons][:CHECK_REASONS]
    elif fold is not None and fold.diff is None:
        # Back to the prior text: what was seen in between stays for the reviewer, marked.
        values["returns"] = F("returns") + 1
        values["flags"] = sorted({*values["flags"], "returned"})
        values["reasons"] = [*waiting.reasons, _RETURNED][:CHECK_REASONS]
    else:
        _keep_diff(waiting)
        values |= _shown(finding, fold.diff if fold else finding.diff, waiting.monitor) | {
            "new": snapshot,
            "check_row": check,
        }
        values["flags"] = sorted(set(values["flags"]) - {"returned", "audit-sample"})
        if waiting.kind == Change.Kind.CONTENT and finding.opens == Change.Kind.FIELD:
            values["reasons"] = [*waiting.reasons, *check.reasons][:CHECK_REASONS]
        else:
            values |= _judged(finding) | {"kind": finding.opens, "reasons": check.reasons}
    Change.objects.filter(pk=waiting.pk).update(**values)
    waiting.refresh_from_db()
    return waiting


EARLIER_DIFFS = 5  # kept beside the newest


def _keep_diff(waiting: Change) -> None:
    """Keep what the change showed until now beside what it will show; of many the newest."""
    if not waiting.diff:
        return
    EarlierDiff.objects.create(
        change=waiting,
        version=waiting.version,
        seen_at=waiting.updated_at,
        diff=waiting.diff,
        added=waiting.added,
        removed=waiting.removed,
    )
    kept = list(waiting.earlier_diffs.values_list("pk", flat=True)[:EARLIER_DIFFS])
    waiting.earlier_diffs.exclude(pk__in=kept).delete()


_RETURNED = {"code": "returned", "text": "The page shows the prior text again.", "data": {}}


def _judged(finding: Finding) -> dict[str, Any]:
    judged = finding.judgement
    if judged is None:
        return {"score": None, "cut": None, "distance": None, "threshold": None}
    return {
        "score": judged.score,
        "cut": judged.settings.cut,
        "distance": judged.distance,
        "threshold": judged.settings.threshold,
    }


def _shown(finding: Finding, document: Document | None, monitor: Monitor) -> dict[str, Any]:
    """The columns that show a diff; a gone page has none."""
    if document is None:
        return {"search_text": searching.of_change(monitor, finding.detail, limit=SEARCH_CHARS)}
    document = scrubbed(document)
    return {
        "diff": document,
        "diff_hash": diff_hash(document),
        "edit_hash": edit_hash(document, among=str(monitor.team_id)) if finding.opens == Change.Kind.CONTENT else None,
        "say": scrubbed(list(finding.say)),
        "added": document["added"],
        "removed": document["removed"],
        "places": document["places"],
        "search_text": searching.of_change(monitor, _search_text(finding, document), limit=SEARCH_CHARS),
    }


def _search_text(finding: Finding, document: Document) -> str:
    """Title and changed words, for the queue's search."""
    words = [finding.reading.title if finding.reading else ""]
    for row in rows_of(document):
        if row["op"] == "equal":
            continue
        segments = row.get("segments") or [*row.get("before", ()), *row.get("after", ())]
        words += [segment[1] for segment in segments if segment[0] in "-+"]
    return scrubbed(" ".join(words))


def _field_changes(
    finding: Finding, monitor: Monitor, check: Check, change: Change | None, rules: Rules, now: datetime
) -> None:
    for edit in finding.field_edits:
        row = FieldChange.objects.create(
            monitor=monitor,
            check_row=check,
            change=change,
            name=edit.name,
            type=_type_of(edit, rules),
            state=edit.state,
            old=scrubbed(edit.old.to_json()) if edit.old else None,
            new=scrubbed(edit.new.to_json()) if edit.new else None,
            text=scrubbed(edit.text)[:600],
            important=edit.name in rules.important,
            at=finding.started_at,
        )
        if row.important and not monitor.is_canary:
            important_field_changed.send(sender=FieldChange, field_change=row, monitor=monitor, now=now)


def _type_of(edit: FieldEdit, rules: Rules) -> str:
    return next((str(spec.type) for spec in rules.specs if spec.name == edit.name), "")


def scrubbed[T](value: T) -> T:
    """The value with what no database stores taken out of its texts: NUL and lone surrogates become U+FFFD."""
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        return value.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # type: ignore[return-value]
    if isinstance(value, list | tuple | dict) and not _is_clean(value):
        if isinstance(value, list):
            return [scrubbed(item) for item in value]  # type: ignore[return-value]
        if isinstance(value, tuple):
            return tuple(scrubbed(item) for item in value)  # type: ignore[return-value]
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}  # type: ignore[return-value]
    return value


def _is_clean(value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> bool:
    """Whether no text inside needs scrubbing: one pass in C, where walking a diff takes milliseconds."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return "\\u0000" not in text
