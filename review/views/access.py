"""What views share about access: finding an object of one's teams, and asking for a role."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme

from monitoring.models import Change, Monitor
from review import roles

type View = Callable[..., HttpResponseBase]


def deciding(view: View) -> View:
    """Only for people who give verdicts; 403 for readers."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not roles.may_decide(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def calibrating(view: View) -> View:
    """Only for leads and admins; 403 for others."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not roles.may_calibrate(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def change_or_404(request: HttpRequest, pk: int) -> Change:
    """A change of the person's teams with what its page needs; a foreign one is not there."""
    found = (
        Change.objects.visible_to(request.user)
        .select_related(
            "monitor__site", "monitor__page_type", "monitor__vantage", "check_row",
            "prior__payload", "new__payload", "assignment__assignee",
        )
        .filter(pk=pk)
        .first()
    )  # fmt: skip
    if found is None:
        raise Http404("no such change in your teams")
    return found


def monitor_or_404(request: HttpRequest, pk: int) -> Monitor:
    """A monitor of the person's teams; a foreign one is not there."""
    found = (
        Monitor.objects.visible_to(request.user)
        .select_related("site", "page_type", "vantage", "confirm_vantage", "team", "baseline")
        .filter(pk=pk)
        .first()
    )
    if found is None:
        raise Http404("no such monitor in your teams")
    return found


def safe_next(request: HttpRequest, fallback: str) -> str:
    """Where a form wants to go afterwards, if that is a page of ours."""
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return wanted
    return fallback


def wants_json(request: HttpRequest) -> bool:
    """Whether our own script asks; it says so in a header that a plain form can't set."""
    return request.headers.get("X-Tideline") == "script"
