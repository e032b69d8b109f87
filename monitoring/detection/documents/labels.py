"""Names for the parts of a list that stay the same when the list grows, shrinks or is put in another order."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

IDENTITIES: Final = ("id", "@id", "xml:id", "key", "code", "sku", "isbn", "number", "no", "slug", "name", "title", "href", "url")  # fmt: skip
"""Members that tell the parts of a list apart, the best first. Tokens made anew at each visit are not among them."""
ROW_CHARS: Final = 400
"""A part of a list with nothing but simple members, up to this size, is one block, like the row of a table."""

_PLAIN: Final = re.compile(r"[^\W\d][\w-]*")


def member(label: str, key: str) -> str:
    """The label of a member of an object: `items.price`, or `items["unit price"]`."""
    if _PLAIN.fullmatch(key):
        return f"{label}.{key}" if label else key
    return f"{label}[{json.dumps(key, ensure_ascii=False)}]"


def identified(candidates: Sequence[dict[str, str]]) -> list[str] | None:
    """What tells these parts apart, given their simple members: the values of the first identity that all have, each
    with another value. None when there is none.
    """
    if not candidates:
        return None
    for name in IDENTITIES:
        values = [members.get(name, "") for members in candidates]
        if all(values) and len(set(values)) == len(values) and max(map(len, values)) <= _LONGEST:
            return values
    return None


_LONGEST: Final = 200
