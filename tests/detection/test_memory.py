"""Laws of the memory: bounded, rebuilt from deltas, unable to swallow a clause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring.detection.memory import (
    EMPTY,
    MAX_BYTES,
    MAX_DELTA_BYTES,
    MAX_MOVES,
    Memory,
    MemoryFormatError,
    Move,
    encode_delta,
    slot_hash,
    text_key,
)

START = datetime(2026, 3, 1, tzinfo=UTC)

moves = st.builds(
    Move,
    slot=st.integers(0, 2**32 - 1),
    old=st.integers(0, 2**64 - 1),
    new=st.integers(1, 2**64 - 1),
)
deltas = st.one_of(
    st.just(b""),
    st.builds(
        lambda rows, state, rebased: encode_delta(rows, state=state, rebased=rebased),
        st.lists(moves, max_size=30),
        st.integers(0, 2**64 - 1),
        st.booleans(),
    ),
)
visits = st.lists(st.tuples(deltas, st.booleans()), max_size=25)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def move(slot: str, old: str, new: str) -> Move:
    return Move(slot_hash(slot), text_key(old), text_key(new) if new else EMPTY)


def delta(*rows: Move, rebased: bool = False, state: int = 0) -> bytes:
    return encode_delta(rows, state=state, rebased=rebased)


def folded(history: list[tuple[bytes, bool]]) -> Memory:
    memory = Memory.start(START)
    for number, (one, quiet) in enumerate(history, 1):
        memory = memory.fold(one, day(number), quiet=quiet)
    return memory


@given(visits)
def test_a_memory_survives_being_stored_after_every_visit(history: list[tuple[bytes, bool]]) -> None:
    stored = Memory.start(START).to_bytes()

    for number, (one, quiet) in enumerate(history, 1):
        stored = Memory.from_bytes(stored).fold(one, day(number), quiet=quiet).to_bytes()

    assert stored == folded(history).to_bytes()


@given(visits)
def test_folding_the_same_deltas_again_gives_the_same_bytes(history: list[tuple[bytes, bool]]) -> None:
    assert folded(history).to_bytes() == folded(list(history)).to_bytes()


@given(st.lists(moves, max_size=400))
def test_a_delta_is_never_larger_than_its_bound(rows: list[Move]) -> None:
    assert len(encode_delta(rows, state=1, rebased=True)) <= MAX_DELTA_BYTES


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_a_memory_is_bounded_however_much_moves(seed: int) -> None:
    memory = Memory.start(START)

    for visit in range(60):
        base = seed + visit * 1000
        rows = [move(f"slot {base + i}", f"old {base + i}", f"new {base + i}") for i in range(MAX_MOVES)]
        memory = memory.fold(delta(*rows, rebased=True, state=visit + 1), day(visit))

    assert len(memory.to_bytes()) <= MAX_BYTES


def test_folding_leaves_the_value_it_started_from_alone() -> None:
    before = Memory.start(START)
    kept = before.to_bytes()

    before.fold(delta(move("a", "x", "y")), day(1))

    assert before.to_bytes() == kept


def test_a_slot_moves_once_when_its_text_stays_different() -> None:
    memory = Memory.start(START)

    for number in range(1, 6):
        memory = memory.fold(delta(move("a", "x", "y")), day(number))

    assert memory.slot("a").moves == 1
    assert memory.still_visits("a") == 4


def test_going_back_to_the_baseline_is_a_move_too() -> None:
    memory = Memory.start(START).fold(delta(move("a", "x", "y")), day(1)).fold(b"", day(2))

    assert memory.slot("a").moves == 2


def test_a_slot_that_never_moved_has_stood_still_since_the_start() -> None:
    memory = folded([(b"", False)] * 7)

    assert memory.still_visits("never seen") == 7


def test_quiet_moves_are_counted_apart_and_leave_the_baseline() -> None:
    memory = Memory.start(START).fold(delta(move("a", "x", "y"), rebased=True, state=9), day(1), quiet=True)

    assert memory.slot("a").quiet_moves == 1
    assert memory.state == 0


def test_a_text_of_an_earlier_baseline_is_known() -> None:
    memory = Memory.start(START).fold(delta(move("a", "x", "y"), rebased=True, state=5), day(1))

    assert memory.text("x") is not None
    assert memory.text("never shown") is None


def test_noise_does_not_move_the_state() -> None:
    memory = Memory.start(START).fold(delta(move("a", "x", "y"), state=0), day(1))

    assert memory.state == 0


@pytest.mark.parametrize("junk", [b"", b"\x00", b"\x09" * 80, Memory.start(START).to_bytes() + b"x"])
def test_bytes_that_are_no_memory_are_refused(junk: bytes) -> None:
    with pytest.raises(MemoryFormatError):
        Memory.from_bytes(junk)


@pytest.mark.parametrize("junk", [b"\x01", b"\x09" * 40, delta(move("a", "x", "y"))[:-1]])
def test_bytes_that_are_no_delta_are_refused(junk: bytes) -> None:
    with pytest.raises(MemoryFormatError):
        Memory.start(START).fold(junk, day(1))
