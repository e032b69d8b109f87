"""Fingerprints of texts: a 64-bit simhash that measures how much, and an exact hash that says whether.

The simhash follows Charikar (2002) in the form of Manku, Jain and Das Sarma (2007): every shingle
votes on each of 64 bits. Shingles are word 3-grams where words are spaced and character 3-grams where
they are not (Chinese, Japanese, Thai, Lao, Burmese, Khmer); in mixed text each run keeps its own kind.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from .blocks import Reading
from .normalise import NORMALISE_VERSION, mask
from .volatile import VOLATILE_VERSION

ALGORITHM = "xxh3-mix3"
FINGERPRINT_VERSION = f"{ALGORITHM}-1.{NORMALISE_VERSION}.{VOLATILE_VERSION}"
"""Two fingerprints are comparable only when this stands beside both."""

_Hashes = npt.NDArray[np.uint64]

_MIX = tuple(np.uint64(m) for m in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_FINISH = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(32)

# Scripts written without spaces between words, as [first, last] code points, in rising order.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


def fingerprint(reading: Reading) -> int:
    """The simhash of the page's main text, folded, with volatile fragments taken out."""
    return simhash(mask(reading.main_text).text)


def text_hash(reading: Reading) -> str:
    """32 hex characters that are equal exactly when every block says the same on the same surface.

    A keyed-strength hash, because an equal value ends the comparison: nobody must be able to build two
    pages that share it.
    """
    parts: list[str] = []
    surface = None
    for block in reading.blocks:
        if block.surface is not surface:  # compared by identity: an enum's own text is slow to ask for
            surface = block.surface
            parts.append(f"\x1d{surface.value}")
        parts.append(f"\x1f{len(block.text)}:{block.text}")
    return hashlib.blake2b("".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def simhash(text: str) -> int:
    """The unsigned 64-bit simhash of a text that is already folded and masked; 0 for an empty text.

    The text is taken as it is: `simhash(mask(text).text)` is the fingerprint of a text as found.
    """
    tokens = _tokens(text)
    if not tokens.size:
        return 0
    shingles = _shingles(tokens)
    columns = shingles.view(np.uint8).reshape(-1, 8) + _OFFSETS
    histogram = np.bincount(columns.ravel(), minlength=2048).reshape(8, 256)
    ones = (histogram @ _bits()).ravel()
    votes = np.packbits(ones * 2 > len(shingles))
    return int.from_bytes(votes.tobytes(), "big")


def distance(a: int, b: int) -> int:
    """Number of bits (0..64) in which two 64-bit fingerprints differ."""
    return (a ^ b).bit_count()


def length(reading: Reading) -> int:
    """Number of words (characters where words are not spaced) in the text that `fingerprint` measures."""
    return int(_tokens(mask(reading.main_text).text).size)


def to_hex(value: int) -> str:
    """A fingerprint as it is stored: 16 lower-case hex characters. ValueError outside 0..2^64-1."""
    if not 0 <= value < 1 << 64:
        raise ValueError(f"a fingerprint has 64 unsigned bits, got {value}")
    return f"{value:016x}"


def from_hex(text: str) -> int:
    """A stored fingerprint as a number. ValueError unless it is 16 hex characters."""
    if len(text) != 16 or not all(c in "0123456789abcdef" for c in text):
        raise ValueError(f"a stored fingerprint is 16 lower-case hex characters, got {text!r}")
    return int(text, 16)


_OFFSETS = np.arange(0, 2048, 256, dtype=np.uint16)


@lru_cache(maxsize=1)
def _bits() -> npt.NDArray[np.int64]:
    """For each byte value its eight bits, highest first."""
    return np.unpackbits(np.arange(256, dtype=np.uint8).reshape(256, 1), axis=1).astype(np.int64)


def _shingles(tokens: _Hashes) -> _Hashes:
    """One well-mixed big-endian hash per three neighbouring tokens (or for all there are, if fewer)."""
    with np.errstate(over="ignore"):
        width = min(3, len(tokens))
        count = len(tokens) - width + 1
        mixed = tokens[:count] * _MIX[0]
        for step in range(1, width):
            mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX[step] + tokens[step : step + count]
        mixed = (mixed ^ (mixed >> _SHIFT)) * _FINISH
        mixed ^= mixed >> _SHIFT
    return mixed.astype(">u8")


def _tokens(text: str) -> _Hashes:
    """The hash of each word, and of each character where words are not spaced, in order."""
    if text.isascii():
        return _words(text)
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), dtype=np.uint32)
    if int(codes.max()) < _UNSPACED[0][0]:
        return _words(text)
    unspaced = _is_unspaced(codes)
    if not unspaced.any():
        return _words(text)
    places = np.flatnonzero(unspaced)
    with np.errstate(over="ignore"):
        characters = codes[places].astype(np.uint64) * _MIX[1] + _MIX[2]
        characters = (characters ^ (characters >> _SHIFT)) * _FINISH
    blanked = codes.copy()
    blanked[unspaced] = 0x20
    words = _words(blanked.tobytes().decode("utf-32-le"))
    inside = ~((blanked == 0x20) | ((blanked >= 9) & (blanked <= 13)))
    starts = np.flatnonzero(inside & ~np.concatenate(([False], inside[:-1])))
    order = np.argsort(np.concatenate((places, starts)), kind="stable")
    return np.concatenate((characters, words))[order]


def _words(text: str) -> _Hashes:
    """The hash of each word. Only ASCII white space parts words; folded text knows no other."""
    words = text.encode("utf-8", "replace").split()
    return np.fromiter(map(xxh3_64_intdigest, words), dtype=np.uint64, count=len(words))


def _is_unspaced(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    edges = np.array([e for first, last in _UNSPACED for e in (first, last + 1)], dtype=np.uint32)
    inside: npt.NDArray[np.bool_] = np.searchsorted(edges, codes, side="right") % 2 == 1
    return inside
