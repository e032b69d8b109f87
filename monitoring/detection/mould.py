"""A page's mould: its bytes without the tokens that were seen to change while the text stayed.

Most visits bring other bytes and the same text: a new nonce, a form token, a session id. `learn` compares two captures of
equal text; when they differ in nothing but such tokens, `fits` can tell of a third, without parsing it, that it has the
same text again: for the price of a hash, a tenth of the cheapest reading.

Why that is sound. The tokens stand where a change of them did not change the text. The bytes between them are the same to
the last one. A token is a run of letters, digits and "+/_.-" that begins and ends with a letter or digit, or all that stands
between two quotes, and no such run can leave the state that an HTML tokenizer is in: it closes no quote, tag, comment or script. So another token stands in
the same unread place. What a reading does look at in such places are words (`none`, `hidden`, `text`) and short numbers;
a token has eight characters at least and a digit among them, and none is learned inside a style.

Not for captures whose fields are read from attributes or scripts, nor where selectors look at attributes: a token could
be a field's value there. The caller reads each page in full from time to time all the same.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(rb"[A-Za-z0-9_](?:[A-Za-z0-9+/_.\-]*[A-Za-z0-9_])?")
_QUOTED: Final = re.compile(rb"""[A-Za-z0-9+/_.\-]+={0,2}(?=["'])""")
_QUOTES: Final = frozenset(b"\"'")
_TOKEN_BYTES: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.-")
_EDGE_BYTES: Final = _TOKEN_BYTES - frozenset(b"+/.-")
_DIGIT: Final = re.compile(rb"[0-9]")
_LEAST: Final = 8
_LONGEST: Final = 4_096
_MOST: Final = 200
"""Tokens of a page beyond which it is not worth its place in the database."""

_NEVER_AFTER: Final = frozenset(b"<&#!/")
"""Before a token these would make it the name of a tag, a character reference or a closing tag."""

_LOOK_BACK: Final = 2_000


@dataclass(frozen=True, slots=True)
class Mould:
    """The lengths of the constant stretches, a token between each two, and the hash of all of them together."""

    stretches: tuple[int, ...]
    digest: bytes

    def fits(self, body: bytes) -> bool:
        """Whether these bytes are the same page but for its tokens."""
        said = hashlib.sha256()
        at = 0
        last = len(self.stretches) - 1
        for number, length in enumerate(self.stretches):
            said.update(body[at : at + length])
            at += length
            if number < last:
                at = _token_end(body, at)
                if at < 0:
                    return False
        return at == len(body) and said.digest() == self.digest

    def to_bytes(self) -> bytes:
        """As it is stored: the hash, then four bytes a stretch."""
        return self.digest + struct.pack(f"<{len(self.stretches)}I", *self.stretches)

    @staticmethod
    def from_bytes(stored: bytes) -> Mould:
        """A stored mould. ValueError for bytes that are none."""
        count, rest = divmod(len(stored) - 32, 4)
        if rest or count < 1:
            raise ValueError(f"a stored mould is a hash of 32 bytes and numbers of 4, got {len(stored)} bytes")
        return Mould(struct.unpack(f"<{count}I", stored[32:]), bytes(stored[:32]))


def learn(one: bytes, other: bytes) -> Mould | None:
    """The mould of two captures with equal text, None when they differ in more than tokens (or not at all)."""
    stretches: list[int] = []
    said = hashlib.sha256()
    a = b = 0  # where the stretch that is being compared begins
    while (same := _common(one, a, other, b)) < len(one) - a or same < len(other) - b:
        start = _token_start(one, a, a + same) - a
        if start > same:
            return None
        first, second = _token_end(one, a + start), _token_end(other, b + start)
        if first < 0 or second < 0 or not _is_unread(one, a + start):
            return None
        if first <= a + same and second <= b + same:
            return None  # the difference lies behind both tokens
        stretches.append(start)
        said.update(one[a : a + start])
        a, b = first, second
        if len(stretches) > _MOST:
            return None
    if not stretches:
        return None
    stretches.append(same)
    said.update(one[a:])
    return Mould(tuple(stretches), said.digest())


def _token_end(body: bytes, at: int) -> int:
    """Where the token ends that begins here, -1 when none does."""
    if at > len(body):
        return -1
    run = _QUOTED.match(body, at, at + _LONGEST) if at and body[at - 1] in _QUOTES else None
    run = run or _TOKEN.match(body, at, at + _LONGEST)
    if run is None or run.end() - at < _LEAST or _DIGIT.search(body, at, run.end()) is None:
        return -1
    return run.end()


def _common(one: bytes, a: int, other: bytes, b: int) -> int:
    """How many bytes two captures have in common from here on: by comparing ever smaller halves."""
    low, high = 0, min(len(one) - a, len(other) - b)
    step = 256
    while low < high:
        step = min(step, high - low)
        if one[a + low : a + low + step] == other[b + low : b + low + step]:
            low += step
            step *= 2
        elif step == 1:
            break
        else:
            high = low + step - 1
            step //= 2
    return low


def _token_start(body: bytes, least: int, at: int) -> int:
    """Where the run of token characters begins that the first difference lies in, not before `least`."""
    while at > least and body[at - 1] in _TOKEN_BYTES:
        at -= 1
    if at and body[at - 1] in _QUOTES and _QUOTED.match(body, at) is not None:
        return at
    while at < len(body) and body[at] in _TOKEN_BYTES and body[at] not in _EDGE_BYTES:
        at += 1
    return at


def _is_unread(body: bytes, at: int) -> bool:
    """Whether a token may be learned here: not at the start of a tag, a reference, or inside a style."""
    if at == 0 or body[at - 1] in _NEVER_AFTER:
        return False
    before = body[max(0, at - _LOOK_BACK) : at]
    tag = before[before.rfind(b"<") + 1 :].lower()
    return b"style" not in tag
