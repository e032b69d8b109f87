"""Serves the sample pages on loopback; the only reader is the product's own fetcher (and a curious person)."""

from __future__ import annotations

import random
import secrets

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from monitoring.sample import noise
from monitoring.sample.pages import BY_SLUG
from monitoring.sample.workspace import started_at


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
    response = HttpResponse(html)
    response["Cache-Control"] = "no-store"
    # The page is somebody else's in spirit: it keeps its own inline pieces and gets no rights of ours.
    response["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline' data:"
    return response
