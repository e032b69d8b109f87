"""Who takes care of a change, and taking it back exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction

from monitoring.models import Change
from review import roles
from review.models import Assignment

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def people_for(user: User) -> list[User]:
    """Who a change can be given to: people of the same teams who decide, by name."""
    people = get_user_model().objects.filter(teams__in=user.teams.all(), is_active=True)
    found = people.filter(groups__name__in=roles.DECIDING).exclude(groups__name=roles.AUDITOR).distinct()
    return sorted(found, key=lambda person: roles.display_name(person).casefold())


def assign(changes: Iterable[Change], *, to: User | None, by: User) -> dict[int, int | None]:
    """Give the changes to a person, or to nobody; who had each before, by change, for those that differ.

    A change goes only to somebody of its monitor's team (or to a superuser); others are left alone.
    """
    before: dict[int, int | None] = {}
    with transaction.atomic():
        wanted = list(changes)
        had = dict(Assignment.objects.filter(change__in=[c.pk for c in wanted]).values_list("change", "assignee"))
        for change in wanted:
            old = had.get(change.pk)
            if old == (to.pk if to else None) or (to is not None and not _sees(to, change)):
                continue
            before[change.pk] = old
            _set(change.pk, to.pk if to else None, by)
    return before


def restore(before: Mapping[int, int | None], *, now_with: int | None, by: User) -> tuple[int, int]:
    """How many changes went back to who had them, and how many had moved on to somebody else meanwhile."""
    done = missed = 0
    with transaction.atomic():
        has = dict(Assignment.objects.filter(change__in=list(before)).values_list("change", "assignee"))
        for pk, old in before.items():
            if has.get(pk) != now_with:
                missed += 1
                continue
            _set(pk, old, by)
            done += 1
    return done, missed


def _sees(person: User, change: Change) -> bool:
    return Change.objects.visible_to(person).filter(pk=change.pk).exists()


def _set(change_id: int, person_id: int | None, by: User) -> None:
    if person_id is None:
        Assignment.objects.filter(change=change_id).delete()
    else:
        Assignment.objects.update_or_create(change_id=change_id, defaults={"assignee_id": person_id, "assigned_by": by})
