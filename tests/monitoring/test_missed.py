"""Missed cases: what a person names, the figures it gets, and what stays on record."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from monitoring.calibrating.evidence import Sample
from monitoring.calibrating.proposal import propose
from monitoring.models import MissedCase, Monitor, SettingChange
from monitoring.services import missed, retention
from tests.factories import make_check, make_monitor, make_snapshot, make_user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = date(2026, 11, 12)


@pytest.fixture
def monitor() -> Monitor:
    return make_monitor()


@pytest.fixture
def person() -> User:
    return make_user()


def noise(monitor: Monitor, at: datetime, score: float) -> None:
    make_check(monitor, outcome="noise", started_at=at, score=score, distance=2)


def test_a_case_has_the_highest_score_that_was_noise_on_its_day(monitor: Monitor, person: User) -> None:
    for hour, score in ((1, 0.2), (9, 0.4), (30, 0.45)):
        noise(monitor, datetime(2026, 11, 12, tzinfo=UTC) + timedelta(hours=hour), score)
    make_check(monitor, outcome="content", started_at=datetime(2026, 11, 12, 5, tzinfo=UTC), score=0.9)

    case = missed.report(monitor, happened_on=DAY, what=" The  price ", actor=person, now=NOW)

    assert (case.score, case.distance, case.what) == (0.4, 2, "The price")
    assert SettingChange.objects.get(monitor=monitor).new == "2026-11-12: The price"


def test_named_captures_say_between_which_checks(monitor: Monitor, person: User) -> None:
    before, after = (make_snapshot(monitor, taken_at=datetime(2026, 11, day, tzinfo=UTC)) for day in (10, 14))
    noise(monitor, datetime(2026, 11, 13, tzinfo=UTC), 0.3)
    noise(monitor, datetime(2026, 11, 15, tzinfo=UTC), 0.4)

    case = missed.report(monitor, happened_on=DAY, what="The price", before=before, after=after, actor=person, now=NOW)

    assert case.score == 0.3
    assert not retention._free().filter(pk__in=[before.pk, after.pk]).exists()


def test_without_a_check_the_score_stays_unknown(monitor: Monitor, person: User) -> None:
    assert missed.report(monitor, happened_on=DAY, what="The price", actor=person, now=NOW).score is None


@pytest.mark.parametrize("wrong", [{"what": " "}, {"happened_on": date(2026, 11, 21)}, {"one": True}, {"swapped": True}, {"foreign": True}])  # fmt: skip
def test_what_makes_no_sense_is_refused(monitor: Monitor, person: User, wrong: dict[str, object]) -> None:
    old, new = (make_snapshot(monitor, taken_at=NOW - timedelta(days=days)) for days in (9, 2))
    foreign = make_snapshot(make_monitor(), taken_at=NOW - timedelta(days=1))
    pair = {"one": (old, None), "swapped": (new, old), "foreign": (old, foreign)}
    before, after = next((pair[name] for name in pair if wrong.pop(name, None)), (None, None))
    values = {"what": "The price", "happened_on": DAY, **wrong}

    with pytest.raises(ValidationError):
        missed.report(monitor, before=before, after=after, actor=person, now=NOW, **values)  # type: ignore[arg-type]

    assert not MissedCase.objects.exists()


def test_a_case_is_taken_away_with_a_reason_that_stays(monitor: Monitor, person: User) -> None:
    case = missed.report(monitor, happened_on=DAY, what="The price", actor=person, now=NOW)
    with pytest.raises(ValidationError):
        missed.remove(case, actor=person, reason=" ")

    missed.remove(case, actor=person, reason="It was another page")

    row = SettingChange.objects.order_by("-pk")[0]
    assert (row.old, row.reason, row.actor) == ("2026-11-12: The price", "It was another page", person)
    assert not MissedCase.objects.exists()


def test_a_reported_case_stops_a_rise_and_lowers_nothing_without_the_audit_sample() -> None:
    verdicts = [Sample(0.8, 5, approved=True, main=0.8, key=n) for n in range(30)]
    verdicts += [Sample(0.55, 5, approved=False, main=0.5, key=100 + n) for n in range(30)]
    case = Sample(0.3, 2, approved=True, main=0.3, reported=True, key=1)

    risen = propose(verdicts, cut=0.5, threshold=3)
    kept = propose([*verdicts, case], cut=0.5, threshold=3)

    assert risen.cut > 0.5
    assert kept.cut == 0.5
    assert [note.code for note in kept.notes] == ["audit-needed"]
