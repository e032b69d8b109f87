"""Which writing system a piece of text is in, by a cheap look at its characters."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

_SAMPLE = 48
"""Letters looked at per text: enough to tell scripts apart, small enough to cost nothing."""

_OUTSIDE_LATIN = re.compile(
    r"[\u0370-\u1dff\u2c00-\u2dff\u2e80-\ua7ff\ua840-\ufaff\ufb1d-\ufeff\uff66-\uffdc\U00010300-\U0003ffff]"
)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")

_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0530, 0x058F, "armenian"),
    (0x0590, 0x05FF, "hebrew"),
    (0x0600, 0x077F, "arabic"),
    (0x08A0, 0x08FF, "arabic"),
    (0x0900, 0x0DFF, "indic"),
    (0x0E00, 0x0E7F, "thai"),
    (0x0E80, 0x0EFF, "lao"),
    (0x1000, 0x109F, "myanmar"),
    (0x10A0, 0x10FF, "georgian"),
    (0x1100, 0x11FF, "hangul"),
    (0x1200, 0x139F, "ethiopic"),
    (0x1780, 0x17FF, "khmer"),
    (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"),
    (0x2E80, 0x303F, "cjk"),
    (0x3040, 0x30FF, "kana"),
    (0x3100, 0x312F, "cjk"),
    (0x3130, 0x318F, "hangul"),
    (0x31F0, 0x31FF, "kana"),
    (0x3400, 0x9FFF, "cjk"),
    (0xAC00, 0xD7FF, "hangul"),
    (0xF900, 0xFAFF, "cjk"),
    (0xFB1D, 0xFB4F, "hebrew"),
    (0xFB50, 0xFDFF, "arabic"),
    (0xFE70, 0xFEFF, "arabic"),
    (0xFF66, 0xFF9F, "kana"),
    (0x20000, 0x3FFFF, "cjk"),
)

UNSPACED = frozenset({"cjk", "kana", "thai", "lao", "myanmar", "khmer"})
"""Scripts that put no space between words: count and compare by character there."""


def script_of(text: str) -> str:
    """Name of the script most of the letters of `text` are in: "latin", "cjk", "kana", "cyrillic" ...

    Japanese (any kana among Chinese characters) is "kana". Text without letters is "latin". Only the
    first 48 letters outside Latin are looked at; a short quotation in another script can tip a text
    that is shorter still.
    """
    if text.isascii() or 4 * len(text.encode("utf-8", "replace")) < 5 * len(
        text
    ):  # other scripts take two bytes or three
        return "latin"
    foreign = _OUTSIDE_LATIN.findall(text[:500])
    if not foreign:
        return "latin"
    counts = Counter(map(_script_of_letter, foreign[:_SAMPLE]))
    if len(foreign) < _SAMPLE:
        counts["latin"] += len(_LATIN.findall(text[:500])) // 4
    if counts["kana"] and counts["kana"] + counts["cjk"] >= counts.total() / 2:
        return "kana"
    return counts.most_common(1)[0][0]


@lru_cache(maxsize=4096)
def _script_of_letter(letter: str) -> str:
    code = ord(letter)
    for low, high, name in _RANGES:
        if low <= code <= high:
            return name
    return "other"
