"""Texts read as typed values: numbers, prices, dates, availability, yes or no, in local formats.

A text that cannot be read as its type is kept as found and marked; a wrong guess would be an alert
with a wrong number in it. Where a format is ambiguous the choice is said beside the rule.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from .normalise import normalise

TEXT_LIMIT = 2_000
ITEM_LIMIT = 500


class FieldType(StrEnum):
    """How a field's text is read."""

    TEXT = "text"
    NUMBER = "number"
    PRICE = "price"
    DATE = "date"
    LIST = "list"
    BOOLEAN = "boolean"
    AVAILABILITY = "availability"


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One extracted value.

    canonical: what is compared: "89.00", "2024-05-17", "in stock", "true", or the text itself.
    currency: ISO 4217 code of a price, "" when the page gives none. items: the entries of a list in page
    order. raw: the text as found. parsed: False when the text could not be read as its type.
    """

    type: FieldType
    canonical: str = ""
    currency: str = ""
    items: tuple[str, ...] = ()
    raw: str = ""
    parsed: bool = True

    @property
    def value(self) -> str | list[str]:
        """The value for display: a list's entries, else one text ("89.00 EUR")."""
        if self.type is FieldType.LIST:
            return list(self.items)
        return f"{self.canonical} {self.currency}" if self.currency else self.canonical

    def to_json(self) -> dict[str, object]:
        """The value as JSON-ready plain values; `from_json` gives it back."""
        found: dict[str, object] = {"type": str(self.type), "value": self.canonical}
        if self.currency:
            found["currency"] = self.currency
        if self.type is FieldType.LIST:
            found["value"] = list(self.items)
        if self.raw and self.raw != self.canonical:
            found["raw"] = self.raw
        if not self.parsed:
            found["parsed"] = False
        return found

    @classmethod
    def from_json(cls, data: dict[str, object]) -> FieldValue:
        """The value that `to_json` wrote. ValueError for anything else."""
        kind = data.get("type")
        if not isinstance(kind, str) or kind not in FieldType:
            raise ValueError(f"a stored field value has one of the known types, got {kind!r}")
        type_ = FieldType(kind)
        value = data.get("value", "")
        items = tuple(map(str, value)) if isinstance(value, list) else ()
        canonical = "" if isinstance(value, list) else str(value)
        return cls(
            type=type_,
            canonical=canonical,
            currency=str(data.get("currency", "")),
            items=items,
            raw=str(data.get("raw", canonical)),
            parsed=bool(data.get("parsed", True)),
        )


def typed(
    texts: list[str], type_: FieldType, *, currency: str = "", machine: bool = False, lang: str = ""
) -> FieldValue:
    """The texts read as a value of the type; all but a list take the first.

    currency: what the page gives beside the number. machine: the text comes from metadata, where a
    single point is a decimal point. lang: the page's language, which decides between 5/6 and 6/5.
    """
    texts = [clean(t) for t in texts]
    if type_ is FieldType.LIST:
        items = tuple(dict.fromkeys(t for t in texts if t))[:ITEM_LIMIT]
        return FieldValue(type_, items=items)
    text = next((t for t in texts if t), "")
    if type_ is FieldType.TEXT:
        return FieldValue(type_, text, raw=text)
    if type_ is FieldType.PRICE:
        amount, found = parse_price(text, machine=machine)
        if amount is None:
            return FieldValue(type_, text, raw=text, parsed=False)
        return FieldValue(type_, show_amount(amount), found or currency_code(currency), raw=text)
    read = {
        FieldType.NUMBER: lambda: _number_text(text, machine=machine),
        FieldType.DATE: lambda: parse_date(text, lang=lang),
        FieldType.BOOLEAN: lambda: parse_boolean(text),
        FieldType.AVAILABILITY: lambda: parse_availability(text),
    }[type_]()
    return FieldValue(type_, read or text, raw=text, parsed=bool(read))


def clean(text: str) -> str:
    """A text fit to be stored and shown: white space collapsed, NUL and lone surrogates out, bounded."""
    text = text[: TEXT_LIMIT * 4].replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return " ".join(text.split())[:TEXT_LIMIT]


# -- numbers and prices -----------------------------------------------------------------

_NUMBER = re.compile(r"[-+]?\d[\d.,' _]{0,40}\d|[-+]?\d")
_SCALES = (
    (re.compile(r"^ ?(?:万|萬|만)"), 4),
    (re.compile(r"^ ?(?:億|亿|억)"), 8),
    (re.compile(r"^ ?(?:mio\b|million)"), 6),
)
_SIGNS = {
    "€": "EUR",
    "£": "GBP",
    "₩": "KRW",
    "₹": "INR",
    "₽": "RUB",
    "₺": "TRY",
    "₫": "VND",
    "฿": "THB",
    "₴": "UAH",
    "₪": "ILS",
    "zł": "PLN",
    "kč": "CZK",
    "円": "JPY",
    "元": "CNY",
    "원": "KRW",
    "us$": "USD",
    "ca$": "CAD",
    "c$": "CAD",
    "au$": "AUD",
    "a$": "AUD",
    "nz$": "NZD",
    "hk$": "HKD",
    "nt$": "TWD",
    "s$": "SGD",
    "r$": "BRL",
    "mx$": "MXN",
    "$": "USD",
    "¥": "JPY",
    "euros": "EUR",
    "euro": "EUR",
    "dollars": "USD",
    "dollar": "USD",
    "fr.": "CHF",
    "sfr": "CHF",
    "rmb": "CNY",
    "kr": "SEK",
}
_CODES = frozenset(
    [
        "EUR",
        "USD",
        "GBP",
        "CHF",
        "JPY",
        "CNY",
        "KRW",
        "PLN",
        "SEK",
        "NOK",
        "DKK",
        "CZK",
        "HUF",
        "RON",
        "BGN",
        "BRL",
        "CAD",
        "AUD",
        "NZD",
        "MXN",
        "INR",
        "TRY",
        "RUB",
        "UAH",
        "ILS",
        "ZAR",
        "THB",
        "SGD",
        "HKD",
        "TWD",
        "AED",
        "SAR",
        "IDR",
        "MYR",
        "PHP",
        "VND",
        "CLP",
        "COP",
        "ARS",
        "PEN",
        "ISK",
    ]
)
_CURRENCY = re.compile(
    r"(?<![a-z])(?:"
    + "|".join(re.escape(s) for s in sorted(_SIGNS, key=len, reverse=True))
    + "|"
    + "|".join(sorted(c.lower() for c in _CODES))
    + r")(?![a-z])"
)


def parse_number(text: str, *, machine: bool = False) -> Decimal | None:
    """The first number of the text: 1.234,56 / 1,234.56 / 1 234,56 / 1'234.50 / 12万.

    One separator followed by exactly three digits is a thousands sign ("1.200" is twelve hundred), unless
    the text is metadata. None when there is no number.
    """
    folded = normalise(text[:400])
    found = _NUMBER.search(folded)
    if found is None:
        return None
    digits = re.sub(r"[' _]", "", found.group()).rstrip(".,")
    scale = next(
        (power for sign, power in _SCALES if sign.match(folded, found.end()) or sign.match(folded[found.end() :])), 0
    )
    try:
        amount = Decimal(_plain(digits, machine=machine))
    except InvalidOperation:
        return None
    return amount.scaleb(scale) if scale else amount


def _plain(digits: str, *, machine: bool) -> str:
    """A number's digits with a decimal point and no thousands signs."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        decimal = "." if digits.rfind(".") > digits.rfind(",") else ","
        return digits.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    sign = "." if points else ","
    if points + commas == 0:
        return digits
    if points + commas > 1:
        return digits.replace(sign, "")
    whole, _, rest = digits.partition(sign)
    thousands = len(rest) == 3 and 1 <= len(whole.lstrip("+-")) <= 3 and whole.lstrip("+-") != "0"
    if thousands and not (machine and sign == "."):
        return whole + rest
    return f"{whole}.{rest}"


def parse_price(text: str, *, machine: bool = False) -> tuple[Decimal | None, str]:
    """Amount and ISO currency ("" when none is named) of the first price in the text.

    A bare $ is read as USD and a bare ¥ as JPY; a code beside it wins. A number that stands beside a
    currency is preferred to one that does not ("2 for 5 €" is 5).
    """
    folded = normalise(text[:400]).replace(",-", "").replace(".-", "")
    signs = list(_CURRENCY.finditer(folded))
    code = currency_code(
        next((s.group() for s in signs if s.group().upper() in _CODES), signs[0].group() if signs else "")
    )
    for sign in signs:
        after = re.match(
            r" ?([-+]?\d[\d.,' _]{0,40}\d|\d)(?: ?(?:万|萬|만|億|亿|억|mio\b|million))?", folded[sign.end() :]
        )
        before = re.search(
            r"([-+]?\d[\d.,' _]{0,40}\d|\d) ?(?:万|萬|만|億|亿|억|mio\.?|million)? ?$", folded[: sign.start()]
        )
        beside = after or before
        if beside:
            return parse_number(beside.group(), machine=machine), code
    return parse_number(folded, machine=machine), code


def currency_code(text: str) -> str:
    """The ISO 4217 code for a currency's code, sign or name; "" for what is none."""
    text = text.strip()
    if text.upper() in _CODES:
        return text.upper()
    if re.fullmatch(r"[A-Z]{3}", text):
        return text
    return _SIGNS.get(normalise(text), "")


def show_amount(amount: Decimal) -> str:
    """An amount as it is compared and shown: no exponent, no single decimal digit ("89.50", "1200")."""
    if not -30 < amount.adjusted() < 30:
        return str(amount)
    shown = f"{amount:f}"
    whole, point, rest = shown.partition(".")
    return f"{whole}.{rest.ljust(2, '0')}" if point else whole


def _number_text(text: str, *, machine: bool) -> str:
    number = parse_number(text, machine=machine)
    if number is None:
        return ""
    if not -30 < number.adjusted() < 30:
        return str(number)
    shown = f"{number:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


# -- dates ------------------------------------------------------------------------------

_MONTH_NAMES = (
    "january janvier januar jänner enero gennaio januari janeiro stycznia styczeń jan janv ene gen sty",
    "february février fevrier februar febrero febbraio februari fevereiro lutego luty feb févr fevr fev lut",
    "march mars märz marzo maart março marca marzec mar mär mrt",
    "april avril abril aprile kwietnia kwiecień apr avr abr kwi",
    "may mai mayo maggio mei maio maja maj mag",
    "june juin juni junio giugno junho czerwca czerwiec jun giu cze",
    "july juillet juli julio luglio julho lipca lipiec jul juil lug lip",
    "august août aout agosto augustus sierpnia sierpień aug ago sie",
    "september septembre septiembre setiembre settembre setembro września wrzesień sep sept set sett wrz",
    "october octobre oktober octubre ottobre outubro października październik oct okt ott out paź",
    "november novembre noviembre novembro listopada listopad nov lis",
    "december décembre decembre dezember diciembre dicembre dezembro grudnia grudzień dec déc dez dic gru",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民國": 1911, "民国": 1911}

_ISO = re.compile(
    r"\b(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)|\b(\d{4})[/.](\d{1,2})[/.](\d{1,2})\b|\b((?:19|20)\d\d)(\d\d)(\d\d)\b"
)
_CJK = re.compile(
    r"(?:(\d{4})|(令和|平成|昭和|大正|明治|民國|民国) ?(\d{1,3}|元)) ?(?:年|년) ?(\d{1,2}) ?(?:月|월)(?: ?(\d{1,2}) ?(?:日|号|號|일))?"
)
_KO = re.compile(r"\b(\d{4})\. ?(\d{1,2})\. ?(\d{1,2})\b")
_NUMERIC = re.compile(r"\b(\d{1,2})([./-]) ?(\d{1,2})[./-] ?(\d{4}|\d{2})\b")
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY_FIRST = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.|º|°|a)?[ -]?(?:of |de |d')?({_NAMES})(?![^\W\d_])\.?,?[ -]?(?:de |del )?(\d{{4}})\b"
)
_MONTH_FIRST = re.compile(rf"(?<![^\W\d_])({_NAMES})(?![^\W\d_])\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b")
_MONTH_YEAR = re.compile(rf"(?<![^\W\d_])({_NAMES})(?![^\W\d_])\.?,?(?: de| del)? (\d{{4}})\b")


def parse_date(text: str, *, lang: str = "") -> str:
    """The first date of the text as YYYY-MM-DD, or YYYY-MM where no day is given; "" when there is none.

    Times are dropped: pages that print a moment mean the day. 5/6/2024 is the 5th of June, unless the
    language is American English (`en-US`) or the first number can only be a month.
    """
    folded = normalise(text[:400])
    if found := _ISO.search(folded):
        year, month, day = (g for g in found.groups() if g)
        return _date(int(year), int(month), int(day))
    if found := _CJK.search(folded):
        western, era, count, month, day = found.groups()
        year_number = int(western) if western else _ERAS[era] + (1 if count == "元" else int(count))
        return _date(year_number, int(month), int(day) if day else 0)
    if found := _KO.search(folded):
        return _date(*map(int, found.groups()))
    if found := _DAY_FIRST.search(folded):
        return _date(int(found[3]), _MONTHS[found[2]], int(found[1]))
    if found := _MONTH_FIRST.search(folded):
        return _date(int(found[3]), _MONTHS[found[1]], int(found[2]))
    if found := _NUMERIC.search(folded):
        return _numeric_date(int(found[1]), int(found[3]), found[4], slashed=found[2] == "/", lang=lang)
    if found := _MONTH_YEAR.search(folded):
        return _date(int(found[2]), _MONTHS[found[1]], 0)
    return ""


def _numeric_date(first: int, second: int, year: str, *, slashed: bool, lang: str) -> str:
    full = int(year) if len(year) == 4 else 2000 + int(year)
    month_first = (slashed and lang.lower() == "en-us") or second > 12
    return _date(full, first, second) if month_first else _date(full, second, first)


def _date(year: int, month: int, day: int) -> str:
    try:
        found = datetime.date(year, month, day or 1)
    except ValueError:
        return ""
    return found.isoformat() if day else f"{year:04}-{month:02}"


# -- availability, yes and no -------------------------------------------------------------

_SCHEMA_AVAILABILITY = {
    "instock": "in stock",
    "instoreonly": "in store only",
    "onlineonly": "in stock",
    "limitedavailability": "limited",
    "outofstock": "out of stock",
    "soldout": "out of stock",
    "preorder": "pre-order",
    "presale": "pre-order",
    "backorder": "back-order",
    "madetoorder": "back-order",
    "discontinued": "discontinued",
    "reserved": "limited",
}
# Tried in this order: "not in stock" also contains "in stock".
_AVAILABILITY_WORDS: tuple[tuple[str, list[str]], ...] = (
    (
        "discontinued",
        [
            "discontinued",
            "no longer available",
            "nicht mehr lieferbar",
            "nicht mehr erhältlich",
            "plus commercialisé",
            "descatalogado",
            "fuori produzione",
            "niet meer leverbaar",
            "descontinuado",
            "wycofany",
            "販売終了",
            "生産終了",
            "已停产",
            "停產",
            "단종",
        ],
    ),
    (
        "out of stock",
        [
            "out of stock",
            "sold out",
            "not in stock",
            "currently unavailable",
            "unavailable",
            "not available",
            "nicht auf lager",
            "nicht vorrätig",
            "ausverkauft",
            "vergriffen",
            "nicht verfügbar",
            "nicht lieferbar",
            "rupture de stock",
            "épuisé",
            "indisponible",
            "non disponible",
            "agotado",
            "sin stock",
            "no disponible",
            "sin existencias",
            "esaurito",
            "non disponibile",
            "uitverkocht",
            "niet op voorraad",
            "niet beschikbaar",
            "niet leverbaar",
            "esgotado",
            "indisponível",
            "fora de estoque",
            "sem stock",
            "niedostępn",
            "wyprzedan",
            "brak w magazynie",
            "在庫なし",
            "在庫切れ",
            "品切れ",
            "売り切れ",
            "完売",
            "缺货",
            "缺貨",
            "售罄",
            "无货",
            "無貨",
            "품절",
            "재고 없음",
        ],
    ),
    (
        "pre-order",
        [
            "pre-order",
            "preorder",
            "pre order",
            "vorbestell",
            "précommande",
            "reserva anticipada",
            "preventa",
            "preordine",
            "prenotabile",
            "pre-orden",
            "voorbestel",
            "pré-venda",
            "przedsprzeda",
            "予約受付",
            "予約商品",
            "预订",
            "預購",
            "预售",
            "예약",
        ],
    ),
    (
        "back-order",
        [
            "back-order",
            "backorder",
            "back order",
            "made to order",
            "auf bestellung",
            "sur commande",
            "bajo pedido",
            "su ordinazione",
            "取り寄せ",
            "受注",
        ],
    ),
    (
        "limited",
        [
            "limited availability",
            "only a few left",
            "few left",
            "low stock",
            "nur noch",
            "geringe verfügbarkeit",
            "wenige verfügbar",
            "plus que",
            "stock limité",
            "pocas unidades",
            "últimas unidades",
            "ultimi pezzi",
            "pochi pezzi",
            "nog maar",
            "ostatnie sztuki",
            "残りわずか",
            "在庫わずか",
            "库存紧张",
            "庫存緊張",
            "품절 임박",
        ],
    ),
    (
        "in stock",
        [
            "in stock",
            "available",
            "auf lager",
            "vorrätig",
            "verfügbar",
            "lieferbar",
            "sofort",
            "en stock",
            "disponible",
            "disponibile",
            "disponibilità immediata",
            "op voorraad",
            "leverbaar",
            "beschikbaar",
            "em estoque",
            "em stock",
            "disponível",
            "dostępn",
            "na stanie",
            "w magazynie",
            "在庫あり",
            "在庫有",
            "现货",
            "現貨",
            "有货",
            "有貨",
            "재고 있음",
            "구매 가능",
        ],
    ),
)


def parse_availability(text: str) -> str:
    """in stock, limited, pre-order, back-order, in store only, out of stock or discontinued; "" when unknown."""
    folded = normalise(text[:400])
    tail = re.sub(r"[^a-z]", "", folded.rstrip("/").rpartition("/")[2])
    if tail in _SCHEMA_AVAILABILITY:
        return _SCHEMA_AVAILABILITY[tail]
    return next((state for state, words in _AVAILABILITY_WORDS if any(w in folded for w in words)), "")


_YES = frozenset(
    [
        "true",
        "yes",
        "1",
        "on",
        "y",
        "ja",
        "oui",
        "sí",
        "si",
        "sim",
        "tak",
        "はい",
        "是",
        "有",
        "예",
        "네",
        "✓",
        "✔",
        "✅",
        "☑",
        "waar",
        "wahr",
        "vrai",
        "vero",
        "verdadero",
        "verdadeiro",
        "prawda",
    ]
)
_NO = frozenset(
    [
        "false",
        "no",
        "0",
        "off",
        "n",
        "nein",
        "non",
        "não",
        "nao",
        "nie",
        "nee",
        "いいえ",
        "否",
        "无",
        "無",
        "아니요",
        "아니오",
        "✗",
        "✘",
        "❌",
        "☐",
        "falsch",
        "faux",
        "falso",
        "onwaar",
        "fałsz",
    ]
)


def parse_boolean(text: str) -> str:
    """ "true" or "false" for a word or sign of yes or no in eleven languages; "" for anything else."""
    folded = normalise(text[:40]).strip(" .!")
    if folded in _YES or text.strip() in _YES:
        return "true"
    return "false" if folded in _NO or text.strip() in _NO else ""
