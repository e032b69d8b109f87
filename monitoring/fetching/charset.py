"""Bytes to text, once: BOM, an override, header, the page's own declaration, strict UTF-8, what was seen before, a guess.

Labels are looked up in the WHATWG registry (`webencodings`), never among Python's codecs, which would also take utf-7,
unicode_escape or zlib. The result is the same for the same bytes, header and hint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import webencodings

# The registry's names to the Python codec that is nearest to what browsers do. gb18030 holds all of gbk and gb2312.
_CODECS = {"gbk": "gb18030", "x-user-defined": "cp1252", "macintosh": "mac-roman", "windows-874": "cp874"}
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))

# Browsers prescan 1,024 bytes and change their mind on a later declaration; this looks as far once.
_PRESCAN_BYTES = 64 * 1024
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^>]{0,2000}", re.IGNORECASE)
_META_CHARSET = re.compile(rb"[\s\"';/]charset\s{0,20}=\s{0,20}[\"']?\s{0,20}([A-Za-z0-9_:.\-]{1,40})", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.\-]{1,40})", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r";\s*charset\s*=\s*\"?'?\s*([^\s;\"',]{1,80})", re.IGNORECASE)
_LANG = re.compile(rb"<html[^>]{0,500}?\blang\s*=\s*[\"']?([A-Za-z]{2})(?:-([A-Za-z]{2,4}))?", re.IGNORECASE)
_ISO_2022_JP = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")

# More damage than this share of characters means that the declared charset is not the one the bytes are in.
_MISMATCH_SHARE = 0.01
_GUESS_BYTES = 64 * 1024
_LANG_CHARSETS = {
    "ja": ("shift_jis", "euc-jp"),
    "zh": ("gb18030", "big5"),
    "ko": ("euc-kr",),
    "ru": ("windows-1251", "koi8-r"),
    "uk": ("windows-1251", "koi8-u"),
    "bg": ("windows-1251",),
    "el": ("windows-1253",),
    "tr": ("windows-1254",),
    "he": ("windows-1255",),
    "ar": ("windows-1256",),
    "th": ("windows-874",),
    "pl": ("iso-8859-2", "windows-1250"),
    "cs": ("windows-1250",),
    "hu": ("windows-1250",),
}
_MULTIBYTE = ("shift_jis", "euc-jp", "euc-kr", "gb18030", "big5")
_FALLBACK = "windows-1252"


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded page: the text, the registry's name of the charset, and where the name came from."""

    text: str
    charset: str
    source: str


def decode_page(body: bytes, *, content_type: str, hint: str = "", override: str = "") -> Text:
    """The page as text. Damaged bytes become U+FFFD, and so does NUL; lone surrogates cannot come out.

    `override` is a person's choice and yields to nothing but a byte order mark, as in the WHATWG's order; a name that
    is not in the registry is passed over. `hint` is the charset of the monitor's last good capture and only decides
    where nothing is declared. Bytes decoded with `override` set to the charset they came out in give the same text.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return Text(_decode(body[len(bom) :], name), name, "bom")
    if chosen := _registered(override):
        return Text(_decode(body, chosen), chosen, "override")
    header = header_charset(content_type)
    if header:
        return _by_header(body, header)
    declared = meta_charset(body)
    if declared:
        return Text(_decode(body, declared), declared, "meta")
    if _ISO_2022_JP.search(body, 0, _GUESS_BYTES) and body.isascii():
        return Text(_decode(body, "iso-2022-jp"), "iso-2022-jp", "guess")
    strict = _strictly(body, "utf-8")
    if strict is not None:
        return Text(strict, "utf-8", "utf-8")
    hinted = _registered(hint)
    if hinted and hinted != "utf-8":
        strict = _strictly(body, hinted)
        if strict is not None:
            return Text(strict, hinted, "hint")
    guessed = guess(body)
    return Text(_decode(body, guessed), guessed, "guess")


def _by_header(body: bytes, header: str) -> Text:
    """The header is the authority, unless the bytes plainly are in the charset that the page itself declares."""
    # Seven-bit Japanese is valid in any other charset, so damage cannot tell it; its escapes do.
    escaped = b"\x1b" in body and body.isascii() and _ISO_2022_JP.search(body) is not None
    strict = _strictly(body, header)
    if strict is not None and not escaped:
        return Text(strict, header, "header")
    declared = meta_charset(body)
    if escaped and declared == "iso-2022-jp":
        return Text(_decode(body, declared), declared, "header" if header == declared else "meta-over-header")
    text = _decode(body, header)
    damaged = text.count("\ufffd") - body.count(b"\0")
    if damaged <= len(text) * _MISMATCH_SHARE:
        return Text(text, header, "header")
    if declared and declared != header:
        strict = _strictly(body, declared)
        if strict is not None:
            return Text(strict, declared, "meta-over-header")
    return Text(text, header, "header-mismatch")


def header_charset(content_type: str) -> str:
    """The first charset that a Content-Type header names, as registered, or the empty string."""
    found = _HEADER_CHARSET.search(content_type)
    return _registered(found[1]) if found else ""


def meta_charset(body: bytes) -> str:
    """The charset a page declares in a `meta` element or XML declaration, or the empty string. UTF-16 there means UTF-8."""
    head = body[:_PRESCAN_BYTES]
    if b"charset" not in head.lower() and b"<?xml" not in head[:200]:
        return ""
    for element in _META.findall(_COMMENT.sub(b"", head)):
        found = _META_CHARSET.search(element)
        name = _registered(found[1].decode("ascii")) if found else ""
        if name:
            return "utf-8" if name.startswith("utf-16") else name
    xml = _XML_DECLARATION.match(head)
    name = _registered(xml[1].decode("ascii")) if xml else ""
    return "utf-8" if name.startswith("utf-16") else name


def guess(body: bytes) -> str:
    """The likeliest charset of undeclared bytes that are not UTF-8: the page's language first, then East Asian ones.

    Errs towards windows-1252, which takes any bytes.
    """
    sample = body[:_GUESS_BYTES]
    lang = _LANG.search(sample[:4096])
    preferred = _LANG_CHARSETS.get(lang[1].decode("ascii").lower(), ()) if lang else ()
    if lang and lang[1].lower() == b"zh" and (lang[2] or b"").upper() in (b"TW", b"HK", b"HANT"):
        preferred = ("big5", "gb18030")
    for name in preferred:
        if _strictly(sample, name, cut=True) is not None:
            return name
    best, best_score = _FALLBACK, 0.5
    for name in _MULTIBYTE:
        text = _strictly(sample, name, cut=True)
        score = _plausibility(text, name) if text is not None else 0.0
        if score > best_score:
            best, best_score = name, score
    if best == _FALLBACK and _looks_cyrillic(sample):
        return "windows-1251"
    return best


def _plausibility(text: str, name: str) -> float:
    """Share of the non-ASCII characters that running text in this charset's language is made of, 0 to 1."""
    foreign = [ord(character) for character in text if ord(character) > 0x7F]
    if not foreign:
        return 0.0
    kana = sum(0x3041 <= code <= 0x30FF for code in foreign)
    hangul = sum(0xAC00 <= code <= 0xD7A3 for code in foreign)
    han = sum(0x4E00 <= code <= 0x9FFF for code in foreign)
    marks = sum(0x3001 <= code <= 0x3020 or 0xFF01 <= code <= 0xFF5E for code in foreign)
    if name in ("shift_jis", "euc-jp"):
        good = kana + han + marks if kana * 8 >= len(foreign) else 0
    elif name == "euc-kr":
        good = hangul + marks if hangul * 2 >= len(foreign) else 0
    else:
        # Every byte pair is some Han character in gb18030 and big5; the common ones come first in both tables.
        good = _common_han(text, name) + marks
    return good / len(foreign)


def _common_han(text: str, name: str) -> int:
    """Characters from the level-one table: the few thousand in daily use."""
    encoded = text.encode(_CODECS.get(name, name), "ignore")
    common = 0
    position = 0
    while position < len(encoded) - 1:
        lead = encoded[position]
        if lead < 0x80:
            position += 1
            continue
        trail = encoded[position + 1]
        if name == "big5":
            common += 0xA4 <= lead <= 0xC6
        else:
            common += 0xB0 <= lead <= 0xD7 and trail >= 0xA1
        position += 2
    return common


def _looks_cyrillic(sample: bytes) -> bool:
    """Whether high bytes stand in runs, as letters of Russian words do in windows-1251, and not singly between ASCII."""
    high = sum(byte >= 0xC0 for byte in sample)
    ascii_letters = len(re.findall(rb"[A-Za-z]", re.sub(rb"<[^>]*>", b"", sample)))
    return high > 20 and high > ascii_letters


def registered(label: str) -> str:
    """The registry's name for a label that pages may be read in (`latin1` is windows-1252), or the empty string."""
    return _registered(label.strip()) if label.isascii() else ""


def _registered(label: str) -> str:
    """The registry's name for a label, or the empty string. The `replacement` pseudo-encodings are not taken."""
    try:
        found = webencodings.lookup(label)
    except (UnicodeError, ValueError):
        return ""
    if found is None or found.name in ("replacement", "x-user-defined"):
        return ""
    return "gb18030" if found.name == "gbk" else str(found.name)


def _codec(name: str) -> str:
    """The Python codec of a registered name; webencodings holds it."""
    found = webencodings.lookup(name)
    return _CODECS.get(name) or (str(found.codec_info.name) if found is not None else name)


def _decode(body: bytes, name: str) -> str:
    return body.decode(_codec(name), "replace").replace("\0", "\ufffd")


def _strictly(body: bytes, name: str, *, cut: bool = False) -> str | None:
    """The text, or None when the bytes are not valid in this charset. `cut` forgives a character cut off at the end."""
    for spare in range(4 if cut and len(body) >= _GUESS_BYTES else 1):
        try:
            return body[: len(body) - spare].decode(_codec(name)).replace("\0", "\ufffd")
        except UnicodeDecodeError:
            continue
    return None
