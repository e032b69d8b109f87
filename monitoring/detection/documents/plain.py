"""Plain text as paragraphs: lines that were broken to fit a width are put together again, others stand alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from monitoring.detection.blocks import Flag, Reading

from .drafts import Drafting

_BULLET: Final = re.compile(r"\s*(?:[-*•·‣◦–]\s|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s|#{1,6}\s|§)")
_ROW_END: Final = re.compile(r"[\d%€$£¥]\s*$|\b[A-Z]{3}\s*$")
_STOPS: Final = (".", "!", "?", ":", ";", "。", "！", "？")
_LEAST_WIDTH: Final = 50  # columns; a text with shorter lines is a list or a poem, and was not wrapped
_WIDE: Final = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]")


def read_plain(text: str, *, lines: bool = False) -> Reading:
    """Plain text as blocks: paragraphs, or with `lines` one block a line (tables, code, logs)."""
    drafting = Drafting()
    if lines:
        for line in text.splitlines():
            drafting.add(line, "text/line", tag="tr", list_id=0)
        return drafting.reading()
    for paragraph in re.split(r"\n[ \t\f\v]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        for block in unwrapped(paragraph.splitlines()):
            is_entry = bool(_BULLET.match(block))
            drafting.add(block, "text/li" if is_entry else "text/p", tag="li" if is_entry else "p")
    return drafting.reading()


def read_coarsely(text: str, flag: Flag) -> Reading:
    """A document that must not be parsed (too deep, too many parts), as its lines; the flag says why."""
    drafting = Drafting()
    for line in text.splitlines():
        for start in range(0, len(line), _COARSE_CHARS):
            drafting.add(line[start : start + _COARSE_CHARS], "text/line")
    return drafting.reading(flags=(flag,))


_COARSE_CHARS: Final = 2_000


def unwrapped(lines: Sequence[str]) -> list[str]:
    """Lines of one stretch of text with its paragraphs put together.

    A line goes on in the next one when it is about as long as the longest ones and nothing says that something new
    begins. Errs towards two blocks: text that is only cut differently is no change.
    """
    width = width_of(lines)
    blocks: list[str] = []
    before = ""
    for line in lines:
        if blocks and goes_on(before, line, width=width):
            blocks[-1] = glued(blocks[-1], line)
        else:
            blocks.append(line.strip())
        before = line
    return [block for block in blocks if block]


def width_of(lines: Sequence[str]) -> int:
    """The width to which lines were broken: that of the longest tenth, 0 where they are too short for that."""
    widths = sorted(columns(line) for line in lines if line.strip())
    if not widths:
        return 0
    width = widths[(len(widths) * 9) // 10]
    return width if width >= _LEAST_WIDTH else 0


def columns(line: str) -> int:
    """How many columns of a terminal the line takes: two for a Chinese, Japanese or Korean character."""
    line = line.strip()
    return len(line) if line.isascii() else len(line) + len(_WIDE.findall(line))


def goes_on(line: str, following: str, *, width: int) -> bool:
    """Whether a line was broken for want of room, and the next one carries on."""
    line, following = line.rstrip(), following.strip()
    if not width or not line or not following or columns(line) < 0.75 * width or _BULLET.match(following):
        return False
    if following[0].islower():
        return True
    return not (line.endswith(_STOPS) or (_ROW_END.search(line) and following[0].isupper()))


def glued(line: str, following: str) -> str:
    """Two lines as one: a word broken with a hyphen is whole again, and unspaced scripts get no space."""
    line, following = line.rstrip(), following.strip()
    if line.endswith("\u00ad"):
        return line[:-1] + following
    if len(line) > 1 and line[-1] in "-\u2010" and line[-2].isalpha() and following[:1].islower():
        return line[:-1] + following
    if line and following and _WIDE.match(line[-1]) and _WIDE.match(following[0]):
        return line + following
    return f"{line} {following}"
