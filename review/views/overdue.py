"""Pages that were not read in time, or will not be: all of them, the oldest promise first."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from monitoring.models import Cause
from review import alarms, promises
from review.selectors import fleet, keyset

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ORDER = keyset.Order(("deadline_at", "pk"))
SIZE = 50
LISTED = [cause for cause in Cause if cause is not Cause.BUDGET]  # a budget breaks no promise


@require_GET
def overdue(request: HttpRequest) -> HttpResponse:
    """Broken promises, or those at risk, of one cause or of all."""
    user, now = cast("User", request.user), timezone.now()
    cause = request.GET.get("cause", "") if request.GET.get("cause", "") in LISTED else ""
    show = "risk" if request.GET.get("show") == "risk" else ""
    kept = {name: value for name, value in (("show", show), ("cause", cause)) if value}
    rows = fleet.at_risk(user, now=now, cause=cause) if show else fleet.broken(user, now=now, cause=cause)
    page = keyset.page(
        rows, ORDER, size=SIZE, after_cursor=request.GET.get("after", ""), before_cursor=request.GET.get("before", "")
    )
    base = reverse("overdue")
    state = fleet.state(user)
    return render(
        request,
        "review/overdue.html",
        {
            "section": "fleet",
            "lines": promises.told(page.rows, now),
            "show": show,
            "cause": cause,
            "causes": [(value.value, value.label) for value in LISTED],
            "alarms": [alarms.line(one) for one in alarms.open_alarms(user)],
            "stopped": alarms.stopped_sentence(now),
            "state": state,
            "risk_address": f"{base}?{urlencode({**({'cause': cause} if cause else {}), 'show': 'risk'})}",
            "broken_address": f"{base}?{urlencode({'cause': cause})}" if cause else base,
            **page.addresses(base, kept),
        },
    )
