"""Alert mails for important fields."""

from __future__ import annotations

import pytest

from monitoring.models import FieldChange, Monitor, OutboxMessage
from monitoring.services.alerts import important_field_changed
from review.models import DigestSubscription
from tests.factories import NOW, make_change, make_check, make_monitor, make_team, make_user


def make_field_change(monitor: Monitor) -> FieldChange:
    return FieldChange.objects.create(
        monitor=monitor, check_row=make_check(monitor), name="price", type="price", state="changed", old="89.00",
        new="79.00", text="price: 89.00 -> 79.00", important=True, at=NOW,
    )  # fmt: skip


@pytest.mark.django_db
def test_the_team_is_told_old_and_new_value() -> None:
    make_user("ines")
    make_user("mara", team=make_team("Procurement"))
    monitor = make_monitor(name="Fjäll kettle")

    important_field_changed.send(FieldChange, field_change=make_field_change(monitor), monitor=monitor, now=NOW)

    mail = OutboxMessage.objects.get()
    assert mail.recipient == "ines@example.test"
    assert mail.subject == "Fjäll kettle: price: 89.00 → 79.00"
    assert monitor.get_absolute_url() in mail.text


@pytest.mark.django_db
def test_a_field_that_opened_a_change_is_told_with_the_way_to_it() -> None:
    make_user()
    change = make_change()
    row = make_field_change(change.monitor)
    row.change = change
    row.save()

    important_field_changed.send(FieldChange, field_change=row, monitor=change.monitor, now=NOW)

    mail = OutboxMessage.objects.get()
    assert f"{change.get_absolute_url()}\n" in mail.text
    assert f'{change.get_absolute_url()}"' in mail.html


@pytest.mark.django_db
def test_who_switched_alerts_off_gets_none() -> None:
    DigestSubscription.objects.create(user=make_user(), alerts=False)
    monitor = make_monitor()

    important_field_changed.send(FieldChange, field_change=make_field_change(monitor), monitor=monitor, now=NOW)

    assert not OutboxMessage.objects.exists()


@pytest.mark.django_db
def test_the_same_change_is_told_once() -> None:
    make_user()
    monitor = make_monitor()
    change = make_field_change(monitor)

    for _visit in range(2):
        important_field_changed.send(FieldChange, field_change=change, monitor=monitor, now=NOW)

    assert OutboxMessage.objects.count() == 1
