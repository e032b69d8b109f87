"""A page that changes again while its change waits: both diffs to see, a verdict about the newest only."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from monitoring.models import Change, EarlierDiff
from tests.factories import DIFF, NOW, make_change, make_snapshot
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


@pytest.fixture
def folded(analyst: User) -> Change:
    """A change whose first diff said "should" where the newest says "may"."""
    change = make_change(folded=1, version=2, updated_at=NOW + timedelta(days=1))
    diff = copy.deepcopy(DIFF)
    diff["blocks"][0]["segments"][2] = ["+", "should"]
    EarlierDiff.objects.create(change=change, version=1, seen_at=NOW, diff=diff, added=1, removed=1)
    return change


def test_the_fold_is_told_with_both_diffs_to_choose(folded: Change, analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(folded.get_absolute_url()).content.decode()

    assert "The page changed again while this waited." in page
    assert f"?step={folded.earlier_diffs.get().pk}" in page
    assert "should" not in page.partition('id="diff"')[2].partition("</section>")[0]
    assert 'id="decide-form"' in page


def test_the_earlier_diff_is_there_to_read_only(folded: Change, analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(folded.get_absolute_url(), {"step": folded.earlier_diffs.get().pk}).content.decode()

    assert "An earlier diff, to read only." in page
    assert "should" in page.partition('id="diff"')[2]
    assert 'id="decide-form"' not in page


def test_a_step_of_another_change_is_not_shown(folded: Change, analyst: User, sign_in: SignIn) -> None:
    other = EarlierDiff.objects.create(change=make_change(), version=1, seen_at=NOW, diff=DIFF)

    page = sign_in(analyst).get(folded.get_absolute_url(), {"step": other.pk}).content.decode()

    assert "An earlier diff, to read only." not in page


def test_a_verdict_about_the_earlier_diff_is_a_conflict(folded: Change, analyst: User, sign_in: SignIn) -> None:
    given = {"do": "approve", "version": 1, "diff_hash": folded.diff_hash, "key": "k" * 32, "in": ""}

    response = sign_in(analyst).post(reverse("decide", args=[folded.pk]), given)

    assert response.status_code == 409
    assert "The page changed again while you were reading." in response.content.decode()
    folded.refresh_from_db()
    assert folded.state == "open"


def test_the_last_approved_text_is_offered_where_the_prior_text_is_another(analyst: User, sign_in: SignIn) -> None:
    approved = make_change(state="approved", opened_at=NOW - timedelta(days=3))
    dismissed = make_snapshot(approved.monitor)
    change = make_change(approved.monitor, prior=dismissed)

    page = sign_in(analyst).get(change.get_absolute_url()).content.decode()

    assert f"?old={approved.new_id}&amp;new={change.new_id}" in page
    assert "Compare with the last approved text" in page


def test_it_is_not_offered_where_the_prior_text_is_the_approved_one(analyst: User, sign_in: SignIn) -> None:
    approved = make_change(state="approved", opened_at=NOW - timedelta(days=3))
    assert approved.new is not None
    change = make_change(approved.monitor, prior=approved.new)

    assert "Compare with the last approved text" not in sign_in(analyst).get(change.get_absolute_url()).content.decode()
