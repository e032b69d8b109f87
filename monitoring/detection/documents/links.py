"""The link that a person chose on a page: the first element that the selector matches and that leads somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

_MOST_TAGS: Final = 150_000
_MOST_ATTRIBUTES: Final = 60_000
_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link of a page: its text, its target as written, and the address that this makes on the page."""

    text: str
    href: str
    target: str


def first_link(html: str, selector: str, *, page_url: str) -> PageLink | None:
    """The first link that the selector matches, or holds, or stands in; None when there is none.

    Only http and https count; a page with more markup than any that people read has no link. Raises ValueError for a
    selector that does not parse.
    """
    if html.count("<") > _MOST_TAGS or html.count("=") > _MOST_ATTRIBUTES:
        return None
    tree = LexborHTMLParser(html)
    base = _base(tree, page_url)
    try:
        matches = tree.css(selector)
    except SelectolaxError as error:
        raise ValueError(f"not a selector: {selector!r}") from error
    for match in matches:
        for node in _links(match):
            href = (node.attributes.get("href") or "").strip()
            target = _joined(base, href)
            if target:
                return PageLink(" ".join(node.text().split())[:_TEXT], href[:2000], target)
    return None


def _links(node: LexborNode) -> list[LexborNode]:
    """The element itself where it is a link, else the links inside, else the one around it."""
    if node.attributes.get("href"):
        return [node]
    if inside := node.css("a[href], area[href]"):
        return list(inside)
    around = node.parent
    while around is not None:
        if around.tag == "a" and around.attributes.get("href"):
            return [around]
        around = around.parent
    return []


def _base(tree: LexborHTMLParser, page_url: str) -> str:
    node = tree.css_first("base[href]")
    href = (node.attributes.get("href") or "") if node is not None else ""
    return _joined(page_url, href) or page_url


def _joined(base: str, href: str) -> str:
    """The absolute address without its fragment, "" for what is none of the web's."""
    if not href or href.startswith("#"):
        return ""
    try:
        target = urljoin(base, href)
        scheme = urlsplit(target).scheme
    except ValueError:
        return ""
    return target.partition("#")[0] if scheme in ("http", "https") else ""
