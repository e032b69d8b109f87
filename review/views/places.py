"""Small addresses of a change: who looks at it, a place as a quotation, and a team's key terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from monitoring.detection.diff import rows_at
from monitoring.models import Change, Snapshot
from review import rendering, roles, wording
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


def permalink(change: Change, place: int = 0) -> str:
    """The address of a change, or of a place in it, as it reads now."""
    address = f"{settings.APP_ORIGIN}{reverse('change', args=[change.pk])}"
    return f"{address}?d={change.diff_hash[:12]}#p{place}" if place else address


def _side(blocks: list[dict[str, Any]], side: str) -> str:
    texts = []
    for block in blocks:
        if block.get("op") == "rewritten":
            segments = block.get("before" if side == "-" else "after", [])
            texts.append("".join(str(segment[1]) for segment in segments))
        else:
            texts.append(rendering.plain(block.get("segments", []), side))
    return "\n".join(text for text in texts if text.strip())


def _dated(label: str, snapshot: Snapshot | None, text: str) -> str:
    moment = f" ({when(snapshot.taken_at)} {timezone.localtime(snapshot.taken_at):%Z})" if snapshot else ""
    return f"{label}{moment}:\n“{text}”" if text else f"{label}{moment}: –"


@require_GET
def quote(request: HttpRequest, pk: int, place: int) -> HttpResponse:
    """A place as plain text with source and time, to be pasted into a report."""
    change = change_or_404(request, pk)
    blocks = rows_at(change.diff if isinstance(change.diff, dict) else {}, place)
    if not blocks:
        raise Http404("no such place")
    monitor = change.monitor
    parts = [
        _dated(_("Before"), change.prior, _side(blocks, "-")),
        _dated(_("After"), change.new, _side(blocks, "+")),
        f"{monitor.name}, {monitor.site.name}\n{(change.new or change.prior).final_url or monitor.url}\n"
        f"{permalink(change, place)}",
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
