"""One walk over a parsed page, in document order: the runs of text a reader sees, and the boxes they stand in.

The walk is iterative (a page may nest thousands deep) and touches every node once. It decides where one
block of text ends and the next begins; it does not judge what is main text (`region`) nor name places
(`address`): both work on its result.

Segmentation depends on block-level *tags* only, never on wrappers, attributes or white space in the
markup: adding a `div` around a paragraph or a `span` inside it gives the same runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from selectolax.lexbor import LexborNode

from .address import extend, label, link_target
from .blocks import Surface


class Box:
    """A block-level element: where it stands and which runs it holds (`runs[first:last]`)."""

    __slots__ = ("_path", "classes", "first", "ident", "index", "last", "mem_id", "parent", "role", "tag")

    def __init__(self, parent: Box | None, tag: str, attrs: dict[str, str | None], first: int, index: int) -> None:
        self.parent = parent
        self.tag = tag
        self.ident = attrs.get("id") or ""
        self.classes = attrs.get("class") or ""
        self.role = attrs.get("role") or ""
        self.first = first
        self.last = first
        self.index = index
        self.mem_id = 0
        self._path = ""

    @property
    def path(self) -> str:
        """Tag path with stable id and class tokens; anonymous wrappers leave no trace in it."""
        if not self._path:
            above = self.parent.path if self.parent else ""
            name = label(self.tag, self.ident, self.classes)
            self._path = above if above and name in _ANONYMOUS else extend(above, name)
        return self._path


class Run:
    """A piece of text between two block borders, as found; `Block` is made from it."""

    __slots__ = ("box", "heading", "hrefs", "link_chars", "list_id", "surface", "tag", "text")

    def __init__(
        self,
        text: str,
        tag: str,
        box: Box,
        surface: Surface,
        link_chars: int,
        hrefs: tuple[str, ...],
        list_id: int,
        heading: int,
    ) -> None:
        self.text = text
        self.tag = tag
        self.box = box
        self.surface = surface
        self.link_chars = link_chars
        self.hrefs = hrefs
        self.list_id = list_id
        self.heading = heading


@dataclass(slots=True)
class Outline:
    """What a walk found. `seen` counts the raw characters of the text nodes met outside skipped elements."""

    runs: list[Run] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    title: str = ""
    lang: str = ""
    direction: str = ""
    styles: list[str] = field(default_factory=list)
    kept: int = 0
    skipped: int = 0
    plaintext: bool = False


class _Kind(IntEnum):
    INLINE = 0
    BLOCK = 1
    SKIP = 2
    BR = 3
    LINK = 4
    LIST = 5
    ROW = 6
    CELL = 7
    IMAGE = 8
    INPUT = 9
    FRAME = 10
    TEMPLATE = 11
    STYLE = 12
    NOSCRIPT = 13
    SVG = 14
    HEAD = 15
    TITLE = 16
    PRE = 17
    CUSTOM = 18
    PLAIN = 19


_BLOCK_TAGS: Final = (
    "html body div p h1 h2 h3 h4 h5 h6 li dt dd main article section nav aside header footer address blockquote center "
    "figure figcaption caption table thead tbody tfoot fieldset form legend details summary option optgroup select button "
    "hgroup search dialog frameset noframes multicol dir menuitem textarea label output video audio canvas object map "
    "colgroup hr rp"
)
_KINDS: Final[dict[str, _Kind]] = (
    dict.fromkeys(_BLOCK_TAGS.split(), _Kind.BLOCK)
    | dict.fromkeys("script base meta link param source track col wbr area datalist".split(), _Kind.SKIP)
    | {"ul": _Kind.LIST, "ol": _Kind.LIST, "dl": _Kind.LIST, "menu": _Kind.LIST, "table": _Kind.LIST}
    | {"tr": _Kind.ROW, "td": _Kind.CELL, "th": _Kind.CELL}
    | {"img": _Kind.IMAGE, "input": _Kind.INPUT, "iframe": _Kind.FRAME, "template": _Kind.TEMPLATE}
    | {"style": _Kind.STYLE, "noscript": _Kind.NOSCRIPT, "svg": _Kind.SVG, "head": _Kind.HEAD, "title": _Kind.TITLE}
    | {"br": _Kind.BR, "a": _Kind.LINK, "pre": _Kind.PRE, "listing": _Kind.PRE, "xmp": _Kind.PRE, "plaintext": _Kind.PLAIN}
)
_ANONYMOUS: Final = frozenset({"div", "span", "tbody", "center", "section", "form", "fieldset"})
_HEADINGS: Final = {f"h{n}": n for n in range(1, 7)}
_VOID_TEXT_INPUTS: Final = frozenset({"hidden", "password", "checkbox", "radio", "file", "color", "range", "image"})
_NO_ATTRS: Final[dict[str, str | None]] = {}

_HIDING_STYLE: Final = re.compile(
    r"display:none|visibility:hidden|(?:left|top|right|text-indent|margin-left):-\d{4,}|font-size:0(?![.\d]*[1-9])|"
    r"clip:rect\(0|clip-path:inset\((?:50|100)%|content-visibility:hidden"
)
_INK: Final = re.compile(r"(?:^|;)color:([^;!]+)")
_PAPER: Final = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_STYLE_CONTENT: Final = re.compile(r"""content\s*:\s*(?:"([^"\\]{2,300})"|'([^'\\]{2,300})')""")
_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*\n")
_ENDS_SENTENCE: Final = re.compile(r"[.!?:;。!?:;…]['\")\]»”’」』]*\s*$")

_ROW_CELL_CAP: Final = 240
"""A table row is one block while none of its cells is longer than this; a longer cell is layout, and stands alone."""

_LINE_MIN: Final = 40
"""A single line break ends a block only after a finished sentence of at least this length."""

_ARIA_CAP: Final = 300
"""aria-hidden on more characters than this is a dialog's trick on the page behind it, not hidden text."""


@dataclass(slots=True)
class _Saved:
    """What an element changed, to be put back when the walk leaves it."""

    kind: _Kind
    box: Box
    surface: Surface
    list_id: int
    in_link: bool
    in_pre: bool
    heading: int
    tag: str
    first: int
    hidden_by: str = ""
    outer: tuple[list[str], int, list[str]] | None = None
    cells: list[Run] | None = None
    href: str = ""


def hides(attrs: dict[str, str | None]) -> str:
    """Why an element with these attributes is not seen: "hidden", "style", "aria", or "" when it is."""
    if "hidden" in attrs:
        return "hidden"
    style = attrs.get("style")
    if style:
        flat = "".join(style[:2000].lower().split())
        if _HIDING_STYLE.search(flat):
            return "style"
        if "color:" in flat:
            ink, paper = _INK.search(flat), _PAPER.search(flat)
            if ink and paper and _same_colour(ink[1], paper[1]):
                return "style"
    if attrs.get("aria-hidden") == "true":
        return "aria"
    return ""


_WHITES: Final = {"white": "#fff", "#ffffff": "#fff", "black": "#000", "#000000": "#000", "rgb(255,255,255)": "#fff"}


def _same_colour(a: str, b: str) -> bool:
    return _WHITES.get(a, a) == _WHITES.get(b, b)


class Walk:
    """The state of one walk. Use `walk(root)`."""

    __slots__ = (
        "after_link",
        "base_surface",
        "box",
        "cells",
        "frames",
        "heading",
        "hrefs",
        "ignored",
        "in_link",
        "in_pre",
        "link_chars",
        "list_id",
        "lists",
        "noscripts",
        "out",
        "parts",
        "surface",
        "tag",
        "templates",
    )

    def __init__(self, surface: Surface = Surface.VISIBLE, ignored: frozenset[int] = frozenset()) -> None:
        self.out = Outline()
        self.parts: list[str] = []
        self.link_chars = 0
        self.hrefs: list[str] = []
        self.base_surface = surface
        self.surface = surface
        self.box = Box(None, "", _NO_ATTRS, 0, -1)
        self.tag = "body"
        self.heading = 0
        self.list_id = -1
        self.lists = 0
        self.in_link = False
        self.after_link = -1
        self.in_pre = False
        self.cells: list[Run] | None = None
        self.ignored = ignored
        self.frames: list[tuple[int, str]] = []
        self.templates: list[tuple[int, LexborNode]] = []
        self.noscripts: list[tuple[int, str]] = []

    # -- the loop ---------------------------------------------------------------------

    def run(self, root: LexborNode) -> Outline:
        """Walk `root` and everything below it."""
        stack: list[tuple[LexborNode, _Saved | None]] = []
        kinds = _KINDS
        node = root
        while True:
            tag = node.tag
            child = None
            saved: _Saved | None = None
            if tag == "-text":
                self._text(node.text_content or "")
            elif tag != "-comment" and tag is not None:
                kind = kinds.get(tag)
                if kind is None:
                    kind = _Kind.CUSTOM if "-" in tag else _Kind.INLINE
                if kind is _Kind.BR:
                    self._line_break()
                elif self.ignored and node.mem_id in self.ignored:
                    self._ignore(node)
                elif kind is _Kind.SKIP:
                    if tag == "script":
                        self._skip_text(node)
                else:
                    descend, saved = self._enter(node, tag, kind)
                    if descend:
                        child = node.first_child
                        if child is None and saved is not None:
                            self._leave(saved)
            if child is not None:
                stack.append((node, saved))
                node = child
                continue
            while True:
                if not stack:
                    self._flush()
                    return self.out
                following = node.next
                if following is not None:
                    node = following
                    break
                node, saved = stack.pop()
                if saved is not None:
                    self._leave(saved)

    # -- text -------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        if self.in_pre and "\n" in text:
            pieces = _BLANK_LINE.split(text)
            for piece in pieces[:-1]:
                self.parts.append(piece)
                self.out.kept += len(piece)
                self._flush()
            self.out.kept += len(text) - sum(map(len, pieces))
            text = pieces[-1]
        self.out.kept += len(text)
        self.parts.append(text)
        if self.in_link and not text.isspace():
            self.link_chars += len(" ".join(text.split()))

    def _line_break(self) -> None:
        parts = self.parts
        if not parts:
            return
        if parts[-1] == "\n":
            self._flush()
            return
        if len(parts) > 1 and parts[-1].isspace() and parts[-2] == "\n":
            self._flush()
            return
        if not self.heading:
            line = "".join(parts[-4:])
            if len(line) >= _LINE_MIN and _ENDS_SENTENCE.search(line[-8:]):
                self._flush()
                return
        parts.append("\n")

    def _flush(self) -> None:
        """End the current run, if it holds any text."""
        if not self.parts:
            if self.hrefs:
                self._add("")
            return
        text = " ".join("".join(self.parts).split())
        self.parts = []
        self.after_link = -1
        if text or self.hrefs:
            self._add(text)

    def _add(self, text: str) -> None:
        if self.cells:
            self._release_cells()
        run = Run(
            text, self.tag, self.box, self.surface, self.link_chars, tuple(self.hrefs), self.list_id, self.heading
        )
        self.out.runs.append(run)
        self.link_chars = 0
        self.hrefs = []

    def _note(self, text: str | None, tag: str, surface: Surface) -> None:
        """A run of its own for text that is not in the flow (an attribute, a style)."""
        text = " ".join((text or "").split())
        if text:
            if self.surface is Surface.HIDDEN and surface is Surface.ATTRIBUTE:
                surface = Surface.HIDDEN
            self.out.runs.append(Run(text, tag, self.box, surface, 0, (), self.list_id, 0))

    # -- elements ---------------------------------------------------------------------

    def _enter(self, node: LexborNode, tag: str, kind: _Kind) -> tuple[bool, _Saved | None]:
        """Take an element in: (walk its children?, what to put back afterwards)."""
        attrs = node.attributes
        if kind is _Kind.INLINE:
            if not attrs:
                return True, None
            hidden_by = hides(attrs)
            if "title" in attrs or "aria-label" in attrs:
                self._labels(attrs, tag)
            if not hidden_by or self.surface is Surface.HIDDEN:
                return True, None
            return True, self._hide_inline(kind, hidden_by)
        if kind >= _Kind.IMAGE and kind is not _Kind.PRE and kind is not _Kind.CUSTOM and kind is not _Kind.PLAIN:
            return self._enter_special(node, tag, kind, attrs)
        if kind is _Kind.LINK:
            return True, self._enter_link(attrs, tag)
        return True, self._enter_block(node, tag, kind, attrs)

    def _save(self, kind: _Kind) -> _Saved:
        return _Saved(
            kind,
            self.box,
            self.surface,
            self.list_id,
            self.in_link,
            self.in_pre,
            self.heading,
            self.tag,
            len(self.out.runs),
        )

    def _hide_inline(self, kind: _Kind, hidden_by: str) -> _Saved:
        saved = self._save(kind)
        saved.hidden_by = hidden_by
        saved.outer = (self.parts, self.link_chars, self.hrefs)
        self.parts, self.link_chars, self.hrefs = [], 0, []
        self.surface = Surface.HIDDEN
        return saved

    def _enter_link(self, attrs: dict[str, str | None], tag: str) -> _Saved:
        hidden_by = hides(attrs) if self.surface is not Surface.HIDDEN else ""
        if "title" in attrs or "aria-label" in attrs:
            self._labels(attrs, tag)
        if hidden_by:
            saved = self._hide_inline(_Kind.LINK, hidden_by)
        else:
            saved = self._save(_Kind.LINK)
            if self.parts and self.after_link == len(self.parts):
                self.parts.append(" ")  # neighbouring links are words of their own
        self.in_link = True
        target = attrs.get("href")
        if target:
            target = link_target(target)
            if target:
                self.hrefs.append(target)
        return saved

    def _enter_block(self, node: LexborNode, tag: str, kind: _Kind, attrs: dict[str, str | None]) -> _Saved:
        if kind is not _Kind.CUSTOM:
            self._flush()
        saved = self._save(kind)
        if self.cells and kind is not _Kind.CELL and kind is not _Kind.CUSTOM:
            self._release_cells()
        saved.cells = self.cells
        if kind is _Kind.ROW:
            self.cells = []
        boxes = self.out.boxes
        box = Box(self.box, tag, attrs, len(self.out.runs), len(boxes))
        boxes.append(box)
        box.mem_id = node.mem_id
        self.box = box
        if kind is not _Kind.CUSTOM:
            self.tag = tag
            self.heading = _HEADINGS.get(tag, 0)
        if attrs:
            self._block_attrs(tag, kind, attrs, saved)
        if kind is _Kind.LIST:
            self.list_id = self.lists
            self.lists += 1
        elif kind is _Kind.PRE:
            self.in_pre = True
        elif kind is _Kind.PLAIN:
            self.in_pre = True
            self.out.plaintext = True
        return saved

    def _block_attrs(self, tag: str, kind: _Kind, attrs: dict[str, str | None], saved: _Saved) -> None:
        if tag == "html":
            self.out.lang = attrs.get("lang") or attrs.get("xml:lang") or ""
        if tag in {"html", "body"}:
            self.out.direction = attrs.get("dir") or self.out.direction
        elif self.surface is not Surface.HIDDEN:
            hidden_by = hides(attrs)
            if hidden_by and tag != "main":
                if kind is _Kind.CUSTOM:
                    saved.outer = (self.parts, self.link_chars, self.hrefs)
                    self.parts, self.link_chars, self.hrefs = [], 0, []
                saved.hidden_by = hidden_by
                self.surface = Surface.HIDDEN
        if "title" in attrs or "aria-label" in attrs or "placeholder" in attrs:
            self._labels(attrs, tag)

    def _labels(self, attrs: dict[str, str | None], tag: str) -> None:
        for name in ("title", "aria-label", "placeholder"):
            if name in attrs:
                self._note(attrs[name], tag, Surface.ATTRIBUTE)

    def _enter_special(
        self, node: LexborNode, tag: str, kind: _Kind, attrs: dict[str, str | None]
    ) -> tuple[bool, _Saved | None]:
        if kind is _Kind.IMAGE:
            self._note(attrs.get("alt"), tag, Surface.ATTRIBUTE)
            self._labels(attrs, tag)
        elif kind is _Kind.INPUT:
            if (attrs.get("type") or "text").lower() not in _VOID_TEXT_INPUTS:
                self._note(attrs.get("value"), tag, Surface.ATTRIBUTE)
                self._labels(attrs, tag)
        elif kind is _Kind.FRAME:
            if attrs.get("srcdoc"):
                self.frames.append((len(self.out.runs), attrs["srcdoc"] or ""))
            self._skip_text(node)
        elif kind is _Kind.TEMPLATE:
            if "shadowrootmode" in attrs or "shadowroot" in attrs:
                self.templates.append((len(self.out.runs), node))
        elif kind is _Kind.STYLE:
            text = self._skip_text(node)
            if "content" in text:
                for match in _STYLE_CONTENT.finditer(text[:400_000]):
                    self._note(match[1] or match[2], tag, Surface.STYLE)
        elif kind is _Kind.NOSCRIPT:
            text = self._skip_text(node)
            if text and self.box.tag != "head":
                self.noscripts.append((len(self.out.runs), text))
        elif kind is _Kind.TITLE:
            text = self._skip_text(node)
            if not self.out.title:
                self.out.title = " ".join(text.split())
        elif kind is _Kind.HEAD:
            return True, None
        else:  # svg: its words are labels of a picture
            saved = self._save(kind)
            saved.outer = (self.parts, self.link_chars, self.hrefs)
            self.parts, self.link_chars, self.hrefs = [], 0, []
            self.tag = "svg"
            if self.surface is not Surface.HIDDEN:
                self.surface = Surface.ATTRIBUTE
            return True, saved
        return False, None

    def _skip_text(self, node: LexborNode) -> str:
        child = node.first_child
        text = (child.text_content or "") if child is not None and child.tag == "-text" else ""
        self.out.skipped += len(text)
        return text

    def _ignore(self, node: LexborNode) -> None:
        """Leave an element out on purpose: its text counts neither as seen nor as lost."""
        self.out.skipped += len(node.text_lexbor() or "")

    def _leave(self, saved: _Saved) -> None:
        kind = saved.kind
        runs = self.out.runs
        if kind is _Kind.LINK and saved.outer is None:
            self.after_link = len(self.parts)
        if saved.outer is not None:
            self._flush()
            self.parts, self.link_chars, self.hrefs = saved.outer
        elif kind is _Kind.CELL:
            self._end_cell()
        elif kind is not _Kind.LINK and kind is not _Kind.CUSTOM:
            self._flush()
            if kind is _Kind.ROW and self.cells:
                self._join_cells()
        if saved.hidden_by == "aria" and sum(len(r.text) for r in runs[saved.first :]) > _ARIA_CAP:
            for run in runs[saved.first :]:
                if run.surface is Surface.HIDDEN:
                    run.surface = self.base_surface
        if kind is not _Kind.LINK and kind is not _Kind.SVG and kind is not _Kind.INLINE:
            self.box.last = len(runs)
            if kind is not _Kind.CELL:
                self.cells = saved.cells
        self.box = saved.box
        self.surface = saved.surface
        self.list_id = saved.list_id
        self.in_link = saved.in_link
        self.in_pre = saved.in_pre
        self.heading = saved.heading
        self.tag = saved.tag

    # -- table rows -------------------------------------------------------------------

    def _end_cell(self) -> None:
        """A cell that held nothing but a run waits for the end of its row."""
        if not self.parts and not self.hrefs:
            return
        text = " ".join("".join(self.parts).split())
        self.parts = []
        if not text and not self.hrefs:
            return
        run = Run(text, self.tag, self.box, self.surface, self.link_chars, tuple(self.hrefs), self.list_id, 0)
        self.link_chars, self.hrefs = 0, []
        if self.cells is None or len(self.out.runs) > self.box.first or len(text) > _ROW_CELL_CAP:
            if self.cells:
                self._release_cells()
            self.out.runs.append(run)
        else:
            self.cells.append(run)

    def _release_cells(self) -> None:
        cells, self.cells = self.cells or [], []
        first = len(self.out.runs)
        self.out.runs.extend(cells)
        for offset, run in enumerate(cells):
            run.box.first, run.box.last = first + offset, first + offset + 1
        box: Box | None = self.box
        while box is not None and box.first == first and cells:  # boxes entered while the cells waited
            if box.tag == "tr":
                break
            box.first = len(self.out.runs)
            box = box.parent

    def _join_cells(self) -> None:
        cells, self.cells = self.cells or [], []
        if len(cells) == 1:
            self.out.runs.append(cells[0])
            return
        hrefs = tuple(h for c in cells for h in c.hrefs)
        text = " | ".join(c.text for c in cells if c.text)
        surface = cells[0].surface if all(c.surface is cells[0].surface for c in cells) else self.surface
        links = sum(c.link_chars for c in cells)
        self.out.runs.append(Run(text, "tr", self.box, surface, links, hrefs, self.list_id, 0))


def walk(root: LexborNode, *, surface: Surface = Surface.VISIBLE) -> tuple[Outline, Walk]:
    """The outline of the tree under `root`; the walk itself holds what is still to be read (frames, templates)."""
    state = Walk(surface)
    return state.run(root), state
