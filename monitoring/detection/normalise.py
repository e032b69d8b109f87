"""Text folded for comparison: what two captures must have in common to say the same thing.

Nothing here is ever shown to a person. Folding forgets what a reader would not call a change (case,
typographic quotes, invisible characters, look-alike letters of another script), so a display made of
it would hide exactly what a forger relies on; the diff works on the display text instead.

`normalise` is idempotent, linear in the text, and costs microseconds on ASCII. `mask` then takes the
volatile fragments (clocks, dates, counters, tokens; see `volatile`) out of the folded text and says
where they stood and of which class each was.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .volatile import Span, find

NORMALISE_VERSION = 1

# Letters of other scripts that look like a Latin one, after case folding. The choice goes by the
# capital where only the capitals look alike (Cyrillic В, Н), so that a word and its capitals fold the
# same. Within one script no two letters share a target: folding can make "сор" equal "cop", which is
# the point, but never two Russian or two Greek words equal each other. Greek mu is left out because
# the micro sign folds to it and 5 μg must not become 5 mg; digits are never folded onto letters.
_CONFUSABLES = {
    **dict(zip("авсеіјкмнорѕтхуԁԛԝӏ", "abceijkmhopstxydqwl", strict=True)),
    **dict(zip("αβεζηικνορτυχ", "abezhikvoptyx", strict=True)),
    **dict(zip("ɑɡıɩʟ", "agiil", strict=True)),
    **dict(zip("օսհո", "ouhn", strict=True)),
}

_TYPOGRAPHY = {
    **dict.fromkeys("‘’‚‛′‵`´ʹʻʼʽˈˊ‹›＇", "'"),
    **dict.fromkeys("“”„‟″‶«»〝〞〟＂ˮ", '"'),
    **dict.fromkeys("‐‑‒–—―−﹘﹣－⁃", "-"),
    "…": "...",
    "⁄": "/",
    "∕": "/",
}

_Codes = npt.NDArray[np.uint32]

_MARKED = 0x80000000
_UNKNOWN = 0xFFFFFFFF
_SPECIAL = 0xFFFFFFFE
_GONE = 0xFFFFFFFD
_REPLACEMENT = "\ufffd"
_MARKS = 30


@dataclass(frozen=True, slots=True)
class Masked:
    """Folded text with its volatile fragments taken out.

    `source` is the folded text; `spans` index into it, in order and without overlap. `text` is the
    source with each span replaced by a placeholder that names its class and cannot occur in a page
    (it is set in control characters, which folding removes).
    """

    text: str
    spans: tuple[Span, ...]
    source: str


def normalise(text: str) -> str:
    """The text folded for comparison: NFKC, case, quotes, dashes, look-alikes, white space.

    Invisible characters (zero width, soft hyphen, bidi controls, variation selectors) and control
    characters are dropped, any run of white space becomes one space. Superscript, subscript and
    circled digits keep their form, because 10² is not 102. normalise(normalise(x)) == normalise(x).
    """
    if text.isascii():
        folded = " ".join(text.split()).lower()
        if folded.isprintable() and "`" not in folded:
            return folded
        return " ".join(_fold_ascii(folded).split())
    return " ".join(_fold(text).split())


def mask(text: str) -> Masked:
    """The folded text with volatile fragments replaced, and where and of what class they were.

    Patterns are only the first guess about what changes by itself: a masked fragment in a place that
    has stood still is substance, and the caller decides that.
    """
    source = normalise(text)
    return _masked(source, find(source))


def _masked(source: str, spans: tuple[Span, ...]) -> Masked:
    if not spans:
        return Masked(source, (), source)
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (source[at : span.start], f"\x02{span.cls}\x03")
        at = span.end
    parts.append(source[at:])
    return Masked("".join(parts), spans, source)


def _fold_ascii(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).replace("`", "'")


def _fold(text: str) -> str:
    """Fold to the fixed point. One look-up a character is enough unless something joins or expands."""
    codes = _encode(text.replace("…", "..."))
    folded: _Codes = _table()[codes]
    if int(folded.max(initial=0)) < _MARKED:
        return _decode(folded)
    for _ in range(8):  # composing may bring together what folding took apart, rarely twice
        codes = _translate(_compose(codes))
        composed = _compose(codes)
        if composed is codes or np.array_equal(composed, codes):
            break
        codes = composed
    return _decode(codes)


def _encode(text: str) -> _Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _decode(codes: _Codes) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def _compose(codes: _Codes) -> _Codes:
    """NFC, after cutting runs of combining marks to what the Stream-Safe Text Format (UAX #15) allows.

    Sorting a run of marks is quadratic in its length, so a page of a million marks would not end.
    The same array comes back when nothing in it can compose, which is the usual case.
    """
    marks = _composing()[codes]
    if not marks.any():
        return codes
    if int(np.count_nonzero(marks)) > _MARKS:
        index = np.arange(len(codes))
        bases = np.maximum.accumulate(np.where(marks, -1, index))
        codes = codes[index - bases <= _MARKS]
    return _encode(unicodedata.normalize("NFC", _decode(codes)))


def _translate(codes: _Codes) -> _Codes:
    """Each character folded by itself, through a table that fills as characters are met."""
    table = _table()
    folded: _Codes = table[codes]
    if int(folded.max(initial=0)) == _UNKNOWN:
        for code in np.unique(codes[folded == _UNKNOWN]).tolist():
            table[code] = _entry(code)
        folded = table[codes]
    special = folded == _SPECIAL
    if special.any():
        longer = {code: _fold_char(chr(code)) for code in np.unique(codes[special]).tolist()}
        return _translate(_encode(_expand(_decode(codes), longer)))
    kept: _Codes = folded[folded != _GONE]
    return kept & np.uint32(~_MARKED & 0xFFFFFFFF)


def _expand(text: str, longer: dict[int, str]) -> str:
    if len(longer) > 8:
        return text.translate(longer)
    for code, plain in longer.items():
        text = text.replace(chr(code), plain)
    return text


@lru_cache(maxsize=1)
def _composing() -> npt.NDArray[np.bool_]:
    """For each code point, whether it may join with one before it or has another canonical form.

    Text without any such character is in NFC as it stands.
    """
    flags = np.zeros(0x110000, dtype=np.bool_)
    flags[0x1161:0x1176] = flags[0x11A8:0x11C3] = True  # Hangul vowels and finals
    for code in (*range(0x300, 0x1F000), *range(0x2F800, 0x2FA20)):
        char = chr(code)
        if unicodedata.combining(char):
            flags[code] = True
        parts = unicodedata.decomposition(char)
        if parts and parts[0] != "<":
            flags[code] |= not unicodedata.is_normalized("NFC", char)
            flags[[int(part, 16) for part in parts.split()[1:]]] = True
    return flags


@lru_cache(maxsize=1)
def _table() -> _Codes:
    """Code point -> folded code point, or a sign: not met yet, dropped, folds to several.

    A result that may join with what stands before it bears a mark, so that the largest entry of a text
    says whether the look-up was all there is to do. A memo of a pure function (4 MB a process):
    filling it lazily changes no result.
    """
    table = np.full(0x110000, _UNKNOWN, dtype=np.uint32)
    for code in range(0x20, 0x250):
        table[code] = _entry(code)
    return table


def _entry(code: int) -> int:
    folded = _fold_char(chr(code))
    if not folded:
        return _GONE
    if len(folded) > 1:
        return _SPECIAL
    return ord(folded) | (_MARKED if _composing()[ord(folded)] or _composing()[code] else 0)


def _fold_char(char: str) -> str:
    """One character folded until folding it again changes nothing."""
    folded = char
    for _ in range(8):
        again = "".join(_fold_once(c) for c in folded)
        if again == folded:
            break
        folded = again
    return folded


def _fold_once(char: str) -> str:
    if char in _TYPOGRAPHY:
        return _TYPOGRAPHY[char]
    if char.isspace():
        return " "
    if _invisible(char):
        return ""
    if "\ud800" <= char <= "\udfff":
        return _REPLACEMENT
    if _keeps_form(char):
        return char
    if (value := unicodedata.decimal(char, None)) is not None:
        return str(value)
    if unicodedata.decomposition(char).startswith("<fraction>"):
        return " " + unicodedata.normalize("NFKC", char)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    return "".join(_CONFUSABLES.get(c, c) for c in folded)


def _keeps_form(char: str) -> bool:
    """Raised, lowered and circled digits, whose plain form would read as another number."""
    how = unicodedata.decomposition(char).partition(">")[0]
    return how in ("<super", "<sub", "<circle") and unicodedata.numeric(char, None) is not None


def _invisible(char: str) -> bool:
    """Control, format and other default-ignorable characters."""
    code = ord(char)
    return (
        unicodedata.category(char) in ("Cc", "Cf")
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0000 <= code <= 0xE0FFF
        or 0x180B <= code <= 0x180F
        or code in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0)
    )
