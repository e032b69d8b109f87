"""Finding volatile fragments in folded text, in linear time.

One RE2 automaton looks for every row of the table at once, guards first. What it finds is then told
apart by class, on the short fragment only, so that the long scan needs no capture groups (which would
cost RE2 its fastest engine).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Protocol, cast

import re2

from .volatile_table import KEEP, KEEPS, ROWS, VOLATILE_VERSION, Row

__all__ = ["VOLATILE_VERSION", "Span", "find"]

FRAGMENT_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Span:
    """A volatile fragment: code points [start, end) of the folded text, and its class.

    Classes: clock, date, relative, counter, token, id, copyright, generated.
    """

    start: int
    end: int
    cls: str


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Pattern(Protocol):
    def finditer(self, text: bytes) -> Iterator[_Match]: ...
    def fullmatch(self, text: bytes) -> _Match | None: ...


def find(folded: str) -> tuple[Span, ...]:
    """The volatile fragments of folded text (see `normalise`), in order, without overlap.

    Only the first FRAGMENT_LIMIT candidates are looked at: no page has more, but for one that wants to
    keep the machine busy, and what lies beyond simply counts as text.
    """
    data = folded.encode("utf-8", "replace")
    spans: list[Span] = []
    at_byte = at_char = 0
    ascii_only = len(data) == len(folded)
    for match in islice(_everything().finditer(data), FRAGMENT_LIMIT):
        start, end = match.span()
        cls = _class_of(data[start:end])
        if cls == KEEP:
            continue
        if ascii_only:
            spans.append(Span(start, end, cls))
            continue
        first = at_char + len(data[at_byte:start].decode())
        last = first + len(data[start:end].decode())
        at_byte, at_char = end, last
        spans.append(Span(first, last, cls))
    return tuple(spans)


@lru_cache(maxsize=4096)
def _class_of(fragment: bytes) -> str:
    """The class of the first row that matches the whole fragment and whose condition holds."""
    for pattern, row in _rows():
        if pattern.fullmatch(fragment):
            if row.check and not _CHECKS[row.check](fragment[:_CHECKED].decode("utf-8", "ignore")):
                continue
            return row.cls
    return KEEP


@lru_cache(maxsize=1)
def _everything() -> _Pattern:
    return _compile("|".join(f"(?:{row.pattern})" for row in (*KEEPS, *ROWS)))


@lru_cache(maxsize=1)
def _rows() -> tuple[tuple[_Pattern, Row], ...]:
    return tuple((_compile(row.pattern), row) for row in (*KEEPS, *ROWS))


def _compile(pattern: str) -> _Pattern:
    options = re2.Options()
    options.max_mem = 32 << 20  # below 16 MB the automaton forgets its states as fast as it builds them
    options.never_capture = True
    options.log_errors = False
    return cast("_Pattern", re2.compile(pattern, options))


_CHECKED = 2_000
"""Bytes of a fragment that its condition looks at: one endless word must not cost seconds."""


def _letters_and_digits(text: str) -> bool:
    return any(c.isalpha() for c in text) and any(c.isdigit() for c in text)


def _scrambled(text: str) -> bool:
    """Whether letters and digits alternate as in a random string and not as in a number or a slug."""
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(text) if a.isalnum() and b.isalnum())
    return changes >= 5 and changes >= len(text) / 12


def _opaque_value(text: str) -> bool:
    """Whether what stands after the sign of a token is one: six characters or more, with a digit."""
    value = text.replace(":", "=").replace("#", "=").rpartition("=")[2].strip(" \"'")
    return len(value) >= 6 and any(c.isdigit() for c in value)


_CHECKS: dict[str, Callable[[str], bool]] = {
    "letters_and_digits": _letters_and_digits,
    "scrambled": _scrambled,
    "opaque_value": _opaque_value,
}
