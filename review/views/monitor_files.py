"""What can be taken home of a monitor: every check as CSV, and the kept captures with all that is known of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from monitoring import storage
from monitoring.models import Check, Snapshot
from review import spreadsheet, warc
from review.selectors import history, keyset
from review.views.access import monitor_or_404
from review.views.change import snapshot_facts

NEWEST = keyset.Order(("-check_no",))
MOST_CHECKS = 100_000
MOST_BYTES = 64 * 1024 * 1024  # of captures in one file; the rest is named in it
COLUMNS = [
    "number", "when", "outcome", "reason", "status", "milliseconds", "bytes", "distance", "threshold", "score", "cut",
]  # fmt: skip


@require_GET
def checks_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Every check of the monitor, the newest first."""
    monitor = monitor_or_404(request, pk)
    rows = monitor.checks.only(
        "check_no", "started_at", "outcome", "reason", "status", "duration_ms", "size_bytes", "distance", "threshold",
        "score", "cut",
    )  # fmt: skip
    return spreadsheet.download(f"tideline-checks-{pk}.csv", COLUMNS, _cells(rows))


def _cells(rows: QuerySet[Check]) -> Iterator[list[str]]:
    for row in keyset.walk(rows, NEWEST, most=MOST_CHECKS):
        values = (
            row.check_no, row.started_at.isoformat(), row.outcome, row.reason, row.status, row.duration_ms, row.size_bytes,
            row.distance, row.threshold, row.score, row.cut,
        )  # fmt: skip
        yield ["" if value is None else str(value) for value in values]


@require_GET
def monitor_evidence(request: HttpRequest, pk: int) -> HttpResponse:
    """A ZIP with the kept captures as WARC and everything known about them as JSON. Names inside are fixed."""
    monitor = monitor_or_404(request, pk)
    captures: list[tuple[Snapshot, bytes]] = []
    facts = []
    left = MOST_BYTES
    for snapshot in history.kept_snapshots(monitor):
        state = "stored"
        try:
            body = storage.get(snapshot.payload) if snapshot.payload.size_bytes <= left else None
        except storage.StorageError as error:
            body, state = None, f"could not be read: {type(error).__name__}"
        else:
            state = state if body is not None else "left out of this file: too large"
        if body is not None:
            captures.append((snapshot, body))
            left -= len(body)
        facts.append({"role": snapshot.role, "bytes": state, **(snapshot_facts(snapshot) or {})})
    known = {"monitor": {"id": monitor.pk, "name": monitor.name, "url": monitor.url}, "captures": facts}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("monitor.json", json.dumps(known, ensure_ascii=False, indent=1, default=str))
        bundle.writestr("captures.warc", warc.warc(captures, software=f"Tideline {settings.VERSION}"))
    response = HttpResponse(buffer.getvalue(), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="tideline-monitor-{pk}.zip"'
    return response
