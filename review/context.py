"""What every page of the interface needs: counts, preferences, names."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from monitoring.models import Change
from monitoring.services import brake
from review import roles
from review.middleware import preferences_of

CAPPED = 1000  # a count beyond this is shown as "999+"; counting everything costs more than it says


def capped(count: int) -> str:
    """A count as the interface shows it."""
    return str(count) if count < CAPPED else f"{CAPPED - 1}+"


def waiting_count(request: HttpRequest) -> int:
    """How many changes wait for the person's teams, at most CAPPED."""
    return Change.objects.visible_to(request.user).waiting()[:CAPPED].count()


def interface(request: HttpRequest) -> dict[str, object]:
    """Template variables for the frame around each page; nothing is read before a template asks."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {
            "me": None,
            "section": "",
            "search_text": "",
            "preferences": preferences_of(request),
            "languages": settings.LANGUAGES,
            "version": settings.VERSION,
        }
    return {
        "section": "",
        "search_text": "",
        "me": {"name": roles.display_name(user), "initials": roles.initials(user), "is_staff": user.is_staff},
        "preferences": SimpleLazyObject(lambda: preferences_of(request)),
        "hold": SimpleLazyObject(brake.active),
        "waiting": SimpleLazyObject(lambda: capped(waiting_count(request))),
        "admins": SimpleLazyObject(lambda: [roles.display_name(one) for one in roles.admins_for(user)]),
        "may_decide": SimpleLazyObject(lambda: roles.may_decide(user)),
        "may_calibrate": SimpleLazyObject(lambda: roles.may_calibrate(user)),
        "languages": settings.LANGUAGES,
        "version": settings.VERSION,
    }
