"""What the decision bar posts: verdicts, undo, reasons, assignment, notes. Works without script: POST, then 303."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from monitoring.models import Change
from monitoring.services import lessons
from review import context, roles, wording
from review.models import Note, Verdict
from review.selectors import queue
from review.services import assignments, verdicts
from review.views import moments, parameters
from review.views.access import change_or_404, deciding, wants_json
from review.views.change import address_of, toast_context

if TYPE_CHECKING:
    from django.contrib.auth.models import User


_KEY = re.compile(r"[A-Za-z0-9]{8,36}")
_HASH = re.compile(r"[0-9a-f]{0,64}")


class HttpResponseSeeOther(HttpResponse):
    """303: the answer to a POST is elsewhere, to be fetched with GET."""

    status_code = 303

    def __init__(self, address: str) -> None:
        super().__init__()
        self["Location"] = address


def seen_in(request: HttpRequest, now: datetime) -> verdicts.Seen | None:
    """What the form says was on screen; None where it is no form of ours."""
    post = request.POST
    version = parameters.whole_number(post.get("version", ""), most=parameters.MOST_COUNT)
    diff_hash, key = post.get("diff_hash", ""), post.get("key", "")
    if version is None or not _KEY.fullmatch(key) or not _HASH.fullmatch(diff_hash):
        return None
    seconds: float | None
    try:
        seconds = float(post["seconds"]) if post.get("seconds") else now.timestamp() - float(post["shown"])
    except (KeyError, ValueError):
        seconds = None
    if seconds is not None and not 0 <= seconds < 86_400 * 30:
        seconds = None
    return verdicts.Seen(version, diff_hash, key, seconds)


def suggested(change: Change) -> Verdict.Reason:
    """The reason that a plain dismissal of a change is given."""
    return Verdict.Reason(wording.suggested_reason(change, change.diff if isinstance(change.diff, dict) else {}))


def _to_next(
    request: HttpRequest, change: Change, now: datetime, *, decided: Iterable[int] = ()
) -> tuple[str, int | None]:
    """The address of the change to show next (else of the list), and its id; not one of those `decided` with this one."""
    wanted = queue.Filter.read_query(request.POST.get("in", ""))
    following = queue.next_after(change, wanted, user=cast("User", request.user), now=now, decided=decided)
    if following:
        return address_of(following, list_query=wanted.query()), following
    query = wanted.query()
    return reverse("queue") + (f"?{query}" if query else ""), None


def _position(request: HttpRequest, following: int | None, now: datetime) -> str:
    """Where the next change stands now that this one is decided; its page was fetched before."""
    if following is None:
        return ""
    user = cast("User", request.user)
    wanted = queue.Filter.read_query(request.POST.get("in", ""))
    return queue.position(change_or_404(request, following), wanted, user=user, now=now).words


def _toast(request: HttpRequest, verdict: Verdict, change: Change, words: str = "") -> str:
    list_query = queue.Filter.read_query(request.POST.get("in", "")).query()
    data = toast_context(verdict, list_query=list_query)
    return render_to_string("review/_toast.html", data | ({"words": words} if words else {}), request=request)


def _answer(
    request: HttpRequest,
    *,
    words: str,
    address: str,
    toast: str = "",
    position: str = "",
    tag: str = "",
    status: int = 200,
) -> HttpResponse:
    """The same answer for a form (message and 303) and for our script (JSON with the toast)."""
    if wants_json(request):
        return JsonResponse(
            {
                "ok": True,
                "toast": toast,
                "words": words,
                "next": address,
                "position": position,
                "waiting": context.capped(context.waiting_count(request)),
            },
            status=status,
        )
    messages.success(request, words, extra_tags=tag)
    return HttpResponseSeeOther(address)


@require_POST
@deciding
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """One button of the decision bar."""
    now = timezone.now()
    change = change_or_404(request, pk)
    user = cast("User", request.user)
    action, _sep, detail = request.POST.get("do", "").partition(":")
    if action == "undo":
        return _undo_last(request, user, now)
    if action == "assign":
        return _assign(request, change, user, detail)
    seen = seen_in(request, now)
    if seen is None:
        return HttpResponseBadRequest(_("This form is incomplete. Load the page again."))
    if action == "second":
        return _second(request, change, user, seen, detail, now)
    if action not in ("approve", "dismiss", "snooze"):
        return HttpResponseBadRequest(_("There is no such verdict."))
    verdict_action = Verdict.Action(action)
    reason = ""
    if action != "snooze" and detail:
        if detail not in verdicts.REASONS[verdict_action]:
            return HttpResponseBadRequest(_("There is no such reason."))
        reason = detail
    others = parameters.versions(request.POST.getlist("with"), most=queue.MOST_ALIKE)
    following, next_id = _to_next(request, change, now, decided=others)
    until = moments.wake_at(detail, now) if action == "snooze" else None
    given: dict[str, Any] = {"action": verdict_action, "actor": user, "seen": seen, "now": now}
    given |= {"reason": reason, "until": until}
    if others:
        together = verdicts.decide_alike(change.pk, others, **given)
    else:
        together = verdicts.Together(verdicts.decide(change.pk, **given))
    outcome = together.first
    if not isinstance(outcome, verdicts.Recorded):
        return conflict(request, change, outcome, seen, action, detail, following)
    words = f"{wording.verdict_sentence(outcome.verdict)} – {change.monitor.name}{_beside(together)}"
    return _answer(
        request,
        words=words,
        address=following,
        toast=_toast(request, outcome.verdict, change, words) if wants_json(request) else "",
        position=_position(request, next_id, now) if wants_json(request) else "",
        tag="verdict",
    )


def _beside(together: verdicts.Together) -> str:
    """What became of the other pages with the same change, after a comma; empty without any."""
    words = ""
    if together.done:
        words += ", " + ngettext("and on %(n)s other page", "and on %(n)s other pages", together.done) % {
            "n": together.done
        }
    if together.left:
        words += ". " + ngettext(
            "%(n)s page was left alone: it was decided or changed again meanwhile.",
            "%(n)s pages were left alone: they were decided or changed again meanwhile.",
            together.left,
        ) % {"n": together.left}
    return words


def conflict(
    request: HttpRequest,
    change: Change,
    outcome: verdicts.Taken | verdicts.Stale,
    seen: verdicts.Seen,
    action: str,
    detail: str,
    following: str,
) -> HttpResponse:
    """409: who was faster and when, or that the page changed again; never a silent overwrite."""
    winner = outcome.winner if isinstance(outcome, verdicts.Taken) else None
    data: dict[str, Any] = {
        "section": "queue",
        "change": change,
        "stale": isinstance(outcome, verdicts.Stale),
        "winner": winner,
        "winner_name": roles.display_name(winner.actor) if winner else "",
        "winner_words": wording.verdict_sentence(winner) if winner else "",
        "ago": wording.long_span(max(timezone.now() - winner.at, timedelta(seconds=1))) if winner else "",
        "mine": action,
        "mine_words": {"approve": _("approval"), "dismiss": _("dismissal"), "snooze": _("snooze")}.get(action, action),
        "detail": detail,
        "seen": seen,
        "key": uuid.uuid4().hex,
        "next_address": following,
        "again_address": address_of(change.pk, list_query=request.POST.get("in", "")),
        "list_query": request.POST.get("in", ""),
    }
    if wants_json(request):
        body = render_to_string("review/_conflict.html", data, request=request)
        return JsonResponse({"ok": False, "conflict": body}, status=409)
    return render(request, "review/conflict.html", data, status=409)


def _second(
    request: HttpRequest, change: Change, user: User, seen: verdicts.Seen, opinion: str, now: datetime
) -> HttpResponse:
    if opinion not in ("approve", "dismiss"):
        return HttpResponseBadRequest(_("An opinion is to approve or to dismiss."))
    following, _next_id = _to_next(request, change, now)
    recorded = verdicts.second_opinion(change.pk, opinion=opinion, actor=user, seen=seen, now=now)
    words = f"{wording.verdict_sentence(recorded.verdict)} – {change.monitor.name}"
    return _answer(request, words=words, address=following)


def _undo_last(request: HttpRequest, user: User, now: datetime) -> HttpResponse:
    verdict_id = parameters.whole_number(request.POST.get("verdict", ""))
    verdict = (
        Verdict.objects.filter(pk=verdict_id, actor=user, change__in=Change.objects.visible_to(user))
        .select_related("change__monitor")
        .first()
        if verdict_id is not None
        else verdicts.last_undoable(user)
    )
    wanted = queue.Filter.read_query(request.POST.get("in", ""))
    if verdict is None or verdict.action not in ("approve", "dismiss", "snooze"):
        return _answer(request, words=_("There is nothing to undo."), address=reverse("queue"))
    rules = lessons.learned_from(verdict.change).count()
    done, missed = verdicts.undo_together(verdict, actor=user, key=f"u{uuid.uuid4().hex}", now=now)
    if not done:
        words = _("Not undone: the change has moved on since, or a newer one of the same page waits.")
        return _answer(
            request, words=words, address=address_of(verdict.change_id, list_query=wanted.query()), status=200
        )
    if done + missed == 1:
        words = _("Undone: %(page)s waits again as before.") % {"page": verdict.change.monitor.name}
    else:
        words = ngettext("%(n)s change is back.", "%(n)s changes are back.", done) % {"n": done}
    if missed:
        words += " " + ngettext("%(n)s has moved on since.", "%(n)s have moved on since.", missed) % {"n": missed}
    if rules and verdict.action == "dismiss":
        words += " " + _("What was ignored because of it is looked at again.")
    return _answer(request, words=words, address=address_of(verdict.change_id, list_query=wanted.query()))


def _assign(request: HttpRequest, change: Change, user: User, detail: str) -> HttpResponse:
    here = address_of(change.pk, list_query=queue.Filter.read_query(request.POST.get("in", "")).query())
    if detail == "nobody":
        assignments.assign([change], to=None, by=user)
        return _answer(request, words=_("Assigned to nobody."), address=here)
    if detail in ("", "me"):
        assignments.assign([change], to=user, by=user)
        return _answer(request, words=_("Assigned to you."), address=here)
    person = next((p for p in assignments.people_for(user) if str(p.pk) == detail), None)
    if person is None:
        return HttpResponseBadRequest(_("Nobody of your teams is called that."))
    if not assignments.assign([change], to=person, by=user):
        return _answer(request, words=_("Nothing to assign: it is theirs, or not of their team."), address=here)
    return _answer(request, words=_("Assigned to %(name)s.") % {"name": roles.display_name(person)}, address=here)


@require_POST
@deciding
def note(request: HttpRequest, pk: int) -> HttpResponse:
    """A note for the next reader."""
    change = change_or_404(request, pk)
    text = request.POST.get("text", "").replace("\x00", "").strip()
    here = address_of(change.pk, list_query=queue.Filter.read_query(request.POST.get("in", "")).query())
    if not text:
        return HttpResponseBadRequest(_("A note needs words."))
    if len(text) > 4000:
        return HttpResponseBadRequest(_("A note has at most 4,000 characters."))
    Note.objects.create(change=change, author=cast("User", request.user), text=text)
    return _answer(request, words=_("Note saved."), address=here)


@require_POST
@deciding
def give_reason(request: HttpRequest, pk: int) -> HttpResponse:
    """Another reason for one's own verdict: undone and given again, both on record."""
    user, now = cast("User", request.user), timezone.now()
    verdict = (
        Verdict.objects.filter(pk=pk, actor=user, change__in=Change.objects.visible_to(user))
        .select_related("change__monitor")
        .first()
    )
    if verdict is None:
        raise Http404("no such verdict of yours")
    key = request.POST.get("key", "")
    reason = request.POST.get("reason", "")
    if not _KEY.fullmatch(key):
        return HttpResponseBadRequest(_("This form is incomplete. Load the page again."))
    if verdict.action not in ("approve", "dismiss") or reason not in verdicts.REASONS[Verdict.Action(verdict.action)]:
        return HttpResponseBadRequest(_("There is no such reason."))
    again = verdicts.give_reason(verdict, reason=reason, actor=user, key=key, now=now)
    list_query = queue.Filter.read_query(request.POST.get("in", "")).query()
    address = reverse("queue") + (f"?{list_query}" if list_query else "")
    if again is None:
        return _answer(request, words=_("Not changed: the verdict no longer stands."), address=address)
    return _answer(
        request,
        words=f"{wording.verdict_sentence(again)} – {verdict.change.monitor.name}",
        address=address,
        toast=_toast(request, again, verdict.change) if wants_json(request) else "",
    )
