"""Whole tables are counted now and then, the more seldom the longer it takes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitoring.models import Census, OutboxMessage
from monitoring.services import census
from tests.factories import NOW, make_change, make_monitor

pytestmark = pytest.mark.django_db


def test_the_first_one_is_due_at_once() -> None:
    assert census.is_due(now=NOW)


@pytest.mark.parametrize(
    ("took_ms", "after_s", "due"),
    [(20, 59, False), (20, 61, True), (3_000, 299, False), (3_000, 301, True), (20, -5, True)],
)
def test_the_next_one_costs_a_hundredth_at_most(took_ms: int, after_s: int, due: bool) -> None:
    Census.objects.create(pk=1, at=NOW, took_ms=took_ms)

    assert census.is_due(now=NOW + timedelta(seconds=after_s)) is due


def test_the_figures_are_those_of_the_tables() -> None:
    make_monitor(state="ok")
    make_monitor(state="blocked")
    make_change(monitor=make_monitor(state="ok"))
    OutboxMessage.objects.create(key="k", kind="x", recipient="a@b.example", subject="", text="", message_id="", state="failed", next_attempt_at=NOW)  # fmt: skip
    census.take(now=NOW)
    last = census.latest()

    assert last is not None
    assert last.at == NOW
    assert last.figures["monitors"] == {"ok": 2, "blocked": 1, "quarantined": 0, "off": 0}
    assert last.figures["changes"] == {"open": 1}
    assert last.figures["mail_given_up"] == 1


def test_there_is_one_row() -> None:
    census.take(now=NOW)
    census.take(now=NOW + timedelta(hours=1))

    assert Census.objects.get().at == NOW + timedelta(hours=1)
