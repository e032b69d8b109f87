"""The report of approved changes: what changed, who approved it and why, to be printed."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from review import quoting, roles
from review.models import Verdict
from review.selectors import keyset, verdict_log
from review.views.verdicts import asked, selects

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PAGE_SIZE = 50
MOST_PLACES = 12  # that are quoted of one change; the others are counted, and behind its permalink


def _entry(verdict: Verdict) -> dict[str, Any]:
    change = verdict.change
    quoted = list(islice(quoting.quotations(change), MOST_PLACES))
    document = change.diff if isinstance(change.diff, dict) else {}
    return {
        "verdict": verdict,
        "change": change,
        "monitor": change.monitor,
        "address": (change.new or change.prior).final_url or change.monitor.url,
        "name": roles.display_name(verdict.actor),
        "quotations": quoted,
        "more": max(0, change.places - len(quoted)),
        "lang": str(document.get("lang") or change.prior.language or ""),
        "dir": "rtl" if document.get("direction") == "rtl" else "ltr",
        "opinions": [
            {"words": _opinion(one), "name": roles.display_name(one.actor), "at": one.at}
            for one in change.second_opinions  # type: ignore[attr-defined] # put there by the selector
        ],
        "notes": [(note, roles.display_name(note.author)) for note in change.notes.all()],
        "permalink": quoting.permalink(change),
    }


def _opinion(verdict: Verdict) -> str:
    words = Verdict.Action(verdict.opinion).label if verdict.opinion else verdict.get_action_display()
    return f"{words}: {verdict.get_reason_display()}" if verdict.reason else str(words)


@require_GET
def verdict_report(request: HttpRequest) -> HttpResponse:
    """The approvals in force of a period, a page type, a site or a person, newest first."""
    user, wanted = cast("User", request.user), replace(asked(request), action="")
    page = keyset.page(
        verdict_log.approvals(wanted, user=user),
        verdict_log.ORDER,
        size=PAGE_SIZE,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    chosen = [one for one in selects(wanted, user) if one["name"] != "action"]
    return render(
        request,
        "review/report.html",
        {
            "section": "verdicts",
            "entries": [_entry(verdict) for verdict in page.rows],
            "wanted": wanted,
            "selects": chosen,
            "limits": [f"{one['label']}: {dict(one['options'])[one['chosen']]}" for one in chosen if one["chosen"]],
            "printed_at": timezone.now(),
            "origin": f"{settings.APP_ORIGIN}{request.get_full_path()}",
            "log": wanted.address(reverse("verdicts")),
            **page.addresses(reverse("verdict_report"), wanted.kept),
        },
    )
