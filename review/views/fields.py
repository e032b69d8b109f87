"""The dataset: every field value that changed, as a page, as drawings of one page's fields, and as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
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
from review import dataset, wording
from review.selectors import dataset as selected
from review.selectors import keyset
from review.views import parameters, spans

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CSV_ROWS = 100_000
# A spreadsheet takes text that starts with one of these for a formula; the full-width forms are folded by some.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_LEADING = re.compile(r"\A[\s\x00-\x20\x7f-\xa0\u200b-\u200f\u2060\ufeff]+")
COLUMNS = ["when", "page", "address", "field", "type", "state", "old", "new", "important"]


def safe_cell(text: str) -> str:
    """Text that no spreadsheet runs: an apostrophe before what could start a formula, also behind leading blanks."""
    shown = _LEADING.sub("", text)
    return f"'{text}" if text.startswith(FORMULA_STARTS) or shown.startswith(FORMULA_STARTS) else text


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, value: str) -> str:
        """The row as csv wrote it."""
        return value


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


def csv_response(filename: str, columns: list[str], rows: Iterable[list[str]]) -> StreamingHttpResponse:
    """Rows of cells as CSV (RFC 4180, UTF-8 with a byte order mark), safe to open in a spreadsheet."""

    def lines() -> Iterator[str]:
        writer = csv.writer(_Echo(), lineterminator="\r\n")
        yield "\ufeff" + writer.writerow(columns)
        for row in rows:
            yield writer.writerow([safe_cell(cell) for cell in row])

    response = StreamingHttpResponse(lines(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


@require_GET
def field_csv(request: HttpRequest) -> StreamingHttpResponse:
    """The same rows as CSV."""
    found, _kept = _found(request)
    rows = keyset.walk(found, selected.NEWEST, most=CSV_ROWS)
    return csv_response("tideline-fields.csv", COLUMNS, map(_cells, rows))
