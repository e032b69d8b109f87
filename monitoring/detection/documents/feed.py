"""Feeds (RSS 0.9x, 1.0 and 2.0, Atom) as blocks: of each entry its title, date, text and link.

What a feed says about its own making (when it was built, by what, how long to wait) is for programs and is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from monitoring.detection.address import link_target
from monitoring.detection.blocks import Block, Reading, Surface
from monitoring.detection.read import read

from .drafts import Drafting
from .faults import DocumentFault
from .xmltree import Element, parse_xml

_TITLE: Final = ("title",)
_DATES: Final = ("pubdate", "published", "issued", "date", "updated", "modified")
_TEXTS: Final = ("encoded", "content", "summary", "description")
_PARAGRAPHS: Final = 60


def read_feed(text: str) -> Reading:
    """The feed as blocks, newest entry where the feed has it. Raises `DocumentFault`."""
    root = parse_xml(text)
    channel = root.first("channel") or root
    entries = [e for e in (*channel.children, *(root.children if channel is not root else ())) if e.name.lower() in ("item", "entry")]  # fmt: skip
    if not entries and root.name.lower() not in ("rss", "feed", "rdf"):
        raise DocumentFault(
            "feed-broken", f"A feed begins with rss, feed or RDF; this document begins with {root.name}."
        )
    drafting = Drafting()
    title = _first_text(channel, *_TITLE)
    drafting.add(title, "feed/title", tag="h1", heading=1)
    drafting.add(_plain(_first_text(channel, "description", "subtitle", "tagline")), "feed/description")
    for entry in entries:
        _entry(entry, drafting)
    lang = root.attributes.get("lang", "") or _first_text(channel, "language")
    return drafting.reading(title=title, lang=lang)


def _entry(entry: Element, drafting: Drafting) -> None:
    link = _link(entry)
    title = _plain(_first_text(entry, *_TITLE))
    place = f"feed/entry[{_first_text(entry, 'guid', 'id') or entry.attributes.get('about') or link or title}]"
    hrefs = tuple(filter(None, (link_target(link),))) if link else ()
    drafting.add(
        title or "(no title)",
        "feed/entry/title",
        tag="h3",
        heading=3,
        list_id=0,
        place=f"{place}/title",
        hrefs=hrefs,
    )
    if hrefs:
        drafting.add(
            hrefs[0], "feed/entry/title", tag="a", list_id=0, place=f"{place}/link", surface=Surface.LINK, hrefs=hrefs
        )
    drafting.add(_first_text(entry, *_DATES), "feed/entry/date", list_id=0, place=f"{place}/date")
    for paragraph in _paragraphs(entry.first(*_TEXTS)):
        drafting.add(paragraph, "feed/entry/text", list_id=0, place=f"{place}/text")


def _first_text(element: Element, *names: str) -> str:
    found = element.first(*names)
    return found.text if found is not None else ""


def _link(entry: Element) -> str:
    """Where an entry leads: Atom's alternate link, RSS's link, or a guid that is an address."""
    links = [child for child in entry.children if child.name.lower() == "link"]
    for child in links:
        if child.attributes.get("href") and child.attributes.get("rel", "alternate") == "alternate":
            return child.attributes["href"].strip()
    for child in links:
        if child.text:
            return child.text
    guid = entry.first("guid")
    if guid is not None and guid.attributes.get("isPermaLink", "true") == "true" and guid.text.startswith("http"):
        return guid.text
    return ""


def _plain(text: str) -> str:
    """A title without the markup that some feeds put into it."""
    if "<" not in text and "&" not in text:
        return text
    return " ".join(block.text for block in read(text).visible)


def _paragraphs(content: Element | None) -> list[str]:
    """The text of an entry as a reader sees it: markup in it is read as a page."""
    if content is None:
        return []
    text = content.text
    if "<" not in text and "&" not in text:
        return [text] if text else []
    blocks = [block.text for block in read(text).visible]
    if len(blocks) > _PARAGRAPHS:
        return [*blocks[:_PARAGRAPHS], " ".join(blocks[_PARAGRAPHS:])]
    return blocks


def within_window(old: Reading, new: Reading) -> Reading:
    """The old feed without the entries that fell off its end because new ones came.

    A feed shows its last few entries: each new one pushes out the oldest, which nobody took back. At most as many are
    left out as came, and only such as stand behind every entry that both have.
    """
    before, after = _entries(old), _entries(new)
    common = [key for key in before if key in after]
    came = len(after.keys() - before.keys())
    if not common or not came:
        return old
    order = list(before)
    tail = order[order.index(common[-1]) + 1 :]
    gone = set(tail[max(0, len(tail) - came) :])
    if not gone:
        return old
    blocks = tuple(block for block in old.blocks if _entry_of(block) not in gone)
    return replace(old, blocks=blocks)


def _entries(reading: Reading) -> dict[str, None]:
    """The entries of a feed in its order."""
    return dict.fromkeys(key for block in reading.blocks if (key := _entry_of(block)))


def _entry_of(block: Block) -> str:
    return block.slot.rpartition("/")[0] if block.path.startswith("feed/entry/") else ""
