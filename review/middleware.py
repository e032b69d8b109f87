"""What happens around each request: the frame host, and a person's language and time zone."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone, translation

from review.models import Preferences

type Handler = Callable[[HttpRequest], HttpResponse]


def is_frame_host(request: HttpRequest) -> bool:
    """Whether the request came to the host that only serves snapshot frames."""
    name: str = request.META.get("HTTP_HOST", "").lower()
    if not name.endswith("]"):
        name = name.rpartition(":")[0] if ":" in name else name
    # `frames.example.` is the same host to a name server; Django lets it pass as well.
    return bool(name.removesuffix(".").strip("[]") == urlsplit(settings.FRAME_ORIGIN).hostname)


class FrameHost:
    """On the frames' host nothing but frames is served; on the application's host no frame is.

    Stands first: static files and everything else stay off the frames' host. Who types its bare address is
    sent to the application.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Choose the address table by host."""
        if not is_frame_host(request):
            return self.get_response(request)
        if request.path == "/":
            return HttpResponseRedirect(f"{settings.APP_ORIGIN}/")
        if not request.path.startswith("/frame/"):
            return HttpResponse("Not found.\n", status=404, content_type="text/plain; charset=utf-8")
        request.urlconf = "review.frame_urls"
        return self.get_response(request)


def preferences_of(request: HttpRequest) -> Preferences:
    """The person's preferences, or unsaved defaults; read once per request."""
    known: Preferences | None = getattr(request, "_preferences", None)
    if known is None:
        user = getattr(request, "user", None)
        known = Preferences.objects.filter(user=user.pk).first() if user and user.is_authenticated else None
        known = known or Preferences()
        request._preferences = known  # type: ignore[attr-defined]
    return known


class PersonalSettings:
    """Language and time zone as the person chose them."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Activate both for this request only."""
        if not request.user.is_authenticated:
            return self.get_response(request)
        preferences = preferences_of(request)
        known = preferences.language in dict(settings.LANGUAGES)
        language = preferences.language if known else translation.get_language() or settings.LANGUAGE_CODE
        with timezone.override(preferences.zone), translation.override(language):
            request.LANGUAGE_CODE = language
            return self.get_response(request)
