"""Routes and absences: who gets what, chains and circles, and what screens say of it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Change, Monitor, Team
from monitoring.services.alerts import change_opened
from review.models import Absence, Assignment, Route
from review.selectors import queue, routing
from review.services import alerts
from review.services.routing import possible_covers, set_absence
from tests.factories import make_change, make_monitor, make_user
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]
DAY = timedelta(days=1)


def opened(monitor: Monitor) -> Change:
    """A change as a visit opens it."""
    change = make_change(monitor)
    change_opened.send(sender=Change, change=change, monitor=monitor, now=timezone.now())
    return change


def away(user: User, cover: User, **extra: Any) -> Absence:
    today = timezone.localdate()
    return Absence.objects.create(user=user, cover=cover, **{"from_on": today, "to_on": today + DAY, **extra})


def names(people: list[User]) -> list[str]:
    return [person.username for person in people]


@pytest.mark.parametrize(("scopes", "gets"), [(0, "team"), (1, "page_type"), (2, "site"), (3, "monitor")])
def test_the_most_specific_route_decides(team: Team, scopes: int, gets: str) -> None:
    monitor = make_monitor()
    chosen: list[dict[str, Any]] = [
        {}, {"page_type": monitor.page_type}, {"site": monitor.site}, {"monitor": monitor},
    ]  # fmt: skip
    for name, scope in list(zip(("team", "page_type", "site", "monitor"), chosen, strict=True))[: scopes + 1]:
        Route.objects.create(team=team, assignee=make_user(name), **scope).told.add(User.objects.get(username=name))

    assert Assignment.objects.get(change=opened(monitor)).assignee.username == gets
    assert names(alerts.recipients(monitor)) == [gets]


def test_a_route_that_names_no_assignee_leaves_that_to_a_wider_one(team: Team, analyst: User) -> None:
    monitor = make_monitor()
    Route.objects.create(team=team, assignee=analyst)
    Route.objects.create(team=team, monitor=monitor).told.add(make_user("mara"))

    assert Assignment.objects.get(change=opened(monitor)).assignee == analyst
    assert names(alerts.recipients(monitor)) == ["mara"]


@pytest.mark.parametrize("role", ["auditor", ""])
def test_who_does_not_decide_gets_no_changes(team: Team, role: str) -> None:
    Route.objects.create(team=team, assignee=make_user("otto", role=role))

    opened(make_monitor())

    assert not Assignment.objects.exists()


def test_who_left_the_team_gets_nothing_and_the_team_is_told(team: Team, analyst: User, outsider: User) -> None:
    Route.objects.create(team=team, assignee=outsider).told.add(outsider)
    monitor = make_monitor()

    opened(monitor)

    assert not Assignment.objects.exists()
    assert names(alerts.recipients(monitor)) == ["ines"]


def test_one_route_for_each_scope(team: Team) -> None:
    monitor = make_monitor()
    Route.objects.create(team=team)
    for wrong in ({}, {"site": monitor.site, "monitor": monitor}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Route.objects.create(team=team, **wrong)


# --- absence ---------------------------------------------------------------------------------------------------


def test_alerts_go_down_the_chain_to_who_is_there(team: Team, analyst: User, lead: User, other_analyst: User) -> None:
    Route.objects.create(team=team).told.add(analyst)
    away(analyst, lead)
    away(lead, other_analyst)

    assert names(alerts.recipients(make_monitor())) == ["mara"]
    assert routing.covers(timezone.now()).covered_by(other_analyst) == [analyst.pk, lead.pk]


def test_in_a_circle_nobody_stands_in_and_the_whole_team_is_told(team: Team, analyst: User, lead: User) -> None:
    make_user("mara")
    Route.objects.create(team=team).told.add(analyst)
    away(analyst, lead)
    away(lead, analyst)

    assert routing.covers(timezone.now()).stand_in(analyst) is None
    assert names(alerts.recipients(make_monitor())) == ["ines", "lea", "mara"]


@pytest.mark.parametrize("days", [(-2, -1), (1, 2)])
def test_on_other_days_nothing_is_different(analyst: User, lead: User, days: tuple[int, int]) -> None:
    today = timezone.localdate()
    away(analyst, lead, from_on=today + days[0] * DAY, to_on=today + days[1] * DAY)

    assert routing.covers(timezone.now()).stand_in(analyst) == analyst


def test_the_covers_own_list_has_what_is_the_absent_ones(analyst: User, lead: User, sign_in: SignIn) -> None:
    Assignment.objects.create(change=make_change(), assignee=analyst)
    away(analyst, lead)

    mine = queue.changes_in(queue.Filter(view="mine"), user=lead, now=timezone.now())
    page = sign_in(lead).get(reverse("queue") + "?view=mine").content.decode()

    assert mine.count() == 1
    assert "covered by lea" in page


def test_rows_of_people_who_are_away_need_no_more_queries(analyst: User, lead: User, sign_in: SignIn) -> None:
    client, counts = sign_in(lead), []
    away(analyst, lead)
    for _batch in range(2):
        for _number in range(3):
            Assignment.objects.create(change=make_change(), assignee=analyst)
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("queue"))
        counts.append(len(queries))

    assert counts[0] == counts[1]


@pytest.mark.parametrize("wrong", ["order", "over", "auditor", "other team", "circle"])
def test_an_absence_that_cannot_work_is_refused(analyst: User, lead: User, team: Team, wrong: str) -> None:
    today = date(2026, 11, 30)
    days = {"order": (today + DAY, today), "over": (today - 2 * DAY, today - DAY)}.get(wrong, (today, today + DAY))
    cover = make_user("otto", role="auditor") if wrong == "auditor" else lead
    if wrong == "other team":
        Team.objects.create(name="Elsewhere").members.add(analyst)
    if wrong == "circle":
        mara = make_user("mara")
        Absence.objects.create(user=lead, cover=mara, from_on=today, to_on=today)
        Absence.objects.create(user=mara, cover=analyst, from_on=today, to_on=today)

    with pytest.raises(ValidationError):
        set_absence(analyst, from_on=days[0], to_on=days[1], cover=cover, today=today)


def test_an_absence_is_said_shown_and_ended_in_the_preferences(analyst: User, lead: User, sign_in: SignIn) -> None:
    client, today = sign_in(analyst), timezone.localdate()
    values = {"from": today.isoformat(), "to": (today + DAY).isoformat(), "cover": lead.pk}

    said = client.post(reverse("absence"), values, follow=True).content.decode()
    theirs = sign_in(lead).get(reverse("preferences")).content.decode()
    back = client.post(reverse("absence"), {"do": "end"}, follow=True).content.decode()

    assert "covered by lea" in said
    assert "You stand in for ines" in theirs
    assert "Welcome back" in back
    assert not Absence.objects.exists()


@pytest.mark.parametrize("wrong", [{"from": "x"}, {"cover": "999"}, {"to": "2020-01-01"}])
def test_a_wrong_absence_says_what_is_wrong(analyst: User, lead: User, sign_in: SignIn, wrong: dict[str, str]) -> None:
    today = timezone.localdate().isoformat()
    response = sign_in(analyst).post(
        reverse("absence"), {"from": today, "to": today, "cover": lead.pk, **wrong}, follow=True
    )

    assert 'class="toast"' in response.content.decode()
    assert not Absence.objects.exists()


def test_only_who_decides_in_every_team_can_stand_in(analyst: User, lead: User, auditor: User) -> None:
    assert names(possible_covers(analyst)) == ["lea"]


# --- the admin's form ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "Name an assignee"),
        ({"assignee": "outsider"}, "not one of the available choices"),
        ({"assignee": "auditor"}, "decides on changes and is in the team"),
        ({"told": "mute"}, "Without an address for mail: mute"),
        ({"assignee": "analyst", "page_type": True, "site": True}, "one of them"),
    ],
)
def test_the_form_says_what_is_wrong(
    admin_user_of_team: User, team: Team, analyst: User, auditor: User, outsider: User, sign_in: SignIn,
    values: dict[str, Any], said: str,
) -> None:  # fmt: skip
    monitor, mute = make_monitor(), make_user("mute")
    User.objects.filter(pk=mute.pk).update(email="")
    people = {"outsider": outsider, "auditor": auditor, "mute": mute, "analyst": analyst}
    given: dict[str, Any] = {"team": team.pk}
    for name, value in values.items():
        given[name] = people[value].pk if value in people else getattr(monitor, name).pk

    response = sign_in(admin_user_of_team).post(reverse("admin:review_route_add"), given)

    assert said in response.content.decode()
    assert not Route.objects.exists()


def test_a_route_is_saved_and_listed(admin_user_of_team: User, team: Team, analyst: User, sign_in: SignIn) -> None:
    client = sign_in(admin_user_of_team)
    client.post(reverse("admin:review_route_add"), {"team": team.pk, "assignee": analyst.pk, "told": [analyst.pk]})

    assert "every monitor of the team" in client.get(reverse("admin:review_route_changelist")).content.decode()
    assert Route.objects.get().assignee == analyst
