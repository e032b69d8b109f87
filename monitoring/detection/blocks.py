"""The values that a reading of a page is made of.

A `Reading` is the page as a person reads it: an ordered tuple of blocks. It is the only thing that
comparison, diff, fingerprint and fields' neighbours look at; nothing downstream sees HTML again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast


class Region(StrEnum):
    """Where on the page a block stands."""

    MAIN = "main"
    FURNITURE = "furniture"


class Surface(StrEnum):
    """How a block's text reaches a reader."""

    VISIBLE = "visible"
    HIDDEN = "hidden"  # display:none, hidden, aria-hidden, noscript, off-screen
    ATTRIBUTE = "attribute"  # alt, title, value, placeholder, aria-label
    EMBEDDED = "embedded"  # iframe srcdoc, declarative shadow DOM
    STYLE = "style"  # CSS content: strings
    LINK = "link"  # a link target (href), not its text


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, heading, list item or table row, in reading order.

    `text` is for display: white space collapsed, nothing else changed. `slot` is an address that stays
    the same from visit to visit when only the text changes (tag path with stable class and id tokens,
    plus the position among equals); it is what volatility is learned for. `link_density` is the share
    (0..1) of the characters that stand inside links. `list_id` numbers the list or table the block
    belongs to, -1 for none. `heading` is 1..6, 0 when it is no heading.
    """

    text: str
    tag: str
    path: str
    slot: str
    region: Region = Region.MAIN
    surface: Surface = Surface.VISIBLE
    link_density: float = 0.0
    list_id: int = -1
    heading: int = 0
    lang: str = ""
    script: str = "latin"
    hrefs: tuple[str, ...] = ()


@dataclass(slots=True)
class Draft:
    """A block while its page is being read: the same fields, not yet frozen.

    Creating a frozen dataclass costs eleven times as much as creating a plain one (3.5 and 0.3 us here), and a
    page has hundreds of blocks: a reading makes drafts and freezes them all at once.
    """

    text: str
    tag: str
    path: str
    slot: str
    region: Region
    surface: Surface
    link_density: float
    list_id: int
    heading: int
    lang: str
    script: str
    hrefs: tuple[str, ...]


def freeze(drafts: list[Draft]) -> list[Block]:
    """The drafts themselves, as blocks. They must not be touched as drafts afterwards."""
    for draft in drafts:
        draft.__class__ = Block  # type: ignore[assignment]  # same slots, so the same layout
    return cast("list[Block]", drafts)


_PAGE = "page "  # no path of a page of HTML holds a space


def on_page(number: int) -> str:
    """The path of what stands on a page of a document, from 1 on."""
    return f"{_PAGE}{number}"


def page_of(path: str) -> int:
    """The page of a document that a path names, 0 for any other path."""
    number = path[len(_PAGE) :] if path.startswith(_PAGE) else ""
    return int(number) if number.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Flag:
    """Something a person should know about the reading: what was cut, hidden or could not be read."""

    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A page read once: blocks in order, and what was noticed on the way.

    `region_path` names the element taken for the main region, `region_how` the rule that chose it
    (`selector`, `remembered`, `landmark`, `prose`, `whole`). `chars_seen` and `chars_kept` are two
    independent counts of visible characters; they differ only when something was left out, and then a
    flag says what.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    lang: str = ""
    direction: str = "ltr"
    region_path: str = ""
    region_how: str = "whole"
    chars_seen: int = 0
    chars_kept: int = 0
    flags: tuple[Flag, ...] = field(default=())

    @property
    def visible(self) -> tuple[Block, ...]:
        """The blocks a reader of the page sees, in order."""
        return tuple(b for b in self.blocks if b.surface is Surface.VISIBLE)

    @property
    def text(self) -> str:
        """Everything a reader sees, a block a line."""
        return "\n".join(b.text for b in self.visible)

    @property
    def main_text(self) -> str:
        """What a reader sees inside the main region, a block a line."""
        return "\n".join(b.text for b in self.visible if b.region is Region.MAIN)
