"""Whose a monitor's changes and alerts are, and who stands in for people who are away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils.timezone import localtime

from review.models import Absence, Preferences, Route

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from monitoring.models import Monitor


@dataclass(frozen=True, slots=True)
class Covers:
    """Who is away at a moment, by person, and who stands in."""

    away: dict[int, Absence]

    def stand_in(self, person: User) -> User | None:
        """Who looks after what is a person's: themselves unless away, else their cover, or that one's cover where they are away.

        None where everybody in the chain is away, also where it leads back, or the last of it has left.
        """
        seen: set[int] = set()
        while (absence := self.away.get(person.pk)) is not None:
            if person.pk in seen:
                return None
            seen.add(person.pk)
            person = absence.cover
        return person if person.is_active else None

    def of(self, people: Iterable[User]) -> list[User]:
        """Those who look after what is these people's, each once."""
        found = {one.pk: one for person in people if (one := self.stand_in(person)) is not None}
        return list(found.values())

    def covered_by(self, user: User) -> list[int]:
        """The people whose work is a person's meanwhile."""
        return [pk for pk, absence in self.away.items() if (one := self.stand_in(absence.user)) and one.pk == user.pk]


def covers(now: datetime) -> Covers:
    """Who is away now; a day is one of the person's own time zone. One query."""
    near = Q(from_on__lte=(now + timedelta(days=1)).date(), to_on__gte=(now - timedelta(days=1)).date())
    rows = Absence.objects.filter(near).select_related("user__preferences", "cover")
    return Covers({row.user_id: row for row in rows if row.from_on <= _day_of(row.user, now) <= row.to_on})


def covers_for(user: User, now: datetime) -> Covers:
    """Who is away now, read once per request and user object."""
    known: Covers | None = getattr(user, "_covers", None)
    if known is None:
        known = covers(now)
        user._covers = known  # type: ignore[attr-defined]
    return known


def _day_of(user: User, now: datetime) -> date:
    preferences = getattr(user, "preferences", None) or Preferences()
    return localtime(now, preferences.zone).date()


@dataclass(frozen=True, slots=True)
class Routed:
    """The person who gets a monitor's new changes, and those told of it; None and empty where no route says."""

    assignee: User | None
    told: list[User]


def routed(monitor: Monitor) -> Routed:
    """What the most specific routes say: the monitor's own, its site's, its page type's, its team's. Two queries."""
    scope = (
        Q(monitor=monitor.pk)
        | Q(site=monitor.site_id)
        | Q(page_type=monitor.page_type_id)
        | Q(monitor__isnull=True, site__isnull=True, page_type__isnull=True)
    )
    rows = Route.objects.filter(scope, team=monitor.team_id).select_related("assignee").prefetch_related("told")
    ordered = sorted(rows, key=lambda route: -route.rank)
    return Routed(
        assignee=next((route.assignee for route in ordered if route.assignee), None),
        told=next((people for route in ordered if (people := list(route.told.all()))), []),
    )
