"""The change page for every shape of change, and what happens when something breaks."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from monitoring import storage
from monitoring.models import Change, FieldChange
from tests.factories import NOW, make_change, make_check, make_monitor, make_snapshot
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 16


def page(sign_in: SignIn, user: User, change: Change, **query: str) -> BeautifulSoup:
    """The change page as this person sees it."""
    response = sign_in(user).get(reverse("change", args=[change.pk]), query)
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def said(soup: BeautifulSoup) -> str:
    """What the page says."""
    return " ".join(soup.get_text(" ").split())


@pytest.mark.parametrize("view", ["prior", "split", "fields", "rendered", "nonsense"])
@pytest.mark.parametrize("diff", [{}, None, {"version": 1, "blocks": []}])
def test_a_change_without_text_opens_in_every_view(analyst: User, sign_in: SignIn, view: str, diff: Any) -> None:
    change = make_change(diff=diff or {}, say=[], added=0, removed=0, places=0)

    assert "No text changed" in said(page(sign_in, analyst, change, view=view))


@pytest.mark.parametrize(
    ("kind", "words"), [("gone", "The page is gone."), ("redirect", "The page answers from a new address.")]
)
@pytest.mark.parametrize("view", ["prior", "split", "fields"])
def test_a_change_with_one_side_only(analyst: User, sign_in: SignIn, kind: str, words: str, view: str) -> None:
    change = make_change(kind=kind, new=None, diff={}, say=[], added=0, removed=0, places=0, score=None, distance=None)

    assert words in said(page(sign_in, analyst, change, view=view))
    assert sign_in(analyst).get(reverse("queue")).status_code == 200


def test_a_field_change_names_the_field(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    change = make_change(monitor, kind="field", diff={}, say=[], added=0, removed=0, places=0)
    FieldChange.objects.create(
        monitor=monitor, check_row=make_check(monitor), change=change, name="valid", type="date", state="changed",
        text="valid: 30 Nov 2026 -> 31 Jan 2027", at=NOW,
    )  # fmt: skip

    text = said(page(sign_in, analyst, change))

    assert "No text changed; fields did." in text
    assert "valid: 30 Nov 2026 → 31 Jan 2027" in text


def test_stored_fields_are_read_as_people_write_them(analyst: User, sign_in: SignIn) -> None:
    change = make_change()
    change.prior.fields = {
        "price": {"type": "price", "value": "89.00", "currency": "EUR"},
        "gone": {"type": "text", "value": "x"},
    }
    change.prior.save()
    assert change.new is not None
    change.new.fields = {
        "price": {"type": "price", "value": "79.00", "currency": "EUR"},
        "list": {"type": "list", "value": ["a", "b"]},
    }
    change.new.save()

    text = said(page(sign_in, analyst, change, view="fields"))

    assert "price 89.00 EUR 79.00 EUR" in text
    assert "list – a, b" in text


def test_rendered_is_offered_wherever_there_are_two_captures(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    picture = storage.put(PNG)
    both = make_change(
        monitor,
        prior=make_snapshot(monitor, screenshot=picture),
        new=make_snapshot(monitor, role="change", screenshot=picture),
    )
    without, gone = make_change(), make_change(new=None, kind="gone")

    assert "Rendered" in said(page(sign_in, analyst, both))
    assert len(page(sign_in, analyst, both, view="rendered").select("iframe[sandbox]")) == 2
    assert "No screenshots" in said(page(sign_in, analyst, without, view="rendered"))
    assert "Rendered" not in said(page(sign_in, analyst, gone))
    response = sign_in(analyst).get(reverse("screenshot", args=[both.pk, "new"]))
    assert (response.status_code, response["Content-Type"], response["X-Content-Type-Options"]) == (
        200,
        "image/png",
        "nosniff",
    )


WEBP = b"RIFF\x00\x00\x00\x00WEBP" + b"\x00" * 16


def test_the_rendered_view_shows_small_pictures_and_says_where_one_was_cut(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    large, small = storage.put(PNG), storage.put(WEBP)
    whole = make_snapshot(monitor, screenshot=large, thumbnail=small)
    cut = make_snapshot(
        monitor, role="change", screenshot=large, picture={"width": 1280, "height": 16000, "page_height": 43210}
    )
    change = make_change(monitor, prior=whole, new=cut)

    soup = page(sign_in, analyst, change, view="rendered")

    shots = [img["src"] for img in soup.select(".shots img")]
    assert shots == [reverse("picture", args=[whole.pk, "thumbnail"]), reverse("picture", args=[cut.pk, "screenshot"])]
    assert [a["href"] for a in soup.select(".shots a")] == [
        reverse("picture", args=[side.pk, "screenshot"]) for side in (whole, cut)
    ]
    assert "After · the picture ends after 16,000 of 43,210 pixels" in said(soup)
    for shown, found in (("over", ".overlay img"), ("slider", ".slider img"), ("after", ".shots.one img")):
        soup = page(sign_in, analyst, change, view="rendered", shots=shown)
        assert len(soup.select(found)) == (1 if shown == "after" else 2), shown
        assert len(soup.select("#shots .seg a")) == 5


@pytest.mark.parametrize(("kind", "content_type"), [("screenshot", "image/png"), ("thumbnail", "image/webp")])
def test_a_picture_is_nothing_but_one_and_for_its_team_only(
    kind: str, content_type: str, analyst: User, outsider: User, sign_in: SignIn
) -> None:
    snapshot = make_snapshot(make_monitor(), screenshot=storage.put(PNG), thumbnail=storage.put(WEBP))
    address = reverse("picture", args=[snapshot.pk, kind])

    response = sign_in(analyst).get(address)

    assert (response.status_code, response["Content-Type"]) == (200, content_type)
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert sign_in(outsider).get(address).status_code == 404
    assert sign_in(analyst).get(reverse("picture", args=[snapshot.pk, "payload"])).status_code == 404


def test_what_is_no_picture_is_not_served_as_one(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    fake = storage.put(b"<script>alert(1)</script>")
    change = make_change(monitor, prior=make_snapshot(monitor, screenshot=fake))

    assert sign_in(analyst).get(reverse("screenshot", args=[change.pk, "prior"])).status_code == 404


def test_neighbours_and_place_follow_the_list(analyst: User, sign_in: SignIn) -> None:
    first, second, third = (make_change(priority=p) for p in (2, 1, 0))

    soup = page(sign_in, analyst, second)

    position = soup.select_one("[data-position]")
    assert position is not None
    assert position.get_text() == "2 of 3"
    assert soup.select_one(f"a[data-key=k][href='/c/{first.pk}/']") is not None
    assert soup.select_one(f"a[data-key=j][href='/c/{third.pk}/']") is not None


@pytest.mark.parametrize("query", ["x" * 5000, "site=%zz&" * 40, "view=%00"])
def test_a_strange_list_in_the_address_does_no_harm(analyst: User, sign_in: SignIn, query: str) -> None:
    page(sign_in, analyst, make_change(), **{"in": query})


def test_the_page_costs_the_same_with_a_long_history(analyst: User, sign_in: SignIn) -> None:
    change, client = make_change(), sign_in(analyst)
    client.get(reverse("change", args=[change.pk]))  # the first visit writes a row, later ones renew it
    counts = []
    for _round in range(2):
        for _number in range(10):
            make_change(change.monitor, state="approved")
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("change", args=[change.pk]))
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert counts[0] <= 26


def test_without_a_database_people_are_told_when_to_come_back(
    analyst: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(analyst)
    client.raise_request_exception = False

    def down(*_args: Any, **_more: Any) -> None:
        raise OperationalError("no route to the database")

    monkeypatch.setattr("review.views.queue.queue.changes_in", down)
    response = client.get(reverse("queue"))

    assert (response.status_code, response["Retry-After"]) == (503, "30")
    assert b"Nothing was lost" in response.content
    assert b"no route" not in response.content


def test_an_error_of_ours_shows_no_traceback(analyst: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(analyst)
    client.raise_request_exception = False

    def wrong(*_args: Any, **_more: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("review.views.queue.queue.changes_in", wrong)
    response = client.get(reverse("queue"))

    assert response.status_code == 500
    assert b"secret detail" not in response.content
    assert b"Something broke on our side." in response.content


def test_an_unknown_address_offers_a_way_on(analyst: User, sign_in: SignIn) -> None:
    response = sign_in(analyst).get("/nowhere/")

    assert response.status_code == 404
    assert reverse("queue").encode() in response.content


def test_the_policy_of_our_own_pages_allows_no_inline_script(analyst: User, sign_in: SignIn) -> None:
    response = sign_in(analyst).get(reverse("change", args=[make_change().pk]))

    policy = response["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    soup = BeautifulSoup(response.content, "html.parser")
    assert not soup.select("[style], style, script:not([src])")
