"""Keyset paging: any depth costs the same, and a shrinking list doesn't skip rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core import signing
from django.db import models

SALT = "review.keyset"


@dataclass(frozen=True, slots=True)
class Order:
    """Columns of a total order, the last one unique; a leading minus means descending."""

    columns: tuple[str, ...]

    @property
    def reversed(self) -> Order:
        """The same order backwards."""
        return Order(tuple(name[1:] if name.startswith("-") else f"-{name}" for name in self.columns))

    def key(self, row: Any) -> tuple[Any, ...]:
        """The row's place in the order: the values of the columns (`a__b` follows a relation)."""
        values = []
        for name in self.columns:
            value = row
            for part in name.lstrip("-").split("__"):
                value = getattr(value, part)
            values.append(value)
        return tuple(values)


def after[M: models.Model](rows: models.QuerySet[M], order: Order, key: Sequence[Any]) -> models.QuerySet[M]:
    """The rows strictly after `key`, in order.

    Written as one bound on the first column and exclusions within it, which both databases answer from the index;
    the textbook chain of ORs is as slow as an offset.
    """
    first, *more = order.columns
    bound = ("lt" if first.startswith("-") else "gt") + ("e" if more else "")
    rows = rows.filter(**{f"{first.lstrip('-')}__{bound}": key[0]})
    equal: dict[str, Any] = {first.lstrip("-"): key[0]}
    for index, (name, value) in enumerate(zip(order.columns[1:], key[1:], strict=True), start=1):
        last = index == len(order.columns) - 1
        passed = ("gt" if name.startswith("-") else "lt") + ("e" if last else "")
        rows = rows.exclude(**equal, **{f"{name.lstrip('-')}__{passed}": value})
        equal[name.lstrip("-")] = value
    return rows.order_by(*order.columns)


def to_cursor(key: Sequence[Any]) -> str:
    """A key as signed text for an address."""
    return signing.dumps([{"t": v.isoformat()} if isinstance(v, datetime) else v for v in key], salt=SALT)


def from_cursor(text: str, order: Order) -> tuple[Any, ...] | None:
    """The key of a cursor, or None where it was tampered with or belongs to another order."""
    try:
        values = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        return None
    if not isinstance(values, list) or len(values) != len(order.columns):
        return None
    return tuple(datetime.fromisoformat(v["t"]) if isinstance(v, dict) else v for v in values)


@dataclass(frozen=True, slots=True)
class Page[M: models.Model]:
    """Some rows in order, and the cursors to the ones around them (empty where there are none)."""

    rows: list[M]
    older: str
    newer: str

    def addresses(self, base: str, kept: Mapping[str, str]) -> dict[str, str]:
        """`older` and `newer` as addresses of the list at `base` that keep its other parameters; empty where there is no more."""
        cursors = {"older": ("after", self.older), "newer": ("before", self.newer)}
        return {
            name: f"{base}?{urlencode({**kept, parameter: cursor})}" if cursor else ""
            for name, (parameter, cursor) in cursors.items()
        }


def page[M: models.Model](
    rows: models.QuerySet[M], order: Order, *, size: int, after_cursor: str = "", before_cursor: str = ""
) -> Page[M]:
    """`size` rows after or before a cursor; from the start where neither is given or readable."""
    key_after = from_cursor(after_cursor, order) if after_cursor else None
    key_before = from_cursor(before_cursor, order) if before_cursor else None
    if key_before is not None:
        found = list(after(rows, order.reversed, key_before)[: size + 1])
        more_newer, found = len(found) > size, found[:size][::-1]
        return Page(
            found,
            older=to_cursor(order.key(found[-1])) if found else "",
            newer=to_cursor(order.key(found[0])) if found and more_newer else "",
        )
    selected = after(rows, order, key_after) if key_after is not None else rows.order_by(*order.columns)
    found = list(selected[: size + 1])
    more, found = len(found) > size, found[:size]
    return Page(
        found,
        older=to_cursor(order.key(found[-1])) if found and more else "",
        newer=to_cursor(order.key(found[0])) if found and key_after is not None else "",
    )


def walk[M: models.Model](rows: models.QuerySet[M], order: Order, *, most: int, size: int = 1_000) -> Iterator[M]:
    """The first `most` rows in order, `size` a query: whoever takes long over them keeps no read of the database open."""
    selected = rows.order_by(*order.columns)
    while most > 0:
        found = list(selected[: min(size, most)])
        yield from found
        if len(found) < size:
            return
        most -= len(found)
        selected = after(rows, order, order.key(found[-1]))
