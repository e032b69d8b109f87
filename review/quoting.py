"""What a change says, place by place, as text to be quoted; and the addresses that lead back to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse

from monitoring.detection.diff import rows_at
from monitoring.models import Change
from review import rendering


@dataclass(frozen=True, slots=True)
class Quotation:
    """A place of a diff as both sides read, exactly; a side without it is empty."""

    place: int
    before: str
    after: str


def permalink(change: Change, place: int = 0) -> str:
    """The address of a change, or of a place in it, as it reads now."""
    address = f"{settings.APP_ORIGIN}{reverse('change', args=[change.pk])}"
    return f"{address}?d={change.diff_hash[:12]}#p{place}" if place else address


def quotation(change: Change, place: int) -> Quotation | None:
    """A place of a change; None where it has no such place."""
    rows = rows_at(_document(change), place)
    return Quotation(place, _side(rows, "-"), _side(rows, "+")) if rows else None


def quotations(change: Change) -> Iterator[Quotation]:
    """Each place of a change, in order."""
    for place in range(1, int(_document(change).get("places") or 0) + 1):
        if (found := quotation(change, place)) is not None:
            yield found


def _document(change: Change) -> dict[str, Any]:
    return change.diff if isinstance(change.diff, dict) else {}


def _side(blocks: list[dict[str, Any]], side: str) -> str:
    texts = []
    for block in blocks:
        if block.get("op") == "rewritten":
            segments = block.get("before" if side == "-" else "after", [])
            texts.append("".join(str(segment[1]) for segment in segments))
        else:
            texts.append(rendering.plain(block.get("segments", []), side))
    return "\n".join(text for text in texts if text.strip())
