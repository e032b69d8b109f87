"""The verdict log: who decided what, when; as a list and as CSV."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from review import quoting, rendering, roles, spreadsheet, wording
from review.models import Verdict
from review.selectors import keyset, verdict_log
from review.selectors.verdict_log import Filter
from review.views import parameters

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PAGE_SIZE = 50
COLUMNS = ["when", "who", "verdict", "opinion", "reason", "undone", "page", "address", "site", "page_type", "score", "before", "after", "permalink"]  # fmt: skip


def asked(request: HttpRequest) -> Filter:
    """The filter in the address's parameters; what makes no sense is left out."""
    given = request.GET
    action, reason = given.get("action", ""), given.get("reason", "")
    today = timezone.localdate() if given.get("when") == "today" else None
    mine = cast("User", request.user).pk if given.get("who") == "me" else None
    return Filter(
        since=today or parameters.day(given.get("from", "")),
        until=parameters.day(given.get("to", "")),
        type=parameters.whole_number(given.get("type", "")),
        site=parameters.whole_number(given.get("site", "")),
        who=mine or parameters.whole_number(given.get("who", "")),
        action=action if action in Verdict.Action.values else "",
        reason=reason if reason in Verdict.Reason.values else "",
    )


def selects(wanted: Filter, user: User) -> list[dict[str, Any]]:
    """The selects of the form: name, label, options, and what is chosen."""
    offered = verdict_log.choices(user)
    actions = [(str(value), label) for value, label in Verdict.Action.choices]
    reasons = [(str(value), label) for value, label in Verdict.Reason.choices]
    found = []
    for name, label, options in (
        ("type", _("Page type"), offered["type"]),
        ("site", _("Site"), offered["site"]),
        ("who", _("Who"), offered["who"]),
        ("action", _("Verdict"), actions),
        ("reason", _("Reason"), reasons),
    ):
        chosen = str(getattr(wanted, name) or "")
        texts = [(str(value), text) for value, text in options]
        if chosen and chosen not in dict(texts):
            texts.append((chosen, "?"))  # a person who left, a site beyond those offered: it still narrows the list
        if texts:
            found.append({"name": name, "label": label, "options": texts, "chosen": chosen})
    return found


def _line(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "words": wording.verdict_sentence(verdict),
        "name": roles.display_name(verdict.actor),
        "undone": hasattr(verdict, "undone_by"),
    }


@require_GET
def log(request: HttpRequest) -> HttpResponse:
    """Every row, undone ones too: the log is append-only."""
    user, wanted = cast("User", request.user), asked(request)
    page = keyset.page(
        verdict_log.verdicts(wanted, user=user),
        verdict_log.ORDER,
        size=PAGE_SIZE,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    base, today = reverse("verdicts"), timezone.localdate()
    everybody, mine, mine_today = Filter(), Filter(who=user.pk), Filter(who=user.pk, since=today)
    return render(
        request,
        "review/verdicts.html",
        {
            "section": "verdicts",
            "lines": [_line(verdict) for verdict in page.rows],
            "tabs": [
                (_("Everybody's"), base, wanted == everybody),
                (_("Mine"), mine.address(base), wanted == mine),
                (_("Mine today"), mine_today.address(base), wanted == mine_today),
            ],
            "wanted": wanted,
            "selects": selects(wanted, user),
            "csv": wanted.address(reverse("verdicts_csv")),
            "report": replace(wanted, action="").address(reverse("verdict_report")),
            **page.addresses(base, wanted.kept),
        },
    )


def _cells(verdict: Verdict) -> list[str]:
    change, said = verdict.change, wording.segments_of_say(verdict.change.say)
    return [
        verdict.at.isoformat(),
        roles.display_name(verdict.actor),
        verdict.action,
        verdict.opinion,
        verdict.reason,
        "1" if hasattr(verdict, "undone_by") else "0",
        change.monitor.name,
        change.monitor.url,
        change.monitor.site.name,
        change.monitor.page_type.name,
        "" if verdict.score is None else f"{verdict.score:.3f}",
        rendering.plain(said, "-"),
        rendering.plain(said, "+"),
        quoting.permalink(change),
    ]


@require_GET
def log_csv(request: HttpRequest) -> StreamingHttpResponse:
    """The same rows as CSV; before and after are the sentence that the queue showed."""
    found = verdict_log.verdicts(asked(request), user=cast("User", request.user))
    rows = keyset.walk(found, verdict_log.ORDER, most=spreadsheet.MOST_ROWS)
    return spreadsheet.download("tideline-verdicts.csv", COLUMNS, map(_cells, rows))
