"""Text decoded by the wrong table, told by the text that the page is known to show.

Only blocks with characters beyond ASCII can tell: the others read the same in any charset of the web but UTF-16.
Both questions err towards "no": a page is called garbled only when most of what it is known to show came out garbled,
so that a real edit beside one damaged paragraph is compared as usual.
"""

from __future__ import annotations

import re

from monitoring.detection.blocks import Reading

_HALF = 0.5
_LOST_SPACE = re.compile(
    "\u00c3 "
)  # the second byte of an a with grave accent reads as a no-break space, which is folded
# A first byte of UTF-8 and a second one, each read as a letter of its own: what running text does not hold.
_SIGN = re.compile("[\u00c2-\u00f4][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|\u00c3 ")
_C1 = {code: bytes([code]) for code in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}  # bytes that windows-1252 leaves as controls


def shows_known_text(known: Reading, now: Reading) -> bool:
    """Whether a reading shows, letter by letter, at least half of the known text beyond ASCII; true where there is none.

    A page whose charset is declared anew and rightly still shows it; one that is declared wrongly shows next to none.
    """
    before = _foreign(known)
    return not before or len(before & _foreign(now)) >= _HALF * len(before)


def double_encoded(known: Reading, now: Reading) -> bool:
    """Whether most of the known text beyond ASCII is there with each UTF-8 byte read as a letter ("fÃ¼r" for "für")."""
    before = _foreign(known)
    fresh = _foreign(now) - before
    if not before or not fresh:
        return False
    mended = {text for garbled in fresh for text in _mended(garbled)}
    return len(before & mended) > _HALF * len(before)


def _foreign(reading: Reading) -> set[str]:
    return {block.text for block in reading.visible if not block.text.isascii()}


def _mended(text: str) -> set[str]:
    """What the text says once its letters are taken for the bytes of UTF-8; nothing when they are none."""
    found: set[str] = set()
    if not _SIGN.search(text):
        return found
    for candidate in {text, _LOST_SPACE.sub("\u00c3\u00a0", text), _LOST_SPACE.sub("\u00c3\u00a0 ", text)}:
        try:
            found.add(_bytes(candidate).decode("utf-8"))
        except UnicodeError:
            continue
    return found


def _bytes(text: str) -> bytes:
    try:
        return text.encode("cp1252")
    except UnicodeError:
        return b"".join(_C1.get(ord(letter)) or letter.encode("cp1252") for letter in text)
