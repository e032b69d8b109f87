"""One site: what its days were, what is out of the ordinary, its monitors, and how politely it is visited."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any, cast

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from monitoring.calibrating import drift
from monitoring.calibrating.drift import Day
from monitoring.models import Alarm, Monitor, Outcome, RobotsFile, Site, SiteWatch
from monitoring.services import watching
from review import alarm_words, site_words
from review.selectors import keyset, watch
from review.views.monitors import ORDER, lines_of
from review.views.sites import CELLS, told

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SPAN = timedelta(days=90)
MONITORS, PAST_ALARMS = 25, 5
COLUMNS = (Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD, Outcome.BLOCKED, Outcome.ERROR, Outcome.GONE)


@require_GET
def site_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A site with monitors of the user's teams; any other is not there. Its figures are those of all visits to it."""
    user, now = cast("User", request.user), timezone.now()
    monitors = Monitor.objects.visible_to(user).filter(site=pk)
    site = Site.objects.filter(Exists(monitors.filter(site=OuterRef("pk")))).filter(pk=pk).first()
    if site is None:
        raise Http404("no such site with pages of your teams")
    today = now.astimezone(UTC).date()
    days = watching.days_of(site, since=today - SPAN)
    recent = [day for day in days if day.number > today.toordinal() - watch.DAYS]
    worst = _worst(recent, today)
    page = keyset.page(
        monitors.select_related("site", "page_type"), ORDER, size=MONITORS,
        after_cursor=request.GET.get("after", ""), before_cursor=request.GET.get("before", ""),
    )  # fmt: skip
    alarms = Alarm.objects.filter(site=site, raised_at__isnull=False)
    return render(
        request,
        "review/site.html",
        {
            "section": "sites",
            "site": site,
            "now": now,
            "visits": sum(day.visits for day in recent),
            "good": _percent(site_words.share(recent, site_words.GOOD)),
            "blocked": _percent(site_words.share(recent, [Outcome.BLOCKED])),
            "noise": _percent(site_words.share(recent, [Outcome.NOISE])),
            "content": _percent(site_words.share(recent, [Outcome.CONTENT, Outcome.FIELD])),
            "usual_time": site_words.milliseconds(ms) if (ms := drift.typical_ms(recent)) is not None else "",
            "cells": [CELLS[day] for day in worst],
            "told": told(worst),
            "first_day": today - timedelta(days=watch.DAYS - 1),
            "last_day": today,
            "outcomes": [outcome.label for outcome in COLUMNS],
            "days": [_line(day) for day in reversed(recent)],
            "measures": site_words.measures(days, now=now, span=SPAN),
            "alarms": [
                (alarm, alarm_words.reason(alarm), alarm_words.next_step(alarm))
                for alarm in alarms.filter(cleared_at__isnull=True).order_by("began_at", "pk")
            ],
            "past": alarms.filter(cleared_at__isnull=False).order_by("-cleared_at", "-pk")[:PAST_ALARMS],
            "silence": site_words.silence_words(SiteWatch.objects.filter(site=site).first()),
            "robots": site_words.robots_words(site, RobotsFile.objects.filter(site=site).defer("text").first()),
            "hints": site_words.hint_sources(site),
            "rests": site.rests(now),
            "lines": lines_of(page.rows, now),
            **page.addresses(reverse("site", args=[pk]), {}),
        },
    )


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _worst(days: list[Day], today: date) -> list[str]:
    """The worst outcome of each of the last days, the oldest first; empty where there was no visit."""
    by_day = {day.number: max(day.counts, key=watch.WORST.index) for day in days if day.counts}
    return [by_day.get(today.toordinal() - back, "") for back in reversed(range(watch.DAYS))]


def _line(day: Day) -> dict[str, Any]:
    """A day of the table. Any: a context."""
    return {
        "day": date.fromordinal(day.number),
        "counts": [day.counts.get(outcome, 0) for outcome in COLUMNS],
        "time": site_words.milliseconds(ms) if (ms := drift.typical_ms([day])) is not None else "–",
    }
