"""The stop link of a digest: one click, no login."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from review.services import digests


@csrf_exempt  # mail programs post here without a page of ours (RFC 8058); the signed token is the permission
@login_not_required
@require_http_methods(["GET", "POST"])
def stop(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST stops; a link that was opened by a mail scanner changes nothing."""
    subscription = digests.subscription_of(token)
    if subscription is None:
        raise Http404("unknown stop link")
    if request.method == "POST":
        digests.stop(subscription)
    return render(request, "review/digest_stop.html", {"stopped": request.method == "POST", "token": token})
