"""“Ignore this from now on”: a rule drawn from a dismissed place, tried first, and what becomes of it later."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from monitoring.models import Change, IgnoreRule
from monitoring.services import lessons, trials
from review import roles, wording
from review.models import Verdict
from review.services import verdicts
from review.views import decide
from review.views.access import change_or_404, deciding, monitor_or_404, safe_next

if TYPE_CHECKING:
    from django.contrib.auth.models import User

WAYS: dict[str, tuple[str | Promise, str | Promise]] = {
    "block": (
        gettext_lazy("This block"),
        gettext_lazy("Whatever else a block with these words says, it is left out."),
    ),
    "pattern": (
        gettext_lazy("This pattern"),
        gettext_lazy("Any block that reads like this is left out: any number for a number, any word for a word that changed."),
    ),
    "place": (
        gettext_lazy("This rotation"),
        gettext_lazy("Whatever stands in this place of the page is left out."),
    ),
}  # fmt: skip


def _chosen(rules: list[IgnoreRule], asked: str, reason: str) -> IgnoreRule | None:
    """The rule that was asked for, else the one that fits the reason of a dismissal, else the first."""
    fitting = {"rotating": "place", "date": "pattern"}.get(reason, "")
    for kind in (asked, fitting):
        if found := next((rule for rule in rules if rule.kind == kind), None):
            return found
    return rules[0] if rules and not asked else None


@require_GET
def ignore_page(request: HttpRequest, pk: int, place: int) -> HttpResponse:
    """What a rule from this place would have hidden; nothing is saved."""
    change = change_or_404(request, pk)
    return _page(request, change, place, asked=request.GET.get("as", ""))


def _page(request: HttpRequest, change: Change, place: int, *, asked: str, status: int = 200) -> HttpResponse:
    now = timezone.now()
    found = lessons.proposals(change, place) if change.kind == Change.Kind.CONTENT else []
    reason = wording.suggested_reason(change, change.diff if isinstance(change.diff, dict) else {})
    rule = _chosen(found, asked, reason)
    trial = trials.try_rules(change.monitor, [rule], viewer=request.user) if rule else None
    data = {
        "section": "queue",
        "change": change,
        "monitor": change.monitor,
        "place": place,
        "rule": rule,
        "ways": [(one.kind, WAYS[one.kind][0], one is rule) for one in found],
        "explained": WAYS[rule.kind][1] if rule else "",
        "trial": trial,
        "against": lessons.against(trial) if trial else (),
        "hides_this": bool(trial and any(row.change.pk == change.pk and row.whole for row in trial.hidden)),
        "days": lessons.KEPT.days,
        "ends_at": now + lessons.KEPT,
        "form_key": uuid.uuid4().hex,
        "shown_at": f"{now.timestamp():.3f}",
        "waits": change.state not in ("approved", "dismissed"),
        "list_query": request.GET.get("in", "") or request.POST.get("in", ""),
    }
    return render(request, "review/ignore.html", data, status=status)


@require_POST
@deciding
def learn(request: HttpRequest, pk: int, place: int) -> HttpResponse:
    """The rule in force, and the change dismissed where it still waits; both or neither. Tried again on the way."""
    user, now = cast("User", request.user), timezone.now()
    change = change_or_404(request, pk)
    seen = decide.seen_in(request, now)
    rule = next((one for one in lessons.proposals(change, place) if one.kind == request.POST.get("as")), None)
    if seen is None or rule is None or change.kind != Change.Kind.CONTENT:
        return HttpResponseBadRequest(_("This form is incomplete. Load the page again."))
    trial = trials.try_rules(change.monitor, [rule], viewer=user)
    why = request.POST.get("why", "").replace("\x00", "")
    try:
        with transaction.atomic():
            outcome = None
            if change.state != Change.State.DISMISSED:
                reason = Verdict.Reason.ROTATING if rule.kind == IgnoreRule.Kind.PLACE else decide.suggested(change)
                outcome = verdicts.decide(
                    pk, action=Verdict.Action.DISMISS, actor=user, seen=seen, now=now, reason=reason
                )
            elif change.diff_hash != seen.diff_hash:
                outcome = verdicts.Stale(change.version)
            if outcome is None or isinstance(outcome, verdicts.Recorded):
                saved = lessons.learn(rule, trial=trial, actor=user, why=why, now=now)
    except trials.RuleRefusedError:
        return _page(request, change, place, asked=rule.kind, status=409)
    if outcome is not None and not isinstance(outcome, verdicts.Recorded):
        return decide.conflict(request, change, outcome, seen, "dismiss", "", change.get_absolute_url())
    until = date_format(timezone.localtime(saved.expires_at)) if saved.expires_at else ""
    words = _("Ignored from now on, until %(date)s unless it is confirmed.") % {"date": until}
    messages.success(request, words if until else _("This is ignored for good already."))
    return HttpResponseRedirect(change.get_absolute_url())


@require_POST
@deciding
def learned_rule(request: HttpRequest, pk: int, rule: int) -> HttpResponse:
    """A learned rule kept for good (by leads and admins) or taken back."""
    user = cast("User", request.user)
    monitor = monitor_or_404(request, pk)
    back = HttpResponseRedirect(safe_next(request, f"{monitor.get_absolute_url()}#ignored"))
    found = next((one for one in monitor.ignore_rules.filter(pk=rule) if one.is_learned), None)
    wanted = request.POST.get("do", "")
    if found is None:
        messages.info(request, _("The rule is gone already."))
    elif wanted == "let-go":
        lessons.let_go([found], actor=user, why="")
        messages.success(request, _("Taken back. What it hid is found at the next visit."))
    elif wanted == "confirm" and roles.may_calibrate(user):
        lessons.confirm(found, actor=user)
        messages.success(request, _("The rule is kept for good."))
    elif wanted == "confirm":
        messages.warning(request, _("A lead or an admin can keep it for good."))
    else:
        raise Http404("no such step")
    return back
