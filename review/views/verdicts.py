"""The verdict log: who decided what, when."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from monitoring.models.monitor import of_visible
from review import roles, wording
from review.models import Verdict
from review.selectors import keyset
from review.views import moments

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ORDER = keyset.Order(("-at", "-pk"))


@require_GET
def verdict_log(request: HttpRequest) -> HttpResponse:
    """Every row, undone ones too: the log is append-only."""
    user, now = cast("User", request.user), timezone.now()
    rows = Verdict.objects.select_related("actor", "change__monitor__site", "undone_by", "undoes")
    found = of_visible(rows, user, "change__monitor")
    kept = {}
    if request.GET.get("who") == "me":
        found, kept["who"] = found.filter(actor=user), "me"
    if request.GET.get("when") == "today":
        found, kept["when"] = found.filter(at__gte=moments.start_of_day(now)), "today"
    action = request.GET.get("action", "")
    if action in Verdict.Action.values:
        found, kept["action"] = found.filter(action=action), action
    page = keyset.page(
        found.defer("change__diff", "change__search_text"),
        ORDER,
        size=50,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    base = reverse("verdicts")

    def address(**more: str) -> str:
        query = urlencode({k: v for k, v in {**kept, **more}.items() if v})
        return f"{base}?{query}" if query else base

    return render(
        request,
        "review/verdicts.html",
        {
            "section": "verdicts",
            "lines": [
                {
                    "verdict": v,
                    "words": wording.verdict_sentence(v),
                    "name": roles.display_name(v.actor),
                    "undone": hasattr(v, "undone_by") and v.undone_by is not None,
                }
                for v in page.rows
            ],
            "tabs": [
                (_("Everybody's"), address(who="", when=""), "who" not in kept and "when" not in kept),
                (_("Mine"), address(who="me", when=""), "who" in kept and "when" not in kept),
                (_("Mine today"), address(who="me", when="today"), "who" in kept and "when" in kept),
            ],
            "older": address(after=page.older) if page.older else "",
            "newer": address(before=page.newer) if page.newer else "",
        },
    )
