"""What addresses and forms say, read strictly: anything that isn't what was asked for is None, never an error."""

from __future__ import annotations

from datetime import UTC, date, datetime

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

MOST_ID = 2**63 - 1  # a BIGINT, in both databases
MOST_COUNT = 2**31 - 1
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def whole_number(text: str, *, most: int = MOST_ID) -> int | None:
    """`12` as 12; None for anything but ASCII digits, and for more than a column holds."""
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        return None
    found = int(text)
    return found if found <= most else None


def moment(text: str) -> datetime | None:
    """An aware moment in ISO 8601 within the years that databases can compare; a `+` may have become a space."""
    try:
        found = parse_datetime(text.replace(" ", "+")) if len(text) <= 64 else None
        if found is None or not timezone.is_aware(found):
            return None
        return found if _EARLIEST <= found <= _LATEST else None
    except (ValueError, OverflowError):
        return None


def versions(values: list[str], *, most: int | None = None) -> dict[int, int]:
    """The changes of a selection with the version that was on screen, the first `most`; a box carries both as "12-3"."""
    found = {}
    for value in values[:most]:
        pk_text, _sep, version_text = value.partition("-")
        pk, version = whole_number(pk_text), whole_number(version_text, most=MOST_COUNT)
        if pk is not None and version is not None:
            found[pk] = version
    return found


def day(text: str) -> date | None:
    """A day in ISO 8601 within the years that databases can compare."""
    try:
        found = parse_date(text) if len(text) <= 10 else None
    except ValueError:
        return None
    return found if found is not None and _EARLIEST.date() < found < _LATEST.date() else None
