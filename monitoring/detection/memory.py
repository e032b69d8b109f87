"""What a monitor has shown before, in at most 64 KB: a fold over the block deltas of its checks.

The memory never holds text. It knows three things, all by hash: texts that stood on the page at some time
and differ from the baseline, slots whose text has moved (and how often), and the states of the whole page
between which recorded changes have led. Blocks that never moved need no entry: they have stood still since
the memory began.

A delta is what one check adds, at most 2 KB, always measured against the baseline of its time. Folding the
same deltas in the same order gives the same memory, byte for byte, so a memory can be thrown away and
rebuilt from the stored checks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import xxhash

MAX_BYTES = 64 * 1024
MAX_DELTA_BYTES = 2048
MAX_SLOTS = 1100
MAX_TEXTS = 1600
MAX_STATES = 128

VERSION = 1
BASELINE = 0  # the slot shows the baseline's text
EMPTY = 1  # the slot's block is not there

_REBASED = 1
_TRUNCATED = 2
_DELTA_HEAD = struct.Struct("<BBQH")
_DELTA_MOVE = struct.Struct("<IQQ")
_HEAD = struct.Struct("<BIIIIQIII")
_SLOT = struct.Struct("<IQHHII")
_TEXT = struct.Struct("<QIIH")
_STATE = struct.Struct("<QIIH")

MAX_MOVES = (MAX_DELTA_BYTES - _DELTA_HEAD.size) // _DELTA_MOVE.size
_U16 = 0xFFFF
_MASK64 = (1 << 64) - 1


class MemoryFormatError(ValueError):
    """Bytes that are no memory or no delta of a version this code reads."""


@dataclass(frozen=True, slots=True)
class Move:
    """One slot that differs from the baseline: hashes of the slot, its baseline text and its present text."""

    slot: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class SlotPast:
    """How one slot has behaved: visits compared, how often its text moved, how often in a quiet re-fetch,
    the visit of the last move, and what it shows now (`BASELINE`, `EMPTY` or a text's hash)."""

    shows: int = BASELINE
    moves: int = 0
    quiet_moves: int = 0
    first_visit: int = 0
    last_visit: int = 0


@dataclass(frozen=True, slots=True)
class TextPast:
    """When a text or a state was first and last seen (seconds since 1970), and how often it came up."""

    first_s: int
    last_s: int
    times: int = 1


def slot_hash(slot: str) -> int:
    """32 bits for a slot address."""
    return xxhash.xxh32_intdigest(slot.encode("utf-8", "surrogatepass"))


def text_key(text: str) -> int:
    """64 bits for a block's text; never one of the two reserved values."""
    return max(2, xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")))


def encode_delta(moves: Iterable[Move], *, state: int, rebased: bool) -> bytes:
    """The block delta of a check, at most `MAX_DELTA_BYTES`; moves beyond the bound are dropped from the end.

    state: the page's state after this check (`Memory.state` is the baseline's).
    rebased: this check's capture becomes the baseline.
    """
    kept = list(moves)
    flags = (_REBASED if rebased else 0) | (_TRUNCATED if len(kept) > MAX_MOVES else 0)
    kept = kept[:MAX_MOVES]
    head = _DELTA_HEAD.pack(VERSION, flags, state & _MASK64, len(kept))
    return head + b"".join(_DELTA_MOVE.pack(m.slot, m.old, m.new) for m in kept)


@dataclass(frozen=True, slots=True)
class _Delta:
    moves: tuple[Move, ...]
    state: int
    rebased: bool
    truncated: bool


def _decode_delta(delta: bytes) -> _Delta:
    if len(delta) < _DELTA_HEAD.size or delta[0] != VERSION:
        raise MemoryFormatError("not a block delta of version 1")
    _, flags, state, count = _DELTA_HEAD.unpack_from(delta)
    if len(delta) != _DELTA_HEAD.size + count * _DELTA_MOVE.size:
        raise MemoryFormatError(f"a block delta of {count} moves has {len(delta)} bytes")
    moves = tuple(Move(*row) for row in _DELTA_MOVE.iter_unpack(delta[_DELTA_HEAD.size :]))
    return _Delta(moves, state, bool(flags & _REBASED), bool(flags & _TRUNCATED))


@dataclass(frozen=True, slots=True)
class Memory:
    """An immutable value: `fold` gives the next one. Times are whole seconds since 1970, UTC.

    started_s: first visit; state_s: when the page came to its present state; last_s: latest visit.
    state: hash of all substance since the start, so that a page which returns to a text has that text's state.
    """

    started_s: int = 0
    state_s: int = 0
    last_s: int = 0
    visits: int = 0
    state: int = 0
    slots: dict[int, SlotPast] = field(default_factory=dict)
    texts: dict[int, TextPast] = field(default_factory=dict)
    states: dict[int, TextPast] = field(default_factory=dict)

    @classmethod
    def start(cls, at: datetime) -> Memory:
        """The memory of a monitor whose baseline was just taken."""
        now = seconds(at)
        return cls(started_s=now, state_s=now, last_s=now, states={0: TextPast(now, now)})

    def fold(self, delta: bytes, at: datetime, *, rebased: bool | None = None, quiet: bool = False) -> Memory:
        """The memory after one more visit.

        delta: `Judgement.delta`, or b"" for a visit that found nothing (kind none, 304).
        rebased: whether this capture became the baseline; None takes what the judgement said.
        quiet: `delta` comes from `observe` on two calibration fetches seconds apart: what moves between them moves
        by itself. Neither the baseline nor what the slots show against it is touched.
        Raises `MemoryFormatError` for bytes that are no delta.
        """
        now = seconds(at)
        told = _decode_delta(delta) if delta else _Delta((), self.state, False, False)
        moved_base = not quiet and (told.rebased if rebased is None else rebased)
        visit = self.visits + 1
        slots = self._fold_quiet(told, visit) if quiet else self._fold_slots(told, visit, rebased=moved_base)
        texts = dict(self.texts)
        for move in told.moves:
            if move.new > EMPTY:
                _see(texts, move.new, now, now)
            if (moved_base or quiet) and move.old > EMPTY:
                _see(texts, move.old, self.state_s, now)
        states = dict(self.states)
        arrives = moved_base and told.state != self.state
        if arrives:
            _see(states, told.state, now, now)
        elif self.state in states:
            states[self.state] = replace(states[self.state], last_s=now)
        return Memory(
            started_s=self.started_s or now,
            state_s=now if arrives else self.state_s,
            last_s=now,
            visits=visit,
            state=told.state if moved_base else self.state,
            slots=_bounded_slots(slots),
            texts=_bounded(texts, MAX_TEXTS),
            states=_bounded(states, MAX_STATES),
        )

    def slot(self, slot: str) -> SlotPast:
        """What is known of a slot; a slot without an entry never moved."""
        return self.slots.get(slot_hash(slot)) or SlotPast()

    def text(self, text: str) -> TextPast | None:
        """When this text was seen before, apart from the baseline; None when never."""
        return self.texts.get(text_key(text))

    def still_visits(self, slot: str) -> int:
        """On how many of the latest visits in a row the slot has not moved."""
        past = self.slots.get(slot_hash(slot))
        return self.visits if past is None else self.visits - past.last_visit

    def _fold_quiet(self, told: _Delta, visit: int) -> dict[int, SlotPast]:
        slots = dict(self.slots)
        for slot in {move.slot for move in told.moves}:
            past = slots.get(slot) or SlotPast(first_visit=visit)
            slots[slot] = _moved(past, past.shows, visit, quiet=True)
        return slots

    def _fold_slots(self, told: _Delta, visit: int, *, rebased: bool) -> dict[int, SlotPast]:
        shows: dict[int, int] = {}
        for move in told.moves:
            if shows.get(move.slot, EMPTY) == EMPTY:  # a text beats an emptied slot of the same address
                shows[move.slot] = move.new
        slots = dict(self.slots)
        for slot, value in shows.items():
            past = slots.get(slot) or SlotPast(first_visit=visit)
            if past.shows != value:
                slots[slot] = _moved(past, value, visit, quiet=False)
        if not told.truncated:
            for slot, past in self.slots.items():
                if past.shows != BASELINE and slot not in shows:
                    slots[slot] = _moved(past, BASELINE, visit, quiet=False)
        if rebased:
            slots = {s: replace(p, shows=BASELINE) if p.shows != BASELINE else p for s, p in slots.items()}
        return slots

    def to_bytes(self) -> bytes:
        """A compact, versioned form of at most `MAX_BYTES`; equal memories give equal bytes."""
        head = _HEAD.pack(
            VERSION,
            self.started_s,
            self.state_s,
            self.last_s,
            self.visits,
            self.state,
            len(self.slots),
            len(self.texts),
            len(self.states),
        )
        parts = [head]
        parts += (
            _SLOT.pack(s, p.shows, p.moves, p.quiet_moves, p.first_visit, p.last_visit)
            for s, p in sorted(self.slots.items())
        )
        parts += (_TEXT.pack(t, p.first_s, p.last_s, p.times) for t, p in sorted(self.texts.items()))
        parts += (_STATE.pack(t, p.first_s, p.last_s, p.times) for t, p in sorted(self.states.items()))
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Memory:
        """The memory that `to_bytes` wrote; raises `MemoryFormatError` for anything else."""
        if len(data) < _HEAD.size or data[0] != VERSION:
            raise MemoryFormatError("not a memory of version 1")
        _, started, baseline, last, visits, state, slots, texts, states = _HEAD.unpack_from(data)
        at_texts = _HEAD.size + slots * _SLOT.size
        at_states = at_texts + texts * _TEXT.size
        end = at_states + states * _STATE.size
        if len(data) != end:
            raise MemoryFormatError(f"a memory of {end} bytes has {len(data)}")
        return cls(
            started_s=started,
            state_s=baseline,
            last_s=last,
            visits=visits,
            state=state,
            slots={r[0]: SlotPast(*r[1:]) for r in _SLOT.iter_unpack(data[_HEAD.size : at_texts])},
            texts={r[0]: TextPast(*r[1:]) for r in _TEXT.iter_unpack(data[at_texts:at_states])},
            states={r[0]: TextPast(*r[1:]) for r in _STATE.iter_unpack(data[at_states:end])},
        )


def seconds(at: datetime) -> int:
    """Whole seconds since 1970 of an aware time, held within 32 bits."""
    return min(max(0, int(at.timestamp())), 0xFFFFFFFF)


def moment(at_s: int) -> datetime:
    """The aware time of whole seconds since 1970."""
    return datetime.fromtimestamp(at_s, tz=UTC)


def _moved(past: SlotPast, value: int, visit: int, *, quiet: bool) -> SlotPast:
    return replace(
        past,
        shows=value,
        moves=min(past.moves + 1, _U16),
        quiet_moves=min(past.quiet_moves + quiet, _U16),
        last_visit=visit,
    )


def _see(seen: dict[int, TextPast], what: int, first_s: int, last_s: int) -> None:
    past = seen.get(what)
    if past is None:
        seen[what] = TextPast(first_s, last_s)
    else:
        seen[what] = TextPast(past.first_s, max(past.last_s, last_s), min(past.times + 1, _U16))


def _bounded(seen: dict[int, TextPast], limit: int) -> dict[int, TextPast]:
    """The entries seen last; ties are broken by the hash, so that every machine forgets the same ones."""
    if len(seen) <= limit:
        return seen
    kept = sorted(seen.items(), key=lambda item: (-item[1].last_s, -item[1].times, item[0]))[:limit]
    return dict(kept)


def _bounded_slots(slots: dict[int, SlotPast]) -> dict[int, SlotPast]:
    if len(slots) <= MAX_SLOTS:
        return slots
    kept = sorted(slots.items(), key=lambda item: (-item[1].last_visit, -item[1].moves, item[0]))
    return dict(kept[:MAX_SLOTS])
