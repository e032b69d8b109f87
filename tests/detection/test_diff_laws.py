"""Laws of the diff that hold for every pair of pages."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection.blocks import Block, Reading, Surface
from monitoring.detection.diff import Limits, apply, diff, diff_hash, first_places, rows_of, summary
from monitoring.detection.diff.sequences import align, longest_increasing
from monitoring.detection.diff.tokens import fold, tokenise
from monitoring.detection.diff.words import compare_texts
from monitoring.detection.diff.work import Work

WORDS = st.sampled_from(
    [
        "we",
        "may",
        "not",
        "share",
        "your",
        "data",
        "with",
        "12",
        "24",
        "months",
        "30",
        "Nov",
        "2026",
        ",",
        ".",
        ";",
        "“",
        '"',
        "don’t",
        "don't",
        "個人",
        "情報",
        "を",
        "。、",
        "提供",
        "します",
        "กรุง",
        "é",
        "acme.com",
        "аcme.com",
        "te\xadrms",
        "a\u200b",
        "\u202e",
        "�",
        "x\x00",
        "AB-1",
        "1,200.50",
        "€",
        "नमस्ते",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=14).map(" ".join) | st.lists(WORDS, min_size=1, max_size=9).map("".join)
WILD = st.text(min_size=1, max_size=40) | st.text(alphabet="ab c. 、字ーก\u0301\u200d", min_size=1, max_size=30)
LIMITS = Limits(
    changed_blocks=10_000, unseen_blocks=10_000, changed_characters=10**9, block_characters=10**9, kept_characters=10**9
)


def make_reading(blocks: list[tuple[str, str, int]]) -> Reading:
    return Reading(
        tuple(
            Block(text, tag, path="body", slot="", heading=2 if tag == "h2" else 0, surface=list(Surface)[surface])
            for text, tag, surface in blocks
        )
    )


BLOCKS = st.tuples(TEXTS | WILD, st.sampled_from(["p", "p", "li", "h2"]), st.sampled_from([0, 0, 0, 0, 1, 5]))
PAGES = st.lists(BLOCKS, max_size=12)


@st.composite
def page_pairs(draw: st.DrawFn) -> tuple[Reading, Reading]:
    """Two pages that share most of their blocks, some reworded and some elsewhere."""
    old = draw(PAGES)
    new = [draw(BLOCKS) if draw(st.integers(0, 4)) == 0 else block for block in old]
    new += draw(st.lists(BLOCKS, max_size=3))
    if draw(st.booleans()):
        new = draw(st.permutations(new))
    return make_reading(old), make_reading(new)


def storable(text: str) -> str:
    return "".join("\ufffd" if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in text)


def visible(reading: Reading) -> list[str]:
    return [storable(block.text) for block in reading.visible]


def shown_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    return list(rows_of(document))


def all_segments(document: dict[str, Any]) -> list[list[str]]:
    return [
        segment
        for row in shown_rows(document)
        for name in ("segments", "before", "after")
        for segment in row.get(name, [])
    ]


@given(page_pairs())
@settings(max_examples=120, deadline=None)
def test_the_document_rebuilds_both_sides(pages: tuple[Reading, Reading]) -> None:
    old, new = pages

    document = diff(old, new, limits=LIMITS)

    assert apply(document, "old")[: len(old.visible)] == visible(old)
    assert apply(document, "new")[: len(new.visible)] == visible(new)
    assert document["cut"] == document["rest"] == 0


@given(page_pairs())
@settings(max_examples=80, deadline=None)
def test_unseen_surfaces_lose_nothing(pages: tuple[Reading, Reading]) -> None:
    old, new = pages
    document = diff(old, new, limits=LIMITS)

    gone = sorted(apply(document, "old")[len(old.visible) :])
    come = sorted(apply(document, "new")[len(new.visible) :])

    unseen_old = sorted(storable(b.text) for b in old.blocks if b.surface is not Surface.VISIBLE)
    unseen_new = sorted(storable(b.text) for b in new.blocks if b.surface is not Surface.VISIBLE)
    for text in gone:
        unseen_old.remove(text)
    for text in come:
        unseen_new.remove(text)
    assert sorted(map(fold, unseen_old)) == sorted(map(fold, unseen_new))


@given(page_pairs())
@settings(max_examples=80, deadline=None)
def test_exchanging_the_sides_exchanges_the_counts(pages: tuple[Reading, Reading]) -> None:
    old, new = pages

    there, back = diff(old, new, limits=LIMITS), diff(new, old, limits=LIMITS)

    assert (there["added"], there["removed"]) == (back["removed"], back["added"])
    assert (there["counts"]["added"], there["counts"]["removed"]) == (
        back["counts"]["removed"],
        back["counts"]["added"],
    )
    for kind in ("reworded", "rewritten", "moved"):
        assert there["counts"][kind] == back["counts"][kind]


@given(page_pairs())
@settings(max_examples=80, deadline=None)
def test_every_document_is_orderly(pages: tuple[Reading, Reading]) -> None:
    document = diff(*pages, limits=LIMITS)

    segments = all_segments(document)
    assert all(segment[1] for segment in segments)
    assert all(len(segment) in ((4,) if segment[0] == "!" else (2, 4)) for segment in segments)
    places = [row["place"] for row in shown_rows(document) if row["place"] is not None]
    assert places == list(range(1, document["places"] + 1))
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    assert "\x00" not in json.dumps(document, ensure_ascii=False)
    assert diff_hash(document) == diff_hash(diff(*pages, limits=LIMITS)) == diff_hash(json.loads(json.dumps(document)))
    assert bool(summary(document)) == bool(document["places"]) == (document["say"]["op"] != "none")
    assert len(first_places(document, 3)) == min(3, document["places"])
    folds = [row for row in document["blocks"] if row["op"] == "fold"]
    assert all(fold_["count"] == len(fold_["blocks"]) >= 2 for fold_ in folds)
    assert all(row["op"] == "equal" for fold_ in folds for row in fold_["blocks"])


@given(page_pairs())
@settings(max_examples=80, deadline=None)
def test_removed_stands_before_added(pages: tuple[Reading, Reading]) -> None:
    document = diff(*pages, limits=LIMITS)

    for row in shown_rows(document):
        sides = [s[3] if s[0] == "!" else s[0] for s in row.get("segments", [])]
        assert ("+", "-") not in list(itertools.pairwise(sides))
    ops = [row["op"] for row in shown_rows(document) if row["surface"] == "visible"]
    assert ("added", "removed") not in list(itertools.pairwise(ops))


@given(page_pairs(), st.integers(0, 4000))
@settings(max_examples=60, deadline=None)
def test_a_starved_diff_still_rebuilds_both_sides(pages: tuple[Reading, Reading], budget: int) -> None:
    old, new = pages
    for was, now in zip(old.blocks, new.blocks, strict=False):
        work = Work(cells=budget % 97, characters=budget, likenesses=budget % 7)

        wording = compare_texts(was.text, now.text, work)

        assert rebuilt(wording.segments, "-", 2) == was.text
        assert rebuilt(wording.segments, "+", 3) == now.text
        assert all(s[1] == s[1].strip() for s in wording.segments if s[0] != "=")


def rebuilt(segments: list[list[str]], mark: str, exact: int) -> str:
    return "".join(
        segment[exact] if len(segment) == 4 else segment[1] for segment in segments if segment[0] in ("=", mark)
    )


@given(TEXTS | WILD, TEXTS | WILD)
@settings(max_examples=120, deadline=None)
def test_marks_have_no_white_space_at_their_edges_and_two_words_between(was: str, now: str) -> None:
    wording = compare_texts(was, now, Work())

    marks = [segment[1] for segment in wording.segments if segment[0] in ("-", "+")]
    assert all(mark == mark.strip() for mark in marks)
    assert rebuilt(wording.segments, "-", 2) == was
    assert rebuilt(wording.segments, "+", 3) == now


FEW = st.lists(st.sampled_from(["a", "b", "c", ".", "d"]), max_size=14).map(" ".join)


@given(FEW, FEW)
@settings(max_examples=300, deadline=None)
def test_exchanging_two_texts_exchanges_what_was_added(was: str, now: str) -> None:
    there, back = compare_texts(was, now, Work()), compare_texts(now, was, Work())

    assert (there.added, there.removed, there.changes) == (back.removed, back.added, back.changes)
    assert there.likeness == back.likeness


@given(TEXTS | WILD)
@settings(max_examples=120, deadline=None)
def test_tokens_join_to_the_text(text: str) -> None:
    for japanese in (False, True):
        tokens = tokenise(text, japanese=japanese)
        assert "".join(tokens) == text.rstrip()
        assert all(token.strip() for token in tokens)


@given(st.text(alphabet="ae \u0301\u0308.", max_size=20))
def test_combining_marks_stay_with_their_letters(text: str) -> None:
    for token in tokenise(text, japanese=False)[1:]:
        if not token[0].isspace():
            assert token[0] not in "\u0301\u0308"


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12))
@settings(max_examples=120, deadline=None)
def test_alignment_is_as_long_as_can_be(left: list[int], right: list[int]) -> None:
    matches = align(left, right, Work())

    assert all(left[i] == right[j] for i, j in matches)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(matches))
    assert len(matches) == longest_common(left, right)


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12), st.integers(0, 30))
@settings(max_examples=80, deadline=None)
def test_alignment_without_budget_is_still_right(left: list[int], right: list[int], cells: int) -> None:
    matches = align(left, right, Work(cells=cells))

    assert all(left[i] == right[j] for i, j in matches)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(matches))


@given(st.lists(st.integers(0, 9), max_size=12))
def test_longest_increasing_is_increasing_and_longest(values: list[int]) -> None:
    chain = [values[at] for at in longest_increasing(values)]

    assert chain == sorted(set(chain))
    assert len(chain) == longest_common(values, sorted(set(values)))


def longest_common(left: list[int], right: list[int]) -> int:
    """The textbook table."""
    row = [0] * (len(right) + 1)
    for value in left:
        above = row
        row = [0]
        for j, other in enumerate(right):
            row.append(above[j] + 1 if value == other else max(above[j + 1], row[j]))
    return row[-1]
