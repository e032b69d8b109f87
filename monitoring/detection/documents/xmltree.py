"""XML into a tree, within bounds: no document type reaches out, no entity is declared, no depth and no number runs away."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.entities import html5
from typing import Final
from xml.parsers import expat

from .faults import DocumentFault

MOST_DEPTH: Final = 200
MOST_ELEMENTS: Final = 200_000
MOST_ATTRIBUTES: Final = 300_000


@dataclass(slots=True)
class Element:
    """An element: local name, namespace, attributes (no namespace declarations), and its texts and elements in order."""

    name: str
    space: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    parts: list[Element | str] = field(default_factory=list)

    @property
    def children(self) -> list[Element]:
        """The elements directly inside."""
        return [part for part in self.parts if isinstance(part, Element)]

    @property
    def own_text(self) -> str:
        """The text directly inside, white space collapsed."""
        return " ".join(" ".join(part for part in self.parts if isinstance(part, str)).split())

    @property
    def text(self) -> str:
        """All text inside, white space collapsed."""
        pieces: list[str] = []
        stack: list[Element | str] = [self]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                pieces.append(part)
            else:
                stack.extend(reversed(part.parts))
        return " ".join("".join(pieces).split())

    def first(self, *names: str) -> Element | None:
        """The first child of one of these names, the names in order of preference."""
        for name in names:
            for child in self.children:
                if child.name.lower() == name:
                    return child
        return None


def parse_xml(text: str) -> Element:
    """The root element. Raises `DocumentFault`: `xml-broken`, `xml-entities` for a document that declares entities,
    `xml-too-large`.

    The parser is expat, which opens nothing by itself: an external document type is not fetched, an entity that it
    might declare stands as its name.
    """
    if _too_many(text):
        raise DocumentFault("xml-too-large", _TOO_LARGE)
    builder = _Builder()
    parser = builder.parser
    try:
        parser.Parse(text.removeprefix("\ufeff").encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        if error.code in _ENTITY_CODES:
            raise DocumentFault("xml-entities", _ENTITIES) from error
        sentence = f"The XML is not well formed: line {error.lineno}, column {error.offset + 1}: {expat.ErrorString(error.code)}."
        raise DocumentFault("xml-broken", sentence) from error
    if builder.root is None:
        raise DocumentFault("xml-broken", "The XML has no element.")
    return builder.root


def _too_many(text: str) -> bool:
    """Whether there are more tags or attributes than are parsed; counts comments and quoted text as well."""
    if text.count("<") - text.count("</") > 1.1 * MOST_ELEMENTS:
        return True
    return text.count('="') + text.count("='") > 1.1 * MOST_ATTRIBUTES


_TOO_LARGE: Final = f"The XML is nested deeper than {MOST_DEPTH} or has more than {MOST_ELEMENTS:,} elements."
_ENTITIES: Final = "The XML declares entities of its own, which are not expanded; it is not read."
_ENTITY_CODES: Final = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_RECURSIVE_ENTITY_REF,
        expat.errors.XML_ERROR_ENTITY_DECLARED_IN_PE,
        expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH,
    )
)


class _Builder:
    """Builds the tree from the parser's calls."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate("utf-8", namespace_separator="\x1f")
        self.parser.buffer_text = True
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.UseForeignDTD(False)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.EntityDeclHandler = self._declared
        self.parser.SkippedEntityHandler = self._skipped
        self.root: Element | None = None
        self._open: list[Element] = []
        self._elements = self._attributes = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        self._attributes += len(attributes)
        if len(self._open) >= MOST_DEPTH or self._elements > MOST_ELEMENTS or self._attributes > MOST_ATTRIBUTES:
            raise DocumentFault("xml-too-large", _TOO_LARGE)
        space, _, local = name.rpartition("\x1f")
        element = Element(local, space, {key.rpartition("\x1f")[2]: value for key, value in attributes.items()})
        if self._open:
            self._open[-1].parts.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, name: str) -> None:
        self._open.pop()

    def _data(self, text: str) -> None:
        if self._open:
            self._open[-1].parts.append(text)

    def _declared(self, *_: object) -> None:
        raise DocumentFault("xml-entities", _ENTITIES)

    def _skipped(self, name: str, is_parameter: bool) -> None:
        """A name that only the unread document type could explain: HTML's own names are known, others stay as written."""
        if not is_parameter:
            self._data(html5.get(f"{name};", f"&{name};"))
