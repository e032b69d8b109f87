"""What a CSS selector matches in the stored page of a monitor, before it becomes a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from selectolax.lexbor import LexborHTMLParser

from monitoring import storage
from monitoring.detection.ignore import selector_fault
from monitoring.models import Monitor, Snapshot
from review import frames
from review.views.access import monitor_or_404

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LONGEST, SHOWN, CHARACTERS = 400, 20, 200


@require_GET
def selector_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A selector, what it matches as text, and the newest baseline with the same outlined in a frame without scripts."""
    monitor = monitor_or_404(request, pk)
    selector = request.GET.get("q", "").replace("\x00", "").strip()[:LONGEST]
    snapshot = _snapshot_of(monitor)
    problem, texts = "", None
    if snapshot is None:
        problem = _("There is no stored capture yet to try a selector on.")
    elif selector and selector_fault(selector):
        problem = _("This is no CSS selector that the detector reads.")
    elif selector:
        texts = _matched(snapshot, selector)
        problem = "" if texts is not None else _("The stored bytes of this snapshot can't be read.")
    user = cast("User", request.user)
    return render(
        request,
        "review/selector.html",
        {
            "section": "monitors",
            "monitor": monitor,
            "snapshot": snapshot,
            "selector": selector,
            "problem": problem,
            "count": len(texts or ()),
            "texts": [text[:CHARACTERS] for text in (texts or ())[:SHOWN]],
            "frame": frames.trial_url(frames.Trial(user.pk, snapshot.pk, selector))
            if snapshot is not None and texts is not None
            else "",
        },
    )


def _snapshot_of(monitor: Monitor) -> Snapshot | None:
    """The capture that the next one is compared with, else the newest."""
    rows = monitor.snapshots.select_related("payload")
    return rows.filter(pk=monitor.baseline_id or 0).first() or rows.first()


def _matched(snapshot: Snapshot, selector: str) -> list[str] | None:
    """The texts that a selector matches, with single blanks; at most MAX_HITS. None where the bytes cannot be read."""
    try:
        body = storage.get(snapshot.payload)
    except storage.StorageError:
        return None
    page = LexborHTMLParser(frames.decode(body, snapshot.charset))
    return [" ".join(node.text(separator=" ").split()) for node in page.css(selector)[: frames.MAX_HITS]]
