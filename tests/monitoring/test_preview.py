"""A preview shows what would be compared, in words when it fails, and writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from monitoring.detection.fields import FieldSpec
from monitoring.models import Check, Monitor, Payload, Site, Snapshot, Vantage
from monitoring.services.preview import Piece, pieces, preview
from monitoring.services.rules import Rules

PAGE = """<!doctype html><html lang="en"><head><title>Privacy notice</title>
<script type="application/ld+json">{"@type": "Product", "name": "Reel", "offers": {"price": "89.00", "priceCurrency": "EUR"}}</script>
</head><body><header><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav></header>
<main><h1>Privacy notice</h1>
<p>We will not share your usage data with other companies unless you have agreed to it before, in writing.</p>
<p>This page was last updated at 12:30 today and applies to all of our customers in every country.</p>
<p class="ad">Buy two reels and get a third one for nothing while our stock of reels lasts this week.</p>
<p hidden>Secret sentence that only machines can read because it is hidden from the eye.</p>
</main><footer><p>Halden Ltd, 1 Harbour Street</p></footer></body></html>"""

ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/page": (200, {"Content-Type": "text/html; charset=utf-8"}, PAGE.encode()),
    "/moved": (302, {"Location": "/page"}, b""),
    "/inside": (302, {"Location": "http://10.0.0.1/"}, b""),
    "/gone": (404, {"Content-Type": "text/html"}, b"<h1>Page not found</h1><p>Sorry, there is nothing here.</p>"),
    "/paper.zip": (200, {"Content-Type": "application/zip"}, b"PK\x03\x04 x"),
    "/paper.pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7 x"),
    "/blocked": (403, {"Content-Type": "text/html"}, b"<h1>Access denied</h1><p>Verify you are human.</p>"),
    "/xss": (
        200,
        {"Content-Type": "text/html"},
        b"<main><p>&lt;script&gt;alert(1)&lt;/script&gt; and more text</p></main>",
    ),
}


class _Handler(BaseHTTPRequestHandler):
    served = 0  # connections accepted, whether or not anything was asked

    def setup(self) -> None:
        super().setup()
        type(self).served += 1

    def do_GET(self) -> None:
        status, headers, body = ANSWERS.get(self.path, (404, {}, b"nothing"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the test says what went wrong."""


@pytest.fixture
def site(settings: Any) -> Iterator[str]:
    """A site on loopback that the tests' policy lets through."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings.TEST_ALLOWED_ADDRESSES = [f"127.0.0.1:{server.server_port}"]
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def vantage() -> Vantage:
    return Vantage(name="default", language="en")


def test_a_page_is_shown_as_it_would_be_compared(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage)

    assert (seen.problem, seen.status, seen.quality) == ("", 200, "good")
    assert seen.title == "Privacy notice"
    assert seen.good
    assert any("not share your usage data" in block.text for block in seen.main)
    assert any("Harbour Street" in block.text for block in seen.furniture)


def test_hidden_text_is_marked(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage)

    hidden = [block for block in seen.blocks if "Secret sentence" in block.text]
    assert [block.hidden for block in hidden] == ["hidden on the page"]


def test_text_that_changes_by_itself_is_marked_with_its_class(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage)

    block = next(block for block in seen.blocks if "12:30" in block.text)
    assert block.varies
    assert Piece("12:30", "clock") in block.compared


def test_the_main_region_follows_the_selector(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage, main_selector="footer")

    assert seen.region_how == "the selector you gave"
    assert [block.text for block in seen.main if not block.hidden] == ["Halden Ltd, 1 Harbour Street"]


def test_a_selector_that_matches_nothing_is_said(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage, main_selector="#nowhere")

    assert any("matches nothing" in warning for warning in seen.warnings)


def test_fields_come_with_their_values_and_without(site: str, vantage: Vantage) -> None:
    rules = Rules(
        specs=(
            FieldSpec("price", "jsonld", "@type=Product/offers.price", type="price"),
            FieldSpec("stock", "css", "#stock"),
        )
    )

    seen = preview(url=f"{site}/page", vantage=vantage, rules=rules)

    assert [(one.name, one.values, one.found) for one in seen.fields] == [
        ("price", ("89.00 EUR",), True),
        ("stock", (), False),
    ]


def test_what_a_selector_rule_leaves_out_is_gone(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage, rules=Rules(ignore_selectors=(".ad",)))

    assert not any("two reels" in block.text for block in seen.blocks)


def test_what_a_pattern_rule_leaves_out_is_marked(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/page", vantage=vantage, rules=Rules(ignore_patterns=("halden ltd",)))

    block = next(block for block in seen.blocks if "Harbour" in block.text)
    assert block.compared[0] == Piece("halden ltd", "ignored")


def test_the_way_over_a_redirect_is_shown(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/moved", vantage=vantage)

    assert seen.final_url == f"{site}/page"
    assert [hop.status for hop in seen.redirects] == [302]


def test_a_redirect_to_the_inside_is_refused_in_words(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/inside", vantage=vantage)

    assert seen.reason in {"refused-by-policy", "redirect-refused"}
    assert seen.problem
    assert not seen.blocks


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/latest/", "file:///etc/passwd"])
def test_the_guard_stands_before_a_preview_too(url: str, vantage: Vantage) -> None:
    seen = preview(url=url, vantage=vantage)

    assert seen.reason == "refused-by-policy"


def test_nothing_is_connected_to_where_the_guard_says_no(site: str, vantage: Vantage, settings: Any) -> None:
    settings.TEST_ALLOWED_ADDRESSES = []
    before = _Handler.served

    seen = preview(url=f"{site}/page", vantage=vantage)

    assert seen.reason == "refused-by-policy"
    assert _Handler.served == before


def test_a_page_that_cannot_be_reached_is_said_in_words(site: str, vantage: Vantage, settings: Any) -> None:
    settings.TEST_ALLOWED_ADDRESSES = [*settings.TEST_ALLOWED_ADDRESSES, "127.0.0.1:9"]

    seen = preview(url="http://127.0.0.1:9/", vantage=vantage)

    assert seen.reason == "connect"
    assert seen.problem.endswith(".")


@pytest.mark.parametrize(("path", "quality"), [("/gone", "gone"), ("/blocked", "blocked")])
def test_a_page_that_could_be_no_baseline_says_why(path: str, quality: str, site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}{path}", vantage=vantage)

    assert seen.quality == quality
    assert not seen.good
    assert seen.quality_sentence


def test_a_file_that_is_no_page_is_said_to_be_one(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/paper.zip", vantage=vantage)

    assert (seen.good, seen.document_type) == (True, "file, by its digest")
    assert any("by their digest" in warning for warning in seen.warnings)


def test_a_pdf_that_cannot_be_read_says_why(site: str, vantage: Vantage) -> None:
    seen = preview(url=f"{site}/paper.pdf", vantage=vantage)

    assert seen.reason == "pdf-broken"
    assert "damaged" in seen.problem


@pytest.mark.django_db
def test_nothing_is_saved(site: str) -> None:
    vantage = Vantage.objects.create(name="default")

    preview(url=f"{site}/page", vantage=vantage)

    for model in (Monitor, Site, Check, Snapshot, Payload):
        assert not model._default_manager.exists()


def test_pieces_join_to_the_folded_text() -> None:
    found = pieces("Updated 12:30, Ref 12:30", ("ref.*",))

    assert "".join(piece.text for piece in found) == "updated 12:30, ref 12:30"
    assert [piece.cls for piece in found if piece.cls] == ["clock", "ignored"]
