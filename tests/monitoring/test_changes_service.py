"""How a change changes state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitoring.services import changes
from tests.factories import NOW, make_change

pytestmark = pytest.mark.django_db


def test_closing_is_a_compare_and_set_on_the_version() -> None:
    change = make_change()

    assert not changes.close_change(change.pk, version=7, state="approved", now=NOW)
    assert changes.close_change(change.pk, version=1, state="approved", now=NOW)
    assert not changes.close_change(change.pk, version=2, state="dismissed", now=NOW)

    change.refresh_from_db()
    assert (change.state, change.version, change.closed_at) == ("approved", 2, NOW)


def test_closing_as_something_else_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="approved or dismissed"):
        changes.close_change(1, version=1, state="open", now=NOW)


def test_a_snooze_needs_a_moment_to_come() -> None:
    change = make_change()

    with pytest.raises(ValueError, match="has passed"):
        changes.snooze_change(change.pk, version=1, until=NOW, now=NOW)
    assert changes.snooze_change(change.pk, version=1, until=None, now=NOW)


def test_a_change_comes_back_open_when_its_sleep_would_be_over() -> None:
    change = make_change(state="approved", closed_at=NOW)

    assert changes.reopen_change(change.pk, version=1, state="snoozed", snoozed_until=NOW - timedelta(hours=1), now=NOW)

    change.refresh_from_db()
    assert (change.state, change.snoozed_until, change.closed_at) == ("open", None, None)


def test_one_open_change_per_page_survives_a_reopening() -> None:
    closed = make_change(state="dismissed", closed_at=NOW)
    make_change(closed.monitor)

    assert not changes.reopen_change(closed.pk, version=1, state="open", snoozed_until=None, now=NOW)


def test_the_ones_whose_time_has_come_wake() -> None:
    due = make_change(state="snoozed", snoozed_until=NOW)
    later = make_change(state="snoozed", snoozed_until=NOW + timedelta(hours=1))
    until_changed = make_change(state="snoozed")

    assert changes.wake_snoozed(now=NOW) == 1

    for change, state in ((due, "open"), (later, "snoozed"), (until_changed, "snoozed")):
        change.refresh_from_db()
        assert change.state == state
