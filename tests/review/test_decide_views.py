"""The decision bar over HTTP: with and without script, twice, too late, by the wrong person."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from monitoring.models import Change
from review.models import Assignment, Note, Verdict
from review.services.verdicts import LEAST_SECONDS
from tests.factories import make_change
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]
SCRIPT = {"X-Tideline": "script"}


def form_of(client: Client, change: Change) -> dict[str, Any]:
    """The hidden fields of the change page's decision form, as a browser would send them."""
    page = BeautifulSoup(client.get(reverse("change", args=[change.pk])).content, "html.parser")
    form = page.select_one("form[data-decide]")
    assert form is not None
    return {str(i["name"]): str(i.get("value", "")) for i in form.select("input[type=hidden]") if i.get("form") is None}


def send(client: Client, change: Change, do: str, **extra: Any) -> Any:
    """One button pressed on a page that has just been opened."""
    headers = extra.pop("headers", None)
    return client.post(
        reverse("decide", args=[change.pk]), {**form_of(client, change), "do": do, **extra}, headers=headers
    )


def test_a_verdict_leads_to_the_next_change(analyst: User, sign_in: SignIn) -> None:
    first, second = make_change(), make_change()

    response = send(sign_in(analyst), first, "approve")

    assert response.status_code == 303
    assert response["Location"] == reverse("change", args=[second.pk])
    first.refresh_from_db()
    assert first.state == "approved"


def test_the_last_verdict_leads_to_the_queue(analyst: User, sign_in: SignIn) -> None:
    response = send(sign_in(analyst), make_change(), "dismiss:date")

    assert response["Location"] == reverse("queue")
    assert Verdict.objects.get().reason == "date"


def test_the_list_it_was_opened_from_is_kept(analyst: User, sign_in: SignIn) -> None:
    first, other, second = make_change(priority=2), make_change(priority=1), make_change(priority=2)

    response = send(sign_in(analyst), first, "approve", **{"in": "view=high"})

    assert response["Location"] == reverse("change", args=[second.pk]) + "?in=view%3Dhigh"
    assert other.pk != second.pk


def test_our_script_gets_the_toast_with_its_undo(analyst: User, sign_in: SignIn) -> None:
    response = send(sign_in(analyst), make_change(), "dismiss:furniture", headers=SCRIPT)

    data = response.json()
    assert data["ok"]
    assert data["waiting"] == "0"
    assert "footer or navigation" in data["toast"]
    assert BeautifulSoup(data["toast"], "html.parser").find("button", value="undo") is not None


def test_a_double_click_is_one_verdict(analyst: User, sign_in: SignIn) -> None:
    change, client = make_change(), sign_in(analyst)
    form = {**form_of(client, change), "do": "approve"}

    answers = [client.post(reverse("decide", args=[change.pk]), form).status_code for _ in range(2)]

    assert answers == [303, 303]
    assert Verdict.objects.count() == 1


def test_the_slower_reviewer_is_told_who_and_when(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    change, slow = make_change(), sign_in(other_analyst)
    form = {**form_of(slow, change), "do": "dismiss:date"}
    send(sign_in(analyst), change, "approve")

    response = slow.post(reverse("decide", args=[change.pk]), form)

    assert response.status_code == 409
    text = BeautifulSoup(response.content, "html.parser").get_text()
    assert re.search(r"ines decided this \d+ seconds? ago: Approved\.", text)
    assert "Your dismissal was not saved." in text
    assert "Record mine as a second opinion" in text
    assert Verdict.objects.count() == 1


def test_the_slower_reviewer_can_record_a_second_opinion(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    change, slow = make_change(), sign_in(other_analyst)
    form = {**form_of(slow, change), "do": "dismiss:date"}
    send(sign_in(analyst), change, "approve")
    page = BeautifulSoup(slow.post(reverse("decide", args=[change.pk]), form).content, "html.parser")
    button = page.find("button", value="second:dismiss")
    assert button is not None
    inner = button.find_parent("form")
    assert inner is not None

    fields = {str(i["name"]): str(i["value"]) for i in inner.select("input")}
    response = slow.post(reverse("decide", args=[change.pk]), {**fields, "do": "second:dismiss"})

    assert response.status_code == 303
    assert Verdict.objects.get(action="second").opinion == "dismiss"
    change.refresh_from_db()
    assert change.state == "approved"


def test_a_page_that_changed_again_is_said_so(analyst: User, sign_in: SignIn) -> None:
    change, client = make_change(), sign_in(analyst)
    form = {**form_of(client, change), "do": "approve"}
    Change.objects.filter(pk=change.pk).update(version=2, diff_hash="2" * 64)

    response = client.post(reverse("decide", args=[change.pk]), form, headers=SCRIPT)

    assert response.status_code == 409
    assert "The page changed again while you were reading." in response.json()["conflict"]
    assert not Verdict.objects.exists()


def test_undo_brings_back_the_last_one(analyst: User, sign_in: SignIn) -> None:
    first, second, client = make_change(), make_change(), sign_in(analyst)
    send(client, first, "approve")

    response = send(client, second, "undo")

    assert response["Location"] == reverse("change", args=[first.pk])
    first.refresh_from_db()
    assert (first.state, first.closed_at) == ("open", None)


def test_undo_twice_says_there_is_nothing_left(analyst: User, sign_in: SignIn) -> None:
    first, second, client = make_change(), make_change(), sign_in(analyst)
    send(client, first, "approve")
    send(client, second, "undo")

    response = send(client, second, "undo", headers=SCRIPT)

    assert response.json()["words"] == "There is nothing to undo."
    assert Verdict.objects.count() == 2


def test_anothers_verdict_is_not_undone(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    first, second = make_change(), make_change()
    send(sign_in(analyst), first, "approve")
    verdict = Verdict.objects.get()

    send(sign_in(other_analyst), second, "undo", verdict=str(verdict.pk))

    first.refresh_from_db()
    assert first.state == "approved"


@pytest.mark.parametrize("choice", ["snooze", "snooze:tomorrow", "snooze:monday"])
def test_a_snooze_takes_it_out_of_the_queue(analyst: User, sign_in: SignIn, choice: str) -> None:
    change = make_change()

    send(sign_in(analyst), change, choice)

    change.refresh_from_db()
    assert change.state == "snoozed"
    assert (change.snoozed_until is None) == (choice == "snooze")


def test_assigning_is_kept_and_taken_back(analyst: User, sign_in: SignIn) -> None:
    change, client = make_change(), sign_in(analyst)

    send(client, change, "assign:me")
    assert Assignment.objects.get().assignee == analyst
    send(client, change, "assign:nobody")
    assert not Assignment.objects.exists()


def test_a_note_is_shown_escaped(analyst: User, sign_in: SignIn) -> None:
    change, client = make_change(), sign_in(analyst)

    client.post(reverse("note", args=[change.pk]), {"text": "<b>Ask legal</b>"})

    assert Note.objects.get().author == analyst
    assert b"&lt;b&gt;Ask legal&lt;/b&gt;" in client.get(reverse("change", args=[change.pk])).content


@pytest.mark.parametrize("text", ["", "   ", "x" * 4001])
def test_an_empty_or_endless_note_is_refused(analyst: User, sign_in: SignIn, text: str) -> None:
    assert sign_in(analyst).post(reverse("note", args=[make_change().pk]), {"text": text}).status_code == 400


def test_a_reason_given_afterwards_replaces_the_first(analyst: User, sign_in: SignIn) -> None:
    change, client = make_change(), sign_in(analyst)
    send(client, change, "dismiss:date")
    verdict = Verdict.objects.get()

    response = client.post(
        reverse("give_reason", args=[verdict.pk]), {"reason": "rotating", "key": uuid.uuid4().hex}, headers=SCRIPT
    )

    assert response.json()["ok"]
    assert Verdict.objects.order_by("-pk")[0].reason == "rotating"


def test_a_reason_for_anothers_verdict_is_not_there(analyst: User, other_analyst: User, sign_in: SignIn) -> None:
    send(sign_in(analyst), make_change(), "dismiss:date")

    response = sign_in(other_analyst).post(
        reverse("give_reason", args=[Verdict.objects.get().pk]), {"reason": "rotating", "key": uuid.uuid4().hex}
    )

    assert response.status_code == 404


@pytest.mark.parametrize("do", ["", "approve:date", "dismiss:other", "delete", "dismiss:nonsense", "second:snooze"])
def test_nonsense_is_refused(analyst: User, sign_in: SignIn, do: str) -> None:
    change = make_change()

    assert send(sign_in(analyst), change, do).status_code == 400
    assert not Verdict.objects.exists()


@pytest.mark.parametrize("field", ["version", "key"])
def test_an_incomplete_form_is_refused(analyst: User, sign_in: SignIn, field: str) -> None:
    assert send(sign_in(analyst), make_change(), "approve", **{field: ""}).status_code == 400


def test_a_verdict_after_a_glance_is_saved_and_not_learned_from(analyst: User, sign_in: SignIn) -> None:
    send(sign_in(analyst), make_change(), "approve", seconds="0.9")

    assert Verdict.objects.get().calibrates is False


def test_without_script_the_time_on_screen_is_measured_by_the_server(analyst: User, sign_in: SignIn) -> None:
    send(sign_in(analyst), make_change(), "approve")

    verdict = Verdict.objects.get()
    assert verdict.seconds_on_screen is not None
    assert verdict.calibrates is (
        verdict.seconds_on_screen >= LEAST_SECONDS
    )  # the test client reads in next to no time


def test_an_auditor_sees_no_decision_bar(auditor: User, sign_in: SignIn) -> None:
    page = sign_in(auditor).get(reverse("change", args=[make_change().pk])).content

    assert b'id="decide"' not in page
    assert b"data-place" in page
