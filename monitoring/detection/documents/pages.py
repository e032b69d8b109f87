"""The text of a PDF as blocks: paragraphs put together across page breaks, running heads and feet set aside.

Each block's path is the page it begins on (`page 3`), see `blocks.page_of`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from monitoring.detection.blocks import Flag, Reading, Region, on_page

from .drafts import Drafting
from .plain import glued, goes_on, width_of

_EDGE_LINES: Final = 2
_RUNNING_SHARE: Final = 0.6
_WORD: Final = r"(?:page|seite|p\.|s\.|pagina|página|strona|sida|side|стр\.?)"
_OF: Final = r"(?:\s*(?:/|of|von|de|di|van|z|av|af|sur|из|\uff0f)\s*\d{1,4})"
_PAGE_NUMBER: Final = re.compile(
    rf"(?:\W*{_WORD})?\W*\d{{1,4}}{_OF}?\W*|\W*第?\s*\d{{1,4}}\s*(?:页|頁|ページ)\W*", re.IGNORECASE
)
_NUMBERED: Final = re.compile(rf"\W*\b{_WORD}\s*\d{{1,4}}{_OF}?|\s*\b\d{{1,4}}\s*/\s*\d{{1,4}}\b", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d+")
_HYPHENS: Final = str.maketrans(
    {"\ufffe": "\u00ad", "\x02": "\u00ad"}
)  # how pdfium marks a word broken at a line's end


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its text as lines, and for a page without text digests of its pictures and drawings."""

    text: str
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pages:
    """A document of pages. `total` is larger than the number of pages when some were not read."""

    pages: tuple[Page, ...]
    title: str = ""
    total: int = 0
    cut: bool = False


def read_pages(document: Pages) -> Reading:
    """The pages as one text. A page without text is one block with the digest of its pictures, and a flag says so.

    A running head or foot stands once, at the end; page numbers are no text.
    """
    drafting = Drafting()
    pages = [_lines(page.text) for page in document.pages]
    running = _running(pages)
    width = width_of([line for lines in pages for line in lines])
    texts: list[tuple[int, str]] = []
    heads: dict[str, tuple[int, str]] = {}
    bare: list[int] = []
    before = ""
    for number, (page, lines) in enumerate(zip(document.pages, pages, strict=True), 1):
        if not lines:
            bare.append(number)
            texts.append((number, _bare(number, page)))
            before = ""
            continue
        for at, line in enumerate(lines):
            if _at_edge(at, len(lines)) and _PAGE_NUMBER.fullmatch(line.strip()):
                continue  # where a page stands is told of each of its blocks
            if _at_edge(at, len(lines)) and _key(line) in running:
                heads.setdefault(_key(line), (number, _NUMBERED.sub("", line)))
                continue
            if before and goes_on(before, line, width=width):
                texts[-1] = (texts[-1][0], glued(texts[-1][1], line))
            else:
                texts.append((number, line))
            before = line
    for number, text in texts:
        drafting.add(text.replace("\u00ad", ""), on_page(number), place="pdf/p")
    for key, (number, line) in heads.items():
        drafting.add(line, on_page(number), place=f"pdf/running/{key[:80]}", region=Region.FURNITURE)
    if bare:
        whole = len(bare) == len(pages)
        drafting.flags.append(Flag("no-text" if whole else "pages-without-text", _told(bare)))
    if document.cut or document.total > len(document.pages):
        drafting.flags.append(Flag("size-limited", f"{len(document.pages)} of {document.total} pages read"))
    return drafting.reading(title=document.title)


def _lines(text: str) -> list[str]:
    return [line for line in text.translate(_HYPHENS).splitlines() if line.strip()]


def _bare(number: int, page: Page) -> str:
    if not page.pictures:
        return f"Page {number} is empty."
    return f"Page {number} holds no text; its pictures are compared by digest: {', '.join(page.pictures)}"


def _told(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return f"{shown} and {len(numbers) - 10} more" if len(numbers) > 10 else shown


def _at_edge(at: int, count: int) -> bool:
    return at < _EDGE_LINES or at >= count - _EDGE_LINES


def _key(line: str) -> str:
    return _DIGITS.sub("#", line.strip())


def _running(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Lines that stand at the top or bottom of most pages, numbers aside."""
    filled = [lines for lines in pages if lines]
    if len(filled) < 3:
        return frozenset()
    counts: Counter[str] = Counter()
    for lines in filled:
        counts.update({_key(line) for at, line in enumerate(lines) if _at_edge(at, len(lines))})
    return frozenset(key for key, count in counts.items() if count >= _RUNNING_SHARE * len(filled))
