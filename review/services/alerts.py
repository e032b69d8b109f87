"""Alert mails: an important field changed, told at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone, translation

from monitoring.models import FieldChange, Monitor
from monitoring.services import outbox
from review import field_words
from review.selectors import routing
from review.selectors.routing import Covers
from review.services.digests import absolute, language_of


def recipients(monitor: Monitor, *, covers: Covers | None = None) -> list[User]:
    """Whom the monitor's routes name, or its team; for those who are away, who stands in for them.

    Only members of the team who have a mail address and did not switch alerts off. Where that leaves nobody of those
    who were named, the whole team is told rather than no one. covers: who is away, where the caller knows.
    """
    wants = Q(digest_subscription__isnull=True) | Q(digest_subscription__alerts=True)
    members = monitor.team.members.filter(wants, is_active=True).exclude(email="")
    team = list(members.select_related("preferences").order_by("pk"))
    covers = covers or routing.covers(timezone.now())
    reached = {person.pk for person in covers.of(routing.routed(monitor).told or team)}
    return [person for person in team if person.pk in reached] or team


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
