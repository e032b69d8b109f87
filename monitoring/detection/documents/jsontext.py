"""JSON as blocks: one value a line, under the names that lead to it, in an order that no serialiser decides.

`{"b": 1, "a": {"x": [1, 2]}}` becomes `a.x[]: 1`, `a.x[]: 2`, `b: 1`. The order of keys is no text. A part of a list is
named by what identifies it (`items[7].price: 12.50`), so that a new one does not rename the others, and two parts that
swap their values are a change although their order is none. Numbers stand as they were written.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from monitoring.detection.blocks import Flag, Reading

from .drafts import Drafting, place_path
from .faults import DocumentFault
from .jsonpath import Json, JsonPathError, Key, select
from .labels import ROW_CHARS, identified, member
from .plain import read_coarsely

MOST_VALUES: Final = 300_000
MOST_DEPTH: Final = 100

_LOOKS_ELSE: Final = re.compile(r"(?:null|true|false|-?\d[\d.eE+-]*|\[\]|\{\}|\".*|\s.*|.*\s|)", re.DOTALL)


class _Number(str):
    """A number as it was written: 1.10 stays 1.10, and a long one loses no digit."""

    __slots__ = ()


def read_json(text: str, *, path: str = "") -> Reading:
    """The document, or what stands at `path`, as blocks.

    Raises `DocumentFault` for what is no JSON (`json-broken`) and for a path that finds nothing (`path-missing`). A
    document with more than 300,000 values or 100 levels is read as its lines, and a flag says so.
    """
    text = text.removeprefix("\ufeff")
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        return read_coarsely(text, Flag("nodes-limited", "too many values; compared line by line"))
    try:
        value = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=_object
        )
    except RecursionError:
        return read_coarsely(text, Flag("depth-limited", "nested too deeply; compared line by line"))
    except json.JSONDecodeError as error:
        raise DocumentFault(
            "json-broken", f"The JSON cannot be read: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    if _is_deep(value):
        return read_coarsely(text, Flag("depth-limited", "nested too deeply; compared line by line"))
    return _reading(value, path)


def _reading(value: Json, path: str) -> Reading:
    drafting = _Json()
    if not path or path == "$":
        drafting.value(value, "", "$")
        return drafting.reading()
    try:
        found = select(value, path)
    except JsonPathError as error:
        raise DocumentFault("path-missing", f"The JSON path {path} cannot be followed. {error}") from error
    if not found:
        raise DocumentFault("path-missing", f"The JSON path {path} finds nothing in this document.")
    for keys, inner in found:
        drafting.value(inner, _label(keys), f"$.{_label(keys)}")
    return drafting.reading()


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object by sorted names; a name that stands twice stays twice, so that nothing hides behind it."""
    found: dict[str, Json] = {}
    for key, value in sorted(pairs, key=lambda pair: pair[0]):
        number, name = 2, key
        while name in found:
            name, number = f"{key} ({number})", number + 1
        found[name] = value
    return found


def _is_deep(value: Json) -> bool:
    level, nodes = 0, [value]
    while nodes:
        level += 1
        if level > MOST_DEPTH:
            return True
        nodes = [
            inner
            for node in nodes
            if isinstance(node, dict | list)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
    return False


def _label(keys: tuple[Key, ...]) -> str:
    label = ""
    for key in keys:
        label = f"{label}[]" if isinstance(key, int) else member(label, key)
    return label


def _is_simple(value: Json) -> bool:
    return not value or not isinstance(value, dict | list)


def _shown(value: Any) -> str:  # Any: a value without parts
    """A value as it is read; a text that looks like something else stands in quotes."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if _LOOKS_ELSE.fullmatch(value[:200]) else value
    return json.dumps(value)  # null, true, false, and what is empty


class _Json(Drafting):
    """The walk over a document of bounded depth."""

    def __init__(self) -> None:
        super().__init__()
        self._lists = 0

    def value(self, value: Json, label: str, place: str, *, list_id: int = -1) -> None:
        """The blocks of a value. `label` is what a reader sees before it, `place` where it stands.

        `list_id` is that of the list around it: its parts may come in another order.
        """
        if _is_simple(value):
            self._leaf(value, label, place, list_id=list_id)
        elif isinstance(value, dict):
            for key, inner in value.items():
                self.value(inner, member(label, key), member(place, key), list_id=list_id)
        else:
            self._list(value, f"{label}[]", f"{place}[]")

    def _leaf(self, value: Json, label: str, place: str, *, list_id: int, tag: str = "p") -> None:
        text = _shown(value)
        for part in re.split(r"\n\s*\n", text) if isinstance(value, str) else (text,):
            self.add(
                f"{label}: {part}" if label and label != "[]" else part,
                place_path("json", place),
                tag=tag,
                place=place,
                list_id=list_id,
            )

    def _list(self, values: list[Json], label: str, place: str) -> None:
        self._lists += 1
        own = self._lists
        names = _names(values)
        for at, value in enumerate(values):
            if _is_simple(value):
                self._leaf(value, label, place, list_id=own, tag="li")
            elif names is not None:
                self.value(value, f"{label[:-1]}{names[at]}]", f"{place[:-1]}{names[at]}]", list_id=own)
            elif (row := _row(value)) is not None:
                self.add(
                    f"{label}: {row}" if label != "[]" else row,
                    place_path("json", place),
                    tag="li",
                    place=place,
                    list_id=own,
                )
            else:
                self.value(value, f"{label[:-1]}{at}]", f"{place[:-1]}{at}]")


def _names(values: list[Json]) -> list[str] | None:
    """A name for each part of a list of objects."""
    if not all(isinstance(value, dict) for value in values):
        return None
    members = [{k: _shown(v) for k, v in value.items() if isinstance(v, str) and v} for value in values]
    return identified(members)


def _row(value: Json) -> str | None:
    """A small part of a list as one line, None for one that is large or has parts of its own."""
    if isinstance(value, list):
        parts = [_shown(inner) for inner in value] if all(map(_is_simple, value)) else []
    else:
        parts = (
            [f"{key}: {_shown(inner)}" for key, inner in value.items()] if all(map(_is_simple, value.values())) else []
        )
    text = ", ".join(parts)
    return text if 0 < len(text) <= ROW_CHARS else None
