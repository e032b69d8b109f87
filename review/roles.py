"""Who may do what: roles are Django groups, teams decide about which objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

ANALYST, LEAD, ADMIN, AUDITOR = "analyst", "lead", "admin", "auditor"
ALL = (ANALYST, LEAD, ADMIN, AUDITOR)
DECIDING = frozenset({ANALYST, LEAD, ADMIN})
CALIBRATING = frozenset({LEAD, ADMIN})


def of(user: User | AnonymousUser) -> frozenset[str]:
    """The names of the user's groups; read once per request and user object."""
    known: frozenset[str] | None = getattr(user, "_role_names", None)
    if known is None:
        known = frozenset(user.groups.values_list("name", flat=True)) if user.is_authenticated else frozenset()
        user._role_names = known  # type: ignore[union-attr]
    return known


def may_decide(user: User | AnonymousUser) -> bool:
    """Whether the user gives verdicts; an auditor reads everything and changes nothing, whatever else they are."""
    if user.is_superuser:
        return True
    roles = of(user)
    return AUDITOR not in roles and not DECIDING.isdisjoint(roles)


def may_calibrate(user: User | AnonymousUser) -> bool:
    """Whether the user applies and reverts calibrations."""
    if user.is_superuser:
        return True
    roles = of(user)
    return AUDITOR not in roles and not CALIBRATING.isdisjoint(roles)


def may_configure(user: User | AnonymousUser) -> bool:
    """Whether the user decides what is watched, the sample workspace included."""
    return user.is_superuser or ADMIN in of(user)


def admins_for(user: User | AnonymousUser) -> list[User]:
    """Who can give a person a role or a team: the admins of their teams, by name; without a team nobody is named."""
    if not user.is_authenticated:
        return []
    people = get_user_model().objects.filter(groups__name=ADMIN, teams__in=user.teams.all(), is_active=True).distinct()
    return sorted(people, key=lambda one: display_name(one).casefold())


def display_name(user: User | AnonymousUser) -> str:
    """How the interface calls a person."""
    return (user.get_full_name() or user.get_username()) if user.is_authenticated else ""


def initials(user: User | AnonymousUser) -> str:
    """Two letters for the round badge."""
    parts = display_name(user).replace(".", " ").replace("@", " ").split()
    if not parts:
        return "?"
    return (parts[0][0] + (parts[1][0] if len(parts) > 1 else parts[0][1:2])).upper()
