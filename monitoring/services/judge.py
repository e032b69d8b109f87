"""From an outcome of the fetcher to a finding: the gates, the reading, the judgement, and what it means for the queue.

Reads the database and the store, writes neither. The order of the gates is the order of their cost: a 304 or
equal bytes end it; then the text's hash; then the quality gate, which alone decides what may be compared at all;
then fields and blocks.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from monitoring import storage
from monitoring.detection import garbled
from monitoring.detection.blocks import Block, Reading
from monitoring.detection.diff import diff, rows_of
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.documents.plain import read_plain
from monitoring.detection.documents.reader import paired
from monitoring.detection.documents.types import TEXTUAL, DocumentType
from monitoring.detection.echoes import only_echoes
from monitoring.detection.explain import CJK_NEGATION, NEGATIONS
from monitoring.detection.fields import EditState, FieldEdit, FieldValue, compare_fields, contradictions, extract_fields
from monitoring.detection.fingerprint import fingerprint, text_hash, to_hex
from monitoring.detection.joint import REGION_MOVED, same_region
from monitoring.detection.judge import judge
from monitoring.detection.judgement import EditKind, Judgement, Kind, Settings
from monitoring.detection.memory import Memory, slot_hash
from monitoring.detection.quality import PageFacts, Quality, State, assess
from monitoring.detection.read import read, skim
from monitoring.fetching.capture import Capture, Failure
from monitoring.fetching.capture import Outcome as Fetched
from monitoring.fetching.charset import decode_page
from monitoring.fetching.politeness import retry_after_s
from monitoring.models import Change, Monitor, MonitorState, Outcome, Renderer, Snapshot
from monitoring.models.check import MARKUP_ONLY, SAID
from monitoring.scheduling.core import hash01
from monitoring.services import documents, memories, moulds, tallies, validators
from monitoring.services.findings import DETECTOR, Document, Finding, Fold, without_storage
from monitoring.services.rules import Rules
from monitoring.services.showing import document_of, is_empty

logger = logging.getLogger(__name__)

AUDIT_EVERY = timedelta(days=30)
NOISE_KEPT = timedelta(days=14)
BLOCKED_KEPT = timedelta(days=30)
BLOCKED_EVERY = timedelta(days=1)
_REASON_TEXT = 300


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How often and over what time a page must be gone, or elsewhere, before that is believed."""

    checks: int = 3
    span: timedelta = timedelta(hours=24)


CONFIRM = Confirmation()
CONFIRM_SAMPLE = Confirmation(checks=2, span=timedelta(0))


@dataclass(frozen=True, slots=True)
class Look:
    """A capture read as a visit reads it, beside the baseline; `problem` is the sentence of one that is no page."""

    reading: Reading
    baseline: Reading
    values: dict[str, FieldValue]
    problem: str = ""


def look_at(monitor: Monitor, capture: Capture, *, rules: Rules, now: datetime) -> Look:
    """What a capture shows, judged by nothing but whether it is a page; `monitor` has a baseline."""
    visit = _Visit(monitor, capture, rules, now, CONFIRM)
    nothing = Reading(blocks=())
    if visit.is_other_type:
        return Look(
            nothing, nothing, {}, f"The site sent {_TYPE_NAMES[visit.kind]}, which is another type of document."
        )
    try:
        reading = visit.reading
    except DocumentFault as fault:
        return Look(nothing, nothing, {}, fault.sentence)
    quality = assess(page_facts(capture, visit.kind), documents.assessed(visit.kind, reading))
    return Look(reading, visit.baseline, visit.values, "" if quality.is_good else quality.sentence)


def readings_of(monitor: Monitor, captures: Sequence[Capture], rules: Rules) -> tuple[Reading, ...]:
    """Captures read as they are shown, with the nodes of fields, whether the monitor has a baseline or not."""
    return tuple(_Visit(monitor, capture, rules, capture.started_at, CONFIRM).whole for capture in captures)


def audit_due(monitor: Monitor, now: datetime) -> bool:
    """Whether the next good capture is kept whatever it shows."""
    return monitor.baseline_id is not None and (
        monitor.last_audit_at is None or monitor.last_audit_at <= now - AUDIT_EVERY
    )


def stale_baseline(monitor: Monitor) -> str:
    """Why the baseline can't be compared with (our own change), or "" when it can."""
    if monitor.rebaseline:
        return monitor.rebaseline
    if monitor.baseline is not None and monitor.baseline.detector_version != DETECTOR:
        return "detector version"
    return ""


def judge_capture(
    monitor: Monitor, fetched: Fetched, *, rules: Rules, now: datetime, confirm: Confirmation | None = None
) -> Finding:
    """The finding of one visit. `monitor` comes with page type and baseline as they were when the visit began."""
    if isinstance(fetched, Failure):
        return Finding(
            outcome=Outcome.ERROR,
            reason=fetched.reason,
            detail=fetched.message[:500],
            started_at=fetched.started_at,
            duration_ms=fetched.duration_ms,
            final_url=fetched.final_url,
            reasons=_cause(fetched),
            capture=fetched.evidence,
            keep=Snapshot.Role.ERROR if fetched.evidence else None,
            expires_at=now + BLOCKED_KEPT if fetched.evidence else None,
        )
    confirm = confirm or (CONFIRM_SAMPLE if monitor.is_sample else CONFIRM)
    try:
        return _judged(monitor, fetched, rules, now, confirm)
    except storage.StorageError as error:
        logger.error("monitor=%d its baseline can't be read just now: %s", monitor.pk, error)
        return _without_storage(fetched, error)


def _judged(monitor: Monitor, fetched: Capture, rules: Rules, now: datetime, confirm: Confirmation) -> Finding:
    try:
        visit = _Visit(monitor, fetched, rules, now, confirm)
        finding = visit.finding()
    except storage.PayloadDamageError as error:
        # Watching goes on from here, and the check says why; `manage.py verify` names what else is damaged.
        logger.error("monitor=%d its baseline is damaged: %s", monitor.pk, error)
        monitor.rebaseline = "baseline damaged"
        visit = _Visit(monitor, fetched, rules, now, confirm)
        finding = visit.finding()
    return _remarked(finding, visit)


def _without_storage(fetched: Capture, error: storage.StorageError) -> Finding:
    return without_storage(
        error,
        started_at=fetched.started_at,
        duration_ms=fetched.duration_ms,
        capture=fetched,
        final_url=fetched.final_url,
    )


def _remarked(finding: Finding, visit: _Visit) -> Finding:
    """The finding with what was noticed about the transfer in front of its reasons: a lying validator, a new charset."""
    lie = validators.lie_in(visit.monitor, visit.capture, finding.outcome)
    first = finding.reason == memories.FIRST_CAPTURE
    age = validators.age_in(visit.capture, now=finding.started_at) if first else None
    remarks = (*filter(None, (lie, age)), *(visit.remarks if finding.good else []))
    return replace(finding, reasons=(*remarks, *finding.reasons)) if remarks else finding


def _cause(failure: Failure) -> tuple[dict[str, Any], ...]:
    """The finer cause of a failure as a reason, so that it can be told in the reader's language."""
    if not failure.cause:
        return ()
    return ({"code": failure.cause, "text": failure.message[:_REASON_TEXT], "data": dict(failure.data)},)


def confirm_capture(monitor: Monitor, first: Finding, again: Fetched, *, rules: Rules, now: datetime) -> Finding:
    """The finding of a visit that fetched twice: `first` wanted to open a change, `again` was fetched a little later.

    What differs between the two moves by itself and is left out of the second judgement. Where the second fetch
    brings no page to compare, the first finding stands and says that it is not confirmed.
    """
    if isinstance(again, Failure):
        return _unconfirmed(first, again.message)
    try:
        visit = _Visit(monitor, again, rules, now, CONFIRM, first=first)
        finding = visit.same_as_first() or _remarked(visit.finding(), visit)
    except storage.StorageUnavailableError as error:
        logger.error("monitor=%d its baseline can't be read just now: %s", monitor.pk, error)
        return _without_storage(again, error)
    if not finding.good:
        return _unconfirmed(first, finding.detail)
    return replace(
        finding,
        duration_ms=first.duration_ms + finding.duration_ms,
        earlier=first.capture if first.raw_sha256 != finding.raw_sha256 else None,
        reasons=(*finding.reasons, _CONFIRMED if finding.opens is not None else _PASSED),
    )


_CONFIRMED = {"code": "confirmed", "text": "A second fetch shortly after showed the same change.", "data": {}}
_PASSED = {"code": "not-confirmed", "text": "A second fetch shortly after showed no such change.", "data": {}}


def _unconfirmed(first: Finding, why: str) -> Finding:
    text = f"A second fetch to confirm this brought no page. {why}"[:_REASON_TEXT]
    return replace(first, reasons=(*first.reasons, {"code": "unconfirmed", "text": text, "data": {}}))


def _same_bytes(monitor: Monitor, capture: Capture, raw: str) -> bool:
    return bool(
        raw == monitor.baseline_raw_sha256
        and capture.status < 400
        and not stale_baseline(monitor)
        and not _moved_host(monitor, capture)
    )


def _moved_host(monitor: Monitor, capture: Capture) -> str:
    """The host the page is served from now, if that is not the baseline's."""
    if monitor.baseline is None:
        return ""
    was, now = _host(monitor.baseline.final_url), _host(capture.final_url)
    return now if was != now else ""


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")


class _Visit:
    """One capture on its way through the gates; values that several steps need are computed once."""

    def __init__(
        self,
        monitor: Monitor,
        capture: Capture,
        rules: Rules,
        now: datetime,
        confirm: Confirmation,
        *,
        first: Finding | None = None,
    ) -> None:
        self.monitor, self.capture, self.rules, self.now, self.confirm = monitor, capture, rules, now, confirm
        self.first = first
        self.remarks: list[dict[str, Any]] = []
        self.raw = "" if capture.not_modified else hashlib.sha256(capture.body).hexdigest()
        self.kind = documents.type_for(monitor, capture)

    # -- readings ------------------------------------------------------------------------

    @cached_property
    def reading(self) -> Reading:
        """The capture as it is judged: without the nodes of fields and what rules leave out."""
        return self._read(self.capture, fields=False)

    @cached_property
    def whole(self) -> Reading:
        """The capture as it is shown: with the nodes of fields."""
        return self._read(self.capture, fields=True) if self._has_field_nodes else self.reading

    @property
    def _has_field_nodes(self) -> bool:
        """Whether nodes of fields are left out of the judged reading; only pages of HTML have nodes."""
        return bool(self.rules.field_selectors) and self.kind is DocumentType.HTML

    @cached_property
    def baseline(self) -> Reading:
        """The baseline, read as the capture is."""
        assert self.monitor.baseline is not None  # noqa: S101 - asked for only after the first capture
        return self._of_snapshot(self.monitor.baseline, fields=False)

    @cached_property
    def values(self) -> dict[str, FieldValue]:
        """The fields on the page now."""
        if not self.rules.specs or self.kind is not DocumentType.HTML:
            return {}
        return extract_fields(self.capture.html, self.rules.specs)

    @cached_property
    def edits(self) -> tuple[FieldEdit, ...]:
        """What changed among the fields since they were last read."""
        if not self.rules.specs:
            return ()
        stored = self.monitor.fields
        known = tuple(spec for spec in self.rules.specs if spec.name in stored)  # a field without a past is only noted
        old = {spec.name: FieldValue.from_json(stored[spec.name]) for spec in known if stored[spec.name] is not None}
        return tuple(compare_fields(old, self.values, known))

    @cached_property
    def denied(self) -> tuple[dict[str, Any], ...]:
        """Reasons for fields whose structured data the visible page contradicts."""
        found = contradictions(self.values, self.rules.specs, self.whole)
        return tuple({"code": "contradiction", "text": c.text[:_REASON_TEXT], "data": {"name": c.name}} for c in found)

    def _read(self, capture: Capture, *, fields: bool) -> Reading:
        before = tallies.stages.switch("read")
        try:
            source = documents.source_of(capture, self.kind, sha256=self.raw)
            region = self.monitor.region_path
            return documents.reading_of(source, self.monitor, self.rules, region=region, fields=fields)
        finally:
            tallies.stages.switch(before)

    def _of_snapshot(self, snapshot: Snapshot, *, fields: bool) -> Reading:
        """A stored capture, read as this one is, and less what has no counterpart in it by its nature."""
        before = tallies.stages.switch("read")
        try:
            stored = reading_of(snapshot, self.monitor, self.rules, region=self.monitor.region_path, fields=fields)
        finally:
            tallies.stages.switch(before)
        return paired(self.kind, stored, self.reading)

    # -- the gates -----------------------------------------------------------------------

    def finding(self) -> Finding:
        """What this visit comes to."""
        capture, monitor = self.capture, self.monitor
        if capture.not_modified:
            return self._unchanged("not-modified")
        if _same_bytes(monitor, capture, self.raw):
            return self._unchanged("same-bytes")
        if monitor.link_selector and capture.link is None:
            return self._without_link()
        comparable = monitor.baseline is not None and not stale_baseline(monitor)
        if expected := self._expected(comparable=comparable):
            return self._other_type(expected)
        try:
            return self._looked_at(comparable=comparable)
        except DocumentFault as fault:
            return self._unreadable(fault)

    def _looked_at(self, *, comparable: bool) -> Finding:
        """What a document of the expected type comes to. Raises `DocumentFault` for one that can't be read."""
        capture, monitor = self.capture, self.monitor
        same_text = comparable and capture.status < 400 and self._text_hash == monitor.baseline_text_hash
        if not same_text:
            quality = self._quality(compare=comparable)
            if quality is not None:
                return quality
        if monitor.baseline is None:
            return self._new_baseline(memories.FIRST_CAPTURE, "")
        if why := stale_baseline(monitor):
            return self._new_baseline(memories.OUR_CHANGE, why)
        if host := _moved_host(monitor, capture):
            return self._elsewhere(host, same_text=same_text)
        if same_text:
            return self._same_text()
        if self._other_renderer():
            return self._new_baseline(memories.OUR_CHANGE, "renderer changed")
        return self._compare()

    def same_as_first(self) -> Finding | None:
        """The first finding with this capture in its place, when both say the same; None when this must be judged."""
        first, capture = self.first, self.capture
        if first is None or first.opens != Change.Kind.CONTENT or first.capture is None or self.rules.specs:
            return None
        if self.kind is not DocumentType.HTML or not capture.html or capture.status >= 400:
            return None
        if capture.final_url != first.final_url or capture.content_type != first.capture.content_type:
            return None
        if self._text_hash != first.text_hash:
            return None
        return replace(first, capture=capture, raw_sha256=self.raw)  # its time stays: the memory was told it

    def _other_renderer(self) -> bool:
        """Whether “auto” got this page in another way than the baseline: then only equal texts can be compared."""
        monitor = self.monitor
        assert monitor.baseline is not None  # noqa: S101 - `finding` sees to it
        return monitor.renderer == Renderer.AUTO and monitor.baseline.rendered != self.capture.rendered

    @cached_property
    def _fits(self) -> bool:
        """Whether the capture is the baseline but for tokens that no reader sees."""
        if self.kind is not DocumentType.HTML or stale_baseline(self.monitor):
            return False
        return moulds.fits(self.monitor, self.capture, self.rules)

    @cached_property
    def _text_hash(self) -> str:
        """The hash of the capture's text; skimmed when nothing else of the reading is wanted yet."""
        html, rules = self.capture.html, self.rules
        if not html or self.kind is not DocumentType.HTML or "reading" in self.__dict__:
            return text_hash(self.reading)
        if self._fits:
            return self.monitor.baseline_text_hash
        before = tallies.stages.switch("read")
        skimmed = skim(html, ignore_selectors=rules.ignore_selectors, field_selectors=rules.field_selectors)
        tallies.stages.switch(before)
        return text_hash(skimmed)

    def _finding(self, outcome: Outcome, **more: Any) -> Finding:
        capture = self.capture
        if reasons := self._told_besides():
            more["reasons"] = (*more.get("reasons", ()), *reasons)
        return Finding(
            outcome=outcome,
            started_at=capture.started_at,
            duration_ms=capture.duration_ms,
            capture=capture,
            final_url=capture.final_url,
            raw_sha256=self.raw,
            **more,
        )

    def _read_finding(self, outcome: Outcome, *, skimmed: bool = False, **more: Any) -> Finding:
        """A finding of a page that was read, with what the reading gave; of one that was only skimmed, without it."""
        return self._finding(
            outcome,
            reading=None if skimmed else self.reading,
            text_hash=self._text_hash,
            fingerprint=more.pop("fingerprint", self.monitor.baseline_fingerprint),
            fields=self._fields_now(),
            **more,
        )

    def _fields_now(self) -> dict[str, Any] | None:
        """The fields as they are stored: null for one that the page does not have, None when there are no rules."""
        if not self.rules.specs:
            return None
        found = self.values
        return {s.name: found[s.name].to_json() if s.name in found else None for s in self.rules.specs}

    def _unchanged(self, reason: str) -> Finding:
        keep = None if self.capture.not_modified or not audit_due(self.monitor, self.now) else Snapshot.Role.AUDIT
        return self._finding(
            Outcome.NONE,
            reason=reason,
            keep=keep,
            text_hash=self.monitor.baseline_text_hash,
            fingerprint=self.monitor.baseline_fingerprint,
        )

    def _quality(self, *, compare: bool) -> Finding | None:
        """The finding of a page that must not be compared, or None for a good one."""
        facts = page_facts(self.capture, self.kind)
        seen = documents.assessed(self.kind, self.reading)
        # Data and documents may shrink to nothing; only a page that lost its text was probably not served.
        beside = compare and self.kind is DocumentType.HTML
        quality = assess(facts, seen, self.baseline if beside else None)
        alone = quality if quality.is_good or not beside else assess(facts, seen)
        doubt: dict[str, Any] = {}
        if compare and self.kind in TEXTUAL and alone.is_good and (fault := self._garbled()):
            # Before the comparison with the baseline: garbled text looks like another page, or another language.
            quality, doubt = fault
        elif quality.is_good:
            return None
        elif alone.is_good:
            # Bad only beside the baseline: a page that stays like this was rewritten, and somebody must see it.
            doubt = self._suspicion("doubt", quality.code)
            if doubt["confirmed"]:
                return None
        return self._bad(quality, doubt)

    def _bad(self, quality: Quality, doubt: dict[str, Any]) -> Finding:
        """The finding of a page that is not the page."""
        outcome = Outcome(quality.outcome)
        more: dict[str, Any] = {
            "reasons": _evidence(quality),
            "reason": quality.code[:40],
            "detail": quality.sentence[:500],
            "retry_after_s": retry_after_s(self.capture.header("Retry-After"), now=self.now) or 0.0,
            **doubt,
            **self._kept(),
        }
        if outcome is Outcome.GONE:
            more |= self._suspicion("gone", quality.code)
            if more["confirmed"]:
                more |= {"opens": Change.Kind.GONE, "priority": self._priority(1)}
        return self._read_finding(outcome, **more)

    def _garbled(self) -> tuple[Quality, dict[str, Any]] | None:
        """The fault of a page whose text came out in a wrong charset, or None.

        A new charset is taken over where it shows the known text. Where it does not, it is a fault of the capture
        until it has held for some time, and for as long as the charset before shows the known text: then the
        declaration is wrong.
        """
        capture, monitor = self.capture, self.monitor
        assert monitor.baseline is not None  # noqa: S101 - `_quality` compares only with one
        was, now = monitor.charset or monitor.baseline.charset, capture.charset
        if capture.rendered or not now or not was or monitor.charset_override:
            return None
        if was == now:
            if not garbled.double_encoded(self.baseline, self.reading):
                return None
            sentence = "The page's letters came out as the bytes of another encoding."
            return Quality(State.ERROR, "mojibake", sentence), {}
        as_before = decode_page(capture.body, content_type="", override=was).text
        if as_before == capture.html or garbled.shows_known_text(self.baseline, self.reading):
            return None
        doubt = self._suspicion("charset", f"{was} {now}")
        wrong = garbled.shows_known_text(self.baseline, self._read(replace(capture, html=as_before), fields=False))
        if doubt["confirmed"] and not wrong and capture.charset_source != "header-mismatch":
            self.remarks.append(
                _charset_reason("charset-changed", f"The page is in {now} now and was in {was}.", was, now)
            )
            return None
        sentence = f"The page is said to be in {now} and was in {was} before; its known text can't be read in it."
        if wrong:
            sentence = f"The page is said to be in {now}, but its text is still in {was}."
        return Quality(State.ERROR, "charset-flip", sentence, (was, now)), doubt | {"confirmed": False}

    # -- what is no document of the expected type -----------------------------------------

    @property
    def is_other_type(self) -> bool:
        """Whether this is another type of document than the one that is watched."""
        return self._expected(comparable=True) is not None

    def _expected(self, *, comparable: bool) -> DocumentType | None:
        """The type that was expected, where the capture is of another one."""
        pinned = documents.pinned_type(self.monitor)
        if pinned is not None:
            return pinned if self.kind is not pinned else None
        if not comparable or self.monitor.baseline is None:
            return None
        before = documents.type_of_snapshot(self.monitor.baseline, now=self.kind)
        return before if self.kind is not before else None

    def _other_type(self, expected: DocumentType) -> Finding:
        """HTML yesterday, a PDF today: no change of the text, and believed only once it has held.

        A page that was pinned to a type waits for a person for as long as that lasts.
        """
        bad = self._as_page()
        if bad is not None:
            return bad
        text = f"The site sent {_TYPE_NAMES[self.kind]} where {_TYPE_NAMES[expected]} was expected."
        data = {"expected": str(expected), "found": str(self.kind)}
        more: dict[str, Any] = {"reason": "type-changed", "detail": text}
        more["reasons"] = ({"code": "type-changed", "text": text, "data": data},)
        if documents.pinned_type(self.monitor) is None:
            more |= self._suspicion("type", f"{expected} {self.kind}")
        if not more.get("confirmed"):
            return self._finding(Outcome.ERROR, **self._kept(), **more)
        try:
            new = self._read_finding(
                Outcome.CONTENT,
                keep=Snapshot.Role.CHANGE,
                rebase=True,
                restart=True,
                memory=Memory.start(self.capture.started_at).to_bytes(),
                opens=Change.Kind.TYPE,
                priority=self._priority(1),
                fingerprint=to_hex(fingerprint(self.reading)),
                **more,
            )
        except DocumentFault as fault:
            return self._unreadable(fault)
        return new

    def _as_page(self) -> Finding | None:
        """The finding of a block page, an error or a vanished page that came in place of a document; None for none."""
        capture, text = self.capture, self.capture.html
        is_page = bool(text) and documents.found_type(capture) is DocumentType.HTML
        try:
            reading = read(text) if is_page else read_plain(text) if text else documents.STAND_IN
        except ValueError:
            reading = documents.STAND_IN
        facts = page_facts(capture, DocumentType.HTML if is_page else self.kind)
        quality = assess(facts, reading)
        if quality.is_good:
            return None
        self.__dict__["reading"] = reading  # what is told of a bad page comes from it
        return self._bad(quality, {})

    def _unreadable(self, fault: DocumentFault) -> Finding:
        """A document that can't be read as its type: told, kept as evidence, never compared."""
        bad = self._as_page()
        if bad is not None:
            return bad
        reason = {"code": fault.code, "text": fault.sentence[:_REASON_TEXT], "data": {}}
        return self._finding(
            Outcome.ERROR, reason=fault.code[:40], detail=fault.sentence[:500], reasons=(reason,), **self._kept()
        )

    def _without_link(self) -> Finding:
        """The page no longer has the link to the document; that is believed once it has held, like a page that is gone."""
        bad = self._as_page()
        if bad is not None:
            return bad
        text = (
            f"The page has no link that {self.monitor.link_selector[:100]} matches, so there is no document to look at."
        )
        more: dict[str, Any] = {"reason": "link-missing", "detail": text, **self._kept()}
        data = {"selector": self.monitor.link_selector[:100]}
        more["reasons"] = ({"code": "link-missing", "text": text, "data": data},)
        if self.monitor.baseline is None:
            return self._finding(Outcome.ERROR, **more)
        more |= self._suspicion("gone", "link-missing")
        if more["confirmed"]:
            more |= {"opens": Change.Kind.GONE, "priority": self._priority(1)}
        return self._finding(Outcome.GONE, **more)

    def _kept(self) -> dict[str, Any]:
        """The capture kept as evidence, once a day."""
        if not self._worth_keeping():
            return {}
        return {"keep": Snapshot.Role.BLOCKED, "expires_at": self.now + BLOCKED_KEPT}

    def _told_besides(self) -> tuple[dict[str, Any], ...]:
        """What a person should know besides the judgement: another link led here, or there is no text to compare."""
        told: list[dict[str, Any]] = []
        link, baseline = self.capture.link, self.monitor.baseline
        before = baseline.link.get("target", "") if link is not None and baseline is not None else ""
        if link is not None and before and before != link.target:
            text = f"The link now leads to {link.target[:120]}; before it led to {before[:120]}."
            told.append({"code": "link-changed", "text": text, "data": {"old": before[:300], "new": link.target[:300]}})
        if self.kind in (DocumentType.PDF, DocumentType.FILE) and "reading" in self.__dict__:
            size = len(self.capture.body)
            text = documents.by_digest(self.kind, self.capture.content_type, size, self.reading.flags)
            if text:
                pages = next((f.detail for f in self.reading.flags if f.code in ("no-text", "pages-without-text")), "")
                data = {"type": self.capture.content_type, "bytes": size, "pages": pages}
                told.append({"code": "by-digest", "text": text[:_REASON_TEXT], "data": data})
        return tuple(told)

    def _worth_keeping(self) -> bool:
        """Whether a bad page is kept as evidence: one a day."""
        latest = (
            Snapshot.objects.filter(monitor=self.monitor, role=Snapshot.Role.BLOCKED)
            .order_by("-taken_at")
            .values_list("taken_at", flat=True)
            .first()
        )
        return latest is None or latest <= self.now - BLOCKED_EVERY

    def _suspicion(self, what: str, detail: str) -> dict[str, Any]:
        """One more sighting of a gone or moved page, and whether that is enough to believe it."""
        monitor = self.monitor
        again = monitor.suspect == what and monitor.suspect_detail == detail[:300] and monitor.suspect_since is not None
        count = monitor.suspect_count + 1 if again else 1
        since = monitor.suspect_since if again and monitor.suspect_since else self.now
        believed = count >= self.confirm.checks and self.now - since >= self.confirm.span
        return {
            "suspect": what,
            "suspect_detail": detail[:300],
            "confirmed": believed and monitor.baseline is not None and monitor.state != MonitorState.GONE,
        }

    def _elsewhere(self, host: str, *, same_text: bool) -> Finding:
        """The page comes from another host now: not compared, and a change only once that has held."""
        more = self._suspicion("redirect", host)
        reason = {"code": "redirect-changed", "text": f"The page is now served from {host}.", "data": {"host": host}}
        if not more["confirmed"]:
            outcome = Outcome.NOISE if same_text else Outcome.ERROR
            return self._read_finding(
                outcome, reason="redirect-changed", detail=f"served from {host}"[:500], reasons=(reason,), **more
            )
        return self._read_finding(
            Outcome.CONTENT,
            reason="redirect-changed",
            detail=f"served from {host}"[:500],
            reasons=(reason,),
            keep=Snapshot.Role.CHANGE,
            rebase=True,
            opens=Change.Kind.REDIRECT,
            priority=self._priority(1),
            **more | {"fingerprint": to_hex(fingerprint(self.reading))},
        )

    def _new_baseline(self, reason: str, detail: str) -> Finding:
        return self._read_finding(
            Outcome.NONE,
            reason=reason,
            detail=detail,
            fingerprint=to_hex(fingerprint(self.reading)),
            keep=Snapshot.Role.BASELINE,
            rebase=True,
            restart=True,
            memory=Memory.start(self.capture.started_at).to_bytes(),
        )

    # -- the comparison ------------------------------------------------------------------

    def _same_text(self) -> Finding:
        """Every block says the same: only markup, or a field, is different."""
        if self.edits:
            return self._field_change(text_moved=False)
        if self.rules.ignore_selectors and (sample := self._sample()):
            n = sample["diff"]["places"]
            told = {"code": "left-out-ignore-rule", "text": "Left out by an ignore rule.", "data": {"blocks": n}}
            return self._read_finding(Outcome.NOISE, reason="ignore-rule", reasons=(told,), **sample)
        moved = self._other_renderer()  # this capture takes the baseline's place: the next is compared with its like
        learns = self.kind is DocumentType.HTML and not self._fits
        mould = moulds.learned(self.monitor, self.capture, self.rules) if learns else None
        keep = Snapshot.Role.AUDIT if moved or audit_due(self.monitor, self.now) else None
        expires_at = None
        if keep is None and mould == moulds.KEEP:
            keep, expires_at = Snapshot.Role.NOISE, self.now + NOISE_KEPT
        return self._read_finding(
            Outcome.NOISE,
            skimmed=keep is None,
            reason=MARKUP_ONLY,
            reasons=(SAID[MARKUP_ONLY],),
            keep=keep,
            expires_at=expires_at,
            rebase=moved,
            mould=mould,
        )

    def _compare(self) -> Finding:
        monitor = self.monitor
        assert monitor.baseline is not None  # noqa: S101 - `finding` sees to it
        quiet = self._quiet_slots()
        memory = memories.with_quiet_slots(memories.load(monitor), quiet)
        fresh = fingerprint(self.reading)
        before, after = same_region(self.baseline, self.reading)
        judgement = judge(
            before,
            after,
            memory,
            settings=settings_of(monitor, self.rules),
            old_at=monitor.baseline.taken_at,
            now=self.now,
            new_fingerprint=fresh if after is self.reading else None,
        )
        more: dict[str, Any] = {
            "judgement": judgement,
            "fingerprint": to_hex(fresh),
            "reasons": _reasons(judgement) + _moved_region(self.reading),
            "quiet_slots": quiet,
        }
        if judgement.kind is Kind.CONTENT and only_echoes(
            judgement.edits, self.baseline, self.reading, self._edits_since_baseline()
        ):
            text = "The text repeats what a field says, and nothing else changed."
            more["reasons"] += ({"code": "left-out-field", "text": text, "data": {}},)
        elif judgement.kind is Kind.CONTENT:
            document = self._document(judgement)
            if not is_empty(document):
                return self._content(judgement, memory, document, more)
            more["reasons"] += ({"code": "empty-diff", "text": "No difference that could be shown.", "data": {}},)
        more["memory"] = memory.fold(judgement.delta, self.capture.started_at, rebased=False).to_bytes()
        if self.edits:
            return self._field_change(text_moved=True, **more)
        return self._noise(judgement, more)

    def _quiet_slots(self) -> bytes:
        """The slots in which this capture differs from the one just before it: they move by themselves."""
        if self.first is None or self.first.reading is None:
            return b""
        before, after = self.first.reading, self.reading
        found = judge(before, after, Memory(), settings=settings_of(self.monitor, self.rules))
        slots = set()
        for edit in found.edits:
            if edit.kind is not EditKind.MOVED:
                slots |= {slot_hash(before.blocks[edit.old].slot)} if edit.old >= 0 else set()
                slots |= {slot_hash(after.blocks[edit.new].slot)} if edit.new >= 0 else set()
        return memories.pack_slots(slots)

    def _content(self, judgement: Judgement, memory: Memory, document: Document, more: dict[str, Any]) -> Finding:
        more["reasons"] += tuple(_sentence(edit) for edit in self.edits) + self.denied
        codes = [reason["code"] for reason in more["reasons"]]
        back = next((reason for reason in more["reasons"] if reason["code"] == "return"), None)
        return self._read_finding(
            Outcome.CONTENT,
            reason="return" if back else "",
            detail=back["text"] if back else "",
            keep=Snapshot.Role.CHANGE,
            rebase=True,
            memory=memory.fold(judgement.delta, self.capture.started_at, rebased=True).to_bytes(),
            opens=Change.Kind.CONTENT,
            diff=document,
            say=_say(document),
            fold=self._fold(),
            field_edits=self.edits,
            priority=self._priority(alarm_of(document)),
            flags=tuple(code for code in _FLAGS if code in codes) + self._before(),
            **more,
        )

    def _field_change(self, *, text_moved: bool, **more: Any) -> Finding:
        """A field changed and the text did not, or only by noise; then the text's baseline stays where it is.

        Otherwise small edits could ride along with a price that changes every day, unseen.
        """
        reviewed = [edit for edit in self.edits if edit.name in self.rules.review]
        opens: dict[str, Any] = {}
        if reviewed:
            values = fields_diff(reviewed, self.reading)
            judgement = more.get("judgement")
            document = self._document(judgement) if judgement else diff(self._baseline_whole(), self.whole)
            vanished = any(edit.state == EditState.VANISHED for edit in reviewed)
            opens = {
                "opens": Change.Kind.FIELD,
                "diff": values if is_empty(document) else document,
                "say": _say(values),
                "fold": self._fold(),
                "priority": self._priority(max(alarm_of(values), vanished)),
            }
        reasons = tuple(_sentence(edit) for edit in self.edits) + self.denied + more.pop("reasons", ())
        return self._read_finding(
            Outcome.FIELD,
            reason="field-vanished" if any(e.state == EditState.VANISHED for e in self.edits) else "",
            detail="; ".join(edit.text for edit in self.edits)[:500],
            field_edits=self.edits,
            keep=Snapshot.Role.CHANGE,
            rebase=not text_moved,
            forget_bytes=text_moved,
            reasons=reasons,
            flags=(("contradiction",) if self.denied else ()) + self._before(),
            **opens,
            **more,
        )

    def _noise(self, judgement: Judgement, more: dict[str, Any]) -> Finding:
        monitor = self.monitor
        code = next((r["code"] for r in more["reasons"] if r["code"].startswith("left-out-")), "below-cut")
        reason = code.removeprefix("left-out-")[:40]
        kept: dict[str, Any] = {}
        if audit_due(monitor, self.now):
            kept = {"keep": Snapshot.Role.AUDIT}
        elif judgement.visible_difference:
            kept = {"keep": Snapshot.Role.NOISE, "expires_at": self.now + NOISE_KEPT}
        if judgement.visible_difference or self.rules.ignore_selectors:
            kept = self._sample() or kept
        return self._read_finding(Outcome.NOISE, reason=reason, **kept, **more)

    def _sample(self) -> dict[str, Any]:
        """What makes this noise an audit sample; empty where chance left it out, or there is nothing to show.

        What ignore rules cut out of the page before it is judged is shown too: it is noise by a person's word only.
        """
        monitor, share = self.monitor, self.monitor.page_type.audit_share
        if monitor.is_sample:  # made to be looked at, and of no use to a rate
            return {}
        if hash01("audit", monitor.pk, monitor.check_no + 1) >= share:
            return {}
        document = diff(*self._uncut()) if self.rules.ignore_selectors else diff(self._baseline_whole(), self.whole)
        if is_empty(document):
            return {}
        return {
            "keep": Snapshot.Role.AUDIT,
            "opens": Change.Kind.AUDIT,
            "diff": document,
            "say": _say(document),
            "priority": 0,
            "flags": ("audit-sample",),
            "sample_share": share,
        }

    def _uncut(self) -> tuple[Reading, Reading]:
        """Baseline and capture with what ignore rules cut out of the page."""
        monitor, rules = self.monitor, replace(self.rules, ignore_selectors=())
        assert monitor.baseline is not None  # noqa: S101 - `finding` sees to it
        source = documents.source_of(self.capture, self.kind, sha256=self.raw)
        new = documents.reading_of(source, monitor, rules, region=monitor.region_path, fields=True)
        old = reading_of(monitor.baseline, monitor, rules, region=monitor.region_path, fields=True)
        return paired(self.kind, old, new), new

    def _document(self, judgement: Judgement) -> Document:
        """The diff as a reviewer sees it: what the judgement explained is on record and no place."""
        return document_of(judgement, (self.baseline, self.reading), (self._baseline_whole(), self.whole))

    def _edits_since_baseline(self) -> list[FieldEdit]:
        """How the fields differ from those of the baseline, which a later field change does not move."""
        assert self.monitor.baseline is not None  # noqa: S101 - `finding` sees to it
        stored = self.monitor.baseline.fields
        then = {name: FieldValue.from_json(value) for name, value in stored.items()}
        return compare_fields(then, self.values, self.rules.specs)

    def _baseline_whole(self) -> Reading:
        assert self.monitor.baseline is not None  # noqa: S101 - `finding` sees to it
        if not self._has_field_nodes:
            return self.baseline
        return self._of_snapshot(self.monitor.baseline, fields=True)

    def _before(self) -> tuple[str, ...]:
        """The flag of a page that could not be read at the visit before."""
        return ("blocked-before",) if self.monitor.state == MonitorState.BLOCKED else ()

    def _fold(self) -> Fold | None:
        """How this capture compares with the prior side of the change that waits already."""
        change = (
            Change.objects.filter(monitor=self.monitor, state__in=[Change.State.OPEN, Change.State.SNOOZED])
            .select_related("prior__payload")
            .first()
        )
        if change is None:
            return None
        try:
            if documents.type_of_snapshot(change.prior, now=self.kind) is not self.kind:
                return None
            prior = self._of_snapshot(change.prior, fields=False)
            whole = self._of_snapshot(change.prior, fields=True) if self._has_field_nodes else prior
        except storage.PayloadDamageError:
            logger.exception("change=%d its prior side is damaged", change.pk)
            return None
        settings = settings_of(self.monitor, self.rules)
        judgement = judge(*same_region(prior, self.reading), memories.load(self.monitor), settings=settings)
        document = document_of(judgement, (prior, self.reading), (whole, self.whole))
        return Fold(change.pk, change.prior_id, None if is_empty(document) else document)

    def _priority(self, alarm: int) -> int:
        """0 low to 3 urgent: the monitor's weight, raised by what the change touches."""
        weight = self.monitor.effective_weight
        base = 0 if weight < 0.5 else 1 if weight < 2 else 2
        return min(base + alarm, 3)


_FLAGS = ("return", "flapping", "hidden-text", "contradiction")


def _moved_region(reading: Reading) -> tuple[dict[str, Any], ...]:
    """The reason that says where the main text went, when it is no longer where it was remembered."""
    if not any(flag.code == REGION_MOVED for flag in reading.flags):
        return ()
    text = "The main text no longer stands where it stood; it was found elsewhere on the page."
    return ({"code": REGION_MOVED, "text": text, "data": {"region": reading.region_path[:_REASON_TEXT]}},)


def _sentence(edit: FieldEdit) -> dict[str, Any]:
    return {"code": "field", "text": edit.text[:_REASON_TEXT], "data": {"name": edit.name, **edit.facts}}


def _charset_reason(code: str, text: str, was: str, now: str) -> dict[str, Any]:
    return {"code": code, "text": text, "data": {"was": was, "now": now}}


def _evidence(quality: Quality) -> tuple[dict[str, Any], ...]:
    """What an assessment rests on, as a reason: the vendor by name, headers and phrases as they were found."""
    if quality.code == "charset-flip":
        return (_charset_reason("charset-flip", quality.sentence, *quality.evidence),)
    if not quality.evidence and not quality.vendor:
        return ()
    text = "; ".join(quality.evidence)[:_REASON_TEXT]
    return ({"code": "evidence", "text": text, "data": {"vendor": quality.vendor}},)


def settings_of(monitor: Monitor, rules: Rules) -> Settings:
    """The limits in force."""
    return Settings(
        threshold=monitor.effective_threshold,
        cut=monitor.effective_cut,
        order_matters=monitor.effective_order_matters,
        case_matters=monitor.effective_case_matters,
        ignore_patterns=rules.ignore_patterns,
        ignore_places=rules.ignore_places,
    )


def page_facts(capture: Capture, kind: DocumentType = DocumentType.HTML) -> PageFacts:
    """What the quality gate looks at besides the reading; only of a page it looks at the markup."""
    return PageFacts(
        status=capture.status,
        headers=dict(capture.headers),
        requested_url=capture.url,
        final_url=capture.final_url,
        content_type=capture.content_type,
        body_bytes=len(capture.body),
        html=capture.html if kind is DocumentType.HTML else "",
    )


def reading_of(snapshot: Snapshot, monitor: Monitor, rules: Rules, *, region: str, fields: bool = False) -> Reading:
    """A stored capture read as a visit under these rules reads it. Raises `storage.PayloadDamageError`.

    region: where the main text was last found. fields: whether the nodes of fields stay in.
    """
    try:
        return documents.reading_of(documents.stored_source(snapshot), monitor, rules, region=region, fields=fields)
    except DocumentFault as fault:
        raise UnreadableError(fault.sentence) from fault


class UnreadableError(storage.PayloadDamageError):
    """Stored bytes no longer read as their type: with other settings, or another version of a reader."""


_TYPE_NAMES: dict[DocumentType, str] = {
    DocumentType.HTML: "a page (HTML)",
    DocumentType.TEXT: "plain text",
    DocumentType.JSON: "JSON",
    DocumentType.XML: "XML",
    DocumentType.FEED: "a feed",
    DocumentType.PDF: "a PDF",
    DocumentType.FILE: "a file",
}


def _say(document: Document) -> tuple[list[Any], ...]:
    """The segments of the one sentence that a row of the queue shows."""
    return tuple(document["say"]["segments"]) if document["say"] else ()


def fields_diff(edits: list[FieldEdit], page: Reading) -> Document:
    """A diff of field values, for fields that stand nowhere in the text a reader sees."""

    def side(values: list[tuple[str, str | list[str]]]) -> Reading:
        blocks = []
        for name, value in values:
            entries = value if isinstance(value, list) else [value]
            blocks += [
                Block(
                    text=f"{name}: {entry}",
                    tag="li" if isinstance(value, list) else "p",
                    path=name,
                    slot=f"{name}[{n}]",
                )
                for n, entry in enumerate(entries)
                if entry
            ]
        return Reading(blocks=tuple(blocks), lang=page.lang, direction=page.direction, title=page.title)

    old = side([(e.name, _shown(e.old)) for e in edits])
    new = side([(e.name, _shown(e.new)) for e in edits])
    return diff(old, new)


def _shown(value: FieldValue | None) -> str | list[str]:
    return "" if value is None else value.value


_ENTRY_TAGS = frozenset({"li", "tr", "dt", "dd", "td"})


def alarm_of(document: Document) -> int:
    """1 when an entry of a list went, or the changed words hold a number, a date or a negation; else 0."""
    for row in rows_of(document):
        if row["op"] == "equal" or row["left_out"]:
            continue
        if row["op"] == "removed" and row["tag"] in _ENTRY_TAGS:
            return 1
        segments = row.get("segments") or [*row.get("before", ()), *row.get("after", ())]
        for segment in segments:
            if segment[0] in "-+" and row["op"] not in {"moved_from", "moved_to"} and _alarming(segment[1]):
                return 1
    return 0


def _alarming(text: str) -> bool:
    if any(c.isdigit() for c in text) or CJK_NEGATION.search(text):
        return True
    return any(word.strip(".,;:!?()\"'").lower() in NEGATIONS for word in text.split())


def _reasons(judgement: Judgement) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"code": reason.code, "text": reason.text[:_REASON_TEXT], "data": dict(reason.data)}
        for reason in judgement.reasons
    )
