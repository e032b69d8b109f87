"""Moments that people choose: the start of their day, and when a snoozed change wakes."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _


def start_of_day(now: datetime) -> datetime:
    """Midnight of the person's day."""
    return timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)


def _at_nine(now: datetime, days: int) -> datetime:
    return timezone.localtime(now).replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=days)


def wake_at(choice: str, now: datetime) -> datetime | None:
    """When a snooze ends: tomorrow or Monday at 09:00 of the person's time zone, else None (when the page changes)."""
    if choice == "tomorrow":
        return _at_nine(now, 1)
    if choice == "monday":
        return _at_nine(now, 7 - timezone.localtime(now).weekday())
    return None


def snooze_choices(now: datetime) -> list[tuple[str, str]]:
    """The ways to snooze, the default first."""
    return [
        ("change", _("until the page changes again")),
        ("tomorrow", _("until tomorrow, 09:00")),
        ("monday", _("until Monday, 09:00")),
    ]
