""" "You missed this": people name what nothing raised, and leads take a case back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from monitoring.models import Monitor, Snapshot
from monitoring.services import missed
from review import roles
from review.views import parameters
from review.views.access import calibrating, deciding, monitor_or_404

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CAPTURES = 40  # that the form offers
CASES = 20


def panel(monitor: Monitor) -> dict[str, Any]:
    """The cases of a monitor, and the captures that a new one can name."""
    cases = monitor.missed_cases.select_related("reported_by", "before", "after")[:CASES]
    return {
        "missed_cases": [{"case": case, "name": roles.display_name(case.reported_by)} for case in cases],
        "captures": list(monitor.snapshots.only("taken_at", "role", "monitor")[:CAPTURES]),
        "today": timezone.localdate(),
    }


def _capture(monitor: Monitor, text: str) -> Snapshot | None:
    if not text:
        return None
    pk = parameters.whole_number(text)
    found = monitor.snapshots.filter(pk=pk).first() if pk is not None else None
    if found is None:
        raise ValidationError(_("That capture is not kept any more."))
    return found


def _back(monitor: Monitor) -> HttpResponse:
    return HttpResponseRedirect(f"{monitor.get_absolute_url()}#missed")


@require_POST
@deciding
def report(request: HttpRequest, pk: int) -> HttpResponse:
    """A case is recorded: the day, what was missed, and perhaps between which captures."""
    monitor, given = monitor_or_404(request, pk), request.POST
    try:
        day = parameters.day(given.get("day", ""))
        if day is None:
            raise ValidationError(_("Name the day."))
        case = missed.report(
            monitor,
            happened_on=day,
            what=given.get("what", "").replace("\x00", ""),
            before=_capture(monitor, given.get("before", "")),
            after=_capture(monitor, given.get("after", "")),
            actor=cast("User", request.user),
            now=timezone.now(),
        )
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
        return _back(monitor)
    if case.score is None:
        messages.success(request, _("Recorded. No check of that time has a score, so calibration can't count it."))
    else:
        messages.success(request, _("Recorded. Calibration counts it as missed."))
    return _back(monitor)


@require_POST
@calibrating
def remove(request: HttpRequest, pk: int, case: int) -> HttpResponse:
    """A case counts no longer; the reason stays in the monitor's history."""
    monitor = monitor_or_404(request, pk)
    found = get_object_or_404(monitor.missed_cases, pk=case)
    try:
        missed.remove(
            found, actor=cast("User", request.user), reason=request.POST.get("reason", "").replace("\x00", "")
        )
        messages.success(request, _("Taken away; the history says who and why."))
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
    return _back(monitor)
