"""One door to the readers: a document's type decides how its text becomes blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitoring.detection.blocks import Reading

from .feed import read_feed, within_window
from .jsontext import read_json
from .plain import read_plain
from .types import DocumentType
from .xmltext import read_xml

_LINES: Final = frozenset(
    {"text/csv", "text/tab-separated-values", "text/javascript", "text/css", "text/calendar", "text/vcard",
     "text/yaml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
     "application/x-ndjson", "application/sql"}
)  # fmt: skip


def read_text(kind: DocumentType, text: str, *, content_type: str = "", json_path: str = "") -> Reading:
    """The decoded text of a document that is neither HTML, PDF nor a file. Raises `DocumentFault`."""
    if kind is DocumentType.JSON:
        return read_json(text, path=json_path)
    if kind is DocumentType.TEXT:
        return read_plain(text, lines=content_type in _LINES)
    return _READERS[kind](text)


_READERS: Final[dict[DocumentType, Callable[[str], Reading]]] = {
    DocumentType.XML: read_xml,
    DocumentType.FEED: read_feed,
}


def paired(kind: DocumentType, old: Reading, new: Reading) -> Reading:
    """The old reading as it is compared with the new one: of a feed, what its window left behind is not compared."""
    return within_window(old, new) if kind is DocumentType.FEED else old
