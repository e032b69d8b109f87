"""Small addresses of a change: who looks at it, a place as a quotation, and a team's key terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from monitoring.models import Change, Snapshot
from review import quoting, roles, wording
from review.models import KeyTerms
from review.services import presence, verdicts
from review.templatetags.tideline import when
from review.views.access import calibrating, change_or_404, deciding, safe_next

if TYPE_CHECKING:
    from django.contrib.auth.models import User

TERMS_CHARS = 4_000


def presence_words(user: User, change: Change) -> str:
    """ "Ana is looking at this since 14:02", for everybody else who is; empty for nobody."""
    now = timezone.now()
    found = [
        _("%(name)s is looking at this since %(time)s")
        % {"name": one.name, "time": timezone.localtime(one.since).strftime("%H:%M")}
        for one in presence.others(user, change, now=now)
    ]
    return " · ".join(found)


@require_POST
@deciding
def here(request: HttpRequest, pk: int) -> JsonResponse:
    """The heartbeat of an open change: who else looks, and what became of it meanwhile."""
    user = cast("User", request.user)
    change = change_or_404(request, pk)
    presence.stay(user, change, now=timezone.now())
    return JsonResponse({"here": presence_words(user, change), "moved": _moved_on(change, request, user)})


def _moved_on(change: Change, request: HttpRequest, user: User) -> str:
    """What happened to the change since it was shown, in a sentence; empty for nothing, or for one's own doing."""
    if change.state in ("approved", "dismissed"):
        standing = verdicts.standing_verdict(change.pk)
        if standing is None or standing.actor_id == user.pk:
            return ""
        return _("%(name)s decided this at %(time)s: %(words)s.") % {
            "name": roles.display_name(standing.actor),
            "time": timezone.localtime(standing.at).strftime("%H:%M"),
            "words": wording.verdict_sentence(standing),
        }
    if change.diff_hash != request.POST.get("diff_hash", change.diff_hash):
        return _("The page changed again while you were reading. Load it to see the newest diff.")
    return ""


# --- a place as a quotation ------------------------------------------------------------------------------------


def _dated(label: str, snapshot: Snapshot | None, text: str) -> str:
    moment = f" ({when(snapshot.taken_at)} {timezone.localtime(snapshot.taken_at):%Z})" if snapshot else ""
    return f"{label}{moment}:\n“{text}”" if text else f"{label}{moment}: –"


@require_GET
def quote(request: HttpRequest, pk: int, place: int) -> HttpResponse:
    """A place as plain text with source and time, to be pasted into a report."""
    change = change_or_404(request, pk)
    found = quoting.quotation(change, place)
    if found is None:
        raise Http404("no such place")
    monitor = change.monitor
    parts = [
        _dated(_("Before"), change.prior, found.before),
        _dated(_("After"), change.new, found.after),
        f"{monitor.name}, {monitor.site.name}\n{(change.new or change.prior).final_url or monitor.url}\n"
        f"{quoting.permalink(change, place)}",
    ]
    return HttpResponse("\n\n".join(parts) + "\n", content_type="text/plain; charset=utf-8")


# --- key terms -------------------------------------------------------------------------------------------------


@require_POST
@calibrating
def key_terms(request: HttpRequest, pk: int) -> HttpResponse:
    """The words that the team of this change's monitor wants marked; leads and admins set them."""
    change = change_or_404(request, pk)
    back = HttpResponseRedirect(safe_next(request, change.get_absolute_url()))
    text = request.POST.get("terms", "").replace("\x00", "").strip()
    if len(text) > TERMS_CHARS:
        messages.warning(request, _("Key terms have at most %(n)s characters together.") % {"n": TERMS_CHARS})
        return back
    KeyTerms.objects.update_or_create(
        team_id=change.monitor.team_id, defaults={"terms": text, "updated_by": cast("User", request.user)}
    )
    messages.success(request, _("Key terms saved; they are marked from now on."))
    return back
