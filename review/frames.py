"""Captured pages for the sandboxed frame: a signed address, and the page made inert with its places marked.

The frame's response forbids scripts, requests and forms by policy. What is taken out here is the second line, and
keeps the page readable: it is a view for people, the evidence is the stored bytes.
"""

from __future__ import annotations

import html
import re
import secrets
from dataclasses import dataclass
from typing import Any

import re2
import webencodings
from bs4 import BeautifulSoup
from bs4.element import Comment, NavigableString, PreformattedString, Tag
from django.conf import settings
from django.core import signing
from django.urls import reverse
from django.utils.translation import gettext as _
from selectolax.lexbor import LexborHTMLParser

from monitoring.detection.blocks import Reading, page_of
from review.rendering import plain

SALT, TRIAL_SALT = "review.frame", "review.frame.selector"
LIFE_S = 1800
MAX_HTML_BYTES = 1_000_000
MAX_TAGS = 20_000
MAX_TEXT_CHARS = 1_000_000
MAX_ATTRIBUTES = 2_000  # of one tag: parsers compare each with all others
MAX_HITS = 2_000  # of a selector
MAX_DEPTH = 150  # work grows with tags times depth: nested deeper, a page is shown as its text

DROPPED = (
    "script", "iframe", "frame", "frameset", "object", "embed", "applet", "base", "link", "meta", "template", "svg",
    "video", "audio", "source", "track", "canvas", "portal", "param", "noframes",
)  # fmt: skip
UNWRAPPED = ("form", "dialog", "fencedframe")
KEPT_ATTRIBUTES = frozenset(
    [
        "class",
        "id",
        "style",
        "lang",
        "dir",
        "title",
        "alt",
        "colspan",
        "rowspan",
        "headers",
        "scope",
        "align",
        "valign",
        "width",
        "height",
        "hidden",
        "open",
        "start",
        "reversed",
        "type",
        "value",
        "placeholder",
        "label",
        "cite",
        "datetime",
        "border",
        "cellpadding",
        "cellspacing",
        "bgcolor",
        "color",
        "face",
        "size",
        "summary",
        "span",
        "checked",
        "selected",
        "disabled",
        "rows",
        "cols",
        "name",
    ]
)
BLOCK_TAGS = ("p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "tr", "dt", "dd", "blockquote", "pre",
              "figcaption", "caption", "summary", "div", "section", "article", "address", "span", "a", "time", "label")  # fmt: skip
SKIPPED_CHARS = re.compile(r"[\s·|•]+")

_BLANKS = re.compile(r"[\t\n\f\r/]+")
_WHOLE_TAG = re2.compile(r"""<[a-zA-Z](?:[^"'>]|"[^"]*"|'[^']*')*""")
# Ends of its own where a bracket or semicolon is missing: otherwise a flood of "url(" takes quadratic time.
OUTSIDE_CSS = re.compile(r"@import[^;]*;?|url\(\s*(?!['\"]?data:)[^)]*\)?", re.IGNORECASE)
STYLE = """
:where(body){margin:0;padding:12px 18px 60px;font:15px/1.6 system-ui,sans-serif;color:#222;background:#fff;overflow-wrap:anywhere}
:where(img){max-width:100%;height:auto}:where(table){border-collapse:collapse}:where(td,th){padding:4px 8px;border:1px solid #ddd;text-align:start}
mark.tl-del{background:#fbe3dc;color:#7a2a1c;padding:0 1px}mark.tl-ins{background:#d8f0e2;color:#14532d;padding:0 1px}
.tl-page{margin:22px 0 8px;padding-bottom:2px;border-bottom:1px solid #ddd;color:#666;font-size:12px}
.tl-place{position:relative;scroll-margin-top:38vh}.tl-place::before{content:"";position:absolute;left:-9px;top:2px;bottom:2px;border-left:3px solid #8a8f98}.tl-gap{display:block;height:0;border-top:2px dotted #8a8f98;margin:6px 0;scroll-margin-top:38vh}
.tl-hit{outline:3px solid #b45309;outline-offset:2px;background-color:#fff3d6;color:#222;scroll-margin-top:38vh}
.tl-place:target,.tl-gap:target{outline:2px solid #2f4f9e;outline-offset:5px;border-radius:3px}
"""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a frame address stands for: one snapshot of one change, for one person."""

    user: int
    change: int
    snapshot: int
    side: str  # "-" the prior one, "+" the new one


def frame_url(ticket: Ticket) -> str:
    """The signed address of a snapshot on the frames' host."""
    token = signing.dumps([ticket.user, ticket.change, ticket.snapshot, ticket.side], salt=SALT, compress=False)
    return settings.FRAME_ORIGIN + reverse("frame", args=[token], urlconf="review.frame_urls")


def read_ticket(token: str) -> Ticket:
    """The ticket in an address; raises BadSignature when it is forged or older than LIFE_S seconds."""
    user, change, snapshot, side = signing.loads(token, salt=SALT, max_age=LIFE_S)
    return Ticket(user=user, change=change, snapshot=snapshot, side=side)


@dataclass(frozen=True, slots=True)
class Trial:
    """What the address of a selector's trial stands for: a selector on one snapshot, for one person."""

    user: int
    snapshot: int
    selector: str


def trial_url(trial: Trial) -> str:
    """The signed address of a snapshot with what the selector matches, on the frames' host."""
    token = signing.dumps([trial.user, trial.snapshot, trial.selector], salt=TRIAL_SALT, compress=False)
    return settings.FRAME_ORIGIN + reverse("frame_trial", args=[token], urlconf="review.frame_urls")


def read_trial(token: str) -> Trial:
    """The trial in an address; raises BadSignature when it is forged or older than LIFE_S seconds."""
    user, snapshot, selector = signing.loads(token, salt=TRIAL_SALT, max_age=LIFE_S)
    return Trial(user=user, snapshot=snapshot, selector=selector)


def policy() -> str:
    """The frame's Content-Security-Policy."""
    return (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
        f"base-uri 'none'; frame-ancestors {settings.APP_ORIGIN}"
    )


def decode(body: bytes, charset: str) -> str:
    """The page's text by the charset that the fetch settled on; UTF-8 where it names none."""
    encoding = webencodings.lookup(charset or "utf-8") or webencodings.UTF8
    text, _used = webencodings.decode(body, encoding, errors="replace")
    return text


# --- places ----------------------------------------------------------------------------------------------------


def blocks_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Every block of a diff document in order, folds opened."""
    found: list[dict[str, Any]] = []
    for block in document.get("blocks", []):
        found.extend(block.get("blocks", []) if block.get("op") == "fold" else [block])
    return found


def _segments_of(block: dict[str, Any], side: str) -> list[list[str]]:
    """The block's text on one side as segments, exactly as the page has it; a rewritten block is one changed run."""
    if block.get("op") == "rewritten":
        text = "".join(s[1] for s in block.get("before" if side == "-" else "after", []))
        return [["=" if block.get("left_out") else side, text]]
    exact = 2 if side == "-" else 3
    segments = []
    for s in block.get("segments", []):
        if (s[3] if s[0] == "!" and len(s) > 3 else s[0]) not in ("=", side, "!"):
            continue
        if block.get("left_out"):
            segments.append(["=", s[1] if s[0] != "=" or len(s) < 4 else s[exact]])  # noise is never marked
        else:
            segments.append(["=", s[exact]] if s[0] == "=" and len(s) == 4 else s)
    return segments


def _key(text: str) -> str:
    return SKIPPED_CHARS.sub("", text)


def _changed_ranges(segments: list[list[str]], side: str) -> list[tuple[int, int]]:
    """Where the changed text stands, in characters that count (see SKIPPED_CHARS)."""
    ranges, position = [], 0
    for segment in segments:
        length = len(_key(segment[1]))
        segment_side = segment[3] if segment[0] == "!" and len(segment) > 3 else segment[0]
        if segment_side == side and length:
            ranges.append((position, position + length))
        position += length
    return ranges


def _ancestors_of(soup: BeautifulSoup, names: tuple[str, ...]) -> set[int]:
    """The ids of all elements that hold one with such a name at any depth; each is looked at once."""
    found: set[int] = set()
    for element in soup.find_all(names):
        for outer in element.parents:
            if id(outer) in found:
                break
            found.add(id(outer))
    return found


class _Index:
    """Elements by their text, found in document order so that equal paragraphs are told apart."""

    def __init__(self, soup: BeautifulSoup) -> None:
        self.by_text: dict[str, list[tuple[int, Tag]]] = {}
        outer = _ancestors_of(soup, ("p", "li", "h1", "h2", "h3", "div", "table", "section"))
        for number, element in enumerate(soup.find_all(BLOCK_TAGS)):
            if id(element) in outer:
                continue
            key = _key(element.get_text())
            if key:
                self.by_text.setdefault(key, []).append((number, element))
        self.position = -1

    def find(self, text: str) -> Tag | None:
        """The next element with this text after the last one found, else any; the outermost of equals."""
        candidates = self.by_text.get(_key(text), [])
        if not candidates:
            return None
        number, element = next((c for c in candidates if c[0] > self.position), candidates[0])
        self.position = max(self.position, number)
        return element


def _mark_ranges(soup: BeautifulSoup, element: Tag, ranges: list[tuple[int, int]], css: str) -> None:
    """Wrap the characters of the ranges in marks, across text nodes."""
    position, pending = 0, list(ranges)
    for node in [
        n for n in element.descendants if isinstance(n, NavigableString) and not isinstance(n, PreformattedString)
    ]:
        pieces: list[NavigableString | Tag] = []
        run, run_marked = "", False
        for char in str(node):
            counts = not SKIPPED_CHARS.fullmatch(char)
            while pending and position >= pending[0][1]:
                pending.pop(0)
            inside = bool(pending) and pending[0][0] <= position < pending[0][1]
            marked = inside if counts else run_marked and inside
            if marked != run_marked and run:
                pieces.append(_piece(soup, run, css if run_marked else ""))
                run = ""
            run_marked = marked
            run += char
            position += counts
        if run:
            pieces.append(_piece(soup, run, css if run_marked else ""))
        if any(isinstance(p, Tag) for p in pieces):
            node.replace_with(*pieces)


def _piece(soup: BeautifulSoup, text: str, css: str) -> NavigableString | Tag:
    if not css:
        return NavigableString(text)
    mark = soup.new_tag("mark", attrs={"class": css})
    mark.string = text
    return mark


def _classes(element: Tag) -> list[str]:
    return [str(name) for name in element.get_attribute_list("class") if name]


def _mark_places(soup: BeautifulSoup, document: dict[str, Any], side: str) -> None:
    index, last = _Index(soup), None
    css = "tl-del" if side == "-" else "tl-ins"
    for block in blocks_of(document):
        if block.get("surface", "visible") != "visible":
            continue
        segments = _segments_of(block, side)
        text = "".join(s[1] for s in segments)
        here = index.find(text) if text.strip() else None
        place = int(block.get("place") or 0)
        if here is None:
            if place and last is not None:
                last.insert_after(soup.new_tag("span", attrs={"class": "tl-gap", "id": f"p{place}"}))
            continue
        if place:
            here["id"] = f"p{place}"
            here["class"] = [*_classes(here), "tl-place"]
            _mark_ranges(soup, here, _changed_ranges(segments, side), css)
        last = here


# --- the page --------------------------------------------------------------------------------------------------


def _well_formed(text: str, *, selector: str = "", mark: str = "") -> str:
    """The page as a browser's parser writes it out again: html.parser takes minutes over a flood of tags without end.

    What the selector matches carries the attribute `mark`.
    """
    page = LexborHTMLParser(text)
    for node in page.css(selector)[:MAX_HITS] if selector else ():
        node.attrs[mark] = ""
    return page.html or ""


def _is_deep(soup: BeautifulSoup) -> bool:
    depths = {id(soup): 0}
    for element in soup.find_all(True):
        depth = depths[id(element.parent)] + 1
        if depth > MAX_DEPTH:
            return True
        depths[id(element)] = depth
    return False


def _clean(soup: BeautifulSoup) -> None:
    for node in soup.find_all(string=lambda text: isinstance(text, Comment)):
        node.extract()
    for element in soup.find_all(DROPPED):
        element.decompose()
    for element in soup.find_all(UNWRAPPED):
        element.unwrap()
    for element in soup.find_all(True):
        source = element.get("src", "")
        data_image = element.name == "img" and isinstance(source, str) and source.strip().startswith("data:image/")
        kept = {
            name: value
            for name, value in element.attrs.items()
            if name in KEPT_ATTRIBUTES or name.startswith("aria-") or name == "role"
        }
        if any(name.startswith("tl-") for name in _classes(element)):  # the page must not mark its own text as ours
            kept["class"] = [name for name in _classes(element) if not name.startswith("tl-")]
        if re.fullmatch(r"(p|to-|from-)\w*\d", str(kept.get("id", ""))):
            del kept["id"]  # the page's own ids must not stand in for our places
        if data_image:
            kept["src"] = source
        if "style" in kept:
            kept["style"] = OUTSIDE_CSS.sub("none", str(kept["style"]))
        if element.name == "style":
            element.string = OUTSIDE_CSS.sub("none", element.get_text())
        if element.name in ("input", "button", "select", "textarea"):
            kept["disabled"] = ""
        element.attrs = kept


def _page(title: str, lang: str, direction: str, head: str, body: str, body_attributes: str = "") -> str:
    return (
        f'<!doctype html><html lang="{html.escape(lang)}" dir="{html.escape(direction)}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>{head}'
        f"<style>{STYLE}</style></head><body{body_attributes}>{body}</body></html>"
    )


def prepare(body: bytes, *, charset: str, content_type: str, document: dict[str, Any], side: str, title: str) -> str:
    """The captured page as inert HTML with its changed places marked and reachable as #p1, #p2 and so on.

    A page that is no HTML, or too large to prepare while somebody waits, is shown as its extracted text.
    """
    found = _inert(body, charset=charset, content_type=content_type)
    if found is None:
        return extracted(document, side=side, title=title)
    soup, _hits = found
    _mark_places(soup, document, side)
    return _written(soup, title)


def matching(body: bytes, *, charset: str, content_type: str, selector: str, title: str) -> str | None:
    """The captured page as inert HTML with what a CSS selector matches outlined and reachable as #p1, #p2 and so on.

    The selector has to parse (`ignore.selector_fault`). None where the page is no HTML or too large.
    """
    found = _inert(body, charset=charset, content_type=content_type, selector=selector)
    if found is None:
        return None
    soup, hits = found
    for number, element in enumerate((one for one in hits if not one.decomposed), start=1):
        element["id"] = f"p{number}"
        element["class"] = [*_classes(element), "tl-hit"]
    return _written(soup, title)


def _inert(
    body: bytes, *, charset: str, content_type: str, selector: str = ""
) -> tuple[BeautifulSoup, list[Tag]] | None:
    """The page's cleaned tree and what the selector matches in it; None for no HTML and where that would take too long."""
    is_html = not content_type or "html" in content_type or "xml" in content_type
    if not is_html or len(body) > MAX_HTML_BYTES or body.count(b"<") > 2 * MAX_TAGS:
        return None
    text = decode(body, charset)
    if any(tag.group().count(" ") > MAX_ATTRIBUTES for tag in _WHOLE_TAG.finditer(_BLANKS.sub(" ", text))):
        return None
    mark = f"tl-{secrets.token_hex(8)}"  # no page knows it beforehand
    soup = BeautifulSoup(_well_formed(text, selector=selector, mark=mark), "html.parser")
    if _is_deep(soup):
        return None
    hits = soup.find_all(attrs={mark: True}) if selector else []
    _clean(soup)
    return soup, hits


def _written(soup: BeautifulSoup, title: str) -> str:
    """A cleaned tree as a page of ours."""
    styles = "".join(str(style.extract()) for style in soup.find_all("style"))
    root, inner = soup.find("html"), soup.find("body")
    lang = str(root.get("lang", "")) if isinstance(root, Tag) else ""
    direction = str(root.get("dir", "ltr")) if isinstance(root, Tag) else "ltr"
    if isinstance(inner, Tag):
        css = html.escape(" ".join(_classes(inner)))
        style = html.escape(str(inner.get("style", "")))
        attributes = (f' class="{css}"' if css else "") + (f' style="{style}"' if style else "")
        content = inner.decode_contents()
    else:
        for name in ("head", "title"):
            for element in soup.find_all(name):
                element.decompose()
        attributes, content = "", soup.decode_contents()
    return _page(title, lang, direction if direction in ("ltr", "rtl", "auto") else "ltr", styles, content, attributes)


def extracted(document: dict[str, Any], *, side: str, title: str) -> str:
    """The text of one side of a diff as a plain page, changed words marked."""
    css = "tl-del" if side == "-" else "tl-ins"
    parts = []
    page = 0
    for block in blocks_of(document):
        segments = _segments_of(block, side)
        place = int(block.get("place") or 0)
        if (at := int(block.get("page") or 0)) > page and plain(segments, side).strip():
            page = at
            parts.append(_page_head(page))
        if not plain(segments, side).strip():
            if place:
                parts.append(f'<span class="tl-gap" id="p{place}"></span>')
            continue
        words = "".join(
            f'<mark class="{css}">{html.escape(s[1])}</mark>'
            if (s[3] if s[0] == "!" and len(s) > 3 else s[0]) == side
            else html.escape(s[1])
            for s in segments
        )
        tag = f"h{min(6, max(1, int(block['heading'])))}" if block.get("heading") else "p"
        anchor = f' id="p{place}" class="tl-place"' if place else ""
        parts.append(f"<{tag}{anchor}>{words}</{tag}>")
    return _page(title, str(document.get("lang", "")), str(document.get("direction", "ltr")), "", "".join(parts))


def _page_head(number: int) -> str:
    return f'<p class="tl-page">{html.escape(_("Page %(number)s") % {"number": number})}</p>'


def as_text(reading: Reading, *, title: str) -> str:
    """A document that is no HTML, and that no diff shows, as its blocks: text alone, escaped."""
    parts: list[str] = []
    page = left = 0
    for block in reading.visible:
        left += len(block.text)
        if left > MAX_TEXT_CHARS:
            parts.append(f"<p>{html.escape(_('The rest is not shown; the stored bytes hold it.'))}</p>")
            break
        if (at := page_of(block.path)) > page:
            page = at
            parts.append(_page_head(page))
        tag = f"h{block.heading}" if block.heading else "p"
        parts.append(f"<{tag}>{html.escape(block.text)}</{tag}>")
    return _page(title, reading.lang, reading.direction, "", "".join(parts))


def notice(words: str) -> str:
    """A sentence as a page, where a snapshot can't be shown."""
    return _page(words, "", "ltr", "", f"<p>{html.escape(words)}</p>")
