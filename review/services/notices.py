"""Telling people that pages can't be read: after so many visits in a row, again while it lasts, and once when it is over.

What there is to tell is gathered once a minute, so that an outage of a hundred pages is one mail to a person and not a
hundred. Notices and mail are written in one transaction; a second run finds nothing left to tell.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import Monitor
from monitoring.services import outbox
from review.models import TroubleNotice
from review.selectors import routing
from review.services.alerts import recipients
from review.services.digests import absolute, language_of
from review.standing import standings

logger = logging.getLogger(__name__)

SHOWN = 30
MOST = 1_000  # monitors told of in one run; the rest follows a minute later

TROUBLE, REMINDER, RECOVERY = "trouble", "reminder", "recovery"

type Told = dict[User, list[Monitor]]


def any_due(*, now: datetime) -> bool:
    """Whether `tick` may have something to tell; cheap."""
    return _untold().exists() or _ended().exists() or _overdue(now).exists()


def tick(*, now: datetime) -> int:
    """Tell what there is to tell; the number of mails written. For the ticker."""
    try:
        with transaction.atomic():
            return _tell_recoveries(now) + _tell_troubles(now) + _remind(now)
    except IntegrityError:  # another worker was at it: what it told is told
        logger.info("notices were written by another worker")
        return 0


# -- what there is to tell ---------------------------------------------------------------


def _in_trouble() -> Q:
    """Monitors that failed as often in a row as their page type waits for, or that are held; our own pages never."""
    failing = Q(fail_no__gt=0, fail_no__gte=F("page_type__tell_after"))
    return Q(enabled=True, is_sample=False, is_canary=False) & (failing | Q(quarantined_at__isnull=False))


def _untold() -> QuerySet[Monitor]:
    open_ones = TroubleNotice.objects.filter(ended_at__isnull=True).values("monitor")
    wants = Q(team__members__digest_subscription__isnull=True) | Q(team__members__digest_subscription__alerts=True)
    reachable = Q(team__members__is_active=True, team__members__email__gt="") & wants  # as `recipients` has it
    return Monitor.objects.filter(_in_trouble(), reachable).exclude(pk__in=open_ones).distinct().order_by("pk")


def _open() -> QuerySet[TroubleNotice]:
    return TroubleNotice.objects.filter(ended_at__isnull=True).order_by("pk")


def _ended() -> QuerySet[TroubleNotice]:
    return _open().filter(monitor__fail_no=0, monitor__quarantined_at__isnull=True)


def _overdue(now: datetime) -> QuerySet[TroubleNotice]:
    """Notices whose page type's days are over while the trouble lasts."""
    days = F("monitor__page_type__remind_days")
    lasting = _open().filter(
        Q(monitor__fail_no__gt=0) | Q(monitor__quarantined_at__isnull=False),
        monitor__enabled=True,
        monitor__page_type__remind_days__gt=0,
        reminded_at__lte=now - timedelta(days=1),
    )
    due = [
        pk
        for pk, told_at, wait in lasting.annotate(wait=days).values_list("pk", "reminded_at", "wait")[: 10 * MOST]
        if told_at <= now - timedelta(days=wait)
    ]
    return TroubleNotice.objects.filter(pk__in=due[:MOST]).order_by("pk")


# -- telling it --------------------------------------------------------------------------


def _tell_troubles(now: datetime) -> int:
    told: Told = defaultdict(list)
    covers = routing.covers(now)
    for monitor in _untold().select_related("site", "page_type", "team")[:MOST]:
        for user in recipients(monitor, covers=covers):
            told[user].append(monitor)
    rows = [
        TroubleNotice(monitor=monitor, user=user, told_at=now, reminded_at=now)
        for user, monitors in told.items()
        for monitor in monitors
    ]
    made = TroubleNotice.objects.bulk_create(rows)
    first = {notice.user_id: notice.pk for notice in reversed(made)}
    return sum(_mail(TROUBLE, user, monitors, key=f"{first[user.pk]}", now=now) for user, monitors in told.items())


def _remind(now: datetime) -> int:
    notices = list(_overdue(now).select_related("monitor__site", "monitor__page_type", "monitor__team", "user"))
    TroubleNotice.objects.filter(pk__in=[notice.pk for notice in notices]).update(reminded_at=now)
    return _mail_those(REMINDER, notices, now)


def _tell_recoveries(now: datetime) -> int:
    notices = list(_ended().select_related("monitor__site", "monitor__page_type", "monitor__team", "user")[:MOST])
    TroubleNotice.objects.filter(pk__in=[notice.pk for notice in notices]).update(ended_at=now)
    return _mail_those(RECOVERY, notices, now)


def _mail_those(kind: str, notices: Iterable[TroubleNotice], now: datetime) -> int:
    """One mail a person, to those who are still to be told of the monitor, or who stand in for them."""
    told: dict[User, list[TroubleNotice]] = defaultdict(list)
    covers = routing.covers(now)
    for notice in notices:
        user = covers.stand_in(notice.user) or notice.user
        again = any(other.monitor_id == notice.monitor_id for other in told[user])
        if user in recipients(notice.monitor, covers=covers) and not again:
            told[user].append(notice)
    return sum(
        _mail(kind, user, [notice.monitor for notice in own], key=f"{own[0].pk}/{now:%Y%m%dT%H%M}", now=now)
        for user, own in told.items()
        if own
    )


def _mail(kind: str, user: User, monitors: list[Monitor], *, key: str, now: datetime) -> bool:
    with translation.override(language_of(user)):
        subject = _subject(kind, monitors)
        context = {
            "kind": kind,
            "subject": subject,
            "lines": [
                {"standing": standing, "url": absolute(standing.monitor.get_absolute_url())}
                for standing in standings(monitors[:SHOWN], now=now)
            ],
            "more": max(0, len(monitors) - SHOWN),
        }
        return outbox.enqueue(
            key=f"{kind}/{user.pk}/{key}",
            kind=kind,
            recipient=user.email,
            subject=subject,
            text=render_to_string("mail/trouble.txt", context),
            html=render_to_string("mail/trouble.html", context),
            now=now,
        )


def _subject(kind: str, monitors: list[Monitor]) -> str:
    count = len(monitors)
    if count == 1:
        words = {
            RECOVERY: _("%(name)s can be read again"),
            REMINDER: _("%(name)s still can't be read"),
            TROUBLE: _("%(name)s can't be read"),
        }
        return words[kind] % {"name": monitors[0].name}
    many = {
        RECOVERY: ngettext("%(n)s page can be read again", "%(n)s pages can be read again", count),
        REMINDER: ngettext("%(n)s page still can't be read", "%(n)s pages still can't be read", count),
        TROUBLE: ngettext("%(n)s page can't be read", "%(n)s pages can't be read", count),
    }
    return many[kind] % {"n": count}
