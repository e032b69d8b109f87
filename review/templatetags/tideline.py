"""Tags of the interface: drawn icons, and addresses that keep their other parameters."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime
from django.utils.translation import get_language

from monitoring.models import Check
from review import explaining, visits, wording

register = template.Library()

PATHS = {
    "search": '<circle cx="7" cy="7" r="4"/><path d="m10 10 3.5 3.5"/>',
    "moon": '<path d="M12.8 9.9A5.4 5.4 0 0 1 6.1 3.2a5.4 5.4 0 1 0 6.7 6.7z"/>',
    "eye": '<path d="M1.8 8S4 3.9 8 3.9 14.2 8 14.2 8 12 12.1 8 12.1 1.8 8 1.8 8z"/><circle cx="8" cy="8" r="1.8"/>',
    "next": '<path d="M6.2 3.8 10.4 8l-4.2 4.2"/>',
    "previous": '<path d="M9.8 3.8 5.6 8l4.2 4.2"/>',
    "up": '<path d="M8 13V3.5M4.2 7.1 8 3.3l3.8 3.8"/>',
    "down": '<path d="M8 3v9.5M4.2 8.9 8 12.7l3.8-3.8"/>',
    "open": '<path d="m4.5 6.5 3.5 3.5 3.5-3.5"/>',
    "check": '<path d="m3 8.5 3.2 3.2L13 4.8"/>',
    "cross": '<path d="m4 4 8 8m0-8-8 8"/>',
    "clock": '<circle cx="8" cy="8" r="5.5"/><path d="M8 5v3.2l2.2 1.4"/>',
    "person": '<circle cx="8" cy="5.6" r="2.6"/><path d="M3 13.4c.6-2.6 2.6-3.9 5-3.9s4.4 1.3 5 3.9"/>',
    "note": '<path d="M3.5 3h9v7.2L9.7 13H3.5z"/><path d="M12.3 10.2H9.8v2.6"/>',
    "undo": '<path d="M5.5 3.5 2.8 6.2l2.7 2.7"/><path d="M3 6.2h6.2a3.6 3.6 0 0 1 0 7.2H6.5"/>',
    "blocked": '<circle cx="8" cy="8" r="5.4"/><path d="m4.3 11.7 7.4-7.4"/>',
    "download": '<path d="M8 2.8v7M5 7l3 3 3-3M3 13h10"/>',
    "chart": '<path d="M2.5 13.5h11M4.5 11V8M8 11V4M11.5 11V6.5"/>',
}


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawn icon, hidden from screen readers: words stand beside it or name its button."""
    drawing = mark_safe(PATHS[name])  # noqa: S308 - constants of this file
    return format_html(
        '<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" '
        'stroke-linejoin="round" aria-hidden="true">{}</svg>',
        drawing,
    )


KINDS = {
    "content": '<circle cx="8" cy="8" r="5" class="k-fill"/>',
    "field": '<rect x="4" y="4" width="8" height="8" class="k-fill"/>',
    "none": '<path class="st k-dim" d="M2 8h12"/>',
    "noise": '<circle class="st k-dim" cx="8" cy="8" r="3.6"/>',
    "blocked": '<circle class="st k-warn" cx="8" cy="8" r="5"/><path class="st k-warn" d="m4.6 11.4 6.8-6.8"/>',
    "error": '<path class="st k-bad" d="M8 2.5 14 13H2z"/>',
    "gone": '<path class="st k-bad" d="M3 3h10v10H3z"/><path class="st k-bad" d="m6 6 4 4m0-4-4 4"/>',
    "approved": '<path class="k-fill" d="m8 2 6 6-6 6-6-6z"/>',
    "dismissed": '<path class="st k-bad" d="m4 4 8 8m0-8-8 8"/>',
    "setting": '<path class="st k-ink" d="M2 5h6v6h6"/>',
}


@register.simple_tag
def kind_icon(name: str) -> SafeString:
    """The shape of a kind of check in a history; kinds differ by shape, not by colour alone."""
    drawing = mark_safe(KINDS.get(name, KINDS["none"]))  # noqa: S308 - constants of this file
    return format_html('<svg class="k" viewBox="0 0 16 16" aria-hidden="true">{}</svg>', drawing)


@register.filter
def when(moment: datetime | None) -> str:
    """A moment in the reader's zone: "26 Nov 2026, 06:04"; other languages as they write it."""
    if moment is None:
        return "–"
    pattern = "j M Y, H:i" if (get_language() or "en").startswith("en") else "SHORT_DATETIME_FORMAT"
    return date_format(localtime(moment), pattern)


@register.filter
def day(moment: datetime, style: str = "short") -> str:
    """A day as the reader's language writes it; `style` is `long` (with weekday), `short`, or `clock` (with the time)."""
    return wording.day_words(moment, style)


@register.filter
def spelled(length: timedelta) -> str:
    """A length of time, spelled out."""
    return wording.long_span(length)


@register.filter
def file_size(size: int) -> str:
    """A number of bytes."""
    return wording.byte_size(size)


@register.filter
def visit_words(check: Check) -> str:
    """What a visit met, in a sentence of the reader's language."""
    return visits.visit_words(check)


@register.filter
def told(reasons: list[Any]) -> list[explaining.Sentence]:
    """Stored reasons as sentences of the reader's language."""
    return explaining.sentences(reasons)


@register.filter
def field_text(value: Any) -> str:
    """A stored field value as people read it."""
    return wording.field_text(value)


@register.filter
def short_hash(digest: str) -> str:
    """Both ends of a long hash."""
    return f"{digest[:8]}…{digest[-4:]}" if len(digest) > 16 else digest
