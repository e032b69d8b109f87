"""Typed fields of a page, and what changed among them.

A field is a value somebody named: a price, a certificate list, an effective date. It changed or it did
not; `old -> new` is the alert's text. Fields come from JSON-LD, microdata, Open Graph, meta tags or a
CSS selector; each is read as its type (see `field_values`), so that "89,00 €" and "EUR 89.00" are equal
and the order of a list does not matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from . import field_graph as graph
from .blocks import Reading
from .field_values import (
    FieldType,
    FieldValue,
    clean,
    currency_code,
    parse_availability,
    parse_price,
    show_amount,
    typed,
)
from .ignore import selector_fault
from .normalise import normalise

__all__ = [
    "DEFAULT_FIELDS",
    "Contradiction",
    "EditState",
    "FieldEdit",
    "FieldSpec",
    "FieldSpecError",
    "FieldType",
    "FieldValue",
    "Source",
    "compare_fields",
    "contradictions",
    "extract_fields",
    "validate_spec",
]

NESTING_LIMIT = 4_000
MATCH_LIMIT = 2_000


class Source(StrEnum):
    """Where a field's text is taken from."""

    JSONLD = "jsonld"
    CSS = "css"
    META = "meta"
    MICRODATA = "microdata"
    OPENGRAPH = "opengraph"


class EditState(StrEnum):
    """What happened to a field."""

    CHANGED = "changed"
    VANISHED = "vanished"
    APPEARED = "appeared"


class FieldSpecError(ValueError):
    """A field that cannot be extracted as written; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field to extract.

    selector: a path for jsonld and microdata, a CSS selector for css, a name for meta and opengraph (with
    alternatives beside `|`). attribute: for css, the attribute to read in place of the text. important
    mails at once; review also opens a change, None means by type (on for text, date and list).
    """

    name: str
    source: Source | str
    selector: str
    attribute: str = ""
    type: FieldType | str = FieldType.TEXT
    important: bool = False
    review: bool | None = None

    @property
    def opens_change(self) -> bool:
        """Whether a change of this field also goes to the review queue."""
        if self.review is not None:
            return self.review
        return self.type in (FieldType.TEXT, FieldType.DATE, FieldType.LIST)


@dataclass(frozen=True, slots=True)
class FieldEdit:
    """One field that changed; `text` is the alert: "price: 89.00 -> 79.00"."""

    name: str
    state: EditState
    old: FieldValue | None
    new: FieldValue | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    text: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        """What `text` says, as plain values for a sentence in another language.

        Always `state`; of a list that changed `removed`, `added` (some of them) and `more` (how many beside them);
        else `before` and `after`, where they are: a text, or the number of entries of a list.
        """
        if self.state == EditState.CHANGED and (self.removed or self.added):
            removed, added, more = _some(self.removed, self.added)
            return {"state": str(self.state), "removed": removed, "added": added, "more": more}
        before, after = _sides(self.old, self.new)
        sides = {"before": before, "after": after}
        return {"state": str(self.state), **{name: value for name, value in sides.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A field whose structured data says one thing and the visible page another."""

    name: str
    said: str
    seen: str
    text: str


# -- rules --------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_ATTRIBUTE = re.compile(r"[A-Za-z_:][A-Za-z0-9_.:-]{0,59}")


def validate_spec(spec: FieldSpec) -> None:
    """Nothing, or FieldSpecError with a sentence that names what is wrong."""
    if not _NAME.fullmatch(spec.name):
        raise FieldSpecError(
            f"The field name “{spec.name[:60]}” may hold letters, digits, hyphens and underscores only."
        )
    if spec.source not in Source:
        raise FieldSpecError(f"“{spec.source}” is not a source; choose one of {', '.join(Source)}.")
    if spec.type not in FieldType:
        raise FieldSpecError(f"“{spec.type}” is not a type; choose one of {', '.join(FieldType)}.")
    if not spec.selector.strip():
        raise FieldSpecError(f"The field {spec.name} says nothing about where to look.")
    if spec.attribute and spec.source != Source.CSS:
        raise FieldSpecError("An attribute can be read with a CSS selector only.")
    if spec.attribute and not _ATTRIBUTE.fullmatch(spec.attribute):
        raise FieldSpecError(f"“{spec.attribute[:60]}” is not the name of an attribute.")
    fault = _selector_fault(spec)
    if fault:
        raise FieldSpecError(fault)


def _selector_fault(spec: FieldSpec) -> str:
    if spec.source == Source.CSS:
        return selector_fault(spec.selector)
    if spec.source in (Source.JSONLD, Source.MICRODATA):
        try:
            graph.parse_path(spec.selector)
        except ValueError as err:
            return str(err)
        return ""
    bad = next((n for n in _names(spec) if not re.fullmatch(r"[\w.:-]{1,100}", n)), None)
    return "" if bad is None else f"“{bad[:60]}” is not the name of a meta tag."


def _names(spec: FieldSpec) -> list[str]:
    return [part.strip() for part in spec.selector.split("|")]


# -- extraction -----------------------------------------------------------------------------


def extract_fields(
    html: str, specs: Sequence[FieldSpec], *, tree: LexborHTMLParser | None = None, lang: str = ""
) -> dict[str, FieldValue]:
    """The fields that the page has, by name; a field it does not have is not in the result.

    tree: the page already parsed, to save the parse. lang: the page's language, by default what its root
    says. A page nested too deep to parse in linear time has no fields. A rule that does not parse gives
    nothing (it was refused when it was saved).
    """
    if tree is None:
        if not specs or _too_deep(html):
            return {}
        tree = LexborHTMLParser(html)
    page = _Page(tree, lang)
    found: dict[str, FieldValue] = {}
    for spec in specs:
        if spec.source not in Source or spec.type not in FieldType:
            continue
        value = _EXTRACTORS[Source(spec.source)](page, spec)
        if value is not None:
            found.setdefault(spec.name, value)
    return found


class _Page:
    """A parsed page; each kind of structured data is read once, when first asked for."""

    def __init__(self, tree: LexborHTMLParser, lang: str) -> None:
        self.tree = tree
        root = tree.root
        self.lang = lang or ((root.attributes.get("lang") or "") if root is not None else "")
        self._graphs: dict[Source, list[graph.Node]] = {}
        self._meta: dict[str, list[str]] | None = None

    def graph(self, source: Source) -> list[graph.Node]:
        if source not in self._graphs:
            reader = graph.jsonld if source is Source.JSONLD else graph.microdata
            self._graphs[source] = reader(self.tree)
        return self._graphs[source]

    @property
    def meta(self) -> dict[str, list[str]]:
        if self._meta is None:
            self._meta = {}
            for node in self.tree.css("meta")[:MATCH_LIMIT]:
                names = {node.attributes.get(a) or "" for a in ("name", "property", "itemprop", "http-equiv")}
                for name in sorted(n.lower() for n in names if n):
                    self._meta.setdefault(name, []).append(node.attributes.get("content") or "")
        return self._meta


def _from_graph(page: _Page, spec: FieldSpec) -> FieldValue | None:
    try:
        paths = graph.parse_path(spec.selector)
    except ValueError:
        return None
    leaves = graph.follow(paths, page.graph(Source(spec.source)))
    if not leaves:
        return None
    currency = _currency_of(leaves[0].node) if spec.type == FieldType.PRICE else ""
    return typed([leaf.text for leaf in leaves], FieldType(spec.type), currency=currency, machine=True, lang=page.lang)


def _currency_of(node: graph.Node) -> str:
    for key in ("priceCurrency", "currency"):
        value = node.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str):
            return value
    return ""


def _from_meta(page: _Page, spec: FieldSpec) -> FieldValue | None:
    return _from_names(page, spec, _names(spec))


def _from_opengraph(page: _Page, spec: FieldSpec) -> FieldValue | None:
    names = [n if ":" in n and not n.startswith("price") else f"og:{n}" for n in _names(spec)]
    return _from_names(page, spec, [*names, *_names(spec)])


def _from_names(page: _Page, spec: FieldSpec, names: list[str]) -> FieldValue | None:
    for name in names:
        texts = [t for t in page.meta.get(name.lower(), []) if t.strip()]
        if not texts and name.lower() == "title":
            texts = [n.text() for n in page.tree.css("head > title")[:1] if n.text().strip()]
        if texts:
            beside = re.sub(r":amount$", "", name.lower()) + ":currency"
            currency = next(iter(page.meta.get(beside, [])), "") if spec.type == FieldType.PRICE else ""
            return typed(texts, FieldType(spec.type), currency=currency, machine=True, lang=page.lang)
    return None


def _from_css(page: _Page, spec: FieldSpec) -> FieldValue | None:
    if selector_fault(spec.selector):
        return None
    nodes = page.tree.css(spec.selector)[:MATCH_LIMIT]
    if spec.type == FieldType.LIST:
        nodes = _entries(nodes) if not spec.attribute else nodes
    texts = [t for t in (_text_of(node, spec.attribute) for node in nodes) if t]
    if not texts:
        # An empty list is a value: its last entry was removed, while the list still stands.
        return typed([], FieldType.LIST) if nodes and spec.type == FieldType.LIST else None
    machine = bool(spec.attribute) and spec.attribute != "title"
    return typed(texts, FieldType(spec.type), machine=machine, lang=page.lang)


def _entries(nodes: list[LexborNode]) -> list[LexborNode]:
    """The entries of the lists and tables that a selector matched; other elements are entries themselves."""
    entries: list[LexborNode] = []
    for node in nodes:
        inner = "li" if node.tag in ("ul", "ol") else "tr" if node.tag in ("table", "tbody") else ""
        rows = node.css(inner) if inner else []
        if inner == "tr":
            rows = [row for row in rows if row.css_first("td") is not None] or rows
        entries += rows or [node]
    return entries[:MATCH_LIMIT]


def _text_of(node: LexborNode, attribute: str) -> str:
    if attribute:
        return clean(node.attributes.get(attribute) or "")
    if node.tag == "meta":
        return clean(node.attributes.get("content") or "")
    if node.tag in ("input", "data"):
        return clean(node.attributes.get("value") or "")
    if node.tag == "tr":
        return " · ".join(filter(None, (clean(cell.text(separator=" ")) for cell in node.css("td, th"))))
    return clean(node.text(separator=" "))


_EXTRACTORS: dict[Source, Callable[[_Page, FieldSpec], FieldValue | None]] = {
    Source.JSONLD: _from_graph,
    Source.MICRODATA: _from_graph,
    Source.META: _from_meta,
    Source.OPENGRAPH: _from_opengraph,
    Source.CSS: _from_css,
}


def _too_deep(html: str) -> bool:
    """Whether the markup might nest deeper than the parser can take in linear time. Errs towards yes."""
    if html.count("<") <= NESTING_LIMIT:
        return False
    level = 0
    for closing, name in _TAG.findall(_without_scripts(html)):
        if name.lower() in _NEVER_DEEP:
            continue
        level = max(0, level - 1) if closing else level + 1
        if level > NESTING_LIMIT:
            return True
    return False


_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]{0,30})")
# Void elements, and those that the next of their kind ends.
_NEVER_DEEP = frozenset(
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


def _without_scripts(html: str) -> str:
    """The markup without its scripts, whose comparisons look like tags."""
    kept: list[str] = []
    at = 0
    while (start := html.find("<script", at)) >= 0:
        end = html.find("</script", start)
        if end < 0:
            break
        kept.append(html[at:start])
        at = end + 9
    kept.append(html[at:])
    return "".join(kept)


# -- comparison -----------------------------------------------------------------------------


def compare_fields(
    old: Mapping[str, FieldValue], new: Mapping[str, FieldValue], specs: Iterable[FieldSpec]
) -> list[FieldEdit]:
    """What changed, in the order of the specs; a field absent on both sides says nothing."""
    edits: list[FieldEdit] = []
    for name in dict.fromkeys(spec.name for spec in specs):
        edit = edit_of(name, old.get(name), new.get(name))
        if edit is not None:
            edits.append(edit)
    return edits


def edit_of(name: str, old: FieldValue | None, new: FieldValue | None) -> FieldEdit | None:
    """How one field differs; None where it does not."""
    if old is None and new is None:
        return None
    if new is None and old is not None:
        text = f"{name}: {_shown(old)} -> no longer on the page"
        return FieldEdit(name, EditState.VANISHED, old, None, removed=old.items, text=text)
    if old is None and new is not None:
        text = f"{name}: not on the page -> {_shown(new)}"
        return FieldEdit(name, EditState.APPEARED, None, new, added=new.items, text=text)
    if old is None or new is None or _equal(old, new):
        return None
    if FieldType.LIST in (old.type, new.type):
        return _compare_lists(name, old, new)
    before, after = _sides(old, new)
    return FieldEdit(name, EditState.CHANGED, old, new, text=f"{name}: {before} -> {after}")


def _sides(old: FieldValue | None, new: FieldValue | None) -> tuple[str | int | None, str | int | None]:
    """Both values as they are told: a number for the entries of a list, an amount with its currency where that differs."""
    if old is not None and new is not None and FieldType.LIST not in (old.type, new.type):
        same_currency = old.currency == new.currency or not old.currency or not new.currency
        return (_short(old.canonical), _short(new.canonical)) if same_currency else (_shown(old), _shown(new))
    before, after = (
        None if v is None else len(v.items) if v.type is FieldType.LIST else _short(str(v.value)) for v in (old, new)
    )
    return before, after


def _compare_lists(name: str, old: FieldValue, new: FieldValue) -> FieldEdit | None:
    before, after = Counter(_entries_of(old)), Counter(_entries_of(new))
    added, removed = tuple((after - before).elements()), tuple((before - after).elements())
    if not added and not removed:
        return None
    gone, come, more = _some(removed, added)
    parts = [f"removed “{e}”" for e in gone] + [f"added “{e}”" for e in come]
    text = f"{name}: " + ", ".join(parts) + (f" and {more} more" if more else "")
    return FieldEdit(name, EditState.CHANGED, old, new, added, removed, text)


def _some(removed: Sequence[str], added: Sequence[str]) -> tuple[list[str], list[str], int]:
    """The first entries of both, cut to a readable length, and how many there are beside them."""
    gone, come = [_short(e) for e in removed[:5]], [_short(e) for e in added[:5]]
    return gone, come, len(removed) + len(added) - len(gone) - len(come)


def _entries_of(value: FieldValue) -> tuple[str, ...]:
    return value.items if value.type is FieldType.LIST else (value.canonical,)


def _equal(old: FieldValue, new: FieldValue) -> bool:
    """Equal as a reader of the field would say: numbers by amount, a currency that one side lacks is no change."""
    if FieldType.LIST in (old.type, new.type):
        return Counter(_entries_of(old)) == Counter(_entries_of(new))
    if old.currency and new.currency and old.currency != new.currency:
        return False
    if old.canonical == new.canonical:
        return True
    if not (old.parsed and new.parsed) or old.type not in (FieldType.NUMBER, FieldType.PRICE):
        return False
    try:
        return Decimal(old.canonical) == Decimal(new.canonical)
    except InvalidOperation:
        return False


def _shown(value: FieldValue) -> str:
    if value.type is FieldType.LIST:
        return f"{len(value.items)} entries"
    return _short(str(value.value)) or "empty"


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"


# -- contradictions ---------------------------------------------------------------------------

_VISIBLE_PRICE = re.compile(
    r"(?:[$€£¥₩₹]|\b(?:eur|usd|gbp|chf|pln|jpy))\s?\d[\d.,' ]{0,20}|\d[\d.,' ]{0,20}(?:\s?(?:[€£$円元원]|zł|kč|kr\b)|\s(?:eur|usd|gbp|chf|pln)\b)",
    re.IGNORECASE,
)


def contradictions(
    values: Mapping[str, FieldValue], specs: Iterable[FieldSpec], reading: Reading
) -> list[Contradiction]:
    """Fields from structured data that the visible page denies.

    Only prices and availability are held against the text: a price is denied when the main text shows
    prices and none is this one; being in stock is denied by a short line that says otherwise. Silence of
    the page is no contradiction.
    """
    found: list[Contradiction] = []
    for spec in specs:
        value = values.get(spec.name)
        if value is None or spec.source == Source.CSS or not value.parsed:
            continue
        denial = _denied_price(value, reading) if value.type is FieldType.PRICE else _denied_stock(value, reading)
        if denial:
            text = f"{spec.name}: structured data says {_shown(value)}, the page shows {denial}"
            found.append(Contradiction(spec.name, _shown(value), denial, text))
    return found


def _denied_price(value: FieldValue, reading: Reading) -> str:
    shown = [parse_price(m.group()) for m in _VISIBLE_PRICE.finditer(reading.main_text[:50_000])]
    prices = [(amount, code) for amount, code in shown if amount is not None]
    said = Decimal(value.canonical)
    if not prices or any(amount == said for amount, _ in prices):
        return ""
    amount, code = prices[0]
    return f"{show_amount(amount)} {currency_code(code)}".strip()


def _denied_stock(value: FieldValue, reading: Reading) -> str:
    if value.type is not FieldType.AVAILABILITY or value.canonical not in ("in stock", "out of stock"):
        return ""
    lines = [normalise(b.text) for b in reading.visible if len(b.text) <= 60]
    states = [(line, parse_availability(line)) for line in lines]
    stated = [(line, state) for line, state in states if state in ("in stock", "out of stock", "discontinued")]
    if not stated or any(state == value.canonical for _, state in stated):
        return ""
    return f"“{stated[0][0]}”"


# -- what a page type starts with -----------------------------------------------------------------

DEFAULT_FIELDS: dict[str, tuple[FieldSpec, ...]] = {
    "product": (
        FieldSpec("title", Source.JSONLD, "@type=Product/name", type=FieldType.TEXT),
        FieldSpec(
            "price",
            Source.JSONLD,
            "@type=Product/offers.price | @type=Product/offers.lowPrice | @type=Product/offers.priceSpecification.price | @type=Offer/price",
            type=FieldType.PRICE,
            important=True,
        ),
        FieldSpec(
            "currency", Source.JSONLD, "@type=Product/offers.priceCurrency | @type=Offer/priceCurrency", review=False
        ),
        FieldSpec(
            "availability",
            Source.JSONLD,
            "@type=Product/offers.availability | @type=Offer/availability",
            type=FieldType.AVAILABILITY,
        ),
    ),
    "certificate-list": (
        FieldSpec(
            "certificates",
            Source.CSS,
            "main table, main ul.certificates, #certificates ul, #certificates table, .certificates table, ul.certificates",
            type=FieldType.LIST,
            important=True,
        ),
        FieldSpec("title", Source.CSS, "h1", type=FieldType.TEXT),
    ),
    "policy": (
        FieldSpec("title", Source.CSS, "h1", type=FieldType.TEXT),
        FieldSpec(
            "modified",
            Source.META,
            "article:modified_time | last-modified | dcterms.modified | date.modified",
            type=FieldType.DATE,
        ),
        FieldSpec("date-modified", Source.JSONLD, "@type=WebPage/dateModified | dateModified", type=FieldType.DATE),
    ),
}
"""The fields that monitors of a page type start with; a monitor can override each by name."""
