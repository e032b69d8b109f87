"""Captures and snapshots into readings: the one place that asks what type a document is of, and reads it as that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from monitoring import storage
from monitoring.detection.blocks import Block, Flag, Reading
from monitoring.detection.documents.digest import read_file, spoken_size
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.documents.pages import Page, Pages, read_pages
from monitoring.detection.documents.reader import read_text
from monitoring.detection.documents.types import TEXTUAL, DocumentType, type_of
from monitoring.detection.read import read
from monitoring.fetching.capture import Capture
from monitoring.fetching.charset import decode_page
from monitoring.fetching.pdf import Pdf, PdfFault, read_pdf
from monitoring.fetching.sniff import sniffed
from monitoring.models import DocumentKind, Monitor, Snapshot
from monitoring.services.rules import Rules

_PDFS_KEPT = 4  # a visit reads the same bytes up to three times: judged, confirmed, folded into what waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document on its way to a reading. `body` is asked for only by types that need bytes."""

    kind: DocumentType
    content_type: str
    text: str
    size_bytes: int
    sha256: str
    body: Callable[[], bytes]


def found_type(capture: Capture) -> DocumentType:
    """What the capture is, by its bytes and its label. What a browser rendered is a page."""
    return DocumentType.HTML if capture.rendered else type_of(capture.content_type, capture.html)


def pinned_type(monitor: Monitor) -> DocumentType | None:
    """The type that a person pinned, None where it is found by itself."""
    return None if monitor.document_type == DocumentKind.AUTO else DocumentType(monitor.document_type)


def type_for(monitor: Monitor, capture: Capture) -> DocumentType:
    """As what the capture is read: any text as the text type that a person pinned, anything as a file; else as it is."""
    found, pinned = found_type(capture), pinned_type(monitor)
    if found is DocumentType.TEXT and pinned is None and _is_unlabelled_page(monitor, capture):
        return DocumentType.HTML
    if pinned is DocumentType.FILE or (pinned in TEXTUAL and found in TEXTUAL):
        return pinned
    return found


def _is_unlabelled_page(monitor: Monitor, capture: Capture) -> bool:
    """Whether bare words came without a type where a page was before: a label that was lost makes no other document."""
    if capture.header("Content-Type") or monitor.baseline is None:
        return False
    return monitor.baseline.document_type in ("", DocumentType.HTML)


def type_of_snapshot(snapshot: Snapshot, *, now: DocumentType = DocumentType.FILE) -> DocumentType:
    """As what a stored capture is read. One from before types were known is looked at again, by today's rules.

    `now` is the type of the capture it is compared with: a page beside a page needs no second look.
    Raises `storage.PayloadDamageError`.
    """
    if snapshot.document_type:
        return DocumentType(snapshot.document_type)
    if snapshot.rendered or (now is DocumentType.HTML and snapshot.charset and snapshot.content_type in _PAGES):
        return DocumentType.HTML
    content_type, _is_readable = sniffed(storage.get(snapshot.payload), snapshot.content_type)
    return type_of(content_type, html_of(snapshot))


_PAGES = frozenset({"", "text/html", "application/xhtml+xml"})


def source_of(capture: Capture, kind: DocumentType, *, sha256: str) -> Source:
    """A capture as a source."""
    return Source(
        kind=kind,
        content_type=capture.content_type,
        text=capture.html,
        size_bytes=len(capture.body),
        sha256=sha256,
        body=lambda: capture.body,
    )


def stored_source(snapshot: Snapshot) -> Source:
    """A stored capture as a source. Raises `storage.PayloadDamageError`."""
    kind = type_of_snapshot(snapshot)
    return Source(
        kind=kind,
        content_type=snapshot.content_type,
        text=html_of(snapshot) if kind in TEXTUAL else "",
        size_bytes=snapshot.payload.size_bytes,
        sha256=snapshot.payload.sha256,
        body=lambda: storage.get(snapshot.payload),
    )


def reading_of(source: Source, monitor: Monitor, rules: Rules, *, region: str = "", fields: bool = False) -> Reading:
    """The document as its readers see it. Raises `DocumentFault`.

    region: where a page's main text was last found. fields: whether the nodes of typed fields stay in.
    """
    if source.kind is DocumentType.HTML and source.text:
        return read(
            source.text,
            main_selector=monitor.main_selector,
            remembered_region=region,
            ignore_selectors=rules.ignore_selectors,
            field_selectors=() if fields else rules.field_selectors,
        )
    if source.kind is DocumentType.PDF:
        return read_pages(_pages(source))
    if source.kind is DocumentType.FILE or not source.text:
        return read_file(source.content_type, source.size_bytes, source.sha256)
    return read_text(source.kind, source.text, content_type=source.content_type, json_path=monitor.json_path)


STAND_IN = Reading(blocks=(Block(text="(document)", tag="p", path="file", slot="file"),))


def assessed(kind: DocumentType, reading: Reading) -> Reading:
    """What the quality gate looks at: a PDF or a file that came as such is no block page, whatever it says."""
    return STAND_IN if kind in (DocumentType.PDF, DocumentType.FILE) and reading.blocks else reading


def html_of(snapshot: Snapshot) -> str:
    """The text of a stored capture, decoded as it was when it was taken. Raises `storage.PayloadDamageError`."""
    body = storage.get(snapshot.payload)
    if not _is_text(snapshot):
        return ""
    if snapshot.rendered:
        return body.decode("utf-8", "replace")
    return decode_page(body, content_type="", override=snapshot.charset).text


def _is_text(snapshot: Snapshot) -> bool:
    """Whether the stored bytes were text; a capture without a charset was kept for its digest."""
    return bool(snapshot.charset) or snapshot.rendered


def by_digest(kind: DocumentType, content_type: str, size_bytes: int, flags: tuple[Flag, ...]) -> str:
    """The sentence for what is compared by digest (wholly, or some pages of it), "" for a text."""
    if kind is DocumentType.FILE:
        return f"Compared by digest: {content_type or 'unknown type'}, {spoken_size(size_bytes)}."
    bare = next((flag.detail for flag in flags if flag.code in ("no-text", "pages-without-text")), "")
    return f"No text on these pages, their pictures are compared by digest: {bare}." if bare else ""


def _pages(source: Source) -> Pages:
    try:
        pdf = _pdf(source)
    except PdfFault as fault:
        raise DocumentFault(fault.code, fault.sentence) from fault
    pages = tuple(Page(page.text, page.pictures) for page in pdf.pages)
    return Pages(pages, title=pdf.title, total=pdf.total, cut=pdf.cut)


def _pdf(source: Source) -> Pdf:
    """The PDF's pages; those of the last few documents are kept, since a child process each is the dearest reading."""
    found = _pdfs.pop(source.sha256, None)
    if found is None:
        found = read_pdf(source.body())
        while len(_pdfs) >= _PDFS_KEPT:
            _pdfs.pop(next(iter(_pdfs)), None)
    _pdfs[source.sha256] = found
    return found


_pdfs: dict[str, Pdf] = {}
