"""Any two captures of a monitor beside each other, and what changed since somebody's last visit."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from monitoring import storage
from monitoring.detection.documents.faults import DocumentFault
from monitoring.models import Monitor, Snapshot
from monitoring.services import between
from review import rendering, sentences
from review.middleware import preferences_of
from review.templatetags.tideline import when
from review.views import parameters
from review.views.access import monitor_or_404

OFFERED = 100  # newest captures to choose from
_READ = (Snapshot.Role.BASELINE, Snapshot.Role.CHANGE, Snapshot.Role.AUDIT, Snapshot.Role.NOISE)


def address_of(monitor_id: int, old: int, new: int) -> str:
    """The address of a comparison."""
    return f"{reverse('compare', args=[monitor_id])}?{urlencode({'old': old, 'new': new})}"


@require_GET
def compare_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Two captures of one monitor, chosen from those that are kept, and the diff between them."""
    monitor = monitor_or_404(request, pk)
    captures = monitor.snapshots.select_related("payload").order_by("-taken_at", "-pk")
    offered = list(captures.filter(role__in=_READ)[:OFFERED])
    old, new = (_chosen(captures, request.GET.get(name, "")) for name in ("old", "new"))
    if not request.GET and len(offered) > 1:
        old, new = offered[1], offered[0]
    if old and new and (old.taken_at, old.pk) > (new.taken_at, new.pk):
        old, new = new, old
    choices = {row.pk: row for row in [*offered, *(row for row in (old, new) if row)]}
    listed = sorted(choices.values(), key=lambda row: (row.taken_at, row.pk), reverse=True)
    data: dict[str, Any] = {
        "section": "monitors",
        "monitor": monitor,
        "captures": [(row.pk, f"{when(row.taken_at)} · {row.get_role_display()}") for row in listed],
        "old": old,
        "new": new,
        "problem": _problem(monitor, old, new),
        "preferences": preferences_of(request),
    }
    if old and new and not data["problem"]:
        data |= _document(request, monitor, old, new)
    return render(request, "review/compare.html", data)


def _chosen(captures: Any, text: str) -> Snapshot | None:  # Any: a related manager's queryset
    number = parameters.whole_number(text)
    found: Snapshot | None = captures.filter(pk=number).first() if number is not None else None
    return found


def _problem(monitor: Monitor, old: Snapshot | None, new: Snapshot | None) -> str:
    if monitor.snapshots.count() < 2:
        return _("There are no two captures yet.")
    if old is None or new is None:
        return _("Choose two captures.")
    if old.pk == new.pk:
        return _("That is one capture twice; choose another.")
    return ""


def _document(request: HttpRequest, monitor: Monitor, old: Snapshot, new: Snapshot) -> dict[str, Any]:
    try:
        document = between.between(old, new, monitor=monitor)
    except between.NotComparableError as error:
        words = _("The two captures are of different types of document (%(types)s).") % {"types": str(error)}
        return {"problem": words}
    except DocumentFault as fault:
        return {"problem": f"{_('This document cannot be shown as text.')} {fault.sentence}"}
    except storage.StorageError:
        return {"problem": _("The stored bytes of one of the captures can't be read.")}
    preferences = preferences_of(request)
    everything = request.GET.get("all") == "1"
    with rendering.printing(rendering.Extras()):
        diff, cut_short = rendering.diff_html(document, spoken=preferences.spoken_marks, everything=everything)
    return {
        "diff": diff,
        "cut_short": cut_short,
        "all_address": address_of(monitor.pk, old.pk, new.pk) + "&all=1",
        "summary": sentences.summary(document),
        "ignored": sentences.ignored_note(document),
        "bounds": sentences.bounds_note(document),
        "added": document.get("added", 0),
        "removed": document.get("removed", 0),
        "unit": rendering.unit_word(document),
        "total_units": number_format(int(document.get("total") or 0), force_grouping=True),
        "has_text_change": bool(document.get("places") or document.get("moved")),
        "lang": str(document.get("lang") or ""),
        "direction": document.get("direction") if document.get("direction") in ("ltr", "rtl") else "ltr",
    }
