"""The same change on many pages: one row, one verdict with the list open to see, undone exactly."""

from __future__ import annotations

import copy

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from monitoring.detection.diff import edit_hash
from monitoring.models import Change
from review.models import Verdict
from review.selectors import queue
from review.services import verdicts
from tests.factories import DIFF, NOW, make_change, make_monitor, make_page_type, make_team, make_user
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]

SAME = "a" * 32


@pytest.fixture
def three(analyst: User) -> list[Change]:
    """The same change on three pages, and one of its own before them."""
    make_change(opened_at=NOW, priority=3)
    return [make_change(edit_hash=SAME) for _ in range(3)]


def form(first: Change, *others: Change, do: str = "approve", key: str = "k" * 32) -> dict[str, object]:
    shown = f"{timezone.now().timestamp() - 9:.3f}"
    given = [f"{other.pk}-{other.version}" for other in others]
    values = {"do": do, "version": first.version, "diff_hash": first.diff_hash, "key": key, "shown": shown, "in": ""}
    return {**values, "with": given}


def states(changes: list[Change]) -> list[str]:
    return list(Change.objects.filter(pk__in=[c.pk for c in changes]).order_by("pk").values_list("state", flat=True))


def test_the_same_words_in_the_same_blocks_share_a_hash_within_a_team_only() -> None:
    document = {**DIFF, "cut": 0, "blocks": [{**DIFF["blocks"][0], "left_out": ""}]}
    elsewhere = copy.deepcopy(document)
    elsewhere["blocks"][0] |= {"old": 9, "place": 4}
    other = copy.deepcopy(document)
    other["blocks"][0]["segments"][0] = ["=", "They "]

    found = edit_hash(document, among="1")

    assert found is not None
    assert len(found) == 32
    assert edit_hash(elsewhere, among="1") == found
    assert edit_hash(other, among="1") != found
    assert edit_hash(document, among="2") != found
    assert edit_hash({**document, "simplified": True}, among="1") is None
    assert edit_hash({**document, "blocks": []}, among="1") is None


def test_the_queue_shows_them_as_one_row_with_a_count(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(reverse("queue")).content.decode()

    assert page.count('class="q-row"') == 2
    assert "the same on 3 pages" in page
    assert "4 of 4 shown" in page
    assert f'name="id" value="{three[0].pk}-' not in page


def test_its_list_shows_all_of_them(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(reverse("queue"), {"same": SAME}).content.decode()

    assert page.count('class="q-row"') == 3


def test_a_filter_that_the_first_of_them_does_not_pass_shows_the_next(analyst: User, sign_in: SignIn) -> None:
    make_change(edit_hash=SAME)
    other = make_monitor(page_type=make_page_type("terms"))
    make_change(other, edit_hash=SAME)

    page = sign_in(analyst).get(reverse("queue"), {"type": other.page_type_id}).content.decode()

    assert page.count('class="q-row"') == 1
    assert "the same on" not in page


def test_the_row_is_the_one_of_the_highest_priority(analyst: User) -> None:
    make_change(edit_hash=SAME)
    urgent = make_change(edit_hash=SAME, priority=3)
    listed = queue.changes_in(queue.Filter(), user=analyst, now=NOW)

    assert queue.one_of_each(listed, queue.Filter(), user=analyst, now=NOW).get() == urgent


def test_the_change_page_lists_the_others_ticked(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(three[0].get_absolute_url()).content.decode()

    assert "The same change waits on 2 other pages" in page
    for other in three[1:]:
        assert f'name="with" value="{other.pk}-{other.version}" form="decide-form" checked' in page
    assert f'data-next="{three[1].get_absolute_url()}' not in page


def test_one_verdict_counts_for_all_that_are_ticked(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    response = sign_in(analyst).post(reverse("decide", args=[three[0].pk]), form(*three[:2]))

    assert response.status_code == 303
    assert states(three) == ["approved", "approved", "open"]


def test_the_next_change_is_none_of_those_decided(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    Change.objects.exclude(edit_hash=SAME).delete()

    response = sign_in(analyst).post(reverse("decide", args=[three[1].pk]), form(three[1], three[0], three[2]))

    assert response["Location"] == reverse("queue")


def test_one_that_changed_meanwhile_is_left_alone_and_told(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    Change.objects.filter(pk=three[2].pk).update(version=7)

    response = sign_in(analyst).post(
        reverse("decide", args=[three[0].pk]), form(*three), headers={"X-Tideline": "script"}
    )

    assert states(three) == ["approved", "approved", "open"]
    assert "and on 1 other page. 1 page was left alone" in response.json()["words"]
    assert "1 page was left alone" in response.json()["toast"]


def test_a_conflict_on_the_first_touches_none(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    Change.objects.filter(pk=three[0].pk).update(version=7)

    response = sign_in(analyst).post(reverse("decide", args=[three[0].pk]), form(*three))

    assert response.status_code == 409
    assert states(three) == ["open"] * 3


def test_what_is_not_the_same_or_of_another_team_is_not_decided_along(
    three: list[Change], analyst: User, sign_in: SignIn
) -> None:
    foreign = make_change(make_monitor(team=make_team("Other")), edit_hash=SAME)
    unlike = make_change(edit_hash="b" * 32)

    sign_in(analyst).post(reverse("decide", args=[three[0].pk]), form(three[0], foreign, unlike))

    assert states([foreign, unlike]) == ["open", "open"]


def test_undo_puts_all_back_and_says_what_moved_on(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)
    client.post(reverse("decide", args=[three[0].pk]), form(*three, do="snooze"))
    Change.objects.filter(pk=three[2].pk).update(state="open")

    answer = client.post(
        reverse("decide", args=[three[0].pk]), {"do": "undo", "in": ""}, headers={"X-Tideline": "script"}
    ).json()

    assert states(three) == ["open"] * 3
    assert answer["words"] == "2 changes are back. 1 has moved on since."


def test_the_same_form_twice_decides_once(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)
    for _ in range(2):
        client.post(reverse("decide", args=[three[0].pk]), form(*three))

    assert Verdict.objects.count() == 3


def test_another_reason_is_given_to_all(three: list[Change], analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)
    client.post(reverse("decide", args=[three[0].pk]), form(*three, do="dismiss:date"))
    verdict = verdicts.last_undoable(analyst)
    assert verdict is not None

    client.post(reverse("give_reason", args=[verdict.pk]), {"key": "n" * 32, "reason": "rotating", "in": ""})

    standing = Verdict.objects.filter(action="dismiss", undone_by__isnull=True).order_by("pk")
    assert [v.reason for v in standing] == ["rotating"] * 3
    assert [v.calibrates for v in standing] == [True, False, False]


@pytest.mark.parametrize(("do", "teach"), [("approve", 3), ("dismiss:date", 1)])
def test_a_dismissal_teaches_once_and_an_approval_binds_on_every_page(
    do: str, teach: int, three: list[Change], analyst: User, sign_in: SignIn
) -> None:
    sign_in(analyst).post(reverse("decide", args=[three[0].pk]), form(*three, do=do))

    assert Verdict.objects.filter(calibrates=True).count() == teach


def test_an_auditor_is_not_asked_for_a_verdict_on_many(three: list[Change], sign_in: SignIn) -> None:
    page = sign_in(make_user("otto", role="auditor")).get(three[0].get_absolute_url()).content.decode()

    assert 'name="with"' not in page


def test_the_list_asks_as_often_however_many_are_the_same(analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)

    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            client.get(reverse("queue"))
        return len(found)

    make_change(edit_hash=SAME)
    client.get(reverse("queue"))
    few = asked()
    for number in range(12):
        make_change(edit_hash=f"{number % 4:032x}")

    assert asked() == few


def test_each_row_looks_into_the_index(analyst: User) -> None:
    listed = queue.changes_in(queue.Filter(), user=analyst, now=NOW)

    plan = queue.one_of_each(listed, queue.Filter(), user=analyst, now=NOW).order_by("-priority", "opened_at", "pk")

    if connection.vendor == "sqlite":
        assert "INDEX change_alike (edit_hash=?)" in plan.explain()
