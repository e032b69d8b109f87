"""The judgement as a whole: reasons, deltas, returns, bounds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection.judge import LEFT_OUT, judge
from monitoring.detection.judgement import Judgement, Kind, Settings
from monitoring.detection.memory import MAX_DELTA_BYTES, Memory
from monitoring.detection.read import read
from tests.detection.prose import page, sentences

START = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = sentences(20)
CLAUSE = "The operator shall not pass the register to third parties."


def judged(old: str, new: str, memory: Memory | None = None) -> Judgement:
    return judge(read(old), read(new), memory or Memory.start(START), settings=Settings())


def quiet_days(count: int) -> Memory:
    memory = Memory.start(START)
    for number in range(1, count + 1):
        memory = memory.fold(b"", START + timedelta(days=number))
    return memory


def test_the_reasons_say_how_long_the_block_had_stood_still() -> None:
    judgement = judge(
        read(page([*TEXT, CLAUSE])),
        read(page([*TEXT, CLAUSE.replace("not ", "")])),
        quiet_days(12),
        settings=Settings(),
        old_at=START,
        now=START + timedelta(days=13),
    )

    assert judgement.reasons[0].code == "changed"
    assert judgement.reasons[0].text == "1 block changed that had stood still for 12 visits and 13 days."


def test_every_judgement_names_score_and_distance() -> None:
    judgement = judged(page(TEXT), page([*TEXT, CLAUSE]))

    assert {"changed", "score", "distance"} <= {reason.code for reason in judgement.reasons}


def test_what_was_left_out_is_named_with_its_rule() -> None:
    judgement = judged(
        page([*TEXT, CLAUSE], before="<p>Updated 4 May 2026, 09:14</p>"),
        page([*TEXT, CLAUSE.replace("not ", "")], before="<p>Updated 5 May 2026, 10:20</p>"),
    )

    left_out = [reason for reason in judgement.reasons if reason.code == "left-out-volatile-pattern"]
    assert judgement.kind is Kind.CONTENT
    assert left_out[0].text == "1 block left out: a clock, counter or token."


def test_a_hidden_clause_is_said_to_be_hidden() -> None:
    hidden = '<div style="display:none"><p>By entering you accept a daily charge of 40 euros.</p></div>'
    judgement = judged(page(TEXT), page([*TEXT, CLAUSE], after=hidden))

    assert "hidden-text" in {reason.code for reason in judgement.reasons}


def test_a_page_that_comes_back_is_a_return_to_that_date() -> None:
    first, second = page([*TEXT, CLAUSE]), page([*TEXT, CLAUSE.replace("not ", "")])
    memory = Memory.start(START)
    away = judge(read(first), read(second), memory, settings=Settings())
    memory = memory.fold(away.delta, START + timedelta(days=3), rebased=True)
    memory = memory.fold(b"", START + timedelta(days=4))

    back = judge(read(second), read(first), memory, settings=Settings())

    reason = next(reason for reason in back.reasons if reason.code == "return")
    assert back.kind is Kind.CONTENT
    assert reason.text == "Back to the text of 2026-03-01."
    assert reason.data["passing"] == 0


def test_a_clock_does_not_hide_a_return() -> None:
    def stamped(clause: str, hour: int) -> str:
        return page([*TEXT, clause], before=f"<p>Updated 4 May 2026, {hour:02}:14</p>")

    memory = Memory.start(START)
    away = judge(read(stamped(CLAUSE, 8)), read(stamped("Nobody keeps a register.", 9)), memory, settings=Settings())
    memory = memory.fold(away.delta, START + timedelta(days=1), rebased=True)

    back = judge(read(stamped("Nobody keeps a register.", 9)), read(stamped(CLAUSE, 10)), memory, settings=Settings())

    assert "return" in {reason.code for reason in back.reasons}


def test_flapping_is_counted() -> None:
    versions = [page([*TEXT, CLAUSE]), page([*TEXT, "Nobody keeps a register here any more."])]
    memory, at = Memory.start(START), START
    for number in range(1, 7):
        at += timedelta(days=1)
        old, new = versions[(number + 1) % 2], versions[number % 2]
        judgement = judge(read(old), read(new), memory, settings=Settings())
        memory = memory.fold(judgement.delta, at, rebased=True)

    flapping = [reason for reason in judgement.reasons if reason.code == "flapping"]
    assert flapping
    assert flapping[0].data["times"] == 3


def test_equal_readings_are_none_and_add_nothing_to_the_memory() -> None:
    judgement = judged(page(TEXT), page(TEXT))
    memory = Memory.start(START)

    assert judgement.kind is Kind.NONE
    assert memory.fold(judgement.delta, START).state == memory.state
    assert not memory.fold(judgement.delta, START).slots


words = st.lists(
    st.sampled_from(["harbour", "mooring", "not", "never", "14", "days", "fee", "30", "€", "office", "form"]),
    min_size=1,
    max_size=12,
)
paragraphs = st.lists(words.map(" ".join), max_size=14)


@settings(max_examples=60, deadline=None)
@given(paragraphs, paragraphs)
def test_any_two_pages_get_a_bounded_judgement_whose_delta_folds(old: list[str], new: list[str]) -> None:
    judgement = judged(page(old), page(new))

    assert 0.0 <= judgement.score <= 1.0
    assert 0 <= judgement.distance <= 64
    assert len(judgement.delta) <= MAX_DELTA_BYTES
    assert judgement.kind is Kind.CONTENT or judgement.score < 0.5
    assert all(edit.explained in LEFT_OUT for edit in judgement.edits if edit.explained)
    Memory.start(START).fold(judgement.delta, START)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_memory_rebuilt_from_the_stored_deltas_judges_the_same(steps: list[bool]) -> None:
    versions = [page([*TEXT, CLAUSE]), page([*TEXT, "Updated 4 May 2026, 09:14"])]
    memory, deltas, current = Memory.start(START), [], 0
    for number, flip in enumerate(steps, 1):
        following = current ^ flip
        judgement = judge(read(versions[current]), read(versions[following]), memory, settings=Settings())
        rebased = judgement.kind is Kind.CONTENT
        deltas.append((judgement.delta, rebased))
        memory = Memory.from_bytes(
            memory.fold(judgement.delta, START + timedelta(days=number), rebased=rebased).to_bytes()
        )
        current = following if rebased else current

    rebuilt = Memory.start(START)
    for number, (delta, rebased) in enumerate(deltas, 1):
        rebuilt = rebuilt.fold(delta, START + timedelta(days=number), rebased=rebased)

    assert rebuilt.to_bytes() == memory.to_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (page(sentences(3000, seed=1)), page(sentences(3000, seed=2))),
        (page(["word " * 50_000]), page(["word " * 25_000 + "other " * 25_000])),
        (page(["a"] * 5000), page(["a"] * 2500 + ["b"] * 2500)),
        (page([str(n) for n in range(4000)]), page([str(n) for n in reversed(range(4000))])),
        (page(["1:00 " * 9000]), page(["2:00 " * 9000])),
    ],
    ids=["rewritten", "one huge block", "copies", "reversed", "clocks"],
)
def test_hostile_pairs_are_judged_in_bounded_time(old: str, new: str) -> None:
    first, second, memory = read(old), read(new), Memory.start(START)

    start = time.process_time()
    judgement = judge(first, second, memory, settings=Settings())

    assert time.process_time() - start < 10  # quadratic work takes minutes here
    assert len(judgement.delta) <= MAX_DELTA_BYTES


@pytest.mark.parametrize("sneaked", ["lia\u200bbility", "liabi\u2060lity", "liab\u0456lity", "liability\u202e"])
def test_characters_that_cannot_be_seen_are_named(sneaked: str) -> None:
    judgement = judged(page([*TEXT, "The liability ends."]), page([*TEXT, f"The {sneaked} ends."]))

    assert judgement.kind is Kind.CONTENT
    assert "look-alike" in {reason.code for reason in judgement.reasons}


@pytest.mark.parametrize("how", ["hidden", 'style="display:none"', 'style="position:absolute;left:-9999px"'])
def test_hidden_text_that_appears_on_a_short_page_is_named(how: str) -> None:
    judgement = judged("<p>Fee: 100</p>", f"<p>Fee: 100</p><p {how}>You waive all rights</p>")

    assert "hidden-text" in {reason.code for reason in judgement.reasons}


def test_a_link_that_leads_elsewhere_is_named() -> None:
    old = page([*TEXT, 'Read the <a href="/terms-v1.pdf">terms</a> of the harbour first.'])
    new = page([*TEXT, 'Read the <a href="/terms-v2.pdf">terms</a> of the harbour first.'])

    assert "link-target" in {reason.code for reason in judged(old, new).reasons}


def test_one_endless_word_is_judged_in_bounded_time() -> None:
    old, new = read(page(["a" * 2_000_000])), read(page(["a" * 2_000_000 + "b"]))

    start = time.process_time()
    judgement = judge(old, new, Memory.start(START), settings=Settings())

    assert time.process_time() - start < 10  # quadratic work takes minutes here
    assert judgement.kind is Kind.CONTENT


def test_a_menu_entry_beside_a_clause_is_set_aside_and_named() -> None:
    menu = "<nav><ul><li><a href=/a>Boats</a><li><a href=/b>Prices</a></ul></nav>"
    more = menu.replace("<li><a href=/b>", "<li><a href=/c>Shop</a><li><a href=/b>")
    judgement = judged(page([*TEXT, CLAUSE], before=menu), page([*TEXT, CLAUSE.replace("not ", "")], before=more))

    assert judgement.reasons[0].data["blocks"] == 1
    assert "left-out-furniture" in {reason.code for reason in judgement.reasons}
