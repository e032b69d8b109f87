"""Making readings of documents: cleaned texts, numbered places, and never more blocks than are compared."""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Iterable
from typing import Final

from monitoring.detection.blocks import Block, Flag, Reading, Region, Surface
from monitoring.detection.script import script_of

_INDEX: Final = re.compile(r"\[[^\]\"]*\]|\[\"(?:[^\"\\]|\\.)*\"\]")
MOST_BLOCKS: Final = 30_000


def clean(text: str) -> str:
    """The text on one line, with what no page can hold (NUL, lone surrogates) replaced."""
    text = " ".join(text.split())
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def place_path(root: str, place: str) -> str:
    """The path of a place in data: the same for all parts of a list, and a number instead of its names.

    In a page the name of a box tells banners and adverts from text; the names of data must not be taken for such.
    """
    return f"{root}/{crc32(_INDEX.sub('[]', place).encode())}"


class Drafting:
    """Collects the blocks of a document; each place is numbered among its equals, as in a page."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.flags: list[Flag] = []
        self._numbers: dict[str, int] = {}

    def add(
        self,
        text: str,
        path: str,
        *,
        tag: str = "p",
        place: str = "",
        heading: int = 0,
        list_id: int = -1,
        region: Region = Region.MAIN,
        surface: Surface = Surface.VISIBLE,
        hrefs: tuple[str, ...] = (),
    ) -> None:
        """One more block. `place` is what its slot is made of where the path alone says too little."""
        text = clean(text)
        if not text:
            return
        key = place or path
        number = self._numbers.get(key, 0)
        self._numbers[key] = number + 1
        self.blocks.append(
            Block(
                text=text,
                tag=tag,
                path=path,
                slot=f"{key}[{number}]",
                region=region,
                surface=surface,
                list_id=list_id,
                heading=heading,
                script="latin" if text.isascii() else script_of(text),
                hrefs=hrefs,
            )
        )

    def reading(self, *, title: str = "", lang: str = "", flags: Iterable[Flag] = ()) -> Reading:
        """What was collected, as a reading."""
        blocks = self.blocks
        found = [*self.flags, *flags]
        if len(blocks) > MOST_BLOCKS:
            found.append(Flag("nodes-limited", f"{len(blocks)} blocks joined with their neighbours"))
            blocks = _joined(blocks)
        chars = sum(len(block.text) for block in blocks)
        return Reading(
            blocks=tuple(blocks),
            title=clean(title)[:400],
            lang=lang.partition("-")[0].lower()[:20],
            chars_seen=chars,
            chars_kept=chars,
            flags=tuple(found),
        )


def _joined(blocks: list[Block]) -> list[Block]:
    """At most about `MOST_BLOCKS` blocks: neighbours joined at borders that depend on the text, not on its position."""
    size = 2 * len(blocks) // MOST_BLOCKS + 1
    groups: list[str] = []
    start = 0
    for index, block in enumerate(blocks, 1):
        text = block.text
        if index - start >= 2 * size or (31 * len(text) + ord(text[0])) % size == 0:
            groups.append(" ".join(b.text for b in blocks[start:index]))
            start = index
    if start < len(blocks):
        groups.append(" ".join(b.text for b in blocks[start:]))
    return [
        Block(text=text, tag="p", path="document", slot=f"document[{n}]", script=script_of(text))
        for n, text in enumerate(groups)
    ]
