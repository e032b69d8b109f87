"""People: roles and what they allow, the first account, invitations and new passwords by mail."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from monitoring.models import Team
from monitoring.services import outbox
from review import roles
from review.services.digests import absolute, language_of, subscribe

PASSWORD_LINK_EVERY_S = 300  # one mail per person and span: nobody's mailbox is filled through a public form

_CONFIGURES = ("monitor", "pagetype", "vantage", "fieldrule", "ignorerule")
_EVIDENCE = ("check", "snapshot", "change", "fieldchange", "settingchange", "calibrationrun")
_REVIEWED = ("verdict", "note", "digest", "digestsubscription")

# Configuration needs admin; reviewing needs none of these: there the role itself is asked (review.roles).
PERMISSIONS: dict[str, frozenset[str]] = {
    roles.ADMIN: frozenset(
        [f"monitoring.{verb}_{noun}" for noun in _CONFIGURES for verb in ("view", "add", "change", "delete")]
        + [f"monitoring.{verb}_{noun}" for noun in ("site", "team") for verb in ("view", "add", "change")]
        + ["monitoring.delete_site"]
        + [f"monitoring.view_{noun}" for noun in _EVIDENCE]
        + [f"review.view_{noun}" for noun in _REVIEWED]
        + [f"review.{verb}_route" for verb in ("view", "add", "change", "delete")]
        + [f"auth.{verb}_user" for verb in ("view", "add", "change")]
    ),
    roles.AUDITOR: frozenset(
        [f"monitoring.view_{noun}" for noun in (*_CONFIGURES, "site", "team", *_EVIDENCE)]
        + [f"review.view_{noun}" for noun in _REVIEWED]
        + ["auth.view_user", "review.view_route"]
    ),
    roles.ANALYST: frozenset(),
    roles.LEAD: frozenset(),
}
STAFF = frozenset({roles.ADMIN, roles.AUDITOR})  # who may enter Django admin


def ensure_roles(**signal: Any) -> None:
    """Make the four groups and give each exactly its permissions; runs after every migrate."""
    for name, wanted in PERMISSIONS.items():
        group, _made = Group.objects.get_or_create(name=name)
        labels = {label.partition(".")[0] for label in wanted}
        found = {
            f"{permission.content_type.app_label}.{permission.codename}": permission
            for permission in Permission.objects.filter(content_type__app_label__in=labels).select_related(
                "content_type"
            )
        }
        group.permissions.set([found[label] for label in sorted(wanted) if label in found])


def ensure_admin(*, name: str, email: str = "") -> tuple[User, str | None]:
    """The first account that may do everything, and its password where it was made just now.

    With any active superuser there, that one is given back and nothing is changed.
    """
    known = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if known is not None:
        return known, None
    password = secrets.token_urlsafe(15)
    with transaction.atomic():
        user = User.objects.create_superuser(name, email, password)
        user.groups.add(Group.objects.get_or_create(name=roles.ADMIN)[0])
        for team in Team.objects.all():
            team.members.add(user)
        if email:
            subscribe(user)
    return user, password


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """An address under which one person can set a password, once."""

    uid: str
    token: str

    @property
    def url(self) -> str:
        """On the configured origin, whatever Host a request came with."""
        return absolute(reverse("password_reset_confirm", args=[self.uid, self.token]))


def password_link(user: User) -> PasswordLink:
    """A link that works until it is used, the password changes or its time is over."""
    return PasswordLink(urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user))


def invite(user: User, *, actor: User | None, now: datetime) -> bool:
    """Send somebody the link to their first password; False when one was written moments ago."""
    return _send(user, "invitation", {"inviter": roles.display_name(actor) if actor else ""}, now=now)


def send_new_password(address: str, *, now: datetime) -> int:
    """Send a link to every active account with this address; the number of mails written, for tests and logs only.

    The caller says the same thing whatever the number is.
    """
    people = User.objects.filter(email__iexact=address, is_active=True).order_by("pk")
    return sum(_send(user, "password", {}, now=now) for user in people if user.email.lower() == address.lower())


def _send(user: User, kind: str, extra: dict[str, Any], *, now: datetime) -> bool:
    with translation.override(language_of(user)):
        context = {"user": user, "link": password_link(user).url, "origin": absolute(""), **extra}
        return outbox.enqueue(
            key=f"{kind}/{user.pk}/{int(now.timestamp()) // PASSWORD_LINK_EVERY_S}",
            kind=kind,
            recipient=user.email,
            subject=_("Your account on Tideline") if kind == "invitation" else _("A new password for Tideline"),
            text=render_to_string(f"mail/{kind}.txt", context),
            html=render_to_string(f"mail/{kind}.html", context),
            headers={"Auto-Submitted": "auto-generated"},
            now=now,
        )


def may_manage(actor: User, person: User) -> bool:
    """Whether an admin may change somebody's account: never a superuser's, and only where they share every team.

    Who can change an address can have its owner's password sent to it; so a person who also works for another
    team is out of reach.
    """
    if actor.is_superuser:
        return True
    if person.is_superuser:
        return False
    return not person.teams.exclude(pk__in=actor.teams.values("pk")).exists()
