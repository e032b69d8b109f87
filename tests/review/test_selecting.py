"""Trying a selector on the stored page: what it matches, in a frame that runs nothing, for who may see the page."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from monitoring import storage
from monitoring.models import Monitor
from review import frames
from tests.factories import make_monitor, make_snapshot
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]
PAGE = (
    b"<html><body><h2 onclick='x()'>One <b>bold</b></h2><script>alert(1)</script><p id=p1 class='tl-hit'>Other</p>"
    b"<h2>Two</h2></body></html>"
)


def monitor_with(body: bytes = PAGE) -> Monitor:
    """A monitor with a stored page as its baseline."""
    monitor = make_monitor()
    monitor.baseline = make_snapshot(monitor, payload=storage.put(body), content_type="text/html")
    monitor.save()
    return monitor


def in_frame(user: User, monitor: Monitor, selector: str) -> tuple[int, str]:
    """What the frames' host answers for this person."""
    url = frames.trial_url(frames.Trial(user.pk, monitor.baseline_id or 0, selector))
    response = Client(HTTP_HOST="localhost").get("/" + url.split("/", 3)[3])
    assert "sandbox; default-src 'none'" in response["Content-Security-Policy"]
    return response.status_code, response.content.decode()


def test_matches_are_counted_and_told(analyst: User, sign_in: SignIn) -> None:
    monitor = monitor_with()

    page = sign_in(analyst).get(reverse("selector", args=[monitor.pk]) + "?q=h2").content.decode()

    assert "2 matches" in page
    assert "One bold" in page
    assert 'sandbox=""' in page


@pytest.mark.parametrize("selector", ["h2[", "::nonsense", "a" * 500, "h2 >"])
def test_what_is_no_selector_is_said(analyst: User, sign_in: SignIn, selector: str) -> None:
    response = sign_in(analyst).get(reverse("selector", args=[monitor_with().pk]), {"q": selector})

    assert response.status_code == 200


def test_without_a_capture_there_is_nothing_to_try(analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(reverse("selector", args=[make_monitor().pk]) + "?q=h2").content

    assert b"There is no stored capture yet" in page


def test_the_frame_outlines_what_matches_and_nothing_else(analyst: User) -> None:
    status, body = in_frame(analyst, monitor_with(), "h2")

    soup = BeautifulSoup(body, "html.parser")
    assert status == 200
    assert [(hit["id"], hit.get_text()) for hit in soup.select(".tl-hit")] == [("p1", "One bold"), ("p2", "Two")]
    assert "alert(1)" not in body
    assert "onclick" not in body


def test_a_page_of_another_team_is_not_shown(outsider: User, sign_in: SignIn) -> None:
    monitor = monitor_with()

    assert sign_in(outsider).get(reverse("selector", args=[monitor.pk])).status_code == 404
    assert in_frame(outsider, monitor, "h2")[0] == 404


def test_a_forged_address_shows_nothing(db: None) -> None:
    assert Client(HTTP_HOST="localhost").get("/frame/selector/forged/").status_code == 410


def test_an_address_of_a_change_is_none_of_a_trial(analyst: User) -> None:
    token = frames.frame_url(frames.Ticket(analyst.pk, 1, 1, "-")).rstrip("/").rsplit("/", 1)[1]

    assert Client(HTTP_HOST="localhost").get(f"/frame/selector/{token}/").status_code == 410
