"""Bytes to text: who is believed, in which order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.fetching.charset import decode_page, guess, header_charset, meta_charset

JAPANESE = "規約が変更されました。料金は月額1200円です。"


def test_a_byte_order_mark_wins_over_the_header() -> None:
    page = decode_page("\ufeffprix €".encode(), content_type="text/html; charset=iso-8859-1")

    assert (page.text, page.charset, page.source) == ("prix €", "utf-8", "bom")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_known_by_its_mark(codec: str) -> None:
    assert decode_page("\ufeffprix €".encode(codec), content_type="text/html; charset=utf-8").text == "prix €"


def test_the_header_wins_over_meta() -> None:
    page = decode_page('<meta charset="utf-8">é'.encode("cp1252"), content_type="text/html; charset=iso-8859-1")

    assert (page.text[-1], page.charset, page.source) == ("é", "windows-1252", "header")


def test_meta_wins_over_a_header_that_does_not_fit() -> None:
    raw = f'<meta charset="shift_jis"><p>{JAPANESE}</p>'.encode("shift_jis")

    page = decode_page(raw, content_type="text/html; charset=utf-8")

    assert JAPANESE in page.text
    assert page.source == "meta-over-header"


def test_a_header_that_does_not_fit_is_told_when_nothing_else_fits() -> None:
    page = decode_page(b"<p>\xe9\xff\xe9</p>", content_type="text/html; charset=utf-8")

    assert page.source == "header-mismatch"
    assert page.text == "<p>\ufffd\ufffd\ufffd</p>"


def test_one_damaged_character_in_a_long_page_does_not_dethrone_the_header() -> None:
    raw = b'<meta charset="windows-1252">' + "é".encode() * 500 + b"\xe9"

    assert decode_page(raw, content_type="text/html; charset=utf-8").source == "header"


@pytest.mark.parametrize("codec", ["shift_jis", "euc-jp", "iso-2022-jp"])
@pytest.mark.parametrize("declared", [True, False])
def test_japanese_is_read_with_and_without_a_declaration(codec: str, declared: bool) -> None:
    head = f'<meta charset="{codec}">' if declared else ""

    page = decode_page(f"{head}<p>{JAPANESE}</p>".encode(codec), content_type="text/html")

    assert JAPANESE in page.text
    assert page.source == ("meta" if declared else "guess")


def test_gb2312_means_gb18030() -> None:
    page = decode_page('<meta charset="gb2312"><p>条款已更改𠮷镕</p>'.encode("gb18030"), content_type="text/html")

    assert "条款已更改𠮷镕" in page.text


def test_big5_holds_the_hong_kong_characters() -> None:
    assert "𠝹" in decode_page("<meta charset=big5>條款 𠝹".encode("big5hkscs"), content_type="text/html").text


@pytest.mark.parametrize(
    "label", ["utf-7", "unicode_escape", "rot13", "zlib", "idna", "undefined", "a" * 60000, "\x00", ""]
)
def test_a_label_that_is_no_web_encoding_is_ignored(label: str) -> None:
    page = decode_page(b"+ADw-script+AD4- \\u003cb", content_type=f"text/html; charset={label}")

    assert page.text == "+ADw-script+AD4- \\u003cb"


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("text/html; charset=utf-8; charset=iso-8859-1", "utf-8"),
        ('text/html; Charset="UTF8"', "utf-8"),
        ("text/html;charset=latin1", "windows-1252"),
        ("text/html;charset=x-sjis", "shift_jis"),
        ("text/html; charset=iso-2022-kr", ""),
        ("text/html", ""),
    ],
)
def test_the_header_names_a_charset_by_its_registered_label(content_type: str, name: str) -> None:
    assert header_charset(content_type) == name


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'<meta charset="utf-8"><meta charset="shift_jis">', "utf-8"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        (b'<!-- <meta charset="koi8-r"> --><meta charset="big5">', "big5"),
        (b"<!--" + b"x" * 5000 + b'--><meta charset="shift_jis">', "shift_jis"),
        (b'<meta charset="utf-16">', "utf-8"),
        (b'<?xml version="1.0" encoding="euc-kr"?><html>', "euc-kr"),
        (b'<metadata charset="big5">', ""),
        (b'<meta name="charset" content="big5">', ""),
        (b"<meta charset=nonsense>", ""),
    ],
)
def test_the_page_declares_its_charset(head: bytes, name: str) -> None:
    assert meta_charset(head) == name


@pytest.mark.parametrize(
    ("codec", "name", "text"),
    [
        ("euc-kr", "euc-kr", "개인정보 처리방침이 변경되었습니다. 서비스 이용약관"),
        ("gb18030", "gb18030", "隐私政策已经更改，我们会使用您的数据"),
        ("big5", "big5", "隱私權政策已經更改，我們會使用您的資料"),
        ("cp1251", "windows-1251", "Политика конфиденциальности была изменена, условия использования"),
        ("cp1252", "windows-1252", "Die Datenschutzerklärung wurde geändert; über für größer"),
        ("cp1252", "windows-1252", "Política de privacidad: información, protección «ñ» — añadió"),
        ("cp1253", "windows-1253", '<html lang="el">Η πολιτική απορρήτου άλλαξε'),
    ],
)
def test_an_undeclared_charset_is_guessed(codec: str, name: str, text: str) -> None:
    assert guess(text.encode(codec)) == name


def test_the_hint_decides_where_nothing_is_declared() -> None:
    raw = "<p>Политика</p>".encode("koi8-r")

    page = decode_page(raw, content_type="text/html", hint="koi8-r")

    assert (page.text, page.source) == ("<p>Политика</p>", "hint")


def test_nul_and_surrogates_do_not_come_out() -> None:
    page = decode_page(b"a\x00b\xed\xa0\x80c", content_type="text/html; charset=utf-8")

    assert page.text == "a\ufffdb\ufffd\ufffd\ufffdc"


@given(body=st.binary(max_size=300), content_type=st.text(max_size=60), hint=st.text(max_size=20))
def test_any_bytes_decode_to_clean_text_and_always_the_same(body: bytes, content_type: str, hint: str) -> None:
    page = decode_page(body, content_type=content_type, hint=hint)

    assert page == decode_page(body, content_type=content_type, hint=hint)
    assert "\0" not in page.text
    page.text.encode("utf-8")
