"""Signing in, and passwords by mail. The answer never tells whether an address has an account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import REDIRECT_FIELD_NAME, views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from review.services import accounts


class PasswordMailForm(PasswordResetForm):
    """An address that a link may go to."""

    email = forms.EmailField(
        label=_("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )

    def save(self, *args: Any, **options: Any) -> None:
        """Write the mail into the outbox; it leaves later, so a hit takes no longer than a miss."""
        accounts.send_new_password(self.cleaned_data["email"], now=timezone.now())


class SignIn(views.LoginView):
    """Name and password."""

    redirect_authenticated_user = True


class PasswordMail(views.PasswordResetView):
    """Asks where to send the link."""

    form_class = PasswordMailForm


@login_not_required
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """One door for the whole product: admin's own is not used. Who is signed in and may not enter is told so."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index"))
