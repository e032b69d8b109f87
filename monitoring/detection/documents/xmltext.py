"""XML as blocks: the text of each element under the names that lead to it, in the document's order."""

from __future__ import annotations

from collections import Counter

from monitoring.detection.blocks import Reading

from .drafts import Drafting, place_path
from .labels import ROW_CHARS, identified
from .xmltree import Element, parse_xml


def read_xml(text: str) -> Reading:
    """The document as blocks such as `book[7]/price [currency=EUR]: 12.50`. Raises `DocumentFault`.

    Names are local names, attributes stand sorted in brackets, comments and processing instructions are no text. Parts
    of a list are named as in JSON.
    """
    return xml_reading(parse_xml(text))


def xml_reading(root: Element) -> Reading:
    """The blocks of a parsed document."""
    drafting = _Xml()
    drafting.inside(root, "", root.name)
    if not drafting.blocks:
        drafting.add(_named(root, root.name, root.text), f"xml/{root.name}")
    lang = root.attributes.get("lang", "")
    title = root.first("title")
    return drafting.reading(title=title.text if title else root.name, lang=lang)


def _named(element: Element, label: str, text: str) -> str:
    attributes = ", ".join(f"{key}={' '.join(value.split())}" for key, value in sorted(element.attributes.items()))
    head = f"{label} [{attributes}]" if attributes else label
    return f"{head}: {text}" if text else head


class _Xml(Drafting):
    """The walk over a document of bounded depth."""

    def __init__(self) -> None:
        super().__init__()
        self._lists = 0

    def inside(self, element: Element, label: str, place: str, *, around: int = -1) -> None:
        """The blocks of what stands in an element; `around` is the list that it is a part of, if any."""
        if element.attributes and label == "":
            self.add(_named(element, element.name, ""), f"xml/{place}", place=place)
        children = element.children
        counts = Counter(child.name for child in children)
        names = {name: _names([c for c in children if c.name == name]) for name, count in counts.items() if count > 1}
        numbers: Counter[str] = Counter()
        self._lists += 1
        own = self._lists
        for child in children:
            at = numbers[child.name]
            numbers[child.name] += 1
            step = f"{label}/{child.name}" if label else child.name
            spot = f"{place}/{child.name}"
            several = counts[child.name] > 1
            list_id, tag = (own, "li") if several else (around, "p")
            if not child.children or child.own_text:
                self.add(_named(child, step, child.text), place_path("xml", spot), tag=tag, place=spot, list_id=list_id)
            elif several and names[child.name] is None and (row := _row(child)):
                self.add(_named(child, step, row), place_path("xml", spot), tag=tag, place=spot, list_id=list_id)
            else:
                mark = f"[{(names[child.name] or [])[at] if names[child.name] else at}]" if several else ""
                if child.attributes:
                    self.add(
                        _named(child, step + mark, ""), place_path("xml", spot), place=spot + mark, list_id=list_id
                    )
                self.inside(child, step + mark, spot + mark, around=list_id)


def _names(elements: list[Element]) -> list[str] | None:
    """A name for each of several elements of one name: by an attribute, or by a child that holds text alone."""
    members = []
    for element in elements:
        known = {child.name: child.text for child in reversed(element.children) if not child.children}
        members.append(known | {key: " ".join(value.split()) for key, value in element.attributes.items()})
    return identified(members)


def _row(element: Element) -> str | None:
    """A small element with simple ones inside as one line, None for others."""
    if any(child.children for child in element.children):
        return None
    text = ", ".join(_named(child, child.name, child.text) for child in element.children)
    return text if 0 < len(text) <= ROW_CHARS else None
