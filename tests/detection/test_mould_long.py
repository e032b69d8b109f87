"""Bytes that differ in unread tokens only: told without reading, and never when a reader could see the difference."""

from __future__ import annotations

import secrets

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection.fingerprint import text_hash
from monitoring.detection.mould import Mould, learn
from monitoring.detection.read import skim

PLACES = (
    '<script nonce="{}">var a = 1;</script>',
    "<script>window.session = '{}';</script>",
    "<script>var t={};</script>",
    '<input type="hidden" name="csrf" value="{}">',
    '<input type="{}" value="shown or not">',
    '<input value="{}">',
    "<input type=hidden value={}>",
    "<!-- rendered by {} -->",
    "<!--{}-->",
    "<!-- <b>{}--> text after",
    '<meta name="token" content="{}">',
    '<a href="/terms?sid={}">Terms</a>',
    '<a href="/doc/{}">Document</a>',
    '<p class="{}">A class</p>',
    "<p id={}>An id</p>",
    '<p style="{}">Styled</p>',
    '<p style="left:-{}px">Moved</p>',
    "<style>.a{{content:'{}'}}</style>",
    "<p>Reference {} is shown</p>",
    "<p>&#{};</p>",
    "<p>&{};</p>",
    "<{}>tag</{}>",
    "<p {}>An attribute</p>",
    '<img alt="{}">',
    "<textarea>{}</textarea>",
    "<title>{}</title>",
    "<iframe srcdoc='<p>{}</p>'></iframe>",
    '<div data-key="{}">D</div>',
    "<noscript>{}</noscript>",
    "</{}>",
    "<svg><text>{}</text></svg>",
)
TOKENS = st.one_of(
    st.from_regex(r"[a-zA-Z0-9+/_.=\-]{1,40}", fullmatch=True),
    st.from_regex(r"[a-f0-9]{32}", fullmatch=True),
    st.sampled_from(
        [
            "none",
            "hidden",
            "text",
            "block",
            "script",
            "script1",
            "-->",
            "--a1234567",
            "12345678",
            "a1234567--",
            "99999999px",
        ]
    ),
)


def page(places: list[str], tokens: list[str]) -> str:
    """A page with a token in each place."""
    body = "<p>Between.</p>".join(place.replace("{}", token) for place, token in zip(places, tokens, strict=True))
    return f"<!doctype html><html><body><main><p>Begin.</p>{body}<p>End.</p></main></body></html>"


def said(html: str) -> str:
    return text_hash(skim(html))


@settings(max_examples=15000, deadline=None)
@given(st.data(), st.lists(st.sampled_from(PLACES), min_size=1, max_size=5))
def test_what_fits_has_the_same_text(data: st.DataObject, places: list[str]) -> None:
    rows = st.lists(TOKENS, min_size=len(places), max_size=len(places))
    one, other, third = (page(places, data.draw(rows)) for _ in range(3))
    if said(one) != said(other):
        return

    mould = learn(one.encode(), other.encode())

    if mould is not None:
        assert mould.fits(one.encode())
        assert mould.fits(other.encode())
        assert not mould.fits(third.encode()) or said(third) == said(one)


@pytest.mark.parametrize("place", PLACES[:4])
def test_a_token_in_an_unread_place_is_learned(place: str) -> None:
    one, other, third = (page([place], [secrets.token_hex(16)]).encode() for _ in range(3))

    mould = learn(one, other)

    assert mould is not None
    assert mould.fits(third)
    assert Mould.from_bytes(mould.to_bytes()) == mould


def test_tokens_may_differ_in_length() -> None:
    one, other, third = (page([PLACES[0], PLACES[7]], ["a" * n + "1" * n, "b2" * n]) for n in (8, 11, 20))

    mould = learn(one.encode(), other.encode())

    assert mould is not None
    assert mould.fits(third.encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("12345678", "none"),
        ("12345678", "1234 678"),
        ("12345678", "1234567<b>8"),
        ("12345678", ""),
        ("12345678", "hidden"),
    ],
)
def test_a_word_a_short_number_or_markup_fits_no_mould(old: str, new: str) -> None:
    one, other = page([PLACES[3]], [old]), page([PLACES[3]], ["87654321"])
    mould = learn(one.encode(), other.encode())

    assert mould is not None
    assert not mould.fits(page([PLACES[3]], [new]).encode())


@pytest.mark.parametrize("edit", ["Begin!", "Begun.", "Begin. ", "", "Begin.<b>"])
def test_any_other_byte_is_a_difference(edit: str) -> None:
    one, other = (page([PLACES[0]], [secrets.token_hex(8)]) for _ in range(2))
    mould = learn(one.encode(), other.encode())

    assert mould is not None
    assert not mould.fits(other.replace("Begin.", edit).encode())


@pytest.mark.parametrize("place", ['<p style="{}">x</p>', "<style>{}</style>", "<{}>x", "<p>&#{};", "</{}>"])
def test_nothing_is_learned_where_a_token_could_be_read(place: str) -> None:
    one, other = (page([place], [token]).encode() for token in ("a1234567", "b1234567"))

    assert learn(one, other) is None


def test_equal_captures_and_many_differences_give_no_mould() -> None:
    one = page([PLACES[0]] * 300, [secrets.token_hex(8) for _ in range(300)]).encode()
    other = page([PLACES[0]] * 300, [secrets.token_hex(8) for _ in range(300)]).encode()

    assert learn(one, one) is None
    assert learn(one, other) is None


@pytest.mark.parametrize("stored", [b"", b"-", b"x" * 31, b"x" * 35, b"x" * 32])
def test_stored_bytes_that_are_no_mould_are_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="stored mould"):
        Mould.from_bytes(stored)
