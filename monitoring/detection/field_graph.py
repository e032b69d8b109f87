"""Structured data of a page (JSON-LD and microdata) as plain trees, and the paths that point into them.

A path is `offers.price`, `@type=Product/offers.price` (only inside nodes of that type), with `[2]` for
one entry of an array; alternatives stand beside `|`, the first that gives something wins. Arrays and
@graph are looked through by themselves, and a bare `{"@id": ...}` is followed to the node it names.
Hostile input costs bounded work: size, depth and number of nodes are capped.
"""

from __future__ import annotations

import html as entities
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

SCRIPT_LIMIT = 2_000_000
DEPTH_LIMIT = 100
NODE_LIMIT = 20_000

Node = dict[str, Any]  # Any: JSON of a page, of any shape

_STEP = re.compile(r"([@\w:#$-]+)(?:\[(\d{1,4})\])?")
_PATH = re.compile(rf"(?:@type=([\w:.-]+)/)?({_STEP.pattern}(?:\.{_STEP.pattern})*)")


@dataclass(frozen=True, slots=True)
class Path:
    """One alternative: the type that the starting node must have ("" for any), and the steps from there."""

    type: str
    steps: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value found, and the node it stands in (where the currency of a price is)."""

    text: str
    node: Node


def parse_path(text: str) -> tuple[Path, ...]:
    """The alternatives of a path. ValueError, in a sentence, when one cannot be read."""
    paths = []
    for part in text.split("|"):
        found = _PATH.fullmatch(part.strip())
        if found is None:
            raise ValueError(
                f"The path “{part.strip()}” is not of the form offers.price or @type=Product/offers.price."
            )
        steps = tuple((s[1], int(s[2]) if s[2] else -1) for s in _STEP.finditer(found[2]))
        paths.append(Path(found[1] or "", steps))
    return tuple(paths)


def follow(paths: tuple[Path, ...], roots: list[Node]) -> list[Leaf]:
    """The leaves of the first alternative that leads anywhere, in page order."""
    nodes = list(_descendants(roots))
    by_id = {n["@id"]: n for n in reversed(nodes) if isinstance(n.get("@id"), str) and len(n) > 1}
    for path in paths:
        if path.type:
            starts = [n for n in nodes if _is_a(n, path.type)]
        else:
            starts = [r for r in roots if path.steps[0][0] in r] or [n for n in nodes if path.steps[0][0] in n]
        leaves = [leaf for start in starts for leaf in _walk(start, path.steps, by_id)]
        if leaves:
            return leaves[:NODE_LIMIT]
    return []


def _walk(start: Node, steps: tuple[tuple[str, int], ...], by_id: dict[str, Node]) -> list[Leaf]:
    holders: list[tuple[Any, Node]] = [(start, start)]
    for key, index in steps:
        reached: list[tuple[Any, Node]] = []
        for value, _ in holders:
            for node in _nodes_of(value, by_id):
                if key not in node:
                    continue
                inner = node[key]
                entries = inner if isinstance(inner, list) else [inner]
                chosen = entries if index < 0 else entries[index : index + 1]
                reached += [(entry, node) for entry in chosen]
        holders = reached[:NODE_LIMIT]
    return [Leaf(text, owner) for value, node in holders for text, owner in _texts(value, node, by_id) if text.strip()]


def _nodes_of(value: Any, by_id: dict[str, Node]) -> list[Node]:
    if isinstance(value, dict):
        return [_resolved(value, by_id)]
    if isinstance(value, list):
        return [_resolved(v, by_id) for v in value if isinstance(v, dict)]
    return []


def _resolved(node: Node, by_id: dict[str, Node]) -> Node:
    return by_id.get(str(node["@id"]), node) if set(node) == {"@id"} else node


_NAMING = ("@value", "name", "value", "price", "lowPrice", "text", "headline", "url", "@id")


def _texts(value: Any, node: Node, by_id: dict[str, Node]) -> list[tuple[str, Node]]:
    """The texts of a leaf; of an object, the member that names it."""
    if isinstance(value, list):
        return [
            pair for entry in value[:NODE_LIMIT] if not isinstance(entry, list) for pair in _texts(entry, node, by_id)
        ]
    if isinstance(value, dict):
        value = _resolved(value, by_id)
        for key in _NAMING:
            inner = value.get(key)
            if isinstance(inner, str | bool):
                return [(_scalar(inner), value)]
        return []
    return [] if value is None else [(_scalar(value), node)]


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_a(node: Node, wanted: str) -> bool:
    types = node.get("@type")
    named = types if isinstance(types, list) else [types]
    return any(isinstance(t, str) and re.split(r"[/#:]", t)[-1].lower() == wanted.lower() for t in named)


def _descendants(roots: list[Node]) -> Iterator[Node]:
    """Every object of the trees, outer before inner, in page order, up to the limits."""
    stack: list[tuple[Any, int]] = [(root, 0) for root in reversed(roots)]
    seen = 0
    while stack and seen < NODE_LIMIT:
        value, depth = stack.pop()
        seen += 1
        if isinstance(value, dict):
            yield value
            inner = list(value.values())
        else:
            inner = value
        if depth < DEPTH_LIMIT:
            stack += [(v, depth + 1) for v in reversed(inner) if isinstance(v, dict | list)]


# -- where the trees come from ------------------------------------------------------------


def jsonld(tree: LexborHTMLParser) -> list[Node]:
    """The objects of all JSON-LD scripts; members of @graph stand on their own. Broken scripts are left out."""
    roots: list[Node] = []
    for script in tree.css("script[type*='ld+json' i]"):
        roots += _top_level(_load(script.text() or ""))
    return roots


def _top_level(value: Any) -> list[Node]:
    roots: list[Node] = []
    queue = [value]
    while queue and len(roots) < NODE_LIMIT:
        item = queue.pop(0)
        if isinstance(item, list):
            queue = [*(i for i in item[:NODE_LIMIT] if isinstance(i, dict | list)), *queue][:NODE_LIMIT]
        elif isinstance(item, dict):
            graph = item.get("@graph")
            if isinstance(graph, list | dict):
                queue = [graph, *queue]
            if not isinstance(graph, list | dict) or len(item) > 2:
                roots.append({k: v for k, v in item.items() if k != "@graph"})
    return roots


_WRAPPING = re.compile(
    r"\A\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)|(?:-->|//\s*\]\]>|\]\]>|/\*\s*\]\]>\s*\*/)\s*\Z"
)


def _load(text: str) -> Any:
    """The JSON of a script, forgiving what browsers' readers forgive; None when it cannot be read.

    Numbers stay texts: 89.00 keeps its zeros, and 1e999999999 costs nothing.
    """
    if len(text) > SCRIPT_LIMIT or _depth(text) > DEPTH_LIMIT:
        return None
    text = _WRAPPING.sub("", text.replace("\x00", "").lstrip("\ufeff"))
    for attempt in (text, re.sub(r",(\s*[}\]])", r"\1", text), entities.unescape(text)):
        try:
            return json.loads(attempt, strict=False, parse_float=str, parse_int=str, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue
    return None


def _depth(text: str) -> int:
    """How deep the brackets nest; those inside strings count too, which errs towards refusing."""
    level = deepest = 0
    for bracket in re.findall(r"[\[{\]}]", text):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def microdata(tree: LexborHTMLParser) -> list[Node]:
    """The top-level items of the page as trees of the same shape as JSON-LD."""
    scopes = tree.css("[itemscope]")[:NODE_LIMIT]
    items: dict[int, Node] = {s.mem_id: _item(s) for s in scopes}
    roots = [items[s.mem_id] for s in scopes if "itemprop" not in s.attributes]
    for prop in tree.css("[itemprop]")[:NODE_LIMIT]:
        owner = _owner(prop, items)
        if owner is None:
            continue
        value: Any = items.get(prop.mem_id) if "itemscope" in prop.attributes else _property(prop)
        for name in (prop.attributes.get("itemprop") or "").split():
            owner.setdefault(name, []).append(value)
    return roots


def _item(scope: LexborNode) -> Node:
    kind = scope.attributes.get("itemtype") or ""
    return {"@type": kind.split()} if kind else {}


def _owner(prop: LexborNode, items: dict[int, Node]) -> Node | None:
    node = prop.parent
    for _ in range(DEPTH_LIMIT * 5):
        if node is None:
            return None
        if node.mem_id in items:
            return items[node.mem_id]
        node = node.parent
    return None


_ADDRESS = {
    "a": "href",
    "area": "href",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "object": "data",
    "time": "datetime",
    "meta": "content",
    "data": "value",
}


def _property(node: LexborNode) -> str:
    attributes = node.attributes
    if attributes.get("content") is not None:
        return attributes["content"] or ""
    special = _ADDRESS.get(node.tag or "")
    if special and attributes.get(special):
        return attributes[special] or ""
    return node.text(separator=" ") or ""
