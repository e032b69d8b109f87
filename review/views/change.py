"""The change page: prior snapshot beside the diff, why it was flagged, and the decision bar."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from monitoring import storage
from monitoring.models import Change, EarlierDiff, Monitor, Snapshot
from monitoring.services import lessons
from review import explaining, field_words, frames, key_terms, quoting, rendering, roles, rows, sentences, warc, wording
from review.middleware import preferences_of
from review.models import KeyTerms, Verdict
from review.selectors import history, queue
from review.services import assignments, presence, verdicts
from review.views import compare, moments, places
from review.views.access import change_or_404

if TYPE_CHECKING:
    from django.contrib.auth.models import User

VIEWS = ("prior", "split", "rendered", "fields")


def address_of(pk: int, *, list_query: str = "", view: str = "") -> str:
    """A change's address within the list it was opened from."""
    query = urlencode([(k, v) for k, v in (("view", view), ("in", list_query)) if v])
    return reverse("change", args=[pk]) + (f"?{query}" if query else "")


def _views(change: Change, current: str, list_query: str, *, rendered: bool) -> list[dict[str, Any]]:
    words = {
        "prior": _("Prior + diff"),
        "split": _("Side by side"),
        "rendered": _("Rendered"),
        "fields": _("Fields and headers"),
    }
    return [
        {
            "label": words[name],
            "address": address_of(change.pk, list_query=list_query, view=name),
            "current": name == current,
            "name": name,
        }
        for name in VIEWS
        if name != "rendered" or rendered
    ]


def _header(snapshot: Snapshot | None, name: str) -> str:
    for pair in snapshot.headers if snapshot else []:
        if isinstance(pair, list | tuple) and len(pair) == 2 and str(pair[0]).lower() == name:
            return str(pair[1])[:200]
    return ""


def _evidence(change: Change) -> list[dict[str, Any]]:
    """Facts of the new capture (of the check, where there is none), as label and value."""
    new, check = change.new, change.check_row
    vantage = (new or change.prior).vantage or {}
    facts: list[tuple[str, str]] = [
        (_("Fetched"), f"{(new.taken_at if new else check.started_at):%Y-%m-%d %H:%M:%S} UTC"),
        (_("Vantage"), ", ".join(str(vantage[k]) for k in ("name", "country", "language") if vantage.get(k)) or "–"),
        (
            _("Status"),
            _("%(status)s, %(ms)s ms, %(size)s")
            % {
                "status": new.status if new else check.status or "–",
                "ms": new.duration_ms if new else check.duration_ms,
                "size": wording.byte_size(new.payload.size_bytes if new else check.size_bytes),
            },
        ),
        ("ETag", _header(new, "etag") or _("none sent")),
        ("Last-Modified", _header(new, "last-modified") or _("none sent")),
    ]
    rows_ = [{"label": label, "value": value, "hash": ""} for label, value in facts]
    rows_.append({"label": _("Prior SHA-256"), "value": "", "hash": change.prior.payload.sha256})
    if new:
        rows_.append({"label": _("New SHA-256"), "value": "", "hash": new.payload.sha256})
    return rows_


def _frame(request: HttpRequest, change: Change, snapshot: Snapshot | None, side: str) -> str:
    if snapshot is None:
        return ""
    return frames.frame_url(
        frames.Ticket(user=cast("User", request.user).pk, change=change.pk, snapshot=snapshot.pk, side=side)
    )


def _header_rows(change: Change) -> list[dict[str, Any]]:
    """Response headers of both captures, differing ones first."""
    sides: list[dict[str, str]] = []
    for snapshot in (change.prior, change.new):
        found: dict[str, str] = {}
        for pair in snapshot.headers if snapshot else []:
            if isinstance(pair, list | tuple) and len(pair) == 2:
                name = str(pair[0]).lower()
                found[name] = f"{found[name]}, {pair[1]}" if name in found else str(pair[1])
        sides.append(found)
    return history.field_rows(*sides)


def _redirects(snapshot: Snapshot | None) -> list[str]:
    """The addresses a capture passed through, whichever shape the hops were stored in."""

    def told(hop: object) -> str:
        if isinstance(hop, dict):
            return str(hop.get("url", hop))
        return " ".join(map(str, hop)) if isinstance(hop, list) else str(hop)

    return [told(hop) for hop in (snapshot.redirects if snapshot else [])]


def toast_context(verdict: Verdict, *, list_query: str) -> dict[str, Any]:
    """What the toast after a verdict says and offers."""
    return {
        "words": f"{wording.verdict_sentence(verdict)} – {verdict.change.monitor.name}",
        "verdict": verdict,
        "undoable": verdict.action in ("approve", "dismiss", "snooze"),
        "reasons": [(r.value, r.label) for r in verdicts.REASONS.get(Verdict.Action(verdict.action), ())],
        "list_query": list_query,
        "key": uuid.uuid4().hex,
    }


def decision_context(request: HttpRequest, change: Change, wanted: queue.Filter, now: datetime) -> dict[str, Any]:
    """What the decision bar needs."""
    user = cast("User", request.user)
    where = queue.position(change, wanted, user=user, now=now)
    list_query = wanted.query()
    document = change.diff if isinstance(change.diff, dict) else {}
    suggested = Verdict.Reason(wording.suggested_reason(change, document))
    last = verdicts.last_undoable(user)
    return {
        "position": where,
        "list_title": queue.VIEWS[wanted.view],
        "previous_address": address_of(where.previous, list_query=list_query) if where.previous else "",
        "next_address": address_of(where.next, list_query=list_query) if where.next else "",
        "form_key": uuid.uuid4().hex,
        "shown_at": f"{now.timestamp():.3f}",
        "suggested": suggested,
        "colleagues": [
            (person.pk, roles.display_name(person)) for person in assignments.people_for(user) if person.pk != user.pk
        ],
        "dismiss_reasons": [(r.value, r.label, n) for n, r in enumerate(verdicts.DISMISS_REASONS, start=1)],
        "snoozes": moments.snooze_choices(now),
        "last": last,
        "last_words": (f"{wording.verdict_sentence(last)} ({last.change.monitor.name})" if last is not None else ""),
        "decided": change.state in ("approved", "dismissed"),
        "toast": toast_context(last, list_query=list_query) if last is not None else None,
    }


def _view_of(request: HttpRequest, change: Change, *, rendered: bool) -> str:
    """The view that was asked for, else the one chosen last for this type of page; it is remembered with the session."""
    chosen = request.session.get("views", {})
    key = str(change.monitor.page_type_id)
    asked = request.GET.get("view", "")
    if asked in VIEWS and chosen.get(key, "prior") != asked:
        request.session["views"] = chosen | {key: asked}
    view = asked if asked in VIEWS else chosen.get(key, "prior")
    return view if view in VIEWS and (view != "rendered" or rendered) else "prior"


def _charts(change: Change, now: datetime) -> dict[str, Any]:
    """What this monitor showed over a year: scores, distances, and what stands out of the noise as a table."""
    rows_ = history.plotted(change.monitor, now=now, current=change)
    told = {
        "approved": Change.State.APPROVED.label, "dismissed": Change.State.DISMISSED.label, "waiting": _("waiting"),
    }  # fmt: skip
    return {
        "chart": history.chart_of(change.monitor, now=now, current=change, rows=rows_),
        "distance_chart": history.distance_chart_of(change.monitor, rows_, now=now),
        "chart_rows": [
            {
                "at": row.at,
                "score": wording.decimal(row.score or 0.0, 2),
                "distance": "–" if row.distance is None else row.distance,
                "kind": told[row.kind],
            }
            for row in reversed(rows_)
            if row.kind in told
        ][:20],
        "noise_rows": sum(row.kind == "noise" for row in rows_),
    }


def _terms_of(change: Change) -> list[str]:
    found = KeyTerms.objects.filter(team=change.monitor.team_id).first()
    return found.listed if found else []


def _looking(request: HttpRequest, change: Change, now: datetime) -> dict[str, Any]:
    """Who else looks, what is new since the person's last visit, and whether a link was made for an older diff.

    A page fetched ahead is not looked at yet; our script says so, and sends a heartbeat once it is shown.
    """
    user = cast("User", request.user)
    last = None
    if request.headers.get("X-Tideline") != "ahead":
        last = presence.arrive(user, change, now=now)
    asked = request.GET.get("d", "")
    return {
        "permalink": quoting.permalink(change),
        "printed_at": now,
        "here": places.presence_words(user, change),
        "last_seen": last.at if last else None,
        "since_address": compare.address_of(change.monitor_id, last.snapshot, change.new_id or 0) if last else "",
        "old_link": bool(asked) and not change.diff_hash.startswith(asked),
    }


def _steps(request: HttpRequest, change: Change, list_query: str) -> tuple[list[dict[str, Any]], EarlierDiff | None]:
    """The diffs of a change that newer captures folded into, newest first, and the earlier one that was asked for."""
    if not change.folded:
        return [], None
    earlier = list(change.earlier_diffs.defer("diff"))
    asked = request.GET.get("step", "")
    step = change.earlier_diffs.filter(pk__in=[one.pk for one in earlier if str(one.pk) == asked]).first()
    now = {"at": change.updated_at, "added": change.added, "removed": change.removed, "newest": True}
    rows = [now | {"address": address_of(change.pk, list_query=list_query), "current": step is None}]
    rows += [
        {
            "at": one.seen_at,
            "added": one.added,
            "removed": one.removed,
            "newest": False,
            "address": f"{reverse('change', args=[change.pk])}?{urlencode({'step': one.pk, 'in': list_query})}",
            "current": step is not None and step.pk == one.pk,
        }
        for one in earlier
    ]
    return rows, step


def _since_approved(change: Change) -> str:
    """Where the new capture is compared with the last approved text, if the prior text is another; else empty."""
    last = (
        Change.objects.filter(
            monitor=change.monitor_id, state=Change.State.APPROVED, new__isnull=False, opened_at__lt=change.opened_at
        )
        .order_by("-opened_at")
        .values_list("new", flat=True)
        .first()
    )
    if last is None or last == change.prior_id or change.new_id is None:
        return ""
    return f"{reverse('compare', args=[change.monitor_id])}?old={last}&new={change.new_id}"


def _links(document: dict[str, Any]) -> list[dict[str, str]]:
    """Link targets that changed, as old and new."""
    return [
        {"old": rendering.plain(block.get("segments") or block.get("before", []), "-") if block["op"] != "added" else "",
         "new": rendering.plain(block.get("segments") or block.get("after", []), "+") if block["op"] != "removed" else ""}
        for block in document.get("blocks", [])
        if block.get("surface") == "link" and block.get("op") in ("added", "removed", "reworded", "rewritten")
    ]  # fmt: skip


@require_GET
def change_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One change with its evidence."""
    now = timezone.now()
    change = change_or_404(request, pk)
    wanted = queue.Filter.read_query(request.GET.get("in", ""))
    list_query = wanted.query()
    rendered = change.new is not None
    view = _view_of(request, change, rendered=rendered)
    steps, step = _steps(request, change, list_query)
    if step is not None:  # read only: a verdict is about the newest diff
        change.diff, change.added, change.removed = step.diff, step.added, step.removed
        view = "split"
    document: dict[str, Any] = change.diff if isinstance(change.diff, dict) else {}
    preferences = preferences_of(request)
    everything = request.GET.get("all") == "1"
    terms = _terms_of(change)
    printed, cut_short = "", False
    decider = roles.may_decide(request.user) and step is None
    extras = rendering.Extras(
        key_terms.pattern_of(terms),
        f"?d={change.diff_hash[:12]}" if step is None else "",
        ignorable=decider and change.kind == Change.Kind.CONTENT and change.state != Change.State.APPROVED,
    )
    with rendering.printing(extras):
        if view == "split":
            printed, cut_short = rendering.split_html(document, spoken=preferences.spoken_marks, everything=everything)
        elif view == "prior":
            printed, cut_short = rendering.diff_html(document, spoken=preferences.spoken_marks, everything=everything)
    standing = verdicts.standing_verdict(change.pk) if change.state in ("approved", "dismissed") else None
    data: dict[str, Any] = {
        "section": "queue",
        "change": change,
        "monitor": change.monitor,
        "view": view,
        "views": _views(change, view, list_query, rendered=rendered),
        "list_query": list_query,
        "list_address": reverse("queue") + (f"?{list_query}" if list_query else ""),
        "list_name": queue.VIEWS[wanted.view],
        "lang": str(document.get("lang") or change.prior.language or ""),
        "direction": document.get("direction") if document.get("direction") in ("ltr", "rtl") else "ltr",
        "summary": sentences.summary(document),
        "unit": rendering.unit_word(document),
        "total_units": number_format(int(document.get("total") or 0), force_grouping=True),
        "ignored": sentences.ignored_note(document),
        "bounds": sentences.bounds_note(document),
        "has_text_change": bool(change.places or change.added or change.removed or document.get("moved")),
        "diff": printed,
        "cut_short": cut_short,
        "all_address": address_of(change.pk, list_query=list_query, view=view) + "&all=1",
        "flags": rows.flags_of(change),
        "reasons": explaining.sentences(change.reasons),
        **_charts(change, now),
        "evidence": _evidence(change),
        "prior_frame": _frame(request, change, change.prior, "-"),
        "new_frame": _frame(request, change, change.new, "+"),
        "between": wording.long_span(
            (change.new.taken_at if change.new else change.check_row.started_at) - change.prior.taken_at
        ),
        "field_changes": [field_words.sentence(row) for row in change.field_changes.all()[:20]],
        "notes": list(change.notes.select_related("author")),
        "assignment": getattr(change, "assignment", None),
        "standing": standing,
        "standing_words": wording.verdict_sentence(standing) if standing else "",
        "standing_name": roles.display_name(standing.actor) if standing else "",
        "opinions": [
            {
                "name": roles.display_name(v.actor),
                "verdict": v,
                "words": _("approve") if v.opinion == "approve" else _("dismiss"),
            }
            for v in Verdict.objects.filter(change=change, action="second").select_related("actor")
        ],
        "language": get_language(),
        "terms": terms,
        "terms_found": key_terms.found_in(document, terms),
        "may_set_terms": roles.may_calibrate(request.user),
        **_looking(request, change, now),
        "alike": queue.alike(change, user=cast("User", request.user)) if decider else [],
        "steps": steps,
        "step": step,
        "approved_address": _since_approved(change),
        "most_alike": queue.MOST_ALIKE,
        "decider": decider,
        "learned": list(lessons.learned_from(change)[:5]) if change.state == Change.State.DISMISSED else [],
        "now": now,
    }
    if view == "rendered":
        data["place_numbers"] = range(1, int(document.get("places") or 0) + 1)
        data["shots"] = _shots(change)
        data["over"] = _overlay(request, data["shots"])
    if view == "fields":
        data["fields"] = history.field_rows(change.prior.fields or {}, (change.new.fields if change.new else {}) or {})
        data["headers"] = _header_rows(change)
        data["links"] = _links(document)
        data["redirects"] = (_redirects(change.prior), _redirects(change.new))
    if data["decider"]:
        data.update(decision_context(request, change, wanted, now))
    return render(request, "review/change.html", data)


def snapshot_facts(snapshot: Snapshot | None) -> dict[str, Any] | None:
    """Everything known of a capture but its bytes, as plain values; None of none. Any: JSON."""
    if snapshot is None:
        return None
    return {
        "taken_at": snapshot.taken_at.isoformat(),
        "url": snapshot.url,
        "final_url": snapshot.final_url,
        "status": snapshot.status,
        "headers": snapshot.headers,
        "redirects": snapshot.redirects,
        "peer_address": snapshot.peer_address,
        "certificate_sha256": snapshot.certificate_sha256,
        "content_type": snapshot.content_type,
        "charset": snapshot.charset,
        "charset_source": snapshot.charset_source,
        "rendered": snapshot.rendered,
        "vantage": snapshot.vantage,
        "fingerprint": snapshot.fingerprint,
        "fields": snapshot.fields,
        "detector_version": snapshot.detector_version,
        "product_version": snapshot.product_version,
        "sha256": snapshot.payload.sha256,
        "size_bytes": snapshot.payload.size_bytes,
    }


@require_GET
def evidence(request: HttpRequest, pk: int) -> HttpResponse:
    """A ZIP with both captures' raw bytes and everything known about them as JSON. Names inside are fixed."""
    change = change_or_404(request, pk)
    facts = {
        "change": change.pk,
        "monitor": {"name": change.monitor.name, "url": change.monitor.url},
        "kind": change.kind,
        "state": change.state,
        "score": change.score,
        "cut": change.cut,
        "distance": change.distance,
        "threshold": change.threshold,
        "reasons": change.reasons,
        "diff_sha256": change.diff_hash,
        "diff": change.diff,
        "prior": snapshot_facts(change.prior),
        "new": snapshot_facts(change.new),
        "verdicts": [
            {
                "id": v.pk,
                "at": v.at.isoformat(),
                "by": v.actor.get_username(),
                "action": v.action,
                "reason": v.reason,
                "undoes": v.undoes_id,
                "diff_sha256": v.diff_hash,
            }
            for v in change.verdicts.select_related("actor").order_by("pk")
        ],
    }
    buffer = io.BytesIO()
    captures: list[tuple[Snapshot, bytes]] = []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("change.json", json.dumps(facts, ensure_ascii=False, indent=1, default=str))
        bundle.writestr("diff.txt", rendering.diff_text(change.diff if isinstance(change.diff, dict) else {}))
        for name, snapshot in (("prior.bin", change.prior), ("new.bin", change.new)):
            if snapshot is not None:
                try:
                    body = storage.get(snapshot.payload)
                except storage.StorageError as error:
                    bundle.writestr(
                        f"{name}.missing.txt", f"The stored bytes could not be read: {type(error).__name__}\n"
                    )
                else:
                    bundle.writestr(name, body)
                    captures.append((snapshot, body))
        bundle.writestr("captures.warc", warc.warc(captures, software=f"Tideline {settings.VERSION}"))
    response = HttpResponse(buffer.getvalue(), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="tideline-change-{change.pk}.zip"'
    return response


@require_GET
def screenshot(request: HttpRequest, pk: int, side: str) -> HttpResponse:
    """A picture that our browser took of one side; an image and nothing else."""
    change = change_or_404(request, pk)
    return _picture(change.prior if side == "prior" else change.new, "screenshot")


@require_GET
def picture(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """The screenshot or thumbnail of one capture, of a monitor of the person's teams."""
    monitors = Monitor.objects.visible_to(request.user)
    snapshot = Snapshot.objects.filter(pk=pk, monitor__in=monitors).select_related("screenshot", "thumbnail").first()
    return _picture(snapshot, kind)


_IS_PICTURE: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    "screenshot": ("image/png", lambda body: body.startswith(b"\x89PNG\r\n\x1a\n")),
    "thumbnail": ("image/webp", lambda body: body[:4] == b"RIFF" and body[8:12] == b"WEBP"),
}


def _picture(snapshot: Snapshot | None, kind: str) -> HttpResponse:
    """The stored picture, in a response that can be nothing but a picture wherever it is opened; else 404."""
    if snapshot is None or kind not in _IS_PICTURE or (payload := getattr(snapshot, kind)) is None:
        raise Http404("no picture was kept")
    content_type, is_picture = _IS_PICTURE[kind]
    try:
        body = storage.get(payload)
    except storage.StorageError as error:
        raise Http404("the stored picture can't be read") from error
    if not is_picture(body):
        raise Http404("what is stored is no such picture")
    response = HttpResponse(body, content_type=content_type)
    response["Cache-Control"] = "private, max-age=3600"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


SHOWINGS = ("beside", "before", "after", "over", "slider")


def _overlay(request: HttpRequest, shots: list[dict[str, Any]]) -> dict[str, Any]:
    """How the pictures are shown, as tabs that are links: beside each other, one alone, laid over, or half and half."""
    words = {
        "beside": _("Beside each other"), "before": _("Before"), "after": _("After"), "over": _("Laid over each other"),
        "slider": _("Half and half"),
    }  # fmt: skip
    shown = request.GET.get("shots", "")
    shown = shown if shown in SHOWINGS and len(shots) == 2 else "beside"
    query = request.GET.copy()
    tabs = []
    for name in SHOWINGS if len(shots) == 2 else ():
        query["shots"] = name
        query["view"] = "rendered"
        tabs.append({"label": words[name], "address": f"?{query.urlencode()}#shots", "current": name == shown})
    return {"shown": shown, "tabs": tabs}


def _shots(change: Change) -> list[dict[str, Any]]:
    """Both sides' pictures as the page shows them: a small one where there is one, and what the large one lacks."""
    found = []
    for name, snapshot, label, alt in (
        ("before", change.prior, _("Before"), _("Screenshot before")),
        ("after", change.new, _("After"), _("Screenshot after")),
    ):
        if snapshot is None or not snapshot.screenshot_id:
            continue
        full = reverse("picture", args=[snapshot.pk, "screenshot"])
        found.append(
            {
                "name": name,
                "label": label,
                "alt": alt,
                "full": full,
                "small": reverse("picture", args=[snapshot.pk, "thumbnail"]) if snapshot.thumbnail_id else full,
                "height": number_format(int(snapshot.picture.get("height", 0)), force_grouping=True),
                "page_height": number_format(int(snapshot.picture.get("page_height", 0)), force_grouping=True),
                "cut": snapshot.picture_cut_px > 0,
            }
        )
    return found
