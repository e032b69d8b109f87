"""A flip of charset is a fault of the capture and no change; a new one that reads well is taken over without a word."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from monitoring.detection import garbled
from monitoring.detection.read import read
from monitoring.fetching.charset import decode_page, registered
from monitoring.models import Change, Monitor, MonitorState, Snapshot
from monitoring.services import monitors, vetting
from monitoring.services.documents import html_of
from tests.monitoring.conftest import later, visit
from tests.monitoring.site import LocalSite, Page
from tests.monitoring.test_confirmation import codes

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

GERMAN = [
    "Für die Übermittlung der Daten gelten die Grundsätze der Zweckbindung und der Sparsamkeit.",
    "Sie können der Verarbeitung jederzeit widersprechen; die Prüfung dauert höchstens zwei Wochen.",
    "Änderungen dieser Erklärung veröffentlichen wir auf dieser Seite, bevor sie gültig werden.",
]
JAPANESE = [
    "当館は利用者の個人情報を第三者に提供することはありません。",
    "登録された住所と氏名は退会から一年後に削除されます。",
    "この方針を変更するときは、二週間前までにこのページでお知らせします。",
]
SCRIPTS = {"de": GERMAN, "ja": JAPANESE}
EDITS = {"de": ("zwei Wochen", "drei Monate"), "ja": ("一年後", "十年後")}


def document(lang: str, clauses: list[str] | None = None) -> str:
    paragraphs = "".join(f"<p>{clause}</p>" for clause in clauses or SCRIPTS[lang])
    return (
        f"<!doctype html><html lang={lang}><head><title>x</title></head><body><main>{paragraphs}</main></body></html>"
    )


def edited(lang: str) -> str:
    return document(lang, [clause.replace(*EDITS[lang]) for clause in SCRIPTS[lang]])


def serve_as(site: LocalSite, text: str, *, encoded: str, declared: str = "") -> None:
    """Serve a text in one charset, declared as that or as another one."""
    headers = {"Content-Type": f"text/html; charset={declared or encoded}"}
    site.pages["/a"] = Page(text.encode(encoded), headers=headers)


@pytest.mark.parametrize(
    ("lang", "was", "now"),
    [
        ("de", "utf-8", "windows-1252"),
        ("de", "windows-1252", "utf-8"),
        ("ja", "utf-8", "shift_jis"),
        ("ja", "shift_jis", "utf-8"),
        ("ja", "euc-jp", "iso-2022-jp"),
    ],
)
def test_the_same_text_in_a_new_charset_is_taken_over_silently(
    lang: str, was: str, now: str, watch: Watch, site: LocalSite
) -> None:
    serve_as(site, document(lang), encoded=was)
    monitor = watch("/a")
    visit(monitor)
    serve_as(site, document(lang), encoded=now)

    check = visit(monitor)

    assert (check.outcome, check.reason, monitor.charset) == ("noise", "markup-only", now)
    assert monitor.state == MonitorState.OK
    assert not Change.objects.exists()


@pytest.mark.parametrize(("lang", "was", "now"), [("de", "windows-1252", "utf-8"), ("ja", "shift_jis", "utf-8")])
def test_an_edit_that_comes_with_a_new_charset_is_raised_at_once(
    lang: str, was: str, now: str, watch: Watch, site: LocalSite
) -> None:
    serve_as(site, document(lang), encoded=was)
    monitor = watch("/a")
    visit(monitor)
    serve_as(site, edited(lang), encoded=now)

    assert visit(monitor).outcome == "content"


@pytest.mark.parametrize(
    ("lang", "encoded", "declared"),
    [
        ("de", "utf-8", "windows-1252"),
        ("de", "utf-8", "iso-8859-2"),
        ("ja", "utf-8", "windows-1252"),
        ("ja", "shift_jis", "windows-1252"),
        ("ja", "euc-jp", "windows-1251"),
        ("ja", "shift_jis", "gb18030"),
    ],
)
def test_a_wrong_declaration_is_a_fault_however_long_it_stays(
    lang: str, encoded: str, declared: str, watch: Watch, site: LocalSite
) -> None:
    serve_as(site, document(lang), encoded=encoded)
    monitor = watch("/a")
    visit(monitor)
    before = monitor.baseline
    serve_as(site, document(lang) + "<!-- 2 -->", encoded=encoded, declared=declared)

    for _ in range(4):
        check = visit(monitor)
        assert check.outcome == "error"
        assert check.reason in {"charset-flip", "mojibake"}
        if monitor.suspect_since:
            later(monitor, "suspect_since", timedelta(hours=20))

    assert not Change.objects.exists()
    assert (monitor.baseline, monitor.charset) == (before, encoded)
    assert Snapshot.objects.filter(role=Snapshot.Role.BLOCKED).count() == 1

    serve_as(site, document(lang), encoded=encoded)
    assert visit(monitor).outcome == "none"
    assert monitor.state == MonitorState.OK


def test_the_same_bytes_under_another_label_are_the_same_page(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="utf-8")
    monitor = watch("/a")
    visit(monitor)
    serve_as(site, document("de"), encoded="utf-8", declared="windows-1252")

    check = visit(monitor)

    assert (check.outcome, check.reason, monitor.charset) == ("none", "same-bytes", "utf-8")


def test_a_person_can_say_which_charset_it_is(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("ja"), encoded="shift_jis", declared="windows-1252")
    monitor = watch("/a", charset_override="shift_jis")

    visit(monitor)

    assert monitor.baseline is not None
    assert (monitor.baseline.charset, monitor.baseline.charset_source) == ("shift_jis", "override")
    assert JAPANESE[0] in html_of(monitor.baseline)
    serve_as(site, edited("ja"), encoded="shift_jis", declared="utf-8")
    assert visit(monitor).outcome == "content"


def test_a_page_encoded_twice_is_a_fault(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="utf-8")
    monitor = watch("/a")
    visit(monitor)
    serve_as(site, document("de").encode("utf-8").decode("cp1252", "ignore"), encoded="utf-8")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "mojibake")
    assert not Change.objects.exists()


def test_one_damaged_paragraph_hides_no_edit_beside_it(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="utf-8")
    monitor = watch("/a")
    visit(monitor)
    damaged = [GERMAN[0].encode().decode("latin-1"), GERMAN[1].replace(*EDITS["de"]), GERMAN[2]]
    serve_as(site, document("de", damaged), encoded="utf-8")

    assert visit(monitor).outcome == "content"


def test_another_text_in_another_charset_is_raised_once_it_has_held(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="windows-1252")
    monitor = watch("/a")
    visit(monitor)
    rewritten = [
        "Ab dem nächsten Jahr werden Ihre Angaben an unsere Partner verkauft, außer Sie kündigen.",
        "Über Beschwerden entscheidet künftig allein das Büro in Zürich, schriftlich und endgültig.",
        "Die Löschung kostet eine Gebühr; sie wird für jede Anfrage erneut fällig und nicht erstattet.",
    ]
    serve_as(site, document("de", rewritten), encoded="utf-8")

    first = visit(monitor)
    assert (first.outcome, first.reason) == ("error", "charset-flip")
    visit(monitor)
    later(monitor, "suspect_since", timedelta(hours=24))
    held = visit(monitor)

    assert held.outcome == "content"
    assert "charset-changed" in codes(held)
    assert (monitor.charset, monitor.suspect) == ("utf-8", "")


def test_a_label_that_flips_over_ascii_delays_nothing(watch: Watch, site: LocalSite) -> None:
    plain = ["We keep your name for a year after the account is closed and delete it after that."] * 3
    serve_as(site, document("de", plain), encoded="utf-8")
    monitor = watch("/a")
    visit(monitor)
    sold = [clause.replace("delete it", "sell it") for clause in plain]
    serve_as(site, document("de", sold), encoded="windows-1252")

    assert visit(monitor).outcome == "content"


def test_a_block_page_in_another_charset_is_a_block_page(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="windows-1252")
    monitor = watch("/a")
    visit(monitor)
    site.pages["/a"] = Page(
        "<title>Zugriff verweigert</title><h1>403 Forbidden – Zugriff für Ihre Adresse gesperrt</h1>".encode(),
        status=403,
        headers={"Content-Type": "text/html; charset=utf-8"},
    )

    assert visit(monitor).outcome == "blocked"


def test_an_undeclared_page_is_read_as_it_was_read_before(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="iso-8859-2")
    monitor = watch("/a")
    visit(monitor)
    site.pages["/a"] = Page(document("de").encode("iso-8859-2"), headers={"Content-Type": "text/html"})

    check = visit(monitor)

    assert check.outcome == "none"
    assert monitor.charset == "iso-8859-2"


def test_flips_of_the_hostile_catalogue_are_no_changes(shared: Path, watch: Watch, site: LocalSite) -> None:
    spec = importlib.util.spec_from_file_location("hostile_flips", shared / "hostile/hostile.py")
    assert spec is not None
    assert spec.loader is not None
    hostile = importlib.util.module_from_spec(spec)
    sys.modules["hostile_flips"] = hostile
    spec.loader.exec_module(hostile)
    flips = [case for case in hostile.cases() if case.name == "enc_charset_flip_flop"]
    assert flips

    for case in flips:
        first, second = case.payload
        monitor = watch(f"/{case.name}")
        for body, charset in ((first, "utf-8"), (second, "shift_jis")) * 2:
            site.pages[f"/{case.name}"] = Page(body, headers={"Content-Type": f"text/html; charset={charset}"})
            assert visit(monitor).outcome in {"none", "noise"}

    assert not Change.objects.exists()


# -- the pure parts ----------------------------------------------------------------------


def test_an_override_yields_to_a_byte_order_mark_only() -> None:
    body = "<meta charset=shift_jis><p>Übung</p>".encode("windows-1252")

    assert decode_page(body, content_type="text/html; charset=utf-8", override="latin1").source == "override"
    assert "Übung" in decode_page(body, content_type="text/html; charset=utf-8", override="latin1").text
    marked = decode_page(b"\xef\xbb\xbf<p>x</p>", content_type="", override="shift_jis")
    assert (marked.charset, marked.source) == ("utf-8", "bom")


@pytest.mark.parametrize(
    ("label", "name"),
    [(" Latin1 ", "windows-1252"), ("UTF8", "utf-8"), ("sjis", "shift_jis"), ("gb2312", "gb18030")],
)
def test_a_label_becomes_the_registrys_name(label: str, name: str) -> None:
    assert registered(label) == name == vetting.check_charset(label)


@pytest.mark.parametrize(
    "label", ["utf-7", "rot13", "unicode_escape", "hz-gb-2312", "x-user-defined", "ütf-8", "utf-8;"]
)
def test_a_label_that_is_none_of_the_webs_is_refused(label: str) -> None:
    assert registered(label) == ""
    with pytest.raises(ValidationError, match="is no character encoding of the web"):
        vetting.check_charset(label)


def test_a_set_charset_starts_a_new_baseline(watch: Watch, site: LocalSite) -> None:
    serve_as(site, document("de"), encoded="utf-8")
    monitor = watch("/a")
    visit(monitor)

    monitors.change_settings(monitor, {"charset_override": "Latin1"}, actor=None)

    monitor.refresh_from_db()
    assert (monitor.charset_override, monitor.rebaseline) == ("windows-1252", "character encoding changed")


def reading(*texts: str) -> Any:
    return read("<main>" + "".join(f"<p>{text}</p>" for text in texts) + "</main>")


def test_a_garbled_page_shows_none_of_its_known_text() -> None:
    known = reading(*GERMAN)
    wrong = reading(*(clause.encode().decode("cp1252", "replace") for clause in GERMAN))

    assert not garbled.shows_known_text(known, wrong)
    assert garbled.double_encoded(known, wrong)
    assert garbled.shows_known_text(known, reading(*GERMAN[:2], "Neu."))
    assert not garbled.double_encoded(known, known)


def test_an_a_with_grave_accent_is_known_again_though_its_second_byte_reads_as_a_space() -> None:
    french = ["Nous cédons à nos partenaires ce que vous confiez à la bibliothèque.", "Écrivez-nous à tout moment."]

    assert garbled.double_encoded(reading(*french), reading(*(text.encode().decode("cp1252") for text in french)))


def test_a_page_in_ascii_can_never_be_garbled() -> None:
    assert garbled.shows_known_text(reading("plain"), reading("Größe"))
    assert not garbled.double_encoded(reading("plain"), reading("GrÃ¶ÃŸe"))
