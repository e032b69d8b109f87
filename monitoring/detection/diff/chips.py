"""Characters that hide a change from a reader, given a name.

A zero-width space, a bidirectional override or a Cyrillic letter in a Latin word changes what a text says, or
what a machine makes of it, and looks like nothing. In changed blocks each of them becomes a segment of its own,
`["!", text, "U+200B ZERO WIDTH SPACE", side]`, which the page prints by name. A run of one class is one chip. In the
unchanged text of such a block only those that reorder or conceal what stands around them are named.
Lone surrogates and NUL, which neither JSON nor a database column can hold, become U+FFFD and keep their name.
"""

from __future__ import annotations

import re
import unicodedata

from monitoring.detection.diff.words import Segment

_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ZERO_WIDTH = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
_CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_SURROGATES = "\ud800-\udfff"
_MARK = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"

_SUSPECT = re.compile(
    f"[{_TAGS}]+|[{_SELECTORS}]+|[{_BIDI}]|[{_ZERO_WIDTH}]|[{_CONTROLS}]|[{_SURROGATES}]|(?<=[{_MARK}]{{4}})[{_MARK}]+"
)
_SUSPECT_UNCHANGED = re.compile(
    f"[{_TAGS}]+|[\u202a-\u202e\u2066-\u2069]|[{_CONTROLS}]|[{_SURROGATES}]|(?<=[{_MARK}]{{4}})[{_MARK}]+"
)
_UNSTORABLE = re.compile(f"[\x00{_SURROGATES}]")
_WORD = re.compile("[\\w\u2010\u2011.'’-]+")
_FOREIGN = re.compile("[\u0370-\u058f\u13a0-\u13ff\ua4d0-\ua4ff\uff10-\uff5a]")
_JOINING_SCRIPTS = re.compile("[\u0600-\u07ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff]")

# What looks like a Latin letter or a digit, and what it looks like. Our own list of the pairs that no font tells
# apart; full-width forms come from NFKC.
_LOOKALIKES = str.maketrans(
    "АВЕКМНОРСТУХЅІЈЗавекмнорстухѕіјзԁһԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧονραιυօսհոցꓐꓓꓔꓗꓲꓳ",
    "ABEKMHOPCTYXSIJ3abekmhopctyxsij3dhqwlABEZHIKMNOPTYXovpaiuouhngBDTKIO",
)


def with_chips(segments: list[Segment]) -> list[Segment]:
    """The segments of a changed block with every hidden character as a chip of its own."""
    chipped: list[Segment] = []
    for at, segment in enumerate(segments):
        if len(segment) == 4:
            chipped.append([scrub(part) for part in segment])
            continue
        op, text = segment
        if text.isascii() and text.isprintable():
            chipped.append(segment)
            continue
        twin = _twin(segments, at)
        chipped += _cut(op, text, _suspects(text, twin if op != "=" else None))
    return chipped


def scrub(text: str) -> str:
    """The text without what JSON and databases cannot hold: lone surrogates and NUL become U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


def skeleton(text: str) -> str:
    """What the text looks like: full-width forms and look-alike letters replaced by Latin ones."""
    return unicodedata.normalize("NFKC", text).translate(_LOOKALIKES)


def _twin(segments: list[Segment], at: int) -> str:
    """The text on the other side of the same change, empty when there is none."""
    op = segments[at][0]
    if op == "-" and at + 1 < len(segments) and segments[at + 1][0] == "+":
        return segments[at + 1][1]
    if op == "+" and at and segments[at - 1][0] == "-":
        return segments[at - 1][1]
    return ""


def _suspects(text: str, twin: str | None) -> list[tuple[int, int, str]]:
    """(start, end, name) of what must be named, in order; `twin` is None for unchanged text."""
    found = []
    for match in (_SUSPECT_UNCHANGED if twin is None else _SUSPECT).finditer(text):
        start, end = match.span()
        if not _is_at_home(text, start, end):
            found.append((start, end, _name(match.group())))
    if twin is not None:
        found += _lookalikes(text, twin)
        found.sort()
    return found


def _is_at_home(text: str, start: int, end: int) -> bool:
    """Joiners between letters of a joining script, and the sequences that emoji are made of, are ordinary."""
    run = text[start:end]
    before = text[start - 1 : start]
    if run in ("\u200c", "\u200d") and before and _JOINING_SCRIPTS.match(before):
        return True
    if run in ("\ufe0e", "\ufe0f", "\u200d") and before:
        return unicodedata.category(before) in ("So", "Sk", "Sm") or before in "0123456789#*\ufe0f\u203c\u2049"
    return False


def _lookalikes(text: str, twin: str) -> list[tuple[int, int, str]]:
    """Letters of another script inside a Latin word, or in a word that looks like the one it replaced."""
    posing = twin != "" and text != twin and skeleton(text) == skeleton(twin)
    found: list[tuple[int, int, str]] = []
    if not _FOREIGN.search(text):
        return []
    for match in _WORD.finditer(text):
        word = match.group()
        if not _FOREIGN.search(word):
            continue
        if not posing and not any("a" <= c <= "z" for c in word.lower()):
            continue
        for at, letter in enumerate(word, match.start()):
            plain = skeleton(letter)
            if plain != letter and plain.isascii():
                found.append((at, at + 1, _name(letter)))
    return found


def _cut(op: str, text: str, suspects: list[tuple[int, int, str]]) -> list[Segment]:
    pieces: list[Segment] = []
    at = 0
    for start, end, name in suspects:
        if at < start:
            pieces.append([op, text[at:start]])
        pieces.append(["!", scrub(text[start:end]), name, op])
        at = end
    if at < len(text):
        pieces.append([op, text[at:]])
    return pieces


def _name(run: str) -> str:
    first = run[0]
    code = ord(first)
    if 0xD800 <= code <= 0xDFFF:
        label = "LONE SURROGATE"
    else:
        label = unicodedata.name(first, "") or _CONTROL_NAMES.get(code, "CONTROL CHARACTER")
    name = f"U+{code:04X} {label}"
    if len(run) == 1:
        return name
    name += f" and {len(run) - 1} more"
    hidden = "".join(chr(ord(c) - 0xE0000) for c in run if 0xE0020 <= ord(c) <= 0xE007E)
    return f"{name}: {hidden[:120]}" if hidden else name


_CONTROL_NAMES = {0x00: "NULL", 0x07: "BELL", 0x08: "BACKSPACE", 0x1B: "ESCAPE", 0x7F: "DELETE"}
