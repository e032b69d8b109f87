"""Short words for times, sizes and people, in the reader's language."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils.formats import date_format, number_format
from django.utils.timezone import localtime
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from monitoring.models import Change
from review.models import Verdict

DATE_LIKE = set("0123456789.,:-/ ")


def span(length: timedelta) -> str:
    """A length of time in one unit: "26 min", "5 h", "2 d"."""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 60:
        return _("now") if seconds < 10 else _("%(n)s s") % {"n": seconds}
    if seconds < 3600:
        return _("%(n)s min") % {"n": seconds // 60}
    if seconds < 86_400:
        return _("%(n)s h") % {"n": seconds // 3600}
    return _("%(n)s d") % {"n": seconds // 86_400}


def long_span(length: timedelta) -> str:
    """A length of time in one unit, spelled out: "14 days"."""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 60:
        return ngettext("%(n)s second", "%(n)s seconds", seconds) % {"n": seconds}
    if seconds < 3600:
        return ngettext("%(n)s minute", "%(n)s minutes", seconds // 60) % {"n": seconds // 60}
    if seconds < 86_400:
        return ngettext("%(n)s hour", "%(n)s hours", seconds // 3600) % {"n": seconds // 3600}
    return ngettext("%(n)s day", "%(n)s days", seconds // 86_400) % {"n": seconds // 86_400}


def decimal(value: float, places: int) -> str:
    """A number with so many decimals, with the point or comma of the reader's language."""
    return number_format(round(value, places), decimal_pos=places)


# By language: Django's own formats have neither a day without its year nor one with its weekday.
DAYS: dict[str, dict[str, str]] = {
    "en": {"long": "l, j F", "short": "j M", "clock": "j M, H:i"},
    "de": {"long": "l, j. F", "short": "j. M", "clock": "j. M, H:i"},
    "ja": {"long": "n月j日 l", "short": "n/j", "clock": "n/j H:i"},
}


def day_words(moment: datetime, style: str = "short") -> str:
    """A day in the reader's zone and language: "Monday, 30 November", "30 Nov" or "30 Nov, 06:04"."""
    language = (get_language() or "en").split("-")[0]
    return date_format(localtime(moment), DAYS.get(language, DAYS["en"])[style])


def byte_size(size: int) -> str:
    """A number of bytes: "41.2 KB"."""
    if size < 1000:
        return ngettext("%(n)s byte", "%(n)s bytes", size) % {"n": size}
    if size < 1_000_000:
        return _("%(n)s KB") % {"n": f"{size / 1000:.1f}"}
    return _("%(n)s MB") % {"n": f"{size / 1_000_000:.1f}"}


def _changed_texts(say: Any) -> list[str]:
    return [str(s[1]) for s in say or [] if isinstance(s, list) and len(s) > 1 and s[0] in ("-", "+")]


def is_date_like(change: Change) -> bool:
    """Whether everything the queue sentence marks is figures: a date or counter, most likely."""
    texts = _changed_texts(segments_of_say(change.say))
    return bool(texts) and change.places <= 1 and all(set(text) <= DATE_LIKE and text.strip() for text in texts)


def segments_of_say(say: Any) -> list[Any]:
    """The segments of the stored sentence, whether it was stored with its operation or without."""
    if isinstance(say, dict):
        return list(say.get("segments", []))
    return list(say or [])


def suggested_reason(change: Change, document: dict[str, Any] | None = None) -> str:
    """The reason that a one-key dismissal records; the last one is never learned from, so it's the safe default."""
    flags = {str(f.get("code", f)) if isinstance(f, dict) else str(f) for f in change.flags or []}
    if is_date_like(change) or "date-only" in flags:
        return Verdict.Reason.DATE
    counts = (document or {}).get("counts", {})
    if counts and not any(counts.get(op) for op in ("reworded", "rewritten", "added", "removed")):
        return Verdict.Reason.REORDERED
    blocks = [
        b for b in (document or {}).get("blocks", []) if b.get("op") not in ("equal", "fold", "moved_from", "moved_to")
    ]
    if blocks and all(b.get("region") == "furniture" for b in blocks):
        return Verdict.Reason.FURNITURE
    return Verdict.Reason.NOT_RELEVANT


def verdict_sentence(verdict: Verdict) -> str:
    """What was decided, for a toast: "Dismissed: date or counter"."""
    words = {
        Verdict.Action.APPROVE: _("Approved"),
        Verdict.Action.DISMISS: _("Dismissed"),
        Verdict.Action.SNOOZE: _("Snoozed"),
        Verdict.Action.UNDO: _("Undone"),
        Verdict.Action.SECOND: _("Second opinion recorded"),
    }[Verdict.Action(verdict.action)]
    return f"{words}: {verdict.get_reason_display()}" if verdict.reason else words


def field_text(value: Any) -> str:
    """A stored field value as text: a list with commas, an amount with its currency, nothing as a dash."""
    if isinstance(value, dict):
        if "value" in value:
            return f"{field_text(value['value'])} {value.get('currency', '')}".strip()
        return ", ".join(f"{name}: {field_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(field_text(item) for item in value)
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)
