"""Mail of alarms: one mail per alarm and person, when it is raised, grows much, lasts another day, or is over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import PromiseAlarm, PromiseAlarmEvent, Team
from monitoring.services import outbox
from review import alarms, roles, wording
from review.services.digests import absolute, language_of

SHOWN = 30
What = PromiseAlarmEvent.What


def recipients(team: Team) -> list[User]:
    """Leads and administrators of a team who have a mail address and did not switch alerts off.

    A team without any would not be told at all: then whoever administers the installation is.
    """
    wants = Q(digest_subscription__isnull=True) | Q(digest_subscription__alerts=True)
    reachable = User.objects.filter(wants, is_active=True).exclude(email="").select_related("preferences")
    own = Q(groups__name__in=[roles.LEAD, roles.ADMIN]) | Q(is_superuser=True)
    found = list(reachable.filter(own, teams=team).distinct().order_by("pk"))
    return found or list(reachable.filter(is_superuser=True).order_by("pk"))


def send(sender: Any, *, alarm: PromiseAlarm, event: PromiseAlarmEvent, now: datetime, **extra: Any) -> None:
    """Write the mails of one event into the outbox; runs inside the transaction that notes the event."""
    people = recipients(alarm.team)
    if not people:
        return
    over = event.what == What.CLEARED
    pages = [] if over else alarms.pages_of(alarm, now=now, most=SHOWN)
    for user in people:
        with translation.override(language_of(user)):
            subject = _subject(alarm, event)
            context = {
                "subject": subject,
                "why": alarms.cause_sentence(alarm.cause, event.facts),
                "count": alarms.count_sentence(event.broken, event.at_risk),
                "since": wording.day_words(alarm.began_at, "clock"),
                "over": over,
                "lines": [
                    {
                        "monitor": monitor,
                        "promised": alarms.promised_words(monitor),
                        "by": wording.day_words(monitor.deadline_at, "clock") if monitor.deadline_at else "",
                        "broken": monitor.deadline_at is not None and monitor.deadline_at < now,
                        "url": absolute(monitor.get_absolute_url()),
                    }
                    for monitor in pages
                ],
                "more": max(0, event.broken + event.at_risk - len(pages)) if not over else 0,
                "url": absolute(f"{reverse('overdue')}?cause={alarm.cause}"),
            }
            outbox.enqueue(
                key=f"promise/{event.pk}/{user.pk}",
                kind="promise",
                recipient=user.email,
                subject=subject,
                text=render_to_string("mail/promise.txt", context),
                html=render_to_string("mail/promise.html", context),
                now=now,
            )


def _subject(alarm: PromiseAlarm, event: PromiseAlarmEvent) -> str:
    cause = alarm.get_cause_display()
    if event.what == What.CLEARED:
        return _("Promises of %(team)s are kept again (%(cause)s)") % {"team": alarm.team.name, "cause": cause}
    if event.broken:
        words = ngettext(
            "%(n)s promise of %(team)s is broken: %(cause)s", "%(n)s promises of %(team)s are broken: %(cause)s", event.broken
        )  # fmt: skip
        return words % {"n": event.broken, "team": alarm.team.name, "cause": cause}
    return _("Promises of %(team)s are at risk: %(cause)s") % {"team": alarm.team.name, "cause": cause}
