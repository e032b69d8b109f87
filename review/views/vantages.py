"""The same page from two vantages: what differs by place."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from monitoring.models import Monitor, Vantage, VantageComparison
from monitoring.services import comparisons
from review import rendering, sentences, visits
from review.middleware import preferences_of
from review.views import parameters
from review.views.access import calibrating, monitor_or_404

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@require_http_methods(["GET", "POST"])
@calibrating
def vantages_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Two vantages to choose, and what the newest comparison found; a worker does the asking."""
    monitor = monitor_or_404(request, pk)
    here = reverse("vantages", args=[pk])
    if request.method == "POST":
        _start(request, monitor)
        return HttpResponseRedirect(here)
    rows = list(
        VantageComparison.objects.filter(monitor=monitor)
        .select_related("first", "second", "requested_by")
        .defer("diff")[:10]
    )
    wanted = parameters.whole_number(request.GET.get("run", ""))
    shown = next((row for row in rows if row.pk == wanted), rows[0] if rows else None)
    everything = request.GET.get("all") == "1"
    sides = [_sides(fact) for fact in shown.facts] if shown else []
    return render(
        request,
        "review/vantages.html",
        {
            "section": "monitors",
            "monitor": monitor,
            "vantages": list(Vantage.objects.order_by("name")),
            "chosen_first": shown.first_id if shown else monitor.vantage_id,
            "chosen_second": shown.second_id if shown else monitor.confirm_vantage_id,
            "rows": rows,
            "shown": shown,
            "facts": sides,
            "problem": _problem(shown, sides) if shown else "",
            "all_address": f"{here}?run={shown.pk}&all=1" if shown else "",
            **(_document(request, shown, everything=everything) if shown and shown.state == "done" else {}),
        },
    )


def _start(request: HttpRequest, monitor: Monitor) -> None:
    first, second = (_chosen(request.POST.get(name, "")) for name in ("first", "second"))
    if first is None or second is None:
        messages.warning(request, _("Choose two vantages."))
        return
    try:
        comparisons.start(monitor, first=first, second=second, actor=cast("User", request.user))
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
        return
    messages.success(request, _("A worker asks for the page from both; the result appears here within a minute."))


def _chosen(text: str) -> Vantage | None:
    number = parameters.whole_number(text)
    return Vantage.objects.filter(pk=number).first() if number is not None else None


def _sides(fact: dict[str, Any]) -> dict[str, Any]:
    """A side's facts with its moment as one, so that it can be printed in the reader's zone."""
    try:
        at = datetime.fromisoformat(str(fact.get("at", "")))
    except ValueError:
        at = timezone.now()
    said = str(fact.get("problem", ""))
    if said and (status := fact.get("status")) and fact.get("reason") == "status-error":
        said = _("The site answered with status %(status)s.") % {"status": status}
    elif said:
        data = fact.get("data") or {}
        said = visits.failure_words(str(fact.get("reason", "")), str(fact.get("cause", "")), data, said=said)
    return {**fact, "at": at, "problem": said}


def _problem(shown: VantageComparison, sides: list[dict[str, Any]]) -> str:
    """Why nothing could be compared, in the reader's language."""
    own = {
        comparisons.CRASHED: _("The comparison ended with an error of Tideline's own."),
        comparisons.GIVEN_UP: _("The worker ended before the comparison was done."),
    }
    named = next((f"{side['vantage']}: {side['problem']}" for side in sides if side["problem"]), "")
    return named or own.get(shown.problem, shown.problem)


def _document(request: HttpRequest, shown: VantageComparison, *, everything: bool) -> dict[str, Any]:
    document: dict[str, Any] = shown.diff
    preferences = preferences_of(request)
    printed, cut_short = rendering.diff_html(document, spoken=preferences.spoken_marks, everything=everything)
    return {
        "diff": printed,
        "cut_short": cut_short,
        "summary": sentences.summary(document),
        "ignored": sentences.ignored_note(document),
        "bounds": sentences.bounds_note(document),
        "added": document.get("added", 0),
        "removed": document.get("removed", 0),
        "has_text_change": bool(document.get("places")),
        "lang": str(document.get("lang") or ""),
        "direction": document.get("direction") if document.get("direction") in ("ltr", "rtl") else "ltr",
        "preferences": preferences,
    }
