"""Sites: who is blocking us, who is silent, and the rates of each kind."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from monitoring.models import Alarm, Outcome
from monitoring.services import watching
from review import alarm_words
from review.selectors import keyset, watch

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CELLS = {"none": "s", "noise": "n", "content": "c", "field": "c", "blocked": "bl", "error": "e", "gone": "e", "": "o"}


def told(days: list[str]) -> str:
    """The strip of days as a sentence, for who can't see it."""
    labels = {**{str(o.value): str(o.label) for o in Outcome}, "": _("no visit")}
    counts: dict[str, int] = {}
    for day in days:
        counts[labels[day]] = counts.get(labels[day], 0) + 1
    return _("Last 30 days: %(list)s") % {"list": ", ".join(f"{n} × {name}" for name, n in counts.items())}


@require_GET
def site_list(request: HttpRequest) -> HttpResponse:
    """Every site over 30 days; failures are never drawn as quiet."""
    user, now = cast("User", request.user), timezone.now()
    after = keyset.from_cursor(request.GET.get("after", ""), watch.BY_NAME)
    lines, more = watch.sites(user=user, now=now, after=after)
    alarms = watching.sites_in_alarm([line.site.pk for line in lines])
    shown = lines if request.GET.get("show") == "all" or more else [line for line in lines if line.trouble] or lines
    return render(
        request,
        "review/sites.html",
        {
            "section": "sites",
            "lines": [
                {"line": line, "cells": [CELLS[day] for day in line.days], "told": told(line.days)} for line in shown
            ],
            "alarms": [
                (line.site, alarm, alarm_words.reason(alarm), alarm_words.next_step(alarm))
                for line in lines
                for alarm in alarms.get(line.site.pk, [])
            ],
            "total": len(lines),
            "older": f"{reverse('sites')}?{urlencode({'show': 'all', 'after': keyset.to_cursor(more)})}"
            if more
            else "",
            "narrowed": len(shown) < len(lines),
            "blocked": sum(bool(line.blocked) for line in lines),
            "silent": sum(alarm.kind == Alarm.Kind.SILENT for found in alarms.values() for alarm in found),
            "figures": watch.figures(user=user, now=now),
            "first_day": timezone.localtime(now) - timedelta(days=watch.DAYS - 1),
            "last_day": timezone.localtime(now),
        },
    )
