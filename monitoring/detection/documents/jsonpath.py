"""A small language for places in JSON, a subset of RFC 9535: which values of a document are watched.

    $                    everything               $.data.items[0]      the first item
    $.data['a name']     any name                 $.items[*].price     of each item its price
    $.items[-1]          the last one             $.items[0:3]         the first three
    $..price             wherever it stands       $['a','b']           both

The leading `$` may be left out. There are no filters and no expressions: a path is data, it cannot run away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

MOST_STEPS: Final = 50
MOST_FOUND: Final = 50_000
MOST_VISITED: Final = 300_000

type Json = Any  # what `json.loads` gives: there is no closed type for it
type Key = str | int


class JsonPathError(ValueError):
    """A path that cannot be read; the message says where and what was expected."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One step: the keys, slices or wildcards (`None`) it takes, of the value or of everything below it."""

    wanted: tuple[Key | slice | None, ...]
    deep: bool = False


_NAME: Final = re.compile(r"[^\W\d][\w-]*")
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<star>\*)|(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<slice>(?:-?\d{1,9})?\s*:\s*(?:-?\d{1,9})?)|(?P<index>-?\d{1,9}))\s*(?P<end>[,\]])"
)


@lru_cache(maxsize=256)
def compile_path(path: str) -> tuple[_Step, ...]:
    """The steps of a path. Raises `JsonPathError` with a sentence."""
    at = 1 if path.startswith("$") else 0
    if at == 0 and path and path[0] not in ".[":
        path = f".{path}"
    steps: list[_Step] = []
    while at < len(path):
        if len(steps) >= MOST_STEPS:
            raise JsonPathError(f"The path has more than {MOST_STEPS} steps.")
        deep = path.startswith("..", at)
        if deep:
            at += 2
        elif path[at] == ".":
            at += 1
        elif path[at] != "[":
            raise JsonPathError(f"At character {at + 1}: expected “.” or “[”, found “{path[at]}”.")
        if path[at : at + 1] == "[":
            wanted, at = _bracket(path, at + 1)
        elif path[at : at + 1] == "*":
            wanted, at = (None,), at + 1
        elif found := _NAME.match(path, at):
            wanted, at = (found.group(),), found.end()
        else:
            raise JsonPathError(f"At character {at + 1}: expected a name, “*” or “[”.")
        steps.append(_Step(wanted, deep))
    return tuple(steps)


def _bracket(path: str, at: int) -> tuple[tuple[Key | slice | None, ...], int]:
    wanted: list[Key | slice | None] = []
    while True:
        found = _TOKEN.match(path, at)
        if found is None:
            raise JsonPathError(f"At character {at + 1}: expected a quoted name, a number, “*” or a range, then “]”.")
        at = found.end()
        if found["star"]:
            wanted.append(None)
        elif found["quoted"]:
            wanted.append(re.sub(r"\\(.)", r"\1", found["quoted"][1:-1]))
        elif found["slice"]:
            low, _, high = found["slice"].partition(":")
            wanted.append(slice(int(low) if low.strip() else None, int(high) if high.strip() else None))
        else:
            wanted.append(int(found["index"]))
        if found["end"] == "]":
            return tuple(wanted), at


def select(value: Json, path: str) -> list[tuple[tuple[Key, ...], Json]]:
    """The values at a path, each with the keys that lead to it, in the document's order; at most 50,000."""
    found: list[tuple[tuple[Key, ...], Json]] = [((), value)]
    visited = 0
    for step in compile_path(path):
        following: list[tuple[tuple[Key, ...], Json]] = []
        for keys, node in found:
            for below, inner in _below(keys, node) if step.deep else ((keys, node),):
                visited += 1
                if visited > MOST_VISITED:
                    raise JsonPathError("The path looks at too many values; name more of the way.")
                for match in _matches(below, inner, step):
                    following.append(match)
                    if len(following) > MOST_FOUND:
                        raise JsonPathError(f"The path finds more than {MOST_FOUND:,} values.")
        found = following
    return found


def _below(keys: tuple[Key, ...], node: Json) -> Iterator[tuple[tuple[Key, ...], Json]]:
    """The value and everything inside it, outer before inner."""
    stack = [(keys, node)]
    while stack:
        at, value = stack.pop()
        yield at, value
        stack.extend(((*at, key), inner) for key, inner in reversed(_members(value)))


def _members(value: Json) -> list[tuple[Key, Json]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        return list(enumerate(value))
    return []


def _matches(keys: tuple[Key, ...], node: Json, step: _Step) -> Iterator[tuple[tuple[Key, ...], Json]]:
    for wanted in step.wanted:
        if wanted is None:
            yield from (((*keys, key), inner) for key, inner in _members(node))
        elif isinstance(wanted, slice):
            if isinstance(node, list):
                yield from (((*keys, at), node[at]) for at in range(*wanted.indices(len(node))))
        elif isinstance(wanted, int):
            if isinstance(node, list) and -len(node) <= wanted < len(node):
                yield (*keys, wanted % len(node)), node[wanted]
        elif isinstance(node, dict) and wanted in node:
            yield (*keys, wanted), node[wanted]
