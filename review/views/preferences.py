"""How a person wants the interface to be."""

from __future__ import annotations

import zoneinfo
from typing import TYPE_CHECKING, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from review import roles
from review.models import DigestSubscription, Preferences
from review.services import digests
from review.views import absence
from review.views.access import safe_next

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    _PreferencesBase = forms.ModelForm[Preferences]
    _DigestBase = forms.ModelForm[DigestSubscription]
else:
    _PreferencesBase = _DigestBase = forms.ModelForm


def _zones() -> list[tuple[str, str]]:
    return [
        (name, name.replace("_", " "))
        for name in sorted(zoneinfo.available_timezones())
        if "/" in name or name == "UTC"
    ]


class PreferencesForm(_PreferencesBase):
    """The preferences that a page shows."""

    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone"), choices=_zones)
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=[("", gettext_lazy("as the browser asks")), *settings.LANGUAGES],
        required=False,
    )

    class Meta:
        model = Preferences
        fields = ["language", "time_zone", "theme", "palette", "sans_documents", "single_keys", "spoken_marks"]


class DigestForm(_DigestBase):
    """When the person hears from us by mail."""

    hour = forms.TypedChoiceField(label=gettext_lazy("At"), choices=[(h, f"{h:02d}:00") for h in range(24)], coerce=int)
    weekday = forms.TypedChoiceField(
        label=gettext_lazy("On (weekly)"),
        coerce=int,
        choices=[
            (0, gettext_lazy("Monday")),
            (1, gettext_lazy("Tuesday")),
            (2, gettext_lazy("Wednesday")),
            (3, gettext_lazy("Thursday")),
            (4, gettext_lazy("Friday")),
            (5, gettext_lazy("Saturday")),
            (6, gettext_lazy("Sunday")),
        ],
    )

    class Meta:
        model = DigestSubscription
        fields = ["rhythm", "hour", "weekday", "alerts"]


@require_http_methods(["GET", "HEAD", "POST"])
def preferences_page(request: HttpRequest) -> HttpResponse:
    """One form for the interface and the digest."""
    user = cast("User", request.user)
    own = Preferences.objects.filter(user=user).first() or Preferences(user=user)
    digest = DigestSubscription.objects.filter(user=user).first() or DigestSubscription(user=user)
    form = PreferencesForm(request.POST or None, instance=own)
    mail = DigestForm(request.POST or None, instance=digest, prefix="digest")
    if request.method == "POST" and form.is_valid() and mail.is_valid():
        saved = form.save()
        _save_digest(mail, saved.time_zone)
        if saved.language:
            translation.activate(saved.language)
        messages.success(request, _("Preferences saved."))
        return HttpResponseRedirect(reverse("preferences"))
    return render(
        request,
        "review/preferences.html",
        {
            "form": form,
            "mail": mail,
            "roles": sorted(roles.of(user)),
            "teams": list(user.teams.all()),
            **absence.panel(user),
        },
        status=200 if request.method != "POST" else 422,
    )


def _save_digest(mail: DigestForm, time_zone: str) -> None:
    subscription = mail.save(commit=False)
    subscription.time_zone = time_zone
    subscription.save()
    DigestSubscription.objects.filter(pk=subscription.pk).update(
        next_at=digests.next_time(subscription, timezone.now())
    )


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light or dark, from the button in the frame; the script sends what it shows, a plain form toggles."""
    user = cast("User", request.user)
    own = Preferences.objects.filter(user=user).first() or Preferences(user=user)
    wanted = request.POST.get("theme", "")
    own.theme = wanted if wanted in ("light", "dark") else ("light" if own.theme == "dark" else "dark")
    own.save()
    return HttpResponseRedirect(safe_next(request, reverse("today")))


@require_POST
def keys(request: HttpRequest) -> HttpResponse:
    """The switch for single-key shortcuts, from the list of keys."""
    Preferences.objects.update_or_create(
        user=cast("User", request.user), defaults={"single_keys": request.POST.get("keys") == "on"}
    )
    return HttpResponseRedirect(safe_next(request, reverse("preferences")))
