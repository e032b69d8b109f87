"""Today: what needs me, and is the watch awake."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from monitoring.models import CalibrationRun, Change, Monitor
from monitoring.sample import workspace
from monitoring.services import canaries, lessons
from review import alarms, calibration_words, promises, roles, rows, standing
from review.middleware import preferences_of
from review.selectors import missing, queue, watch
from review.views import moments

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@require_GET
def today(request: HttpRequest) -> HttpResponse:
    """Three changes worth reading first, the state of the watch, two weeks of figures."""
    user, now = cast("User", request.user), timezone.now()
    spoken = preferences_of(request).spoken_marks
    raised = alarms.open_alarms(user)
    waiting = Change.objects.visible_to(user).waiting()
    first = queue.for_rows(waiting).order_by(*queue.ORDERS[""].columns)[:3]
    return render(
        request,
        "review/today.html",
        {
            "section": "today",
            "day": timezone.localtime(now),
            "rows": [rows.row_of(change, now=now, spoken=spoken) for change in first],
            "waiting_number": waiting.order_by()[: watch.COUNTED].count(),
            "new": waiting.filter(opened_at__gte=now - timedelta(hours=24)).order_by()[: watch.COUNTED].count(),
            "decided": queue.decided_today(user=user, since=moments.start_of_day(now)),
            "figures": watch.figures(user=user, now=now),
            "canaries": canaries.summary(now=now),
            "stopped": alarms.stopped_sentence(now),
            "alarms": [alarms.line(one) for one in raised],
            "promises": promises.report(user, now=now, told_already={one.cause for one in raised}),
            "troubled": standing.standings(watch.troubled(user=user), now=now),
            "weeks": watch.weeks(user=user, now=now),
            "proposals": list(
                CalibrationRun.objects.filter(
                    state=CalibrationRun.State.DONE,
                    page_type__isnull=False,
                    page_type__in=Monitor.objects.visible_to(user).values("page_type"),
                )
                .exclude(proposed_cut=None)
                .select_related("page_type")[:3]
            ),
            "lapsing": list(lessons.to_confirm(Monitor.objects.visible_to(user), now=now)[:5]),
            "now": now,
            "missed": calibration_words.missed_lines(missing.missed_each(user, now=now)),
            "noise_address": reverse("queue") + "?kind=noise",
            "sample": roles.may_configure(user) and workspace.started_at() is not None,
        },
    )
