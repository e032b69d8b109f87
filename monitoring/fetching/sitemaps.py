"""Sitemaps, their indexes, RSS and Atom: addresses with dates, read with bounds and without a DTD.

Pure: bytes in, values out. A document type declaration ends the reading: no sitemap or feed needs one, and entities in
one can stand for gigabytes, or for a file of ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from xml.parsers import expat

from monitoring.fetching.decode import decompress
from monitoring.fetching.errors import FetchError

MAX_ENTRIES = 50_000
MAX_DEPTH = 32
MAX_TEXT = 4_000
_GZIP = b"\x1f\x8b"
_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:(Z|[+-]\d\d:?\d\d))?)?)?)?", re.ASCII
)
_ITEMS = {"url": "page", "sitemap": "map", "item": "page", "entry": "page", "channel": "feed", "feed": "feed"}
_DATES = {"lastmod", "pubdate", "date", "updated", "published", "lastbuilddate"}


@dataclass(frozen=True, slots=True)
class Listed:
    """What a sitemap or feed lists. `pages` and `maps` are addresses as written, with the date where one is given."""

    pages: tuple[tuple[str, datetime | None], ...] = ()
    maps: tuple[tuple[str, datetime | None], ...] = ()


class UnreadableListError(ValueError):
    """A body that is no sitemap or feed; the text says what is wrong with it."""


@dataclass(slots=True)
class _Item:
    kind: str
    address: str = ""
    date: datetime | None = None


@dataclass
class _Reader:
    """Handlers of the XML parser: at most `MAX_ENTRIES` entries, `MAX_DEPTH` levels and little text at a time."""

    pages: list[tuple[str, datetime | None]] = field(default_factory=list)
    maps: list[tuple[str, datetime | None]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    size: int = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2].lower()
        self.open.append(local)
        if len(self.open) > MAX_DEPTH:
            raise UnreadableListError(f"It is nested more than {MAX_DEPTH} levels deep.")
        self.text.clear()
        self.size = 0
        if local in _ITEMS:
            self.items.append(_Item(_ITEMS[local]))
        elif local == "link" and self.items and attributes.get("rel", "alternate") == "alternate":
            self.items[-1].address = self.items[-1].address or attributes.get("href", "")[:MAX_TEXT]

    def characters(self, text: str) -> None:
        if self.size <= MAX_TEXT:
            self.text.append(text)
            self.size += len(text)

    def end(self, _name: str) -> None:
        local, text = self.open.pop(), "".join(self.text).strip()
        self.text.clear()
        if not self.items:
            return
        item = self.items[-1]
        if local in _ITEMS:
            self._close(self.items.pop())
        elif local in {"loc", "link"} and text and len(text) <= MAX_TEXT and not item.address:
            item.address = text
        elif local in _DATES and (date := date_of(text)) is not None:
            item.date = max(item.date, date) if item.date else date

    def _close(self, item: _Item) -> None:
        if item.kind == "feed":
            # The page that a feed belongs to changes with its newest entry.
            dates = [date for _, date in self.pages if date is not None]
            item.date = max(dates, default=None)
        if item.address:
            (self.maps if item.kind == "map" else self.pages).append((item.address, item.date))
        if len(self.pages) + len(self.maps) > MAX_ENTRIES:
            raise UnreadableListError(f"It has more than {MAX_ENTRIES} entries.")


def read_list(body: bytes, *, max_bytes: int) -> Listed:
    """The entries of a sitemap, sitemap index, RSS or Atom feed, gzipped or not; raises `UnreadableListError`.

    A plain list of addresses, one a line, is a sitemap too, without dates.
    """
    if body.startswith(_GZIP):
        try:
            body = decompress(body, ("gzip",), max_bytes=max_bytes)
        except FetchError as error:
            raise UnreadableListError(error.sentence) from error
    head = body[:400].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith((b"http://", b"https://")):
        lines = body.decode("utf-8", "replace").split("\n")[:MAX_ENTRIES]
        return Listed(tuple((line.strip(), None) for line in lines if line.strip()))
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise UnreadableListError(f"It is no XML: line {error.lineno}, column {error.offset}.") from error
    except (LookupError, ValueError) as error:
        if isinstance(error, UnreadableListError):
            raise
        raise UnreadableListError("Its encoding is not known.") from error
    if not reader.pages and not reader.maps:
        raise UnreadableListError("It lists no pages; a sitemap, RSS or Atom was expected.")
    return Listed(tuple(reader.pages), tuple(reader.maps))


def _refuse_doctype(*_: Any) -> None:  # Any: four values of the declaration, none of which is looked at
    raise UnreadableListError("It has a document type declaration, which no sitemap or feed needs.")


def date_of(text: str) -> datetime | None:
    """A date as sitemaps, Atom (W3C) or RSS (mail headers) write it, in UTC; None for anything else.

    A day without a time is its beginning, so that it errs towards "not newer".
    """
    found = _W3C.fullmatch(text.strip())
    try:
        if found is None:
            at = parsedate_to_datetime(text.strip())
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        year, month, day, hour, minute, second = (
            int(part or low) for part, low in zip(found.groups()[:6], (1, 1, 1, 0, 0, 0), strict=True)
        )
        at = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
        zone = found[7] or "Z"
        if zone == "Z":
            return at
        sign, digits = (1 if zone[0] == "+" else -1), zone[1:].replace(":", "")
        return datetime.fromtimestamp(at.timestamp() - sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60), UTC)
    except (ValueError, OverflowError, TypeError):
        return None
