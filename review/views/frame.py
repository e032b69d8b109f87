"""Snapshots on a host of their own: scriptless, sandboxed by header, for one person and half an hour."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_GET

from monitoring import storage
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.documents.types import DocumentType
from monitoring.models import Change, Monitor, Snapshot
from monitoring.models.monitor import of_visible
from monitoring.services import documents
from monitoring.services.rules import Rules
from review import frames


def _sealed(body: str, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(body, status=status, content_type="text/html; charset=utf-8")
    response["Content-Security-Policy"] = frames.policy()
    response["X-Content-Type-Options"] = "nosniff"
    response["Referrer-Policy"] = "no-referrer"
    response["Cross-Origin-Resource-Policy"] = "same-site"
    response["Cross-Origin-Opener-Policy"] = "same-origin"
    response["X-DNS-Prefetch-Control"] = "off"
    response["Cache-Control"] = "no-store"
    return response


def _sentence(words: str, status: int) -> HttpResponse:
    return _sealed(frames.notice(words), status=status)


@login_not_required
@xframe_options_exempt
@require_GET
def frame(request: HttpRequest, token: str) -> HttpResponse:
    """One side of a change as an inert page. The address is the permission; it names person, change and snapshot."""
    try:
        ticket = frames.read_ticket(token)
    except (BadSignature, ValueError, TypeError):
        return _sentence(_("This view has expired. Load the page again."), 410)
    user = get_user_model().objects.filter(pk=ticket.user, is_active=True).first()
    change = (
        Change.objects.visible_to(user)
        .select_related("monitor", "prior__payload", "new__payload")
        .filter(pk=ticket.change)
        .first()
        if user
        else None
    )
    if change is None or ticket.snapshot not in (change.prior_id, change.new_id):
        return _sentence(_("There is nothing at this address."), 404)
    snapshot = change.prior if ticket.snapshot == change.prior_id else change.new
    assert snapshot is not None  # noqa: S101 - its id was just found in new_id
    try:
        body = storage.get(snapshot.payload)
    except storage.StorageError:
        return _sentence(_("The stored bytes of this snapshot can't be read; the diff beside it is complete."), 404)
    document = change.diff if isinstance(change.diff, dict) else {}
    title = snapshot.title or change.monitor.name
    try:
        kind = documents.type_of_snapshot(snapshot)
        if kind is not DocumentType.HTML:
            return _sealed(_as_text(snapshot, document, side=ticket.side, title=title))
    except DocumentFault as fault:
        return _sentence(f"{_('This document cannot be shown as text.')} {fault.sentence}", 200)
    return _sealed(
        frames.prepare(
            body,
            charset=snapshot.charset,
            content_type=snapshot.content_type,
            document=document,
            side=ticket.side,
            title=title,
        )
    )


@login_not_required
@xframe_options_exempt
@require_GET
def trial(request: HttpRequest, token: str) -> HttpResponse:
    """A stored capture with what a selector matches in it. The address is the permission."""
    try:
        wanted = frames.read_trial(token)
    except (BadSignature, ValueError, TypeError):
        return _sentence(_("This view has expired. Load the page again."), 410)
    user = get_user_model().objects.filter(pk=wanted.user, is_active=True).first()
    rows = of_visible(Snapshot.objects.select_related("payload"), user) if user else Snapshot.objects.none()
    snapshot = rows.filter(pk=wanted.snapshot).first()
    if snapshot is None:
        return _sentence(_("There is nothing at this address."), 404)
    try:
        body = storage.get(snapshot.payload)
    except storage.StorageError:
        return _sentence(_("The stored bytes of this snapshot can't be read."), 404)
    page = frames.matching(
        body,
        charset=snapshot.charset,
        content_type=snapshot.content_type,
        selector=wanted.selector,
        title=snapshot.title,
    )
    if page is None:
        return _sentence(_("This capture is no page of HTML, or too large to show here."), 200)
    return _sealed(page)


def _as_text(snapshot: Snapshot, document: dict[str, Any], *, side: str, title: str) -> str:
    """What is no page of HTML: the side of the diff with its marks; without a diff the whole text. Never the bytes."""
    if document.get("blocks"):
        return frames.extracted(document, side=side, title=title)
    source = documents.stored_source(snapshot)
    return frames.as_text(documents.reading_of(source, Monitor(), Rules(), fields=True), title=title)


def nothing(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The frames' host has no other pages."""
    return _sentence("Not found.", 404)


def broken(request: HttpRequest) -> HttpResponse:
    """An error of ours inside a frame."""
    return _sentence("This snapshot could not be prepared; the diff beside it is complete.", 500)
