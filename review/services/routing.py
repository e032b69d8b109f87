"""New changes go to whom the routes name; people say when they are away and who stands in."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from monitoring.models import Change, Monitor
from review import roles
from review.models import Absence, Assignment
from review.selectors import routing
from review.services.assignments import people_for

if TYPE_CHECKING:
    from collections.abc import Iterable


def assign_new(sender: Any, *, change: Change, monitor: Monitor, now: datetime, **extra: Any) -> None:
    """Give a change that was opened just now to its monitor's default assignee; runs inside the check's transaction.

    Somebody who left the team or decides no more gets nothing: the change is nobody's, and stands among the unassigned.
    """
    person = routing.routed(monitor).assignee
    if person is not None and person.is_active and roles.may_decide(person) and _sees(person, monitor):
        Assignment.objects.get_or_create(change=change, defaults={"assignee": person, "assigned_by": None})


def _sees(person: User, monitor: Monitor) -> bool:
    return person.is_superuser or person.teams.filter(pk=monitor.team_id).exists()


def possible_covers(user: User) -> list[User]:
    """Who can stand in for a person: people who decide, in every team of theirs; by name."""
    own = set(user.teams.values_list("pk", flat=True))
    people = [person for person in people_for(user) if person.pk != user.pk]
    theirs: dict[int, set[int]] = {person.pk: set() for person in people}
    through = User.teams.through.objects.filter(user__in=people).values_list("user", "team")
    for person, team in through:
        theirs[person].add(team)
    return [person for person in people if own <= theirs[person.pk]]


def set_absence(user: User, *, from_on: date, to_on: date, cover: User, today: date) -> Absence:
    """The person's absence, in place of one they had said before.

    Raises ValidationError for days that are over or the wrong way round, and for a cover who can't see all their work
    or for whom they stand in themselves in those days.
    """
    if from_on > to_on:
        raise ValidationError(_("The last day comes before the first."))
    if to_on < today:
        raise ValidationError(_("Those days are over."))
    if cover.pk not in {person.pk for person in possible_covers(user)}:
        raise ValidationError(_("A cover decides on changes, in all of your teams."))
    if _leads_back(cover, user, Absence.objects.filter(from_on__lte=to_on, to_on__gte=from_on)):
        raise ValidationError(
            _("%(name)s is away in those days too, and it leads back to you. Choose somebody else.")
            % {"name": roles.display_name(cover)}
        )
    return Absence.objects.update_or_create(user=user, defaults={"from_on": from_on, "to_on": to_on, "cover": cover})[0]


def _leads_back(cover: User, user: User, absences: Iterable[Absence]) -> bool:
    covers = {absence.user_id: absence.cover_id for absence in absences if absence.user_id != user.pk}
    person, seen = cover.pk, set[int]()
    while person in covers and person not in seen:
        seen.add(person)
        person = covers[person]
    return person == user.pk


def end_absence(user: User) -> bool:
    """Whether there was an absence to take away."""
    return bool(Absence.objects.filter(user=user).delete()[0])
