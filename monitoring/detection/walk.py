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
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from .address import extend, label
from .blocks import Surface

type Attrs = dict[str, str | None]

# What an element changed besides box and tag, to be put back when the walk leaves it: surface, list number, whether
# inside <pre>, waiting cells, why hidden, number of runs before, and the run it stands in the middle of.
type _Rest = tuple[Surface, int, bool, list[Run] | None, str, int, tuple[list[str], list[str], int] | None]


class Box:
    """A block-level element: where it stands and which runs it holds (`runs[first:last]`)."""

    __slots__ = ("_path", "attrs", "first", "last", "parent", "tag")

    def __init__(self, parent: Box | None, tag: str, attrs: Attrs, first: int, last: int) -> None:
        self.parent = parent
        self.tag = tag
        self.attrs = attrs
        self.first = first
        self.last = last
        self._path = ""

    @property
    def path(self) -> str:
        """Tag path with stable id and class tokens; anonymous wrappers leave no trace in it."""
        path = self._path
        if not path:
            box = self
            chain: list[Box] = []
            while not path:
                chain.append(box)
                parent = box.parent
                if parent is None:
                    break
                box = parent
                path = box._path
            for box in reversed(chain):
                attrs = box.attrs
                if attrs:
                    ident, classes = attrs.get("id"), attrs.get("class")
                    name = label(box.tag, ident or "", classes or "") if ident or classes else box.tag
                else:
                    name = box.tag
                if not path or name not in ANONYMOUS:
                    path = extend(path, name)
                box._path = path
        return path


class Run:
    """A piece of text between two block borders, as found; `Block` is made from it."""

    __slots__ = ("box", "hrefs", "link_chars", "list_id", "surface", "tag", "text")

    def __init__(
        self, text: str, tag: str, box: Box, surface: Surface, link_chars: int, hrefs: tuple[str, ...], list_id: int
    ) -> None:
        self.text = text
        self.tag = tag
        self.box = box
        self.surface = surface
        self.link_chars = link_chars
        self.hrefs = hrefs
        self.list_id = list_id


@dataclass(slots=True)
class Outline:
    """What a walk found.

    kept: raw characters of the text nodes taken in; skipped: of those left out on purpose (scripts, styles, ignored
    elements). frames, shadows, noscripts: documents inside the page, with the number of runs before them.
    """

    runs: list[Run] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    title: str = ""
    lang: str = ""
    direction: str = ""
    kept: int = 0
    skipped: int = 0
    plaintext: bool = False
    unhidden: bool = False
    frames: list[tuple[int, Box, str]] = field(default_factory=list)
    shadows: list[tuple[int, Box, str]] = field(default_factory=list)
    noscripts: list[tuple[int, Box, str]] = field(default_factory=list)
    marked: list[Box] = field(default_factory=list)


# Kinds of element, as plain integers: they are compared for every node of every page.
# The order matters: up to _LINK they have attributes and children that are walked alike; between _INLINE and _LINK they
# have boxes; between _INLINE and _CUSTOM they end a run.
_INLINE, _BLOCK, _LIST, _ROW, _CELL, _PRE, _CUSTOM, _LINK, _BR, _SKIP, _SPECIAL, _HEAD, _IGNORED, _DONE = range(14)

_BLOCK_TAGS: Final = (
    "html body div p h1 h2 h3 h4 h5 h6 li dt dd main article section nav aside header footer address blockquote center "
    "figure figcaption caption thead tbody tfoot fieldset form legend details summary option optgroup select button "
    "hgroup search dialog frameset noframes dir textarea label output video audio canvas object map colgroup hr rp"
)
_SPECIAL_TAGS: Final = "img input iframe template style noscript svg title"
_KINDS: Final[dict[str, int]] = (
    dict.fromkeys(_BLOCK_TAGS.split(), _BLOCK)
    | dict.fromkeys(_SPECIAL_TAGS.split(), _SPECIAL)
    | dict.fromkeys(
        ["script", "base", "meta", "link", "param", "source", "track", "col", "wbr", "area", "datalist"], _SKIP
    )
    | dict.fromkeys(["ul", "ol", "dl", "menu", "table"], _LIST)
    | {"tr": _ROW, "td": _CELL, "th": _CELL, "br": _BR, "a": _LINK, "head": _HEAD}
    | dict.fromkeys(["pre", "listing", "xmp", "plaintext"], _PRE)
)


def _tag_table() -> dict[int, tuple[int, str]]:
    """(kind, name) by lexbor's number of the tag: numbers are cheaper to ask for than names."""
    names = [
        *_KINDS,
        *[
            "span",
            "b",
            "i",
            "em",
            "strong",
            "u",
            "s",
            "small",
            "font",
            "abbr",
            "code",
            "sup",
            "sub",
            "time",
            "mark",
            "ins",
            "del",
            "q",
            "cite",
            "picture",
        ],
    ]
    parser = LexborHTMLParser("<p>x<!--x-->")
    table: dict[int, tuple[int, str]] = {}
    for name in names:
        node = parser.create_node(name)
        if node.tag == name:
            table[node.tag_id] = (_KINDS.get(name, _INLINE), name)
    return table


_TAGS: Final = _tag_table()
_TEXT_ID: Final = 2
_COMMENT_ID: Final = 4

ANONYMOUS: Final = frozenset({"div", "span", "tbody", "center", "section", "form", "fieldset"})
HEADINGS: Final = {f"h{n}": n for n in range(1, 7)}
_SPEAKING: Final = frozenset({"hidden", "style", "aria-hidden", "title", "aria-label", "placeholder"})
_UNREAD_INPUTS: Final = frozenset({"hidden", "password", "checkbox", "radio", "file", "color", "range", "image"})

_HIDING_STYLE: Final = re.compile(
    r"display:none|visibility:hidden|(?:left|top|right|text-indent|margin-left):-\d{4,}|font-size:0(?![.\d]*[1-9])|"
    r"clip:rect\(0|clip-path:inset\((?:50|100)%|content-visibility:hidden"
)
_INK: Final = re.compile(r"(?:^|;)color:([^;!]+)")
_PAPER: Final = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_COLOURS: Final = {"white": "#fff", "#ffffff": "#fff", "black": "#000", "#000000": "#000", "rgb(255,255,255)": "#fff"}
_STYLE_CONTENT: Final = re.compile(r"""content\s*:\s*(?:"([^"\\]{2,300})"|'([^'\\]{2,300})')""")
_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*\n")
_ENDS_SENTENCE: Final = re.compile(r"[.!?:;…。！？：；]['\")\]»”’」』]*$")

_ROW_CELL_CAP: Final = 240
"""A table row is one block while none of its cells is longer than this; a longer cell is layout, and stands alone."""

_LINE_MIN: Final = 40
"""A single line break ends a block only after a finished sentence of at least this length."""

_ARIA_CAP: Final = 300
"""aria-hidden on more characters than this is a dialog's trick on the page behind it, not hidden text."""

_STYLE_CAP: Final = 400_000


def hides(attrs: Attrs) -> str:
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
            if ink and paper and _COLOURS.get(ink[1], ink[1]) == _COLOURS.get(paper[1], paper[1]):
                return "style"
    if attrs.get("aria-hidden") == "true":
        return "aria"
    return ""


def walk(  # noqa: C901 - one loop over every node of every page: calls and attribute look-ups are what it saves
    root: LexborNode | None,
    *,
    surface: Surface = Surface.VISIBLE,
    ignored: frozenset[int] = frozenset(),
    marked: frozenset[int] = frozenset(),
    unscripted: bool = False,
) -> Outline:
    """The outline of the tree under `root`, without the elements whose `mem_id` is in `ignored`.

    marked: elements (by `mem_id`) that are runs of their own even if they are inline, and are listed.
    surface: what the text of this tree is to its reader unless something in the tree hides it.
    unscripted: the tree was parsed as by a browser without scripts, and <noscript> is shown.
    """
    out = Outline()
    if root is None:
        return out
    runs, boxes = out.runs, out.boxes
    base = surface
    parts: list[str] = []  # of the current run
    hrefs: list[str] = []
    cells: list[Run] | None = None  # finished cells of the current row
    link_chars = 0
    links_open = 0
    after_link = -1
    in_pre = False
    list_id = -1
    lists = 0
    kept = 0
    tag = "body"
    box = Box(None, "", {}, 0, 0)

    def flush() -> None:
        """End the current run, and keep it if there is anything in it."""
        nonlocal link_chars, after_link, cells
        text = " ".join("".join(parts).split())
        parts.clear()
        after_link = -1
        if text or hrefs:
            if cells:
                _release(cells, runs, box)
                cells = []
            runs.append(Run(text, tag, box, surface, link_chars, tuple(hrefs) if hrefs else (), list_id))
            link_chars = 0
            hrefs.clear()

    def end_cell() -> None:
        """A cell that held nothing but a run waits for the end of its row."""
        nonlocal link_chars, after_link, cells
        text = " ".join("".join(parts).split())
        if cells is None or len(runs) > box.first or len(text) > _ROW_CELL_CAP:
            flush()
            return
        parts.clear()
        after_link = -1
        if text or hrefs:
            cells.append(Run(text, tag, box, surface, link_chars, tuple(hrefs), list_id))
            link_chars = 0
            hrefs.clear()

    def set_aside(hidden_by: str) -> _Rest:
        """Put the current run aside for an element inside it that is read as runs of its own."""
        nonlocal parts, hrefs, link_chars
        rest = (surface, list_id, in_pre, cells, hidden_by, len(runs), (parts, hrefs, link_chars))
        parts, hrefs, link_chars = [], [], 0
        return rest

    def note(text: str | None, what: Surface) -> None:
        """A run of its own for words outside the flow: an attribute, a style."""
        words = " ".join((text or "").split())
        if words:
            hidden = surface is Surface.HIDDEN and what is Surface.ATTRIBUTE
            runs.append(Run(words, name, box, surface if hidden else what, 0, (), list_id))

    stack: list[tuple[LexborNode, int, Box, str, _Rest | None]] = []
    exceptional = bool(ignored or marked or unscripted)
    tags = _TAGS
    node = root
    while True:
        number = node.tag_id
        child = None
        if number == 2:  # a text node; the number stands here because this line runs a thousand times a page
            text = node.text_content or ""
            kept += len(text)
            if text.isspace():
                if not in_pre:
                    if parts:
                        parts.append(" ")
                    following = node.next
                    if following is not None:
                        node = following
                        continue
                elif text.count("\n") > 1:
                    flush()
            elif in_pre and "\n" in text:
                *paragraphs, text = _BLANK_LINE.split(text)
                for paragraph in paragraphs:
                    parts.append(paragraph)
                    flush()
                parts.append(text)
            else:
                parts.append(text)
                if links_open:
                    link_chars += len(text.strip())
        elif number != _COMMENT_ID:
            if number in tags:
                kind, name = tags[number]
            else:
                name = node.tag or ""
                kind = _KINDS.get(name, _CUSTOM if "-" in name else _INLINE)
            if exceptional:
                if unscripted and name == "noscript":
                    kind = _BLOCK if tag != "head" else _HEAD
                if node.mem_id in marked and kind in (_INLINE, _LINK, _CUSTOM):
                    kind = _BLOCK
                if node.mem_id in ignored:
                    out.skipped += len(node.text_lexbor() or "")
                    kind = _IGNORED
            if kind <= _LINK:
                attrs = node.attributes
                hidden_by = ""
                if attrs and not _SPEAKING.isdisjoint(attrs):
                    if surface is not Surface.HIDDEN and name not in _NEVER_HIDDEN:
                        hidden_by = hides(attrs)
                    for key in ("title", "aria-label", "placeholder"):
                        if key in attrs:
                            note(attrs[key], Surface.ATTRIBUTE)
                if name in _FALLBACK and surface is not Surface.HIDDEN:
                    hidden_by = "fallback"
                child = node.first_child
                if child is not None and not hidden_by and child.tag_id == 2 and not in_pre and child.next is None:
                    # Most elements hold one text and nothing else: they are done here, without a frame.
                    text = child.text_content or ""
                    if kind in (_INLINE, _LINK):
                        child = None
                        kept += len(text)
                        if kind == _LINK:
                            if parts and after_link == len(parts):
                                parts.append(" ")  # neighbouring links are words of their own
                            link_chars += len(text.strip())
                            target = attrs.get("href")
                            if target and target[0] != "#":
                                hrefs.append(target)
                        elif links_open:
                            link_chars += len(text.strip())
                        if not text.isspace():
                            parts.append(text)
                        elif parts:
                            parts.append(" ")
                        if kind == _LINK:
                            after_link = len(parts)
                        following = node.next
                        if following is not None:
                            node = following
                            continue
                        kind = _DONE
                    elif kind == _BLOCK and not cells:
                        child = None
                        kept += len(text)
                        if parts or hrefs:
                            flush()
                        words = " ".join(text.split())
                        if words:
                            at = len(runs)
                            inner = Box(box, name, attrs, at, at + 1)
                            boxes.append(inner)
                            if exceptional and node.mem_id in marked:
                                out.marked.append(inner)
                            runs.append(Run(words, name, inner, surface, len(words) if links_open else 0, (), list_id))
                        following = node.next
                        if following is not None:
                            node = following
                            continue
                        kind = _DONE
                if kind == _DONE:
                    pass
                elif kind == _LINK:
                    target = attrs.get("href")
                    if hidden_by and child is not None:
                        stack.append((node, _LINK, box, tag, set_aside(hidden_by)))
                        surface = Surface.HIDDEN
                        links_open += 1
                    elif child is not None:
                        if parts and after_link == len(parts):
                            parts.append(" ")  # neighbouring links are words of their own
                        stack.append((node, _LINK, box, tag, None))
                        links_open += 1
                    if target and target[0] != "#":
                        hrefs.append(target)
                elif child is None:
                    if _INLINE < kind < _CUSTOM and (parts or hrefs):
                        flush()
                elif kind == _INLINE:
                    if hidden_by:
                        stack.append((node, _INLINE, box, tag, set_aside(hidden_by)))
                        surface = Surface.HIDDEN
                    else:
                        stack.append((node, _INLINE, box, tag, None))
                else:
                    rest: _Rest | None = None
                    if kind != _CUSTOM:
                        if parts or hrefs:
                            flush()
                        if kind != _BLOCK or hidden_by or cells:
                            if cells and kind != _CELL:
                                _release(cells, runs, box)
                                cells = []
                            rest = (surface, list_id, in_pre, cells, hidden_by, len(runs), None)
                            if kind == _LIST:
                                list_id = lists
                                lists += 1
                            elif kind == _ROW:
                                cells = []
                            elif kind == _PRE:
                                in_pre = True
                                out.plaintext = out.plaintext or name == "plaintext"
                    elif hidden_by:
                        rest = set_aside(hidden_by)
                    if hidden_by:
                        surface = Surface.HIDDEN
                    stack.append((node, kind, box, tag, rest))
                    box = Box(box, name, attrs, len(runs), 0)
                    boxes.append(box)
                    if exceptional and node.mem_id in marked:
                        out.marked.append(box)
                    if kind != _CUSTOM:
                        tag = name
                        if name in _ROOTS:
                            out.lang = out.lang or attrs.get("lang") or attrs.get("xml:lang") or ""
                            out.direction = out.direction or attrs.get("dir") or ""
            elif kind == _BR:
                if parts:
                    if (
                        parts[-1] == "\n"
                        or (parts[-1] == " " and len(parts) > 1 and parts[-2] == "\n")
                        or (tag not in HEADINGS and _is_finished("".join(parts[-4:])))
                    ):
                        flush()
                    else:
                        parts.append("\n")
            elif kind == _SKIP:
                if name == "script":
                    out.skipped += len(node.text_lexbor() or "")
                else:  # empty in HTML, but inside <svg> and <math> any name can hold text
                    child = node.first_child
                    if child is not None:
                        stack.append((node, _INLINE, box, tag, None))
            elif kind == _HEAD:
                child = node.first_child
                if child is not None:
                    stack.append((node, _INLINE, box, tag, None))
            elif kind == _SPECIAL:
                attrs = node.attributes
                if name == "img":
                    if attrs:
                        note(attrs.get("alt"), Surface.ATTRIBUTE)
                        note(attrs.get("title"), Surface.ATTRIBUTE)
                elif name == "svg":  # its words are labels of a picture
                    if (node.text_lexbor() or "").strip():
                        child = node.first_child
                        stack.append((node, _SPECIAL, box, tag, set_aside("")))
                        tag = "svg"
                        if surface is not Surface.HIDDEN:
                            surface = Surface.ATTRIBUTE
                    else:
                        out.skipped += len(node.text_lexbor() or "")
                elif name == "input":
                    if (attrs.get("type") or "text").lower() not in _UNREAD_INPUTS:
                        for key in ("value", "placeholder", "aria-label", "title"):
                            note(attrs.get(key), Surface.ATTRIBUTE)
                elif name == "template":
                    if "shadowrootmode" in attrs or "shadowroot" in attrs:
                        fragments = node.template_fragments()
                        if fragments:
                            out.shadows.append((len(runs), box, fragments[0].inner_html or ""))
                elif name != "title" or tag != "svg":
                    text = node.text_lexbor() or ""
                    out.skipped += len(text)
                    if name == "title":
                        out.title = out.title or " ".join(text.split())
                    elif name == "noscript":
                        if text and tag != "head":
                            out.noscripts.append((len(runs), box, text))
                    elif name == "iframe":
                        if attrs.get("srcdoc"):
                            out.frames.append((len(runs), box, attrs["srcdoc"] or ""))
                    elif "content" in text:
                        for match in _STYLE_CONTENT.finditer(text[:_STYLE_CAP]):
                            note(match[1] or match[2], Surface.STYLE)
                if name in _FOREIGN_PARENTS:
                    child = node.first_child
                    if child is not None and (name != "title" or tag == "svg"):
                        stack.append((node, _INLINE, box, tag, None))
                    else:
                        child = None
        if child is not None:
            node = child
            continue
        while True:
            if not stack:
                if parts or hrefs:
                    flush()
                out.kept = kept
                return out
            following = node.next
            if following is not None:
                node = following
                break
            node, kind, outer_box, outer_tag, rest = stack.pop()
            if kind == _LINK:
                links_open -= 1
                after_link = len(parts)
            if rest is None:
                if _INLINE < kind < _LINK:
                    if kind != _CUSTOM and (parts or hrefs):
                        flush()
                    box.last = len(runs)
                    box = outer_box
                    tag = outer_tag
                continue
            was_surface, was_list, was_pre, was_cells, hidden_by, first, outer = rest
            if outer is not None:
                flush()
                parts, hrefs, link_chars = outer
            elif kind == _CELL:
                end_cell()
            else:
                if parts or hrefs:
                    flush()
                if kind == _ROW:
                    if cells:
                        _join(cells, runs, box)
                    cells = was_cells
            if hidden_by == "aria" and sum(len(r.text) for r in runs[first:]) > _ARIA_CAP:
                for run in runs[first:]:
                    if run.surface is Surface.HIDDEN:
                        run.surface = base
            if _INLINE < kind < _LINK:
                box.last = len(runs)
            surface, list_id, in_pre = was_surface, was_list, was_pre
            box, tag = outer_box, outer_tag


_FOREIGN_PARENTS: Final = frozenset({"img", "input", "template", "title"})
"""Names whose children are read: they have none in HTML, but inside <svg> and <math> they do."""

_FALLBACK: Final = frozenset({"video", "audio", "canvas", "object"})
"""What stands in these is shown by browsers only that cannot show the thing itself."""

_NEVER_HIDDEN: Final = frozenset({"html", "body", "main"})
_ROOTS: Final = frozenset({"html", "body"})


def _is_finished(line: str) -> bool:
    line = line.rstrip()
    return len(line) >= _LINE_MIN and _ENDS_SENTENCE.search(line[-8:]) is not None


def _release(cells: list[Run], runs: list[Run], box: Box | None) -> None:
    """Put waiting cells down as runs of their own: a later cell of their row holds blocks."""
    first = len(runs)
    runs.extend(cells)
    for offset, run in enumerate(cells):
        run.box.first, run.box.last = first + offset, first + offset + 1
    while box is not None and box.first == first and box.tag != "tr":  # entered while the cells waited
        box.first = len(runs)
        box = box.parent


def _join(cells: list[Run], runs: list[Run], row: Box) -> None:
    """Put a row's cells down as one run."""
    if len(cells) == 1:
        runs.append(cells[0])
        return
    surface = cells[0].surface if all(c.surface is cells[0].surface for c in cells) else Surface.VISIBLE
    text = " | ".join(c.text for c in cells if c.text)
    hrefs = tuple(h for c in cells for h in c.hrefs)
    runs.append(Run(text, "tr", row, surface, sum(c.link_chars for c in cells), hrefs, cells[0].list_id))
