"""Verdicts: one transaction, compare-and-set, append-only."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from monitoring.models import Change
from review.models import Verdict
from review.services import verdicts
from review.services.verdicts import Recorded, Seen, Stale, Taken
from tests.factories import NOW, make_change

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)


def seen(change: Change, *, key: str = "", seconds: float | None = 9.0) -> Seen:
    """The change as it is now on screen."""
    return Seen(change.version, change.diff_hash, key or uuid.uuid4().hex, seconds)


def decide(change: Change, actor: User, action: str = "dismiss", reason: str = "", **extra: object) -> verdicts.Outcome:
    """A verdict on the change as it is now."""
    change.refresh_from_db()
    return verdicts.decide(
        change.pk,
        action=Verdict.Action(action),
        actor=actor,
        seen=extra.pop("seen", None) or seen(change),  # type: ignore[arg-type]
        now=LATER,
        reason=reason,
        **extra,  # type: ignore[arg-type]
    )


def recorded(outcome: verdicts.Outcome) -> Verdict:
    """The verdict of an outcome that must have been recorded."""
    assert isinstance(outcome, Recorded)
    return outcome.verdict


@pytest.mark.parametrize(("action", "state"), [("approve", "approved"), ("dismiss", "dismissed")])
def test_a_verdict_closes_the_change(analyst: User, action: str, state: str) -> None:
    change = make_change()

    verdict = recorded(decide(change, analyst, action))

    change.refresh_from_db()
    assert (change.state, change.version, change.closed_at) == (state, 2, LATER)
    assert (verdict.state_before, verdict.score, verdict.distance) == ("open", 0.8, 5)


def test_the_second_reviewer_learns_who_was_first(analyst: User, other_analyst: User) -> None:
    change = make_change()
    first = seen(change)
    decide(change, analyst, "approve")

    outcome = verdicts.decide(change.pk, action=Verdict.Action.DISMISS, actor=other_analyst, seen=first, now=LATER)

    assert isinstance(outcome, Taken)
    assert outcome.winner is not None
    assert outcome.winner.actor == analyst
    assert Verdict.objects.count() == 1


def test_a_newer_capture_makes_the_form_stale(analyst: User) -> None:
    change = make_change()
    shown = seen(change)
    Change.objects.filter(pk=change.pk).update(version=2, diff_hash="1" * 64)

    outcome = verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=analyst, seen=shown, now=LATER)

    assert outcome == Stale(2)
    assert not Verdict.objects.exists()


def test_a_verdict_on_another_diff_is_stale(analyst: User) -> None:
    change = make_change()

    outcome = decide(change, analyst, seen=Seen(change.version, "f" * 64, uuid.uuid4().hex))

    assert isinstance(outcome, Stale)


def test_a_second_click_gives_the_same_verdict(analyst: User) -> None:
    change = make_change()
    shown = seen(change)

    first = verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=analyst, seen=shown, now=LATER)
    again = verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=analyst, seen=shown, now=LATER)

    assert recorded(again) == recorded(first)
    assert isinstance(again, Recorded)
    assert again.repeated
    assert Verdict.objects.count() == 1


def test_a_key_of_somebody_else_is_refused(analyst: User, other_analyst: User) -> None:
    change = make_change()
    shown = seen(change)
    verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=analyst, seen=shown, now=LATER)

    with pytest.raises(ValueError, match="one form of one person"):
        verdicts.decide(change.pk, action=Verdict.Action.DISMISS, actor=other_analyst, seen=shown, now=LATER)


@pytest.mark.parametrize(
    ("reason", "seconds", "learned"),
    [
        ("date", 9.0, True),
        ("date", 1.4, False),
        ("date", 1.5, True),
        ("date", None, True),
        ("not-relevant", 60.0, False),
        ("block-page", 60.0, False),
    ],
)
def test_what_is_learned_from(analyst: User, reason: str, seconds: float | None, learned: bool) -> None:
    change = make_change()

    verdict = recorded(decide(change, analyst, "dismiss", reason, seen=seen(change, seconds=seconds)))

    assert verdict.calibrates is learned


def test_a_reason_of_the_other_kind_is_refused(analyst: User) -> None:
    with pytest.raises(ValueError, match="no reason"):
        decide(make_change(), analyst, "approve", "date")


@pytest.mark.parametrize("action", ["approve", "dismiss", "snooze"])
def test_undo_restores_the_exact_state(analyst: User, action: str) -> None:
    until = NOW + timedelta(days=3)
    change = make_change(state="snoozed", snoozed_until=until)
    verdict = recorded(decide(change, analyst, action))

    assert verdicts.undo(verdict, actor=analyst, key=uuid.uuid4().hex, now=LATER)

    change.refresh_from_db()
    assert (change.state, change.snoozed_until, change.closed_at) == ("snoozed", until, None)
    assert [v.action for v in Verdict.objects.order_by("pk")] == [action, "undo"]


def test_undo_happens_once(analyst: User) -> None:
    verdict = recorded(decide(make_change(), analyst))

    assert verdicts.undo(verdict, actor=analyst, key=uuid.uuid4().hex, now=LATER)
    assert not verdicts.undo(verdict, actor=analyst, key=uuid.uuid4().hex, now=LATER)
    assert Verdict.objects.count() == 2


def test_nobody_takes_back_anothers_verdict(analyst: User, other_analyst: User) -> None:
    verdict = recorded(decide(make_change(), analyst))

    with pytest.raises(PermissionError):
        verdicts.undo(verdict, actor=other_analyst, key=uuid.uuid4().hex, now=LATER)


def test_an_earlier_verdict_is_not_taken_back_over_a_later_one(analyst: User, other_analyst: User) -> None:
    change = make_change()
    first = recorded(decide(change, analyst))
    verdicts.undo(first, actor=analyst, key=uuid.uuid4().hex, now=LATER)
    decide(change, other_analyst, "dismiss")

    assert not verdicts.undo(first, actor=analyst, key=uuid.uuid4().hex, now=LATER)
    change.refresh_from_db()
    assert change.state == "dismissed"


def test_undo_gives_way_to_a_newer_change_of_the_page(analyst: User) -> None:
    change = make_change()
    verdict = recorded(decide(change, analyst))
    make_change(change.monitor)

    assert not verdicts.undo(verdict, actor=analyst, key=uuid.uuid4().hex, now=LATER)
    assert Verdict.objects.count() == 1


def test_another_reason_keeps_both_on_record(analyst: User) -> None:
    change = make_change()
    verdict = recorded(decide(change, analyst, "dismiss", "date"))

    again = verdicts.give_reason(verdict, reason="furniture", actor=analyst, key=uuid.uuid4().hex, now=LATER)

    assert again is not None
    assert again.reason == "furniture"
    change.refresh_from_db()
    assert change.state == "dismissed"
    assert [v.action for v in Verdict.objects.order_by("pk")] == ["dismiss", "undo", "dismiss"]
    assert verdicts.standing_verdict(change.pk) == again


def test_a_second_opinion_leaves_the_verdict_alone(analyst: User, other_analyst: User) -> None:
    change = make_change()
    first = recorded(decide(change, analyst, "approve"))
    change.refresh_from_db()

    verdicts.second_opinion(change.pk, opinion="dismiss", actor=other_analyst, seen=seen(change), now=LATER)

    assert verdicts.standing_verdict(change.pk) == first
    assert Verdict.objects.get(action="second").calibrates is False


def test_the_newest_standing_verdict_is_the_one_to_undo(analyst: User) -> None:
    one, two = make_change(), make_change()
    first = recorded(decide(one, analyst))
    second = recorded(decide(two, analyst))

    assert verdicts.last_undoable(analyst) == second
    verdicts.undo(second, actor=analyst, key=uuid.uuid4().hex, now=LATER)
    assert verdicts.last_undoable(analyst) == first
