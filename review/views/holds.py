"""The banner of what is held, and a lead's decision on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from monitoring.models import Change, Hold
from monitoring.services import brake
from review import roles
from review.views.access import calibrating

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SHOWN = 200


@require_GET
def hold_page(request: HttpRequest, pk: int) -> HttpResponse:
    """What is held, and why; those of the person's teams by name."""
    hold = Hold.objects.filter(pk=pk).select_related("decided_by").first()
    if hold is None:
        raise Http404("no such hold")
    changes = Change.objects.visible_to(request.user).filter(hold=hold).select_related("monitor__site")
    return render(
        request,
        "review/hold.html",
        {
            "section": "queue",
            "held": hold,
            "changes": list(changes.order_by("monitor__site__name", "pk")[:SHOWN]),
            "count": Change.objects.filter(hold=hold).count(),
            "allowed": roles.may_calibrate(request.user) and hold.state == Hold.State.ACTIVE,
        },
    )


@require_POST
@calibrating
def decide_hold(request: HttpRequest, pk: int) -> HttpResponse:
    """Release or drop all that is held, with a reason."""
    hold = Hold.objects.filter(pk=pk).first()
    if hold is None:
        raise Http404("no such hold")
    user, now = cast("User", request.user), timezone.now()
    reason = request.POST.get("reason", "").replace("\x00", "")[:300]
    try:
        if request.POST.get("do") == "drop":
            n = brake.drop(hold, actor=user, reason=reason, now=now)
            said = ngettext(
                "%(n)s change was dropped; its page is compared from its last good capture.",
                "%(n)s changes were dropped; their pages are compared from their last good captures.",
                n,
            )
            messages.success(request, said % {"n": n})
        else:
            n = brake.release(hold, actor=user, reason=reason, now=now)
            messages.success(request, ngettext("%(n)s change waits now.", "%(n)s changes wait now.", n) % {"n": n})
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
        return HttpResponseRedirect(reverse("hold", args=[pk]))
    return HttpResponseRedirect(reverse("queue"))
