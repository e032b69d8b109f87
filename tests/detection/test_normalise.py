"""Folding for comparison, and masking."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection.normalise import mask, normalise

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=80)


@given(ANY_TEXT)
@settings(max_examples=300, deadline=None)
def test_normalising_twice_equals_once(text: str) -> None:
    once = normalise(text)

    assert normalise(once) == once


@pytest.mark.slow
def test_every_single_character_folds_to_a_fixed_point() -> None:
    everything = normalise(" ".join(map(chr, range(0x110000))))

    assert normalise(everything) == everything


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_spans_lie_in_the_source_in_order_and_rebuild_the_masked_text(text: str) -> None:
    masked = mask(text)

    rebuilt, at = "", 0
    for span in masked.spans:
        assert at <= span.start < span.end <= len(masked.source)
        rebuilt += masked.source[at : span.start] + f"\x02{span.cls}\x03"
        at = span.end
    assert rebuilt + masked.source[at:] == masked.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Privacy  Policy\n", "privacy policy"),
        ("“Terms” – it’s", '"terms" - it\'s'),
        ("ＡＢＣ１２３", "abc123"),
        ("ﬁrst oﬃce", "first office"),
        ("STRASSE", "straße"),
        ("zero\u200bwidth soft\u00adhyphen \u202eright\u202c", "zerowidth softhyphen right"),
        ("p\u0430yp\u0430l \u0440rice", "paypal price"),
        ("ΑΒΕ", "ABE"),
        ("cafe\u0301", "café"),
        ("ｶﾞｽ", "ガス"),
        ("\u1100\u1161\u11a8", "각"),
        ("٣٤", "34"),
        ("a\u00a0b\u3000c", "a b c"),
        ("wait…", "wait..."),
        ("㋿6年", "令和6年"),
        ("heart\ufe0f", "heart"),
        ("nul\x00byte", "nulbyte"),
    ],
)
def test_what_a_reader_takes_for_the_same_folds_to_the_same(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10²", "102"),
        ("1½ kg", "11/2 kg"),
        ("5 μg", "5 mg"),
        ("①", "1"),
        ("l0", "10"),
        ("résumé", "resume"),
        ("shall not", "shall"),
        ("вода", "рода"),
    ],
)
def test_what_means_something_else_stays_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert normalise("a\ud800b") == "a\ufffdb"


def test_a_placeholder_cannot_be_forged_by_a_page() -> None:
    assert mask("\x02clock\x03").text == "clock"
    assert mask("12:30").text == "\x02clock\x03"


@pytest.mark.parametrize(
    "text",
    [
        "\u0315\u0300" * 300_000,
        "a\u0315\u0300" * 150_000,
        "token-" * 170_000,
        "<" * 1_000_000,
        "deadbeefdeadbeefdeadbeefdead1-token-" * 28_000,
        "1." * 500_000,
        "tel 1 " * 170_000,
        "ﷺ" * 300_000,
        "".join(map(chr, range(0xA0, 0x30000))),
    ],
    ids=["marks", "stacked", "token", "angle", "ids", "dotted", "phones", "expanding", "everything"],
)
def test_hostile_text_costs_at_most_a_second(text: str) -> None:
    start = time.process_time()

    mask(text)

    assert time.process_time() - start < 10  # quadratic work takes minutes here
