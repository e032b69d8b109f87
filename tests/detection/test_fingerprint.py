"""Simhash, distance, storage form and exact hash."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection.blocks import Block, Reading, Region, Surface
from monitoring.detection.fingerprint import distance, fingerprint, from_hex, simhash, text_hash, to_hex
from monitoring.detection.normalise import mask

SIXTY_FOUR = st.integers(0, 2**64 - 1)


def make_reading(*texts: str, surface: Surface = Surface.VISIBLE, region: Region = Region.MAIN) -> Reading:
    blocks = tuple(
        Block(text=t, tag="p", path="body/p", slot=f"p{i}", surface=surface, region=region) for i, t in enumerate(texts)
    )
    return Reading(blocks=blocks)


def make_words(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(count)]


@given(SIXTY_FOUR, SIXTY_FOUR)
def test_distance_is_symmetric_and_zero_only_for_equals(a: int, b: int) -> None:
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == (a == b)


@given(SIXTY_FOUR)
def test_the_stored_form_has_sixteen_hex_characters_and_reads_back(value: int) -> None:
    assert len(to_hex(value)) == 16
    assert from_hex(to_hex(value)) == value


@pytest.mark.parametrize("text", ["", "123", "g" * 16, "A" * 16, " " * 16, "0x00000000000000", "1" * 17])
def test_another_stored_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="16 lower-case hex"):
        from_hex(text)


@pytest.mark.parametrize("value", [-1, 2**64])
def test_a_value_outside_sixty_four_bits_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="unsigned"):
        to_hex(value)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_has_an_unsigned_fingerprint_that_stays(text: str) -> None:
    assert 0 <= simhash(text) < 2**64
    assert simhash(text) == simhash(text)


def test_the_algorithm_is_frozen() -> None:
    # Stored fingerprints depend on these bits: when one changes, so must FINGERPRINT_VERSION.
    assert to_hex(simhash("the quick brown fox jumps over the lazy dog")) == "3ee04a668513aa25"
    assert to_hex(simhash("個人情報の取扱いについて abc def 定めます")) == "1aa086c528a124f3"
    assert to_hex(simhash("")) == "0" * 16


def test_white_space_does_not_count() -> None:
    assert simhash("a b  c\nd") == simhash(" a b c d ")


def test_one_word_of_many_moves_few_bits() -> None:
    words = make_words(1, 3000)
    changed = [*words[:1500], "different", *words[1501:]]

    assert distance(simhash(" ".join(words)), simhash(" ".join(changed))) <= 3


def test_unrelated_texts_differ_in_about_half_the_bits() -> None:
    prints = [simhash(" ".join(make_words(seed, 400))) for seed in range(30)]
    distances = [distance(a, b) for i, a in enumerate(prints) for b in prints[:i]]

    assert 30 < sum(distances) / len(distances) < 34
    assert min(distances) >= 14


def test_every_bit_is_a_fair_coin() -> None:
    prints = [simhash(" ".join(make_words(seed, 50))) for seed in range(400)]
    ones = [sum(p >> bit & 1 for p in prints) for bit in range(64)]

    assert all(140 < count < 260 for count in ones)


def test_the_order_of_words_counts() -> None:
    words = make_words(3, 200)

    assert distance(simhash(" ".join(words)), simhash(" ".join(sorted(words)))) > 10


@pytest.mark.parametrize(
    "alphabet", ["個人情報取扱規約第条項定利用者当社提供同意目的", "กขคงจฉชซณดตถทธนบปผ"], ids=["han", "thai"]
)
def test_one_character_of_an_unspaced_text_moves_few_bits(alphabet: str) -> None:
    text = "".join(random.Random(5).choices(alphabet, k=4000))
    changed = text[:2000] + "変" + text[2001:]

    assert len(set(text)) > 0
    assert distance(simhash(text), simhash(changed)) <= 3


def test_unspaced_runs_and_words_keep_their_order_in_mixed_text() -> None:
    assert simhash("abc 個人 def 情報") != simhash("def 個人 abc 情報")
    assert simhash("個人abc情報") == simhash("個人 abc 情報")


def test_the_fingerprint_is_of_the_main_text_without_what_is_volatile() -> None:
    old = make_reading("Read our terms at 12:30 today please", "Second paragraph of the terms")
    new = make_reading("Read our terms at 14:45 today please", "Second paragraph of the terms")

    assert fingerprint(old) == fingerprint(new)
    assert fingerprint(make_reading("menu", region=Region.FURNITURE)) == 0


def test_the_exact_hash_sees_text_surface_and_borders_of_blocks() -> None:
    base = text_hash(make_reading("a", "b"))

    assert len(base) == 32
    assert base == text_hash(make_reading("a", "b"))
    assert base != text_hash(make_reading("a", "b", surface=Surface.HIDDEN))
    assert base != text_hash(make_reading("ab"))
    assert base != text_hash(make_reading("A", "b"))
    assert base != text_hash(make_reading("b", "a"))
    assert text_hash(make_reading("\ud800"))


@pytest.mark.parametrize("text", ["token-" * 170_000, "a " * 500_000, "個 a" * 250_000, "<" * 1_000_000])
def test_a_hostile_megabyte_costs_at_most_a_second(text: str) -> None:
    start = time.process_time()

    simhash(mask(text).text)

    assert time.process_time() - start < 10  # quadratic work takes minutes here
