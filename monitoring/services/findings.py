"""What a visit found: the value that judging hands to recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitoring import storage
from monitoring.detection.blocks import Reading
from monitoring.detection.fields import FieldEdit
from monitoring.detection.fingerprint import FINGERPRINT_VERSION
from monitoring.detection.judge import DETECTOR_VERSION
from monitoring.detection.judgement import Judgement
from monitoring.fetching.capture import Capture
from monitoring.models import Change, Outcome, Snapshot, Vantage

DETECTOR = f"{DETECTOR_VERSION}.{FINGERPRINT_VERSION}"[:20]

PLACE = "place"  # suspicion: a change that is seen from one vantage and not from the other

GOOD = frozenset({Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD})

type Document = dict[str, Any]  # the diff, as docs/contracts.md describes it


@dataclass(frozen=True, slots=True)
class Fold:
    """How this capture folds into the change that was open when it was judged; no `diff`: back to the prior text."""

    change: int
    prior: int
    diff: Document | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Everything that one transaction will write about one visit.

    keep: the role under which the capture is kept as a snapshot, "" for not at all; `expires_at` bounds that.
    rebase: the capture becomes the baseline. restart: and the memory begins anew with it.
    opens: the kind of change that this visit opens or folds into an open one, "" for none.
    fields: every field of the rules by name, null for one that the page does not have; None without rules.
    earlier: the first of two captures, kept beside the second that confirmed it. quiet_slots: what moved between
    the two (`memories.with_quiet_slots`).
    sample_share: the chance with which this noise was taken for the audit sample.
    elsewhere, elsewhere_from: the page from a second vantage, kept as evidence, and that vantage.
    learned: the renderer that “auto” uses from now on, "" for no news. tried_browser: one was tried, and was no better.
    mould: what tells from now on by bytes alone that the text is the baseline's, None for no news.
    forget_bytes: the stored baseline's bytes and validators no longer prove that nothing changed.
    """

    outcome: Outcome
    started_at: datetime
    duration_ms: int
    reason: str = ""
    detail: str = ""
    capture: Capture | None = None
    reading: Reading | None = None
    final_url: str = ""
    raw_sha256: str = ""
    text_hash: str = ""
    fingerprint: str = ""
    judgement: Judgement | None = None
    reasons: tuple[dict[str, Any], ...] = ()
    fields: dict[str, Any] | None = None
    field_edits: tuple[FieldEdit, ...] = ()
    keep: Snapshot.Role | None = None
    expires_at: datetime | None = None
    rebase: bool = False
    restart: bool = False
    forget_bytes: bool = False
    memory: bytes | None = None
    opens: Change.Kind | None = None
    diff: Document | None = None
    say: tuple[list[Any], ...] = ()
    fold: Fold | None = None
    priority: int = 1
    sample_share: float | None = None
    earlier: Capture | None = None
    elsewhere: Capture | None = None
    elsewhere_from: Vantage | None = None
    quiet_slots: bytes = b""
    suspect: str = ""
    suspect_detail: str = ""
    confirmed: bool = False
    retry_after_s: float = 0.0
    learned: str = ""
    tried_browser: bool = False
    mould: bytes | None = None
    flags: tuple[str, ...] = field(default=())

    @property
    def good(self) -> bool:
        """Whether the visit brought a page that was compared, or needed no comparison."""
        return self.outcome in GOOD


def without_storage(
    error: storage.StorageError, *, started_at: datetime, duration_ms: int, capture: Capture | None, final_url: str
) -> Finding:
    """The visit as one whose capture could not be kept, or whose prior side could not be read: nothing else comes of it."""
    no_space = isinstance(error, storage.StorageWriteError) and error.no_space
    return Finding(
        outcome=Outcome.ERROR,
        reason="storage",
        detail="The store has no space; the page is fetched again." if no_space else _NO_STORE,
        started_at=started_at,
        duration_ms=duration_ms,
        capture=capture,
        final_url=final_url,
        reasons=({"code": "storage-full" if no_space else "storage", "text": str(error)[:300], "data": {}},),
    )


_NO_STORE = "The store could not be used; the page is fetched again."
