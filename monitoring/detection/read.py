"""The page read once: one parse, one walk, guarded so that no input is slow and nothing is lost in silence."""

from __future__ import annotations

import html as entities
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import re2
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

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
    page = _encoded(html, limits, flags)
    guard = _guard(page, limits)
    if guard:
        return _flat_reading(page.decode(), guard, limits, flags)
    parser, outline = _walked(page, (*ignore_selectors, *field_selectors), main_selector)
    root = parser.root
    seen = len(root.text_lexbor() or "") - outline.skipped if root is not None else 0
    extras = _embedded(outline, limits, flags)
    choice = choose(outline, remembered=remembered_region)
    if main_selector and choice.how != "selector":
        flags.append(Flag("selector-missing", main_selector))
    if remembered_region and choice.how not in ("selector", "remembered"):
        flags.append(Flag("region-moved", f"{remembered_region} -> {choice.path}"))
    if outline.unhidden:
        flags.append(Flag("hidden-page", "nearly all text was hidden by the page itself; read as visible"))
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


def skim(
    html: str,
    *,
    ignore_selectors: tuple[str, ...] = (),
    field_selectors: tuple[str, ...] = (),
    limits: ReadLimits = _DEFAULT_LIMITS,
) -> Reading:
    """The texts and surfaces of `read(html)` in the same order, and nothing else: no regions, paths, slots or scripts.

    `text_hash` of it is that of the reading, for a third less: most visits find the text unchanged.
    """
    flags: list[Flag] = []
    page = _encoded(html, limits, flags)
    guard = _guard(page, limits)
    if guard:
        return _flat_reading(page.decode(), guard, limits, flags)
    _, outline = _walked(page, (*ignore_selectors, *field_selectors))
    extras = _embedded(outline, limits, flags)
    runs: Iterable[Run] = outline.runs
    if extras:
        everything = Choice(None, "whole", "", [True] * len(outline.runs))
        runs = (run for run, _, _ in _interleaved(outline, everything, extras))
    drafts: list[Draft] = []
    for run in runs:
        if run.text:
            drafts.append(_bare(run.text, run.surface))
        if run.hrefs:
            targets = " ".join(filter(None, map(link_target, run.hrefs)))
            if targets:
                drafts.append(_bare(targets, Surface.LINK))
    return Reading(blocks=tuple(_joined(freeze(drafts), limits, flags)), title=outline.title, flags=tuple(flags))


def _bare(text: str, surface: Surface) -> Draft:
    return Draft(text, "", "", "", Region.MAIN, surface, 0.0, -1, 0, "", "latin", ())


def _walked(page: bytes, ignore: tuple[str, ...] = (), marked: str = "") -> tuple[LexborHTMLParser, Outline]:
    """Parse as a browser with scripts does; a page whose text is all in <noscript> as one without."""
    parser, outline = _parsed(page, ignore, marked, scripting=True)
    visible = sum(len(r.text) for r in outline.runs if r.surface is Surface.VISIBLE)
    if outline.noscripts:
        unscripted = sum(len(_ANY_TAG.sub("", text).strip()) for _, _, text in outline.noscripts)
        if unscripted > _NOSCRIPT_MIN and unscripted > 2 * visible:
            return _parsed(page, ignore, marked, scripting=False)
    hidden = [r for r in outline.runs if r.surface is Surface.HIDDEN]
    if hidden and sum(len(r.text) for r in hidden) > max(_HIDDEN_MIN, _HIDDEN_RATIO * visible):
        for run in hidden:
            run.surface = Surface.VISIBLE
        outline.unhidden = True
    return parser, outline


_HIDDEN_MIN: Final = 500
_HIDDEN_RATIO: Final = 3
"""A page with this much more hidden than visible text hides itself until a script has run, and is read as visible."""

_NOSCRIPT_MIN: Final = 300
"""Characters in <noscript> from which it may be the page itself, put there for readers without scripts."""


def _parsed(page: bytes, ignore: tuple[str, ...], marked: str, *, scripting: bool) -> tuple[LexborHTMLParser, Outline]:
    parser = LexborHTMLParser(page, options=_OPTIONS, scripting=scripting)
    outline = walk(
        parser.root, ignored=_matching(parser, ignore), marked=_matching(parser, (marked,)), unscripted=not scripting
    )
    return parser, outline


# -- guards ---------------------------------------------------------------------------


def _encoded(html: str, limits: ReadLimits, flags: list[Flag]) -> bytes:
    """The markup in UTF-8, cut at the size limit, lone surrogates replaced."""
    if len(html) > limits.size_chars:
        flags.append(Flag("size-limited", f"{len(html) - limits.size_chars} characters of markup left out"))
        html = html[: limits.size_chars]
    try:
        return html.encode("utf-8")
    except UnicodeEncodeError:
        return html.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


_CHUNKS: Final = 64
_TAG: Final = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)")
_NEVER_DEEP: Final = frozenset(
    # void elements, and those that the next of their kind closes
    b"area base br col embed hr img input link meta param source track wbr p li option dt dd tr td th".split()
)


def _guard(page: bytes, limits: ReadLimits) -> str:
    """The flag of the bound that parsing this markup would break, or "". A bound from above, never from below."""
    if len(page) > 2 * _TAG_WINDOW and (_has_attribute_flood(page) or _has_quoted_flood(page)):
        return "attributes-limited"
    opens = page.count(b"<")
    if opens < min(limits.nodes, 2 * limits.depth):
        return ""  # a parse of 0.1 s at the very worst
    if opens > limits.nodes and opens - page.count(b"</") > limits.nodes:
        return "nodes-limited"
    step = max(1, len(page) // _CHUNKS + 1)
    level = 0
    for start in range(0, len(page), step):
        up, down = page.count(b"<", start, start + step), page.count(b"</", start, start + step)
        if level + up - down > limits.depth:
            return _precise_guard(page, limits)
        level = max(0, level + up - 2 * down)
    return ""


_TAG_WINDOW: Final = 8_000
_ATTRIBUTES: Final = 1_000
_QUOTED: Final = re.compile(rb"\"[^\"]*\"|'[^']*'")


def _has_attribute_flood(page: bytes) -> bool:
    """Whether one tag holds thousands of attributes: the parser compares each with all others.

    Looks for stretches without ">" first, a few look-ups in all; a tag below 16,000 bytes is never reported.
    """
    start, size = 0, len(page)
    while start < size:
        if page.find(b">", start, start + _TAG_WINDOW) >= 0:
            start += _TAG_WINDOW
            continue
        end = page.find(b">", start)
        end = end if end >= 0 else size
        opening = page.rfind(b"<", 0, start + 1)
        if page[opening + 1 : opening + 2].isalpha() and page.find(b">", opening, start) < 0:
            tag = page[opening:end]
            if len(_QUOTED.sub(b"", tag).split()) > _ATTRIBUTES:
                return True
        start = end + 1
    return False


_VALUES: Final = 10_000  # so many attributes in one tag cost the parser a quarter of a second
_LONG_TAG: Final = re2.compile(rb"""<[a-zA-Z](?:[^"'<>]|"[^"]*"|'[^']*'){300}""")
_WHOLE_TAG: Final = re2.compile(rb"""<[a-zA-Z](?:[^"'>]|"[^"]*"|'[^']*')*""")


def _has_quoted_flood(page: bytes) -> bool:
    """Whether one tag holds thousands of attributes, counting a ">" inside quotes as part of the tag, as the parser does.

    Only tags with 300 characters outside quotes are measured, each once: linear, and a tenth of a millisecond on
    pages that have none.
    """
    at = 0
    while found := _LONG_TAG.search(page, at):
        tag = _WHOLE_TAG.match(page, found.start())
        if tag is None:
            return False
        if tag.group().count(b"=") >= _VALUES or len(_QUOTED.sub(b"", tag.group()).split()) >= _VALUES:
            return True
        at = tag.end()
    return False


def _precise_guard(page: bytes, limits: ReadLimits) -> str:
    level = 0
    for closing, name in _TAG.findall(page):
        if name.lower() in _NEVER_DEEP:
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
    head, *pieces = _DROPPED.sub(" ", html).split("<")
    known: dict[str, tuple[bool, str, str]] = {}  # floods repeat themselves
    alone = _collapsed(head)  # the text of the block so far, while it is one piece
    parts = [head]
    for piece in pieces:
        found = known.get(piece)
        if found is None:
            found = _flat_piece(piece)
            if len(piece) < _FLAT_KNOWN:
                known[piece] = found
        ends, text, words = found
        if ends:
            if len(parts) > 1:
                alone = _collapsed("".join(parts))
            if alone:
                texts.append(alone)
            alone = words
            parts = [text]
        elif text:
            parts.append(text)
    alone = _collapsed("".join(parts))
    if alone:
        texts.append(alone)
    blocks = [
        Block(text=text, tag="p", path="body", slot=f"body[{n}]", script=script_of(text))
        for n, text in enumerate(_grouped(texts, limits.blocks))
    ]
    kept = sum(map(len, texts))
    return Reading(blocks=tuple(blocks), chars_seen=kept, chars_kept=kept, flags=tuple(flags))


_FLAT_KNOWN: Final = 60


def _flat_piece(piece: str) -> tuple[bool, str, str]:
    """What follows a "<": whether it is a tag that ends a block, and the text after the tag, as written and collapsed."""
    name, closed, text = piece.partition(">")
    if not closed or not name or not (name[0].isalpha() or name[0] in "/!?"):
        return False, "<" + piece, ""  # no tag after all
    if name in _FLAT_INLINE or name[:80].split(None, 1)[0].lower() in _FLAT_INLINE:
        return False, text, ""
    return True, text, _collapsed(text)


def _collapsed(text: str) -> str:
    return " ".join((entities.unescape(text) if "&" in text else text).split())


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
            try:
                found.update(n.mem_id for n in parser.css(selector))
            except SelectolaxError as err:
                raise ValueError(f"not a selector: {selector!r}") from err
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
        inside = _encoded(markup, limits, flags)
        if _guard(inside, limits):
            flags.append(Flag("depth-limited", "an embedded document was not read"))
            continue
        root = LexborHTMLParser(inside, options=_OPTIONS).root
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
    main, furniture, visible, link = Region.MAIN, Region.FURNITURE, Surface.VISIBLE, Surface.LINK
    triples: Iterable[tuple[Run, str, bool]]
    if extras:
        triples = _interleaved(outline, choice, extras)
    else:
        triples = zip(outline.runs, [run.box._path or run.box.path for run in outline.runs], choice.keep, strict=True)
    for run, path, kept in triples:
        text, surface, link_chars = run.text, run.surface, run.link_chars
        key = path if surface is visible else f"{path}>{surface}"
        number = counts.get(key, 0)
        counts[key] = number + 1
        hrefs = run.hrefs
        if hrefs:
            hrefs = tuple(filter(None, map(link_target, hrefs)))
        region = main if kept else furniture
        if text:
            script = "latin" if text.isascii() else script_of(text)
            density = min(1.0, link_chars / len(text)) if link_chars else 0.0
            slot, heading = f"{key}[{number}]", HEADINGS.get(run.tag, 0)
            drafts.append(
                Draft(text, run.tag, path, slot, region, surface, density, run.list_id, heading, lang, script, hrefs)
            )
        if hrefs:
            slot, target = f"{key}>link[{number}]", hrefs[0] if len(hrefs) == 1 else " ".join(hrefs)
            drafts.append(Draft(target, run.tag, path, slot, region, link, 1.0, run.list_id, 0, lang, "latin", hrefs))
    return freeze(drafts)


def _interleaved(
    outline: Outline, choice: Choice, extras: list[tuple[int, Box, list[Run]]]
) -> Iterator[tuple[Run, str, bool]]:
    """Runs, the paths of their places and whether they are main text, with embedded documents where they stand."""
    waiting = list(reversed(extras))
    kept = False
    for index, run in enumerate(outline.runs):
        kept = choice.keep[index]
        while waiting and waiting[-1][0] <= index:
            _, box, inner = waiting.pop()
            yield from ((part, f"{box.path}//{part.box.path}", kept) for part in inner)
        yield run, run.box.path, kept
    while waiting:
        _, box, inner = waiting.pop()
        yield from ((part, f"{box.path}//{part.box.path}", kept or not outline.runs) for part in inner)


def main_text_of(html: str, *, title: bool = True, limits: ReadLimits = _DEFAULT_LIMITS) -> str:
    """The visible text of the main region, a block a line: `read(html).main_text` without making the blocks.

    title: whether h1 headings are part of it.
    """
    page = _encoded(html, limits, [])
    if _guard(page, limits):
        return read(html, limits=limits).main_text
    _, outline = _walked(page)
    kept = zip(outline.runs, choose(outline).keep, strict=True)
    return "\n".join(
        r.text for r, keep in kept if keep and r.surface is Surface.VISIBLE and r.text and (title or r.tag != "h1")
    )
