"""The page read once: one parse, one walk, guarded so that no input is slow and nothing is lost in silence."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from .address import link_target
from .blocks import Block, Draft, Flag, Reading, Region, Surface, freeze
from .region import Choice, choose
from .script import script_of
from .walk import HEADINGS, Box, Outline, Run, walk

_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Bounds of one reading. Past them the page is read in a coarser way, and a flag says so.

    size_chars: longest markup that is read; the rest is left out (`size-limited`).
    depth: deepest nesting that is parsed; deeper markup is read as flat text (`depth-limited`).
    nodes: most tags that are parsed; more are read as flat text (`nodes-limited`).
    blocks: most blocks of a reading; more are joined with their neighbours (`nodes-limited`).
    embedded: most documents inside the page (srcdoc, shadow roots) that are read.
    """

    size_chars: int = 12_000_000
    depth: int = 4_000
    nodes: int = 120_000
    blocks: int = 30_000
    embedded: int = 20


_DEFAULT_LIMITS: Final = ReadLimits()


def read(
    html: str,
    *,
    main_selector: str = "",
    remembered_region: str = "",
    ignore_selectors: tuple[str, ...] = (),
    field_selectors: tuple[str, ...] = (),
    limits: ReadLimits = _DEFAULT_LIMITS,
) -> Reading:
    """The page as blocks in reading order, with its main region chosen.

    main_selector: CSS of the main region as set by a person; a flag `selector-missing` when it matches nothing.
    remembered_region: `region_path` of an earlier reading of this page; used when it still holds text.
    ignore_selectors, field_selectors: elements left out of the reading (an ignore rule; a typed field that is judged
    by itself). Raises ValueError for a selector that does not parse. Cost: about 1.5 ms for a page of 170 KB.
    """
    flags: list[Flag] = []
    html = _clean(html, limits, flags)
    guard = _guard(html, limits)
    if guard:
        return _flat_reading(html, guard, limits, flags)
    parser, outline = _walked(html, (*ignore_selectors, *field_selectors), main_selector)
    root = parser.root
    seen = len(root.text_lexbor() or "") - outline.skipped if root is not None else 0
    extras = _embedded(outline, limits, flags)
    choice = choose(outline, wanted=_matching(parser, (main_selector,)), remembered=remembered_region)
    if main_selector and choice.how != "selector":
        flags.append(Flag("selector-missing", main_selector))
    if remembered_region and choice.how not in ("selector", "remembered"):
        flags.append(Flag("region-moved", f"{remembered_region} -> {choice.path}"))
    if outline.plaintext:
        flags.append(Flag("plaintext", "markup after <plaintext> is shown as text"))
    if outline.kept != seen:
        flags.append(Flag("text-lost", f"{seen} characters seen, {outline.kept} kept"))
    blocks = _blocks(outline, choice, extras)
    return Reading(
        blocks=tuple(_joined(blocks, limits, flags)),
        title=outline.title,
        lang=outline.lang.split("-")[0].lower() if outline.lang else "",
        direction="rtl" if outline.direction.lower() == "rtl" else "ltr",
        region_path=choice.path,
        region_how=choice.how,
        chars_seen=seen,
        chars_kept=outline.kept,
        flags=tuple(flags),
    )


def _walked(html: str, ignore: tuple[str, ...] = (), marked: str = "") -> tuple[LexborHTMLParser, Outline]:
    """Parse as a browser with scripts does; a page whose text is all in <noscript> as one without."""
    parser, outline = _parsed(html, ignore, marked, scripting=True)
    if outline.noscripts:
        unscripted = sum(len(_ANY_TAG.sub("", text).strip()) for _, _, text in outline.noscripts)
        if unscripted > _NOSCRIPT_MIN and unscripted > 2 * _visible_chars(outline):
            return _parsed(html, ignore, marked, scripting=False)
    return parser, outline


_NOSCRIPT_MIN: Final = 300
"""Characters in <noscript> from which it may be the page itself, put there for readers without scripts."""


def _parsed(html: str, ignore: tuple[str, ...], marked: str, *, scripting: bool) -> tuple[LexborHTMLParser, Outline]:
    parser = LexborHTMLParser(html, options=_OPTIONS, scripting=scripting)
    outline = walk(
        parser.root, ignored=_matching(parser, ignore), marked=_matching(parser, (marked,)), unscripted=not scripting
    )
    return parser, outline


def _visible_chars(outline: Outline) -> int:
    return sum(len(r.text) for r in outline.runs if r.surface is Surface.VISIBLE)


# -- guards ---------------------------------------------------------------------------


def _clean(html: str, limits: ReadLimits, flags: list[Flag]) -> str:
    if len(html) > limits.size_chars:
        flags.append(Flag("size-limited", f"{len(html) - limits.size_chars} characters of markup left out"))
        html = html[: limits.size_chars]
    try:
        html.encode("utf-8")
    except UnicodeEncodeError:
        html = html.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return html


_CHUNKS: Final = 64
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_VOID: Final = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "option",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
    ]
)


def _guard(html: str, limits: ReadLimits) -> str:
    """The flag of the bound that parsing this markup would break, or "". A bound from above, never from below."""
    if len(html) > 2 * _TAG_WINDOW and _has_attribute_flood(html):
        return "attributes-limited"
    opens = html.count("<")
    if opens > limits.nodes and opens - html.count("</") > limits.nodes:
        return "nodes-limited"
    if opens < limits.depth:
        return ""
    step = max(1, len(html) // _CHUNKS + 1)
    level = 0
    for start in range(0, len(html), step):
        chunk = html[start : start + step]
        up, down = chunk.count("<"), chunk.count("</")
        if level + up - down > limits.depth:
            return _precise_guard(html, limits)
        level = max(0, level + up - 2 * down)
    return ""


_TAG_WINDOW: Final = 8_000
_ATTRIBUTES: Final = 1_000


def _has_attribute_flood(html: str) -> bool:
    """Whether one tag holds thousands of attributes: the parser compares each with all others.

    Looks for stretches without ">" first, a few look-ups in all; a tag below 16,000 characters is never reported.
    """
    start, size = 0, len(html)
    while start < size:
        if html.find(">", start, start + _TAG_WINDOW) >= 0:
            start += _TAG_WINDOW
            continue
        end = html.find(">", start)
        end = end if end >= 0 else size
        opening = html.rfind("<", 0, start)
        if html[opening + 1 : opening + 2].isalpha() and html.find(">", opening, start) < 0:
            tag = html[opening:end]
            if len(_QUOTED.sub("", tag).split()) > _ATTRIBUTES:
                return True
        start = end + 1
    return False


_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")


def _precise_guard(html: str, limits: ReadLimits) -> str:
    level = 0
    for closing, name in _TAG.findall(html):
        if name.lower() in _VOID:
            continue
        level += -1 if closing else 1
        if level > limits.depth:
            return "depth-limited"
        level = max(level, 0)
    return ""


_DROPPED: Final = re.compile(r"(?is)<!--.*?(?:-->|\Z)|<(script|style|template|noscript|svg|head)\b.*?(?:</\1\s*>|\Z)")
_FLAT_INLINE: Final = frozenset(
    name
    for tag in [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "del",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "nobr",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
    for name in (tag, "/" + tag)
)
_ANY_TAG: Final = re.compile(r"</?[a-zA-Z!?][^>]*>")


def _flat_reading(html: str, code: str, limits: ReadLimits, flags: list[Flag]) -> Reading:
    """The text of markup that must not be parsed, split at block tags by a linear scan. Hidden text is not told apart."""
    flags.append(Flag(code, "read as flat text: no regions, hidden text not told apart"))
    texts: list[str] = []
    parts: list[str] = []
    head, *pieces = _DROPPED.sub(" ", html).split("<")
    parts.append(head)
    known: dict[str, tuple[bool, str]] = {}  # floods repeat themselves
    for piece in pieces:
        found = known.get(piece)
        if found is None:
            found = _flat_piece(piece)
            if len(piece) < _FLAT_KNOWN:
                known[piece] = found
        ends, text = found
        if ends and parts:
            _add_flat(parts, texts)
            parts = []
        if text:
            parts.append(text)
    _add_flat(parts, texts)
    blocks = [
        Block(text=text, tag="p", path="body", slot=f"body[{n}]", script=script_of(text))
        for n, text in enumerate(_grouped(texts, limits.blocks))
    ]
    kept = sum(map(len, texts))
    return Reading(blocks=tuple(blocks), chars_seen=kept, chars_kept=kept, flags=tuple(flags))


_FLAT_KNOWN: Final = 60


def _flat_piece(piece: str) -> tuple[bool, str]:
    """What follows a "<": whether it is a tag that ends a block, and the text after the tag."""
    name, closed, text = piece.partition(">")
    if not closed or not name or not (name[0].isalpha() or name[0] in "/!?"):
        return False, "<" + piece  # no tag after all
    return name not in _FLAT_INLINE and name[:80].split(None, 1)[0].lower() not in _FLAT_INLINE, text


def _add_flat(parts: list[str], texts: list[str]) -> None:
    if len(parts) == 1:
        text = parts[0]
        if text.isalnum():
            texts.append(text)
            return
    else:
        text = "".join(parts)
    text = " ".join((entities.unescape(text) if "&" in text else text).split())
    if text:
        texts.append(text)


def _grouped(texts: list[str], most: int) -> list[str]:
    """At most about `most` texts: neighbours joined at borders that depend on the text itself, not on its position."""
    if len(texts) <= most:
        return texts
    size = 2 * len(texts) // most + 1
    groups: list[str] = []
    start = 0
    for index, text in enumerate(texts, 1):
        if index - start >= 2 * size or (31 * len(text) + ord(text[0])) % size == 0:
            groups.append(" ".join(texts[start:index]))
            start = index
    if start < len(texts):
        groups.append(" ".join(texts[start:]))
    return groups


def _joined(blocks: list[Block], limits: ReadLimits, flags: list[Flag]) -> list[Block]:
    if len(blocks) <= limits.blocks:
        return blocks
    flags.append(Flag("nodes-limited", f"{len(blocks)} blocks joined with their neighbours"))
    groups = _grouped([b.text for b in blocks], limits.blocks)
    return [Block(text=t, tag="p", path="body", slot=f"body[{n}]", script=script_of(t)) for n, t in enumerate(groups)]


# -- blocks ---------------------------------------------------------------------------


def _matching(parser: LexborHTMLParser, selectors: tuple[str, ...]) -> frozenset[int]:
    found: set[int] = set()
    for selector in selectors:
        if selector:
            found.update(n.mem_id for n in parser.css(selector))
    return frozenset(found)


def _embedded(
    outline: Outline, limits: ReadLimits, flags: list[Flag], depth: int = 0
) -> list[tuple[int, Box, list[Run]]]:
    """Runs of documents inside the page, with the index of the run and the box they stand at."""
    sources = [(at, box, text, Surface.EMBEDDED) for at, box, text in (*outline.frames, *outline.shadows)]
    sources += [
        (at, box, text, Surface.HIDDEN) for at, box, text in outline.noscripts if _ANY_TAG.sub("", text).strip()
    ]
    if len(sources) > limits.embedded:
        flags.append(Flag("embedded-limited", f"{len(sources) - limits.embedded} embedded documents not read"))
    extras: list[tuple[int, Box, list[Run]]] = []
    for at, box, markup, surface in sources[: limits.embedded]:
        if _guard(markup, limits):
            flags.append(Flag("depth-limited", "an embedded document was not read"))
            continue
        root = LexborHTMLParser(markup, options=_OPTIONS).root
        if root is None:
            continue
        inner = walk(root, surface=surface)
        runs = [r for r in inner.runs if r.text]
        if depth < _EMBEDDED_DEPTH:
            runs += [r for _, _, more in _embedded(inner, limits, flags, depth + 1) for r in more]
        elif inner.frames or inner.shadows:
            flags.append(Flag("embedded-limited", "documents nested deeper were not read"))
        for run in runs:
            run.surface = surface
        extras.append((at, box, runs))
    extras.sort(key=lambda extra: extra[0])
    return extras


_EMBEDDED_DEPTH: Final = 3


def _blocks(outline: Outline, choice: Choice, extras: list[tuple[int, Box, list[Run]]]) -> list[Block]:
    """Blocks for all runs, with embedded ones where they stand, and each place numbered among its equals."""
    counts: dict[str, int] = {}
    drafts: list[Draft] = []
    lang = outline.lang.split("-")[0].lower() if outline.lang else ""
    keep = choice.keep
    waiting = list(reversed(extras))

    def add(run: Run, region: Region, path: str) -> None:
        text, surface = run.text, run.surface
        hrefs = tuple(filter(None, map(link_target, run.hrefs))) if run.hrefs else ()
        key = path if surface is Surface.VISIBLE else f"{path}>{surface}"
        number = counts.get(key, 0)
        counts[key] = number + 1
        if text:
            density = min(1.0, run.link_chars / len(text)) if run.link_chars else 0.0
            script = "latin" if text.isascii() else script_of(text)
            heading = HEADINGS.get(run.tag, 0)
            drafts.append(
                Draft(
                    text, run.tag, path, f"{key}[{number}]", region, surface, density, run.list_id, heading, lang,
                    script, hrefs,
                )
            )  # fmt: skip
        if hrefs:
            targets = " ".join(hrefs)
            drafts.append(
                Draft(
                    targets, run.tag, path, f"{key}>link[{number}]", region, Surface.LINK, 1.0, run.list_id, 0, lang,
                    "latin", hrefs,
                )
            )  # fmt: skip

    for index, run in enumerate(outline.runs):
        region = Region.MAIN if keep[index] else Region.FURNITURE
        while waiting and waiting[-1][0] <= index:
            _, box, inner = waiting.pop()
            for part in inner:
                add(part, region, f"{box.path}//{part.box.path}")
        add(run, region, run.box.path)
    while waiting:
        _, box, inner = waiting.pop()
        for part in inner:
            add(part, Region.MAIN, f"{box.path}//{part.box.path}")
    return freeze(drafts)


def main_text_of(html: str, *, title: bool = True, limits: ReadLimits = _DEFAULT_LIMITS) -> str:
    """The visible text of the main region, a block a line: `read(html).main_text` without making the blocks.

    title: whether h1 headings are part of it.
    """
    html = _clean(html, limits, [])
    if _guard(html, limits):
        return read(html, limits=limits).main_text
    _, outline = _walked(html)
    kept = zip(outline.runs, choose(outline).keep, strict=True)
    return "\n".join(
        r.text for r, keep in kept if keep and r.surface is Surface.VISIBLE and r.text and (title or r.tag != "h1")
    )
