"""Which type of document a capture is, by its media type and, for XML, by its root element."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class DocumentType(StrEnum):
    """How a document is read and compared. `file` means: by its digest."""

    HTML = "html"
    TEXT = "text"
    JSON = "json"
    XML = "xml"
    FEED = "feed"
    PDF = "pdf"
    FILE = "file"


TEXTUAL: Final = frozenset(set(DocumentType) - {DocumentType.PDF, DocumentType.FILE})
"""Types that are read from decoded text; a person may have any text read as any of them."""

_JSON: Final = frozenset({"application/json", "text/json", "application/x-json"})
_FEEDS: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_HTML: Final = frozenset({"", "text/html", "application/xhtml+xml"})

_PROLOGUE: Final = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE\b[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ROOT: Final = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)")
_HEAD_CHARS: Final = 100_000


def type_of(content_type: str, text: str) -> DocumentType:
    """The type of a document by its (sniffed) media type; `text` is its decoded text, empty for what is no text.

    XML whose root is `html` is a page, whose root is `rss`, `feed` or `RDF` a feed.
    """
    if content_type == "application/pdf":
        return DocumentType.PDF
    if not text:
        return DocumentType.HTML if content_type in _HTML else DocumentType.FILE
    if content_type in ("", "text/html"):
        return DocumentType.HTML
    if content_type in _JSON or content_type.endswith("+json"):
        return DocumentType.JSON
    if content_type in _FEEDS or content_type.endswith(("/xml", "+xml")):
        return _BY_ROOT.get(root_name(text).lower(), DocumentType.XML)
    return DocumentType.TEXT


_BY_ROOT: Final = {
    "html": DocumentType.HTML,
    "rss": DocumentType.FEED,
    "feed": DocumentType.FEED,
    "rdf": DocumentType.FEED,
}


def root_name(text: str) -> str:
    """The local name of the root element, "" when the first 100,000 characters show none."""
    at, end = 0, min(len(text), _HEAD_CHARS)
    if text.startswith("\ufeff"):
        at = 1
    while found := _PROLOGUE.match(text, at, end):
        at = found.end()
    root = _ROOT.match(text, at, end)
    return root[1] if root else ""
