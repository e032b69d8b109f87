"""The interface's language, before and after signing in."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from review.views.access import safe_next


@login_not_required
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Remember the language in a cookie, so that the sign-in page speaks it too."""
    response = HttpResponseRedirect(safe_next(request, reverse("login")))
    code = request.POST.get("language", "")
    if code in dict(settings.LANGUAGES):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=31_536_000,
            samesite="Lax",
            secure=request.is_secure(),
            httponly=True,
        )
    return response
