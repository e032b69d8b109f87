"""The tag-density rule of 2006, by name and with its exact behaviour, to be measured beside `region`.

The rule: after the first `</head>` (the whole page where there is none), split the UTF-8 bytes at td and div
tags; of the pieces with strictly more than 100 bytes of text and strictly fewer than 0.1 tags a byte, the
longest text is the body, and the first of equals. Entities are unescaped at the very end, so they count
as they are written.

Every scan is linear: a "<" that nothing closes is looked at once, whatever the page.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Iterator
from typing import Final

_DIVIDER: Final = re.compile(rb"(?i)<(?:td|div)[^>]*>|</(?:td|div)>")
_TEXT_MIN_BYTES: Final = 100
_TAGS_PER_BYTE_MAX: Final = 0.1


def tag_density_body(html: str) -> str:
    """The text the 2006 rule takes for the body of the page, "" when no piece qualifies."""
    page = html.encode("utf-8", "replace")
    head = page.lower().find(b"</head>")
    if head >= 0:
        page = page[head:]
    best = b""
    for piece in _pieces(page):
        text = _text(piece)
        if len(text) > max(_TEXT_MIN_BYTES, len(best)) and _tag_count(piece) / len(text) < _TAGS_PER_BYTE_MAX:
            best = text
    return entities.unescape(best.decode("utf-8", "replace"))


def _pieces(page: bytes) -> Iterator[bytes]:
    end = page.rfind(b">") + 1  # behind the last ">" there is no whole tag
    *whole, last = _DIVIDER.split(page[:end])
    yield from whole
    yield last + page[end:]


def _tag_count(piece: bytes) -> int:
    count = 0
    start = piece.find(b"<")
    while start >= 0:
        end = piece.find(b">", start)
        if end < 0:
            break
        count += 1
        start = piece.find(b"<", end)
    return count


_CLOSERS: Final = ((b"<!--", b"-->"), (b"<?", b"?>"), (b"<", b">"))


def _text(piece: bytes) -> bytes:
    """The piece without comments, processing instructions and tags, white space trimmed."""
    kept: list[bytes] = []
    position = 0
    hopeless: set[bytes] = set()  # closers that do not occur any more
    start = piece.find(b"<")
    while start >= 0:
        end = -1
        for opener, closer in _CLOSERS:
            if closer not in hopeless and piece.startswith(opener, start):
                found = piece.find(closer, start + len(opener))
                if found >= 0:
                    end = found + len(closer)
                    break
                hopeless.add(closer)
        if end < 0:
            if b">" in hopeless:
                break
            start = piece.find(b"<", start + 1)
            continue
        kept.append(piece[position:start])
        position = end
        start = piece.find(b"<", end)
    kept.append(piece[position:])
    return b"".join(kept).strip()
