"""The dataset: every field value that changed, as a page, as drawings of one page's fields, and as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from monitoring.models import FieldChange, Monitor
from monitoring.models.monitor import of_visible
from review import dataset, spreadsheet, wording
from review.selectors import dataset as selected
from review.selectors import keyset
from review.views import parameters, spans

if TYPE_CHECKING:
    from django.contrib.auth.models import User

COLUMNS = ["when", "page", "address", "field", "type", "state", "old", "new", "important"]


def _found(request: HttpRequest) -> tuple[QuerySet[FieldChange], dict[str, str]]:
    user = cast("User", request.user)
    found = of_visible(FieldChange.objects.select_related("monitor__site"), user)
    kept: dict[str, str] = {}
    monitor, name = request.GET.get("monitor", ""), request.GET.get("name", "").replace("\x00", "")[:60]
    if (monitor_id := parameters.whole_number(monitor)) is not None:
        found, kept["monitor"] = found.filter(monitor=monitor_id), monitor
    if name:
        found, kept["name"] = found.filter(name=name), name
    return found, kept


@require_GET
def field_list(request: HttpRequest) -> HttpResponse:
    """The newest field changes of the user's teams; of one page also each field's values over time."""
    user, now = cast("User", request.user), timezone.now()
    found, kept = _found(request)
    page = keyset.page(
        found,
        selected.NEWEST,
        size=50,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    base, name = reverse("fields"), kept.get("name", "")
    monitor = (
        Monitor.objects.visible_to(user).select_related("site", "team").filter(pk=int(kept["monitor"])).first()
        if "monitor" in kept
        else None
    )
    span_name, span = spans.chosen(request.GET.get("span", ""))
    return render(
        request,
        "review/fields.html",
        {
            "section": "fields",
            "rows": page.rows,
            "name": name,
            "monitor": monitor,
            **(dataset.of_monitor(monitor, now=now, span=span, name=name, width=400) if monitor else {}),
            "span": span_name,
            "spans": spans.choices(base, kept),
            "names": selected.names(user),
            "csv": reverse("fields_csv") + (f"?{urlencode(kept)}" if kept else ""),
            **page.addresses(base, kept | {"span": span_name} if "span" in request.GET else kept),
        },
    )


def _cells(row: FieldChange) -> list[str]:
    def text(value: Any) -> str:  # Any: a stored value
        return "" if value is None else wording.field_text(value)

    return [
        row.at.isoformat(),
        row.monitor.name,
        row.monitor.url,
        row.name,
        row.type,
        row.state,
        text(row.old),
        text(row.new),
        "1" if row.important else "0",
    ]


@require_GET
def field_csv(request: HttpRequest) -> StreamingHttpResponse:
    """The same rows as CSV."""
    found, _kept = _found(request)
    rows = keyset.walk(found, selected.NEWEST, most=spreadsheet.MOST_ROWS)
    return spreadsheet.download("tideline-fields.csv", COLUMNS, map(_cells, rows))
