"""Captured pages in the frame: inert, on a host of their own, for one person."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

import pytest
import time_machine
from bs4 import BeautifulSoup
from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client

from monitoring import storage
from monitoring.models import Change
from review import frames
from tests.factories import make_change, make_monitor, make_snapshot
from tests.pdfs import make_pdf
from tests.review.conftest import SignIn

HOSTILE = b"""<!doctype html><html lang="en"><head><title>T</title><base href="https://evil.example/">
<meta http-equiv="refresh" content="0;url=https://evil.example/"><link rel="stylesheet" href="https://evil.example/x.css">
<link rel="dns-prefetch" href="//evil.example"><script>top.PWNED = 1</script><style>p{color:red}</style></head>
<body onload="alert(1)"><!-- secret --><form action="https://evil.example/"><input name="q" autofocus onfocus="alert(2)">
<button formaction="javascript:alert(3)">go</button></form>
<p id="p1">We will not share it.</p><a href="javascript:alert(4)" ping="https://evil.example/">link</a>
<img src="https://evil.example/beacon.gif" srcset="https://evil.example/2x.gif 2x" alt="logo" onerror="alert(5)">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="dot"><iframe srcdoc="<script>alert(6)</script>"></iframe>
<object data="x"></object><svg onload="alert(7)"><script>alert(8)</script></svg><video src="https://evil.example/v"></video>
<template><p>hidden</p></template><p style="background:url(https://evil.example/bg)">Styled</p></body></html>"""
DOCUMENT = {
    "lang": "en",
    "blocks": [
        {
            "op": "reworded", "tag": "p", "heading": 0, "surface": "visible", "old": 1, "new": 1, "place": 1,
            "segments": [["=", "We "], ["-", "will not"], ["+", "may"], ["=", " share it."]],
        }
    ],
}  # fmt: skip


def prepared(body: bytes = HOSTILE, side: str = "-", **extra: str) -> BeautifulSoup:
    """The page as the frame shows it."""
    values = {"charset": "utf-8", "content_type": "text/html", "title": "T", **extra}
    return BeautifulSoup(frames.prepare(body, document=DOCUMENT, side=side, **values), "html.parser")


@pytest.mark.parametrize("name", ["script", "form", "base", "iframe", "object", "link", "svg", "video", "template"])
def test_active_elements_are_gone(name: str) -> None:
    assert prepared().find(name) is None


def test_no_attribute_runs_or_loads_anything() -> None:
    for element in prepared().find_all(True):
        for name, value in element.attrs.items():
            assert not name.startswith("on")
            assert name not in {"href", "srcset", "action", "formaction", "ping", "background", "poster"}
            assert name != "src" or str(value).startswith("data:image/")


def test_only_our_own_meta_is_left() -> None:
    assert {m.get("charset") or m.get("name") for m in prepared().find_all("meta")} == {"utf-8", "viewport"}


def test_the_changed_words_are_marked_and_reachable() -> None:
    soup = prepared()

    place = soup.find(id="p1")
    assert place is not None
    assert place.get_text() == "We will not share it."
    assert [m.get_text() for m in soup.find_all("mark")] == ["will not"]


def test_a_mark_spans_nested_elements() -> None:
    soup = prepared(b"<p>We <b>will</b> <i>not</i> share it.</p>")

    assert [m.get_text() for m in soup.find_all("mark")] == ["will", "not"]
    assert soup.find("p").get_text() == "We will not share it."  # type: ignore[union-attr]


def test_the_new_side_marks_what_was_added() -> None:
    soup = prepared(b"<p>We may share it.</p>", side="+")

    assert [m.get_text() for m in soup.find_all("mark", class_="tl-ins")] == ["may"]


def test_a_page_cannot_pose_as_a_place() -> None:
    soup = prepared(b'<p id="p1">Fake</p><p id="p7">Fake too</p><p>We will not share it.</p>')

    assert [e.get_text() for e in soup.find_all(id="p1")] == ["We will not share it."]
    assert soup.find(id="p7") is None


QUOTED = {
    "blocks": [
        {"op": "reworded", "tag": "p", "surface": "visible", "place": 1,
         "segments": [["=", "He said “go” ", 'He said "go" ', "He said “go” "], ["-", "then"], ["+", "now"]]},
    ],
}  # fmt: skip


@pytest.mark.parametrize(("side", "text"), [("-", 'He said "go" then'), ("+", "He said “go” now")])
def test_each_side_finds_its_own_spelling(side: str, text: str) -> None:
    page = f"<p>{text}</p>".encode()

    whole = frames.prepare(page, document=QUOTED, side=side, charset="utf-8", content_type="text/html", title="T")
    place = BeautifulSoup(whole, "html.parser").find(id="p1")

    assert place is not None
    assert place.get_text() == text
    assert text in BeautifulSoup(frames.extracted(QUOTED, side=side, title="T"), "html.parser").get_text()


@pytest.mark.parametrize("op", ["reworded", "rewritten", "added"])
def test_what_was_left_out_as_noise_is_not_marked(op: str) -> None:
    row = {"op": op, "tag": "p", "surface": "visible", "place": None, "left_out": "volatile-pattern",
           "segments": [["=", "Read at "], ["-", "09:14"], ["+", "09:15"], ["!", "\u200b", "U+200B", "+"]],
           "before": [["-", "Read at 09:14"]], "after": [["+", "Read at 09:15"]]}  # fmt: skip
    document = {"blocks": [{"op": "fold", "count": 0, "left_out": 1, "blocks": [row]}]}
    page = b"<p>Read at 09:15</p>"

    whole = frames.prepare(page, document=document, side="+", charset="utf-8", content_type="text/html", title="T")

    assert not BeautifulSoup(whole, "html.parser").find_all("mark")
    assert not BeautifulSoup(frames.extracted(document, side="+", title="T"), "html.parser").find_all("mark")


@pytest.mark.parametrize("kind", ["application/pdf", "image/png"])
def test_what_is_no_page_is_shown_as_its_text(kind: str) -> None:
    soup = prepared(b"%PDF-1.7", content_type=kind)

    assert soup.find("p").get_text() == "We will not share it."  # type: ignore[union-attr]


def test_a_page_too_large_to_prepare_is_shown_as_its_text() -> None:
    soup = prepared(b"<p>x</p>" * 100_000)

    assert len(soup.find_all("p")) == 1


def test_the_charset_of_the_fetch_decides() -> None:
    assert "プライバシー" in frames.decode("プライバシー".encode("shift_jis"), "shift_jis")
    assert frames.decode("grün".encode(), "") == "grün"


# --- over HTTP -------------------------------------------------------------------------------------------------

FRAME_HOST = str(urlsplit(settings.FRAME_ORIGIN).hostname)
APP_HOST = str(urlsplit(settings.APP_ORIGIN).hostname)


@pytest.fixture
def change(team: object) -> Change:
    """A change with the hostile page as prior snapshot."""
    monitor = make_monitor()
    prior = make_snapshot(monitor, payload=storage.put(HOSTILE), content_type="text/html", charset="utf-8")
    return make_change(monitor, prior=prior)


def path_for(change: Change, user: User) -> str:
    """The frame's path for this person."""
    return urlsplit(frames.frame_url(frames.Ticket(user.pk, change.pk, change.prior_id, "-"))).path


def test_the_frame_carries_the_whole_policy(change: Change, analyst: User) -> None:
    response = Client().get(path_for(change, analyst), HTTP_HOST=FRAME_HOST)

    assert response.status_code == 200
    assert response["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
        f"frame-ancestors {settings.APP_ORIGIN}"
    )
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cross-Origin-Resource-Policy"] == "same-site"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response["Cache-Control"] == "no-store"
    assert "X-Frame-Options" not in response
    assert not response.cookies


def test_the_application_frames_it_without_any_permission(change: Change, analyst: User, sign_in: SignIn) -> None:
    frame = BeautifulSoup(sign_in(analyst).get(f"/c/{change.pk}/").content, "html.parser").select_one("iframe")

    assert frame is not None
    assert not any(frame.get_attribute_list("sandbox"))
    assert frame.has_attr("sandbox")
    assert frame["referrerpolicy"] == "no-referrer"
    assert str(frame["src"]).startswith(settings.FRAME_ORIGIN)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/login/", "/queue/", "/static/css/app.css", "/admin/", "/c/1/"])
def test_the_frames_host_serves_nothing_else(path: str) -> None:
    assert Client().get(path, HTTP_HOST=FRAME_HOST).status_code == 404


def test_the_bare_frames_host_sends_people_to_the_application() -> None:
    response = Client().get("/", HTTP_HOST=FRAME_HOST)

    assert response["Location"] == f"{settings.APP_ORIGIN}/"


def test_the_application_host_serves_no_frame(change: Change, analyst: User, sign_in: SignIn) -> None:
    assert sign_in(analyst).get(path_for(change, analyst), HTTP_HOST=APP_HOST).status_code == 404


def test_a_forged_address_shows_nothing(change: Change, analyst: User) -> None:
    forged = signing.dumps([analyst.pk, change.pk, change.prior_id, "-"], salt="something else")

    assert Client().get(f"/frame/{forged}/", HTTP_HOST=FRAME_HOST).status_code == 410


def test_an_address_expires(change: Change, analyst: User) -> None:
    with time_machine.travel("2026-11-30T10:00:00Z"):
        path = path_for(change, analyst)
    with time_machine.travel("2026-11-30T10:31:00Z"):
        response = Client().get(path, HTTP_HOST=FRAME_HOST)

    assert response.status_code == 410
    assert b"will not" not in response.content


def test_an_address_is_worth_what_its_person_may_see(change: Change, outsider: User, analyst: User) -> None:
    assert Client().get(path_for(change, outsider), HTTP_HOST=FRAME_HOST).status_code == 404
    path = path_for(change, analyst)
    analyst.is_active = False
    analyst.save()
    assert Client().get(path, HTTP_HOST=FRAME_HOST).status_code == 404


def test_a_snapshot_of_another_change_is_not_shown(change: Change, analyst: User) -> None:
    other = make_change()
    ticket = frames.Ticket(analyst.pk, change.pk, other.prior_id, "-")

    assert Client().get(urlsplit(frames.frame_url(ticket)).path, HTTP_HOST=FRAME_HOST).status_code == 404


SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>top.PWNED=1</script><text>terms</text></svg>"


@pytest.mark.parametrize(
    ("body", "facts", "shown"),
    [
        (make_pdf([["<script>alert(1)</script>"], ["Annex"]]), {"content_type": "application/pdf"},
         ["Page 1", "<script>alert(1)</script>", "Page 2", "Annex"]),
        (b'{"fee": "<img src=x onerror=alert(1)>"}', {"content_type": "application/json", "charset": "utf-8"},
         ["fee: <img src=x onerror=alert(1)>"]),
        (b"<rss><channel><title>N</title><item><title>One</title></item></channel></rss>",
         {"content_type": "application/rss+xml", "charset": "utf-8"}, ["N", "One"]),
        (SVG, {"content_type": "image/svg+xml"}, [f"A file of type image/svg+xml, {len(SVG)} bytes, SHA-256 {hashlib.sha256(SVG).hexdigest()}"]),
        (b"%PDF-1.7", {"content_type": "application/pdf"},
         ["This document cannot be shown as text. The PDF is damaged and cannot be read. To compare it by its bytes, set the document type to “file”."]),
    ],
    ids=["pdf", "json", "feed", "svg", "broken pdf"],
)  # fmt: skip
def test_a_document_that_no_diff_shows_is_its_text_and_never_its_bytes(
    team: object, analyst: User, body: bytes, facts: dict[str, str], shown: list[str]
) -> None:
    monitor = make_monitor()
    prior = make_snapshot(monitor, payload=storage.put(body), **facts)
    change = make_change(monitor, prior=prior, kind=Change.Kind.TYPE, diff={})

    response = Client().get(path_for(change, analyst), HTTP_HOST=FRAME_HOST)

    assert response["Content-Type"] == "text/html; charset=utf-8"
    soup = BeautifulSoup(response.content, "html.parser")
    assert [p.get_text() for p in soup.body.find_all(["p", "h1", "h3"])] == shown  # type: ignore[union-attr]
    assert soup.find(["script", "img", "svg"]) is None


def test_the_pages_of_a_pdf_stand_beside_its_marks() -> None:
    blocks = [{**DOCUMENT["blocks"][0], "page": 2}]  # type: ignore[dict-item]
    soup = BeautifulSoup(frames.extracted({"blocks": blocks}, side="-", title="T"), "html.parser")

    assert [p.get_text() for p in soup.find_all("p")] == ["Page 2", "We will not share it."]
