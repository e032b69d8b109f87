"""Serves the sample pages and the canaries; the only reader is the product's own fetcher (and a curious person)."""

from __future__ import annotations

import random
import secrets

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from monitoring.canaries.pages import BY_KEY
from monitoring.sample import noise
from monitoring.sample.pages import BY_SLUG
from monitoring.sample.workspace import started_at
from monitoring.services import canaries


@login_not_required
@require_safe
def sample_page(request: HttpRequest, slug: str) -> HttpResponse:
    """One sample page as it reads now; 404 for unknown pages and once the workspace was removed."""
    page = BY_SLUG.get(slug)
    start = started_at()
    if page is None or start is None:
        raise Http404("no such sample page")
    now = timezone.now()
    elapsed_s = (now - start).total_seconds()
    if page.gone_at_s is not None and elapsed_s >= page.gone_at_s:
        return HttpResponse(
            "<!doctype html><title>410 Gone</title><h1>Gone</h1><p>This page was taken down.</p>", status=410
        )
    if page.blocked and page.blocked[0] <= elapsed_s < page.blocked[1]:
        return HttpResponse(noise.BLOCK_PAGE.format(token=secrets.token_hex(8)), status=403)
    head, body = page.text_at(elapsed_s)
    html = noise.render(page, head, body, now=now, rng=random.Random())  # noqa: S311 - page furniture, no secret
    return _as_foreign(HttpResponse(html))


@login_not_required
@require_safe
def canary_page(request: HttpRequest, key: str) -> HttpResponse:
    """One canary as it reads now; 404 for unknown ones and while canaries are switched off. Asks no database."""
    plan = BY_KEY.get(key)
    if plan is None or not settings.CANARY_S:
        raise Http404("no such canary")
    served = plan.serve(timezone.now(), canaries.schedule())
    return _as_foreign(HttpResponse(served.body, status=served.status, content_type=served.content_type))


def _as_foreign(response: HttpResponse) -> HttpResponse:
    """The page is somebody else's in spirit: it keeps its own inline pieces and gets no rights of ours."""
    response["Cache-Control"] = "no-store"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline' data:"
    return response
