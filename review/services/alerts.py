"""Alert mails: an important field changed, told at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import translation

from monitoring.models import FieldChange, Monitor
from monitoring.services import outbox
from review import field_words
from review.services.digests import absolute, language_of


def recipients(monitor: Monitor) -> list[User]:
    """The members of the monitor's team who have a mail address and did not switch alerts off."""
    wants = Q(digest_subscription__isnull=True) | Q(digest_subscription__alerts=True)
    people = monitor.team.members.filter(wants, is_active=True).exclude(email="")
    return list(people.select_related("preferences").order_by("pk"))


def send_field_alert(sender: Any, *, field_change: FieldChange, monitor: Monitor, now: datetime, **extra: Any) -> None:
    """Write one mail per recipient for an important field change; runs inside the check's transaction."""
    for user in recipients(monitor):
        with translation.override(language_of(user)):
            context = {
                "monitor": monitor,
                "change": field_change,
                "said": field_words.sentence(field_change),
                "monitor_url": absolute(monitor.get_absolute_url()),
                "review_url": absolute(field_change.change.get_absolute_url()) if field_change.change else "",
            }
            outbox.enqueue(
                key=f"alert/{field_change.pk}/{user.pk}",
                kind="alert",
                recipient=user.email,
                subject=f"{monitor.name}: {context['said']}",
                text=render_to_string("mail/alert.txt", context),
                html=render_to_string("mail/alert.html", context),
                now=now,
            )
