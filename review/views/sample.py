"""One click removes the sample workspace."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from monitoring.sample import workspace
from review import roles


@require_POST
def remove_sample(request: HttpRequest) -> HttpResponse:
    """Remove it, with everything that was decided on it; for admins."""
    if not roles.may_configure(request.user):
        raise PermissionDenied
    count = workspace.remove()
    messages.success(
        request, ngettext("%d sample monitor was removed.", "%d sample monitors were removed.", count) % count
    )
    return redirect("today")
