"""Text that only repeats what a field says: the visible price beside the price in the structured data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from .blocks import Reading
from .field_values import FieldType, FieldValue, parse_availability, parse_price
from .fields import FieldEdit
from .judgement import Edit, EditKind
from .normalise import normalise

_NUMBER = re.compile(r"\d(?:[\d.,'’   ]*\d)?")
_SHORT = 60  # characters; longer text says more than whether a thing is to be had


def only_echoes(edits: Sequence[Edit], old: Reading, new: Reading, fields: Sequence[FieldEdit]) -> bool:
    """Whether every edit that no rule explains repeats a change of a field, word for word otherwise.

    `fields` are the changes since `old` was captured. Errs towards False: a price that changes inside a sentence
    that changes too is no echo.
    """
    open_edits = [edit for edit in edits if not edit.explained]
    return bool(fields and open_edits) and all(
        edit.kind is EditKind.REWORDED
        and any(is_echo(old.blocks[edit.old].text, new.blocks[edit.new].text, field) for field in fields)
        for edit in open_edits
    )


def is_echo(old: str, new: str, field: FieldEdit) -> bool:
    """Whether two texts are the same but for the field's old and new value: "€ 89.00" -> "79,00 EUR" is not, "€ 79.00" is."""
    if field.old is None or field.new is None or old == new:
        return False
    if field.old.type is FieldType.AVAILABILITY:
        return (
            max(len(old), len(new)) <= _SHORT
            and parse_availability(normalise(old)) == field.old.canonical
            and parse_availability(normalise(new)) == field.new.canonical
        )
    return _without(old, field.old) == _without(new, field.new)


def _without(text: str, value: FieldValue) -> str:
    """The text with the value cut out; unchanged where it is not in it (and then no echo of another text)."""
    if value.type in (FieldType.PRICE, FieldType.NUMBER):
        try:
            wanted = Decimal(value.canonical)
        except InvalidOperation:
            return text
        return _NUMBER.sub(lambda found: "\0" if parse_price(found.group())[0] == wanted else found.group(), text)
    plain = value.value if isinstance(value.value, str) else ""
    return text.replace(plain, "\0") if plain else text
