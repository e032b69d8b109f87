"""Pairing of blocks: every block stands in one place, work is bounded."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from monitoring.detection.align import align, similarity
from monitoring.detection.blocks import Block, Surface


def block(text: str, *, slot: str = "", path: str = "main/p", surface: Surface = Surface.VISIBLE) -> Block:
    return Block(text=text, tag="p", path=path, slot=slot or f"{path}[{text[:12]}]", surface=surface)


def blocks(*texts: str) -> list[Block]:
    return [block(text, slot=f"main/p[{n}]") for n, text in enumerate(texts)]


texts = st.lists(
    st.sampled_from(["a b c", "d e f", "g h i", "a b x", "one two three four", "one two three five", ""]), max_size=12
)


@given(texts, texts)
def test_every_block_stands_in_exactly_one_place(old: list[str], new: list[str]) -> None:
    pairing = align(blocks(*old), blocks(*new))

    olds = [o for o, _ in pairing.moved + pairing.reworded] + list(pairing.removed)
    news = [n for _, n in pairing.moved + pairing.reworded] + list(pairing.added)
    assert len(olds) == len(set(olds))
    assert len(news) == len(set(news))
    assert pairing.kept + len(olds) == len(old)
    assert pairing.kept + len(news) == len(new)


@given(texts)
def test_a_reading_aligned_with_itself_is_all_kept(old: list[str]) -> None:
    pairing = align(blocks(*old), blocks(*old))

    assert pairing.kept == len(old)
    assert not (pairing.moved)
    assert not (pairing.reworded)
    assert not (pairing.removed)
    assert not (pairing.added)


@given(st.permutations(["a b", "c d", "e f", "g h", "i j"]))
def test_another_order_is_moves_and_nothing_else(order: list[str]) -> None:
    pairing = align(blocks("a b", "c d", "e f", "g h", "i j"), blocks(*order))

    assert not (pairing.reworded)
    assert not (pairing.removed)
    assert not (pairing.added)


def test_a_changed_word_is_a_rewording_of_that_block() -> None:
    old = blocks("Head", "You may not copy the register at night.", "Foot")
    new = blocks("Head", "You may copy the register at night.", "Foot")

    assert align(old, new).reworded == ((1, 1),)


def test_an_inserted_entry_does_not_shift_the_entries_after_it() -> None:
    old = blocks("First entry", "Second entry", "Third entry")
    new = blocks("First entry", "Something quite unlike", "Second entry", "Third entry")

    pairing = align(old, new)

    assert pairing.added == (1,)
    assert not (pairing.reworded)
    assert not (pairing.removed)
    assert not (pairing.moved)


def test_the_copy_in_the_same_place_is_the_one_that_stayed() -> None:
    old = [block("Ten cities", path="aside/li"), block("Rules"), block("Ten cities", path="ul.tags/li"), block("End")]
    new = [block("Rules"), block("Ten cities", path="ul.tags/li"), block("End")]

    assert align(old, new).removed == (0,)


def test_a_lone_date_is_paired_with_the_date_that_replaced_it() -> None:
    old = [block("Intro stays"), block("30 November 2019", path="div.x1/p"), block("Outro stays")]
    new = [block("Intro stays"), block("1 December 2019", path="div.y2/p"), block("Outro stays")]

    assert align(old, new).reworded == ((1, 1),)


def test_the_same_text_on_another_surface_is_not_the_same_block() -> None:
    old = [block("Secret text")]
    new = [block("Secret text", surface=Surface.HIDDEN, path="main/div>h")]

    pairing = align(old, new)

    assert pairing.removed == (0,)
    assert pairing.added == (0,)


def test_similarity_is_the_share_of_common_words() -> None:
    assert similarity("a b c d", "a b c d") == 1.0
    assert similarity("a b", "c d") == 0.0
    assert similarity("貸出は無料です", "貸出は有料です") > 0.7


def test_a_page_rewritten_from_top_to_bottom_is_paired_in_bounded_time() -> None:
    old = [block(" ".join(f"w{(n * 7 + i) % 5000}" for i in range(25)), slot=f"p[{n}]") for n in range(2000)]
    new = [block(" ".join(f"w{(n * 11 + i) % 5000}x{i % 3}" for i in range(25)), slot=f"q[{n}]") for n in range(2000)]

    start = time.process_time()
    align(old, new)

    assert time.process_time() - start < 10  # quadratic work takes minutes here
