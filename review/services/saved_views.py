"""Saved views: a filter of the queue under a name, for oneself or for a team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _

from monitoring.models import Team
from review import roles
from review.models import SavedView

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MOST = 12  # of one person, and of one team: each is counted whenever the queue is shown
NAME_CHARS = 60


def seen_by(user: User) -> list[SavedView]:
    """The person's own views and those of their teams, by name."""
    mine = models.Q(owner=user, team__isnull=True) | models.Q(team__in=user.teams.all())
    return list(SavedView.objects.filter(mine).select_related("team").distinct()[: 4 * MOST])


def save(user: User, *, name: str, query: str, team_id: int | None) -> SavedView:
    """The view under this name, made or replaced.

    Raises ValidationError with a sentence for a name that can't be, too many views, or a team that isn't the person's.
    """
    name = " ".join(name.replace("\x00", "").split())
    if not name:
        raise ValidationError(_("A view needs a name."))
    if len(name) > NAME_CHARS:
        raise ValidationError(_("A view's name has at most %(n)s characters.") % {"n": NAME_CHARS})
    team = user.teams.filter(pk=team_id).first() if team_id is not None else None
    if team_id is not None and team is None:
        raise ValidationError(_("Choose one of your teams."))
    place = {"team": team} if team else {"owner": user, "team": None}
    others = SavedView.objects.filter(**place)
    if not others.filter(name=name).exists() and others.count() >= MOST:
        raise ValidationError(_("There are %(n)s saved views already; remove one first.") % {"n": MOST})
    if not team:
        return SavedView.objects.update_or_create(name=name, **place, defaults={"query": query})[0]
    there = others.filter(name=name).first()
    if there is not None and not may_remove(user, there):
        raise ValidationError(_("Your team has a view of this name that somebody else made."))
    return SavedView.objects.update_or_create(
        name=name, team=team, defaults={"query": query}, create_defaults={"query": query, "owner": user}
    )[0]


def may_remove(user: User, view: SavedView) -> bool:
    """Whether the person takes the view away: who made it, or a lead of its team."""
    return view.owner_id == user.pk or (view.team_id is not None and roles.may_calibrate(user))


def remove(user: User, view_id: int) -> SavedView | None:
    """The view that is gone now; None where there was none that the person may take away."""
    view = next((v for v in seen_by(user) if v.pk == view_id), None)
    if view is None or not may_remove(user, view):
        return None
    SavedView.objects.filter(pk=view.pk).delete()
    return view


def teams_of(user: User) -> list[Team]:
    """The teams that a view can be shared with."""
    return list(user.teams.all())
