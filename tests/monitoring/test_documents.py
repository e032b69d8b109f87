"""Monitors of documents: PDFs, JSON, feeds, files, and the document behind a link, with real fetches from a local site."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from monitoring.fetching import browser
from monitoring.models import Change, Monitor, MonitorState, Snapshot, Vantage
from monitoring.services import monitors
from monitoring.services.preview import preview
from tests.factories import make_user
from tests.monitoring.conftest import later, visit
from tests.monitoring.site import LocalSite, Page
from tests.monitoring.test_rendered import FakeBrowser
from tests.pdfs import make_pdf

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

TERMS = "These terms are between you and Halden Library and apply to every account that you open with us there."


def certificate(until: str = "30 November 2027", *, stamp: str = "20261130") -> bytes:
    """A certificate of two pages whose second one says how long it holds."""
    scope = ["Certificate of Halden Library", "", TERMS, "The scope of it is the lending of books and of maps."]
    return make_pdf(
        [scope, ["Annex", f"This certificate is valid until {until}.", "Signed by the board."]], stamp=stamp
    )


def put(
    site: LocalSite, path: str, body: bytes | str | dict[str, Any] | list[Any], content_type: str = "", **headers: str
) -> None:
    """Set what a path answers."""
    if isinstance(body, dict | list):
        body, content_type = json.dumps(body), content_type or "application/json"
    named = {name.replace("_", "-"): value for name, value in headers.items()} | {
        "Content-Type": content_type or "application/pdf"
    }
    site.pages[path] = Page(body if isinstance(body, bytes) else body.encode(), headers=named)


def rows(change: Change) -> list[dict[str, Any]]:
    """The changed blocks of a change."""
    return [block for block in change.diff["blocks"] if block["op"] not in ("equal", "fold")]


def codes(reasons: list[dict[str, Any]]) -> list[str]:
    """The codes of stored reasons."""
    return [reason["code"] for reason in reasons]


# -- PDF ---------------------------------------------------------------------------------


def test_one_date_in_a_pdf_is_a_change_on_its_page(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c.pdf")
    put(site, "/c.pdf", certificate())
    assert visit(monitor).reason == "first-capture"
    put(site, "/c.pdf", certificate("31 May 2028"))

    check = visit(monitor)

    change = Change.objects.get()
    assert (check.outcome, change.kind, change.places) == ("content", "content", 1)
    (row,) = rows(change)
    assert row["page"] == 2
    assert {s[1] for s in row["segments"] if s[0] == "+"} == {"31 May 2028"}
    assert monitor.baseline is not None
    assert (monitor.baseline.document_type, monitor.baseline.content_type) == ("pdf", "application/pdf")


def test_a_pdf_made_anew_with_the_same_text_is_no_change(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c.pdf")
    put(site, "/c.pdf", certificate())
    visit(monitor)
    put(site, "/c.pdf", certificate(stamp="20270101"))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", "markup-only")


def test_a_scan_is_compared_by_its_pictures_and_says_so(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c.pdf")
    put(site, "/c.pdf", make_pdf([b"\x10" * 99, b"\x20" * 99]))
    first = visit(monitor)
    put(site, "/c.pdf", make_pdf([b"\x10" * 99, b"\x77" * 99]))

    check = visit(monitor)

    assert codes(first.reasons) == ["by-digest"]
    assert first.reasons[0]["data"]["pages"] == "1, 2"
    assert check.outcome == "content"
    assert "by-digest" in codes(check.reasons)
    assert [row["page"] for row in rows(Change.objects.get())] == [2]


@pytest.mark.parametrize(
    ("body", "reason"),
    [(make_pdf([["x"]], password="abc"), "pdf-encrypted"), (b"%PDF-1.7 first edition", "pdf-broken")],
)
def test_a_pdf_that_cannot_be_read_never_becomes_the_baseline(
    watch: Watch, site: LocalSite, body: bytes, reason: str
) -> None:
    monitor = watch("/c.pdf")
    put(site, "/c.pdf", body)
    check = visit(monitor)
    assert (check.outcome, check.reason, monitor.baseline) == ("error", reason, None)
    assert "“file”" in check.detail

    put(site, "/c.pdf", certificate())
    assert visit(monitor).reason == "first-capture"
    baseline = monitor.baseline
    put(site, "/c.pdf", body)
    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", reason)
    assert monitor.baseline == baseline
    assert not Change.objects.exists()


def test_what_cannot_be_read_can_be_pinned_to_its_bytes(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c.pdf", document_type="file")
    put(site, "/c.pdf", b"%PDF-1.7 first edition")
    visit(monitor)
    put(site, "/c.pdf", b"%PDF-1.7 second edition")

    check = visit(monitor)

    assert check.outcome == "content"
    assert [r["text"] for r in check.reasons if r["code"] == "by-digest"] == [
        "Compared by digest: application/pdf, 23 bytes."
    ]


# -- JSON, feeds, text, files ------------------------------------------------------------


PRICES = {"asked": "r-1001", "items": [{"id": 7, "price": 12.5}, {"id": 8, "price": 3}], "terms": TERMS}


def test_another_order_of_keys_is_no_change_and_a_price_is_one(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p.json")
    put(site, "/p.json", PRICES)
    visit(monitor)
    put(site, "/p.json", dict(reversed(PRICES.items())))
    assert visit(monitor).reason == "markup-only"
    put(site, "/p.json", PRICES | {"items": [{"price": 14, "id": 7}, {"id": 8, "price": 3}]})

    check = visit(monitor)

    assert check.outcome == "content"
    (row,) = rows(Change.objects.get())
    assert [s[1] for s in row["segments"] if s[0] in "-+"] == ["12.5", "14"]


def test_only_what_stands_at_the_path_is_compared(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p.json", json_path="$.items[*].price")
    put(site, "/p.json", PRICES)
    visit(monitor)
    put(site, "/p.json", PRICES | {"terms": "Other terms altogether."})
    assert visit(monitor).outcome == "noise"
    put(site, "/p.json", {"moved": True})

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "path-missing")
    assert "$.items[*].price finds nothing" in check.detail


def test_an_identifier_that_is_new_at_each_visit_is_learned(watch: Watch, site: LocalSite) -> None:
    site.rows["/p.json"] = [
        Page(json.dumps(PRICES | {"asked": f"r-{n * 7919}"}).encode(), headers={"Content-Type": "application/json"})
        for n in range(1, 40)
    ]
    monitor = watch("/p.json")

    outcomes = [visit(monitor).outcome for _ in range(12)]

    assert outcomes[0] == "none"
    assert set(outcomes[1:]) == {"noise"}
    assert not Change.objects.exists()


def test_a_feed_tells_of_its_new_entry_alone(watch: Watch, site: LocalSite) -> None:
    def feed(*numbers: int) -> str:
        entries = "".join(
            f"<item><title>News {n}</title><guid>{n}</guid><description>Number {n} of the news.</description></item>"
            for n in numbers
        )
        return f"<rss version='2.0'><channel><title>News</title>{entries}</channel></rss>"

    monitor = watch("/feed")
    put(site, "/feed", feed(3, 2, 1), "application/rss+xml")
    visit(monitor)
    put(site, "/feed", feed(2, 3, 1), "application/rss+xml")
    assert visit(monitor).outcome == "noise"
    put(site, "/feed", feed(4, 3, 2), "application/rss+xml")

    check = visit(monitor)

    assert check.outcome == "content"
    change = Change.objects.get()
    assert {row["op"] for row in rows(change)} == {"added"}
    assert change.removed == 0


@pytest.mark.parametrize(
    ("content_type", "old", "new"),
    [
        ("text/plain", f"Terms\n\n{TERMS}\n\nThe fee is 100 euros.", f"Terms\n\n{TERMS}\n\nThe fee is 900 euros."),
        ("application/xml", f"<t><p>{TERMS}</p><fee>100</fee></t>", f"<t><p>{TERMS}</p><fee>900</fee></t>"),
        ("text/csv", "name,fee\ncard,100\n", "name,fee\ncard,900\n"),
        ("image/png", b"\x89PNG\r\n\x1a\n one", b"\x89PNG\r\n\x1a\n two"),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            b"PK\x03\x04 one",
            b"PK\x03\x04 two",
        ),
    ],
)
def test_every_type_is_compared_as_what_it_is(
    watch: Watch, site: LocalSite, content_type: str, old: bytes | str, new: bytes | str
) -> None:
    monitor = watch("/doc")
    put(site, "/doc", old, content_type)
    visit(monitor)
    assert visit(monitor).reason == "same-bytes"
    put(site, "/doc", new, content_type)

    check = visit(monitor)

    assert (check.outcome, Change.objects.get().places) == ("content", 1)


@pytest.mark.parametrize(
    ("content_type", "body", "reason"),
    [
        ("application/json", '{"items": [', "json-broken"),
        ("application/xml", "<a><b></a>", "xml-broken"),
        ("application/xml", '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>', "xml-entities"),
        ("application/xhtml+xml", '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>', "xml-entities"),
    ],
)
def test_broken_data_is_an_error_and_kept_as_evidence(
    watch: Watch, site: LocalSite, content_type: str, body: str, reason: str
) -> None:
    monitor = watch("/doc")
    put(site, "/doc", body, content_type)

    check = visit(monitor)

    assert (check.outcome, check.reason, monitor.state) == ("error", reason, MonitorState.UNREAD)
    assert Snapshot.objects.get().role == Snapshot.Role.BLOCKED


# -- type flips --------------------------------------------------------------------------


def test_another_type_is_an_error_and_believed_after_some_time(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/doc")
    put(site, "/doc", PRICES)
    visit(monitor)
    baseline = monitor.baseline
    put(site, "/doc", certificate())

    for _ in range(3):
        check = visit(monitor)
        assert (check.outcome, check.reason) == ("error", "type-changed")
        assert monitor.baseline == baseline
    assert not Change.objects.exists()
    later(monitor, "suspect_since", timedelta(hours=25))
    check = visit(monitor)

    change = Change.objects.get()
    assert (change.kind, change.diff, change.prior) == ("type", {}, baseline)
    assert check.reasons[0]["data"] == {"expected": "json", "found": "pdf"}
    assert monitor.baseline == change.new
    assert visit(monitor).outcome == "none"


def test_a_type_that_comes_back_leaves_nothing(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/doc")
    put(site, "/doc", PRICES)
    visit(monitor)
    put(site, "/doc", f"<p>{TERMS}</p>", "text/html")
    assert visit(monitor).reason == "type-changed"
    put(site, "/doc", PRICES)

    assert visit(monitor).outcome == "none"
    assert (monitor.suspect, monitor.state) == ("", MonitorState.OK)


def test_a_block_page_in_place_of_a_document_is_blocked(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c.pdf")
    put(site, "/c.pdf", certificate())
    visit(monitor)
    put(site, "/c.pdf", "<h1>Access Denied</h1><p>You don't have permission to access this server.</p>", "text/html")

    assert visit(monitor).outcome == "blocked"


def test_what_follows_a_new_type_stays_with_its_change(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/doc")
    put(site, "/doc", PRICES)
    visit(monitor)
    put(site, "/doc", certificate())
    visit(monitor)
    later(monitor, "suspect_since", timedelta(hours=25))
    visit(monitor)
    visit(monitor)
    if not Change.objects.exists():
        visit(monitor)
    put(site, "/doc", certificate("31 May 2028"))

    assert visit(monitor).outcome == "content"
    change = Change.objects.get()
    assert (change.kind, change.diff) == ("type", {})
    assert change.new == monitor.baseline


def test_a_pinned_type_is_waited_for(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c", document_type="pdf")
    put(site, "/c", f"<p>{TERMS}</p>", "text/html")
    check = visit(monitor)
    assert (check.outcome, check.reason, monitor.baseline) == ("error", "type-changed", None)
    put(site, "/c", certificate(), "text/html")

    assert visit(monitor).reason == "first-capture"


def test_text_can_be_read_as_another_text_type(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", document_type="json")
    put(site, "/p", json.dumps(PRICES), "text/html")
    visit(monitor)
    put(site, "/p", json.dumps(dict(reversed(PRICES.items()))), "text/plain")

    assert visit(monitor).reason == "markup-only"


def test_a_label_that_is_lost_makes_no_other_document(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", f"<p>{TERMS}</p><p>The fee is 100 euros.</p>")
    visit(monitor)
    site.pages["/a"] = Page(f"{TERMS} The fee is 900 euros.".encode(), headers={"Content-Type": ""})

    assert visit(monitor).outcome == "content"


def test_a_snapshot_from_before_types_is_read_anew(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/c.pdf")
    put(site, "/c.pdf", certificate())
    visit(monitor)
    Snapshot.objects.update(document_type="")
    Monitor.objects.update(baseline_text_hash="")
    put(site, "/c.pdf", certificate("31 May 2028"))

    assert visit(monitor).outcome == "content"
    assert [row["page"] for row in rows(Change.objects.get())] == [2]


# -- the document behind a link ----------------------------------------------------------


def page(link: str, *, text: str = "Our certificate") -> str:
    """A page with a link to a certificate."""
    return f"<main><h1>Quality</h1><p>{TERMS}</p><p><a class=cert href='{link}'>{text}</a></p></main>"


def test_the_document_behind_the_link_is_what_is_compared(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/files/c-2026.pdf"), link_selector="a.cert")
    put(site, "/files/c-2026.pdf", certificate())
    visit(monitor)
    site.put("/quality", page("/files/c-2026.pdf").replace("Quality", "Quality and more"))
    assert visit(monitor).reason == "same-bytes"
    put(site, "/files/c-2026.pdf", certificate("31 May 2028"))

    check = visit(monitor)

    change = Change.objects.get()
    assert (check.outcome, rows(change)[0]["page"]) == ("content", 2)
    assert change.new is not None
    assert change.new.link == {
        "page": site.url("/quality"), "text": "Our certificate",
        "href": "/files/c-2026.pdf", "target": site.url("/files/c-2026.pdf"),
    }  # fmt: skip
    assert site.visits["/quality"] == 3


def test_a_link_to_the_same_document_elsewhere_is_none_and_told(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c-1.pdf"), link_selector="a.cert")
    put(site, "/c-1.pdf", certificate(), ETag='"one"')
    visit(monitor)
    site.put("/quality", page("/c-2.pdf"))
    put(site, "/c-2.pdf", certificate(), ETag='"two"')

    check = visit(monitor)

    assert (check.outcome, check.reason, codes(check.reasons)) == ("none", "same-bytes", ["link-changed"])
    assert check.reasons[0]["data"] == {"old": site.url("/c-1.pdf"), "new": site.url("/c-2.pdf")}
    assert "if-none-match" not in site.asked["/c-2.pdf"]
    assert monitor.etag == '"one"'


def test_a_document_that_did_not_change_answers_304(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.cert")
    put(site, "/c.pdf", certificate(), ETag='"one"')
    visit(monitor)

    check = visit(monitor)

    assert (check.outcome, check.not_modified) == ("none", True)
    assert "if-none-match" not in site.asked["/quality"]


def test_a_link_that_is_gone_is_told_and_believed_after_some_time(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.cert")
    put(site, "/c.pdf", certificate())
    visit(monitor)
    baseline = monitor.baseline
    site.put("/quality", page("/c.pdf").replace("class=cert", "class=other"))

    for _ in range(3):
        check = visit(monitor)
        assert (check.outcome, check.reason) == ("gone", "link-missing")
    assert not Change.objects.exists()
    later(monitor, "suspect_since", timedelta(hours=25))
    visit(monitor)

    change = Change.objects.get()
    assert (change.kind, change.prior, change.new) == ("gone", baseline, None)
    assert codes(change.reasons) == ["link-missing"]
    assert monitor.baseline == baseline


def test_a_first_page_without_the_link_is_an_error(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.none")

    check = visit(monitor)

    assert (check.outcome, check.reason, monitor.baseline) == ("error", "link-missing", None)


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("http://169.254.169.254/latest/meta-data", "refused-by-policy"),
        ("http://[::1]:1/c.pdf", "refused-by-policy"),
        ("/hop", "redirect-refused"),
    ],
)
def test_a_link_is_judged_like_any_address(watch: Watch, site: LocalSite, link: str, reason: str) -> None:
    monitor = watch("/quality", page(link), link_selector="a.cert")
    site.put("/hop", "", status=302, Location="http://10.0.0.1/c.pdf")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", reason)
    assert check.detail.startswith("The linked document:")


def test_a_document_from_another_host_is_told_as_such(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.cert")
    put(site, "/c.pdf", certificate())
    visit(monitor)
    Snapshot.objects.update(final_url="https://files.example/c.pdf")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", "redirect-changed")
    assert monitor.suspect == "redirect"


def test_a_document_that_robots_txt_forbids_is_not_asked_for(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/private/c.pdf"), link_selector="a.cert")
    put(site, "/robots.txt", "User-agent: *\nDisallow: /private/", "text/plain")
    put(site, "/private/c.pdf", certificate())

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "robots-disallowed")
    assert site.visits["/private/c.pdf"] == 0


def test_a_page_that_is_blocked_is_blocked_and_not_without_its_link(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.cert")
    put(site, "/c.pdf", certificate())
    visit(monitor)
    site.put("/quality", "<h1>Access Denied</h1><p>You don't have permission to access this server.</p>")

    assert visit(monitor).outcome == "blocked"


@pytest.mark.parametrize(("there", "outcome"), [("31 May 2028", "content"), ("30 November 2027", "noise")])
def test_a_second_vantage_is_asked_for_the_document(
    watch: Watch, site: LocalSite, settings: Any, there: str, outcome: str
) -> None:
    abroad = LocalSite()
    settings.TRUSTED_PROXIES = [abroad.address]
    second = Vantage.objects.create(name="Vienna", country="AT", proxy_url=f"http://{abroad.address}")
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.cert", confirm_vantage=second)
    put(site, "/c.pdf", certificate())
    visit(monitor)
    put(site, "/c.pdf", certificate("31 May 2028"))
    put(abroad, site.url("/c.pdf"), certificate(there))

    check = visit(monitor)

    assert check.outcome == outcome
    assert dict(abroad.visits) == {site.url("/c.pdf"): 1}
    abroad.close()


# -- settings and preview ----------------------------------------------------------------


@pytest.mark.parametrize("changed", [{"document_type": "text"}, {"json_path": "$.a"}, {"link_selector": "a"}])
def test_another_way_of_reading_asks_for_a_new_baseline(watch: Watch, changed: dict[str, str]) -> None:
    monitor = watch("/a", page("/c"))
    visit(monitor)

    monitors.change_settings(monitor, changed, actor=make_user())

    assert monitor.rebaseline


@pytest.mark.parametrize("changed", [{"json_path": "$.["}, {"link_selector": "a["}, {"document_type": "docx"}])
def test_a_setting_that_cannot_work_is_refused(watch: Watch, changed: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        monitors.change_settings(watch("/a"), changed, actor=make_user())


def test_a_preview_shows_the_document_behind_the_link(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.cert")
    put(site, "/c.pdf", certificate())

    seen = preview(url=monitor.url, vantage=monitor.vantage, link_selector="a.cert")
    without = preview(url=monitor.url, vantage=monitor.vantage, link_selector="a.none")
    other = preview(url=monitor.url, vantage=monitor.vantage, link_selector="a.cert", document_type="html")

    assert (seen.good, seen.document_type, seen.link) == (True, "PDF", site.url("/c.pdf"))
    assert any("valid until" in block.text for block in seen.blocks)
    assert without.reason == "link-missing"
    assert other.reason == "type-changed"


def test_a_preview_of_data_shows_what_the_path_selects(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p.json")
    put(site, "/p.json", PRICES)

    seen = preview(url=monitor.url, vantage=monitor.vantage, json_path="$.items[*].price")
    nothing = preview(url=monitor.url, vantage=monitor.vantage, json_path="$.none")

    assert [block.text for block in seen.blocks] == ["items[].price: 12.5", "items[].price: 3"]
    assert nothing.reason == "path-missing"


# -- links that only a browser shows -----------------------------------------------------


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch) -> FakeBrowser:
    """No real browser in these tests."""
    fake = FakeBrowser()
    monkeypatch.setattr(browser, "Renderer", fake)
    return fake


@pytest.mark.parametrize("renderer", ["browser", "auto"])
def test_a_link_that_scripts_make_is_followed_over_http(
    watch: Watch, site: LocalSite, chromium: FakeBrowser, renderer: str
) -> None:
    monitor = watch(
        "/quality", page("/c.pdf").replace("class=cert", "class=none"), link_selector="a.cert", renderer=renderer
    )
    chromium.html = page(site.url("/c.pdf"))
    put(site, "/c.pdf", certificate())

    first, second = visit(monitor), visit(monitor)
    put(site, "/c.pdf", certificate("31 May 2028"))
    third = visit(monitor)

    assert [(c.outcome, c.reason) for c in (first, second)] == [("none", "first-capture"), ("none", "same-bytes")]
    assert third.outcome == "content"
    assert [check.check_no for check in (first, second, third)] == [1, 2, 3]
    assert len(chromium.asked) == 3
    assert monitor.baseline is not None
    assert (monitor.baseline.document_type, monitor.baseline.rendered) == ("pdf", False)
    assert monitor.learned_renderer == ("browser" if renderer == "auto" else "")


def test_a_page_whose_link_even_a_browser_does_not_show_is_told_once(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    monitor = watch("/quality", page("/c.pdf"), link_selector="a.none", renderer="auto")
    chromium.html = page("/c.pdf")

    check = visit(monitor)

    assert (check.outcome, check.reason, check.check_no) == ("error", "link-missing", 1)
    assert len(chromium.asked) == 1
