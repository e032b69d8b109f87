"""Cutting text into what a reader takes for one word.

The rules follow UAX #29 in spirit and go further where a reader would: hyphenated compounds, numbers with
their separators and currency, dates written with a month's name, e-mail addresses, URLs and identifiers are
one token, so that 12 -> 24 is one replacement. Scripts without spaces are cut by runs of one kind of
character (Japanese), by single characters (Chinese) or by clusters (Thai, Lao, Khmer, Burmese). What is
neither space nor punctuation belongs to a word: combining marks, joiners and invisible characters stay with
the letters they stand beside.

A token carries the white space before it, so that joining all tokens gives the text back.
"""

from __future__ import annotations

import re
import unicodedata

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u309f"
KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\uff66-\uff9f"
CLUSTERED = "\u0e01-\u0e5b\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"

_MARKS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f\u3099\u309a\u200d"
    "\U000e0100-\U000e01ef"
)
_CLUSTER_MARKS = "\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060\u17b4-\u17d1\u17d3\u17dd"
_PUNCTUATION = (
    "!\"'()*,\\-./:;<=>?\\[\\\\\\]^`{|}~"
    "\u00a1\u00ab\u00b7\u00bb\u00bf\u055d\u0589\u060c\u061b\u061f\u06d4\u0964\u0965"
    "\u2010-\u2027\u2030\u2032-\u205e\u2190-\u21ff\u2500-\u25ff\u3001-\u3004\u3008-\u3020\u3030\u30fb"
    "\ufe30-\ufe4f\ufe50-\ufe6b\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_WORD = f"[^\\s{_PUNCTUATION}{HAN}{HIRAGANA}{KATAKANA}{CLUSTERED}]"
# Month names as they are written in English, German, French, Spanish, Italian, Dutch, Portuguese and Polish; whole words,
# because "5 out of 10" and "2 decimal places" are no dates. Abbreviations count where a year follows.
_MONTHS_ENGLISH = "January|February|March|April|May|June|July|August|September|October|November|December"
_MONTHS = (
    f"{_MONTHS_ENGLISH}|"
    "Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Jänner|"
    "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|"
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|"
    "gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|"
    "januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december|"
    "janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|"
    "stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia"
)
_MONTHS_SHORT = (
    "[Jj]an|[Ff]e[bv]|[Mm]ar|[Mm]är|[Mm]rt|[Aa]pr|[Aa]br|[Mm]ay|[Mm]ag|[Mm]ei|[Jj]un|[Gg]iu|[Jj]ul|[Ll]ug|[Aa]ug|[Aa]go|"
    "[Ss]ept?|[Ss]et|[Oo][ck]t|[Oo]tt|[Oo]ut|[Nn]ov|[Dd]e[cz]|[Dd]ic|[Ee]ne|[Gg]en|janv|févr|avr|juil|déc"
)
_COUNTERS = "[か月ヶカ年日円個回名件時分秒人間台条項歳％]"

_RULES = (
    # Most words of most texts; first, because it is what costs.
    r"[a-z]{1,40}(?= )",
    # URLs; what ends a sentence after one is not part of it.
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://|www\.)[^\s<>\"“”「」『』、。（）]{0,400}[^\s<>\"“”「」『』、。（）.,;:!?)\]]",
    # 30 November 2026, 30 Nov 2026, 1er janvier 2026, 30 de noviembre de 2026; 30. November
    rf"\d{{1,2}}(?:\.|er|st|nd|rd|th|º)?\s(?:de\s)?(?:"
    rf"(?:{_MONTHS}|(?:{_MONTHS_SHORT})\.?)\s(?:de\s)?\d{{4}}|(?:{_MONTHS}))\b",
    # November 30, 2026; Nov 30, 2026; November 30
    rf"(?=[JFMASOND])(?:(?:{_MONTHS_ENGLISH}|(?:{_MONTHS_SHORT})\.?)\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}}|"
    rf"(?:{_MONTHS_ENGLISH})\s\d{{1,2}}(?:st|nd|rd|th)?)\b",
    # 2026年11月30日, 24か月間
    rf"\d{{1,4}}年\d{{1,2}}月(?:\d{{1,2}}日)?|\d[\d,.]{{0,20}}{_COUNTERS}{{1,4}}",
    # 1 200 000
    r"\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,5}(?!\w)",
    # words, compounds, numbers, addresses, identifiers
    rf"{_WORD}{{1,200}}(?:(?:['’ʼ.\-\u2010\u2011\u00b7]|(?<=\d)[,:/](?=\d)){_WORD}{{1,200}}){{0,20}}%?",
    rf"[{KATAKANA}]{{1,100}}[{_MARKS}]{{0,200}}",
    rf"[{HIRAGANA}]{{1,100}}[{_MARKS}]{{0,200}}",
    None,  # Han: runs in Japanese, single characters in Chinese
    rf"[\u0e40-\u0e44\u0ec0-\u0ec4]?[{CLUSTERED}](?:[{_CLUSTER_MARKS}]|\u17d2[\u1780-\u17a2]|\u1039[\u1000-\u1021]){{0,40}}",
    rf"[\s\S][{_MARKS}]{{0,200}}",
)


def _pattern(han: str) -> re.Pattern[str]:
    rules = "|".join(rule or han for rule in _RULES)
    return re.compile(rf"\s*(?:{rules})")


_TOKEN = _pattern(rf"[{HAN}][{_MARKS}]{{0,200}}")
_TOKEN_JAPANESE = _pattern(rf"[{HAN}]{{1,100}}[{_MARKS}]{{0,200}}")
_KANA = re.compile(f"[{HIRAGANA}{KATAKANA}]")
_UNSPACED = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}{CLUSTERED}]")
_RUN = re.compile(r"\s*\S+")
_NOT_COUNTED = re.compile(f"[\\s{_PUNCTUATION}]+")

_DIVIDERS = (" | ", " - ", " – ", " — ", " · ", " • ")
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\u02bc"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_QUOTE = re.compile(f"[{_SINGLE_QUOTES}{_DOUBLE_QUOTES}]")


def is_japanese(text: str) -> bool:
    """Whether the text has kana, so that its Han characters are cut by runs."""
    return not text.isascii() and _KANA.search(text) is not None


def tokenise(text: str, *, japanese: bool) -> list[str]:
    """The text as tokens, each with the white space before it; trailing white space is left out.

    `"".join(tokenise(t)) == t.rstrip()`, always. Linear in the text.
    """
    return (_TOKEN_JAPANESE if japanese else _TOKEN).findall(text.rstrip())


def split_by_space(text: str) -> list[str]:
    """The text as runs without white space, each with the white space before it; trailing white space is left out."""
    return _RUN.findall(text)


def fold(text: str) -> str:
    """What is compared: white space collapsed, typographic quotes made plain, composed (NFC).

    Letter case stays: a clause that changes "Party" into "party" has changed.
    """
    if text.isascii():
        return " ".join(text.split()) if "  " in text or not text.isprintable() else text
    text = unicodedata.normalize("NFC", text)
    if _QUOTE.search(text):
        # Thirteen replacements are several times faster than one translation table.
        for quote in _SINGLE_QUOTES:
            text = text.replace(quote, "'")
        for quote in _DOUBLE_QUOTES:
            text = text.replace(quote, '"')
    return " ".join(text.split())


def is_word(token: str) -> bool:
    """Whether the token counts as a word: it has a letter, a digit or another sign that is not punctuation."""
    return _NOT_COUNTED.sub("", token) != ""


def is_unspaced(text: str) -> bool:
    """Whether the text has characters of a script that is written without spaces."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def count_characters(text: str) -> int:
    """Characters that are neither white space nor punctuation."""
    return len(_NOT_COUNTED.sub("", text))


def count_units(text: str) -> int:
    """Words of a text without tokenising it; characters of unspaced scripts count one each."""
    if not is_unspaced(text):
        # Counting spaces makes no list; on a text this long the estimate does.
        words = len(text.split()) if len(text) < 100_000 else text.count(" ") + 1
        return words - sum(map(text.count, _DIVIDERS))
    unspaced = len(_UNSPACED.findall(text))
    return unspaced + len(_NOT_COUNTED.sub(" ", _UNSPACED.sub(" ", text)).split())
