"""Mails about alarms of sites: when one is raised, again while it lasts, and once when it is over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from monitoring.models import Alarm, Hold
from monitoring.scheduling.alarms import Event
from monitoring.services import outbox
from review import alarm_words, roles
from review.services.digests import absolute, language_of


def recipients(alarm: Alarm) -> list[User]:
    """Who is told, of those with a mail address who did not switch alerts off: members of teams that watch pages of the site.

    A canary is nobody's page: leads and admins are told, for it is the watch itself that failed.
    """
    wants = Q(digest_subscription__isnull=True) | Q(digest_subscription__alerts=True)
    if alarm.kind == Alarm.Kind.CANARY:
        watching = Q(groups__name__in=roles.CALIBRATING)
    else:
        watching = Q(
            teams__monitors__site=alarm.site_id, teams__monitors__enabled=True,
            teams__monitors__is_sample=False, teams__monitors__is_canary=False,
        )  # fmt: skip
    people = User.objects.filter(wants, watching, is_active=True).exclude(email="").distinct()
    return list(people.select_related("preferences").order_by("pk"))


def tell_alarm(sender: Any, *, alarm: Alarm, event: Event, now: datetime, **extra: Any) -> None:
    """Write one mail per person; runs inside the transaction of the look."""
    for user in recipients(alarm):
        with translation.override(language_of(user)):
            subject = _subject(alarm, event)
            context = {
                "subject": subject,
                "over": event is Event.CLEARED,
                "reason": alarm_words.reason(alarm),
                "next_step": alarm_words.next_step(alarm),
                "url": absolute(reverse("canaries" if alarm.kind == Alarm.Kind.CANARY else "sites")),
            }
            outbox.enqueue(
                key=f"alarm/{alarm.pk}/{event}/{user.pk}/{now:%Y%m%dT%H%M}",
                kind="alarm",
                recipient=user.email,
                subject=subject,
                text=render_to_string("mail/alarm.txt", context),
                html=render_to_string("mail/alarm.html", context),
                now=now,
            )


def _subject(alarm: Alarm, event: Event) -> str:
    words = {"site": alarm.site.name, "kind": Alarm.Kind(alarm.kind).label}
    if event is Event.CLEARED:
        return _("%(site)s, over: %(kind)s") % words
    if event is Event.REMINDED:
        return _("%(site)s, still: %(kind)s") % words
    return _("%(site)s: %(kind)s") % words


def tell_hold(sender: Any, *, hold: Hold, now: datetime, **extra: Any) -> None:
    """Write one mail to each lead and admin: changes are held until one of them decides."""
    people = User.objects.filter(groups__name__in=roles.CALIBRATING, is_active=True).exclude(email="").distinct()
    for user in people.select_related("preferences").order_by("pk"):
        with translation.override(language_of(user)):
            subject = _("Changes are held: %(changed)s of %(pages)s monitors changed together") % {
                "changed": hold.pages_changed,
                "pages": hold.pages,
            }
            context = {
                "subject": subject,
                "over": False,
                "reason": _("That looks like a fault of our own and not like changes of the pages."),
                "next_step": _("Look at a few of them, then release them to the queue or drop them."),
                "url": absolute(reverse("hold", args=[hold.pk])),
            }
            outbox.enqueue(
                key=f"hold/{hold.pk}/{user.pk}",
                kind="alarm",
                recipient=user.email,
                subject=subject,
                text=render_to_string("mail/alarm.txt", context),
                html=render_to_string("mail/alarm.html", context),
                now=now,
            )
