"""Lengths of time as people write them: `30 min`, `6 h`, `2 days`."""

from __future__ import annotations

import re

_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800}  # fmt: skip
_WRITTEN = re.compile(r"(\d{1,9}(?:[.,]\d{1,3})?)\s*([a-z]{0,7})")


def parse_interval(text: str) -> int:
    """Seconds of a written length; a bare number is seconds. Raises ValueError where it cannot be read.

    `"6 h"` is 21600, `"1.5 d"` 129600, `"90 minutes"` 5400.
    """
    found = _WRITTEN.fullmatch(text.strip().lower())
    unit = found[2] if found else ""
    unit = {"minutes": "min", "minute": "min", "seconds": "s", "second": "s", "hours": "h", "days": "d", "weeks": "w", "mins": "min"}.get(unit, unit)  # fmt: skip
    if not found or (unit and unit not in _UNITS):
        raise ValueError(f"{text!r} is no length of time; write for example 30 min, 6 h or 2 days")
    return round(float(found[1].replace(",", ".")) * _UNITS[unit or "s"])


def format_interval(seconds: int) -> str:
    """A length in the largest unit that divides it: 21600 is `6 h`, 90 is `90 s`."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
