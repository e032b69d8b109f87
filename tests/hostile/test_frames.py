"""Captured pages made to stall whoever prepares them for the frame, or to forge our marks."""

from __future__ import annotations

import time

import pytest
from bs4 import BeautifulSoup

from review import frames

DOCUMENT = {
    "blocks": [
        {"op": "reworded", "tag": "p", "surface": "visible", "place": 1,
         "segments": [["=", "We "], ["-", "will not"], ["+", "may"], ["=", " share it."]]},
    ],
}  # fmt: skip

COSTLY = {
    "nested-inline": b"<span>" * 19_000 + b"We will not share it.",
    "nested-links": b"<a>x" * 19_000,
    "nested-forms": b"<form>x" * 19_000,
    "tags-without-end": b"<p>" + b"<a " * 39_000,
    "quotes-without-end": b"<p a='" * 39_000,
    "comments-without-end": b"<!--" * 39_000,
    "declarations": b"<p>" + b"<!" * 39_000,
    "attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(60_000)) + b">x",
    "attributes-behind-a-quote": b"<p x='>' " + b" ".join(b"a%d" % n for n in range(60_000)) + b">x",
    "open-brackets-in-style": b"<style>" + b"url(" * 200_000 + b"</style>",
    "imports": b"<style>" + b"@import" * 140_000 + b"</style>",
}


def prepared(body: bytes) -> str:
    """The page as the frame shows it."""
    return frames.prepare(body, charset="utf-8", content_type="text/html", document=DOCUMENT, side="-", title="T")


@pytest.mark.parametrize("name", COSTLY)
def test_no_page_stalls_the_frame(name: str) -> None:
    started = time.process_time()

    html = prepared(COSTLY[name])

    assert time.process_time() - started < 10  # quadratic work takes minutes here
    assert html.startswith("<!doctype html>")


def test_a_page_too_deep_to_prepare_is_shown_as_its_text() -> None:
    html = prepared(COSTLY["nested-inline"])

    assert '<mark class="tl-del">will not</mark>' in html
    assert "<span><span>" not in html


def test_a_page_cannot_forge_our_marks() -> None:
    soup = BeautifulSoup(
        prepared(b"<p class='tl-place note'>A <mark class=tl-ins>forged</mark> word</p><p>We will not share it.</p>"),
        "html.parser",
    )

    assert [mark.get_text() for mark in soup.select(".tl-ins, .tl-del")] == ["will not"]
    assert [place.get_text() for place in soup.select(".tl-place")] == ["We will not share it."]
    assert soup.select_one(".note") is not None
