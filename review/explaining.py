"""Why a change was flagged, in the reader's language: known reason codes are translated, others stand as written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from review import field_words, wording
from review.visits import VENDORS, WHY


@dataclass(frozen=True, slots=True)
class Sentence:
    """A reason: its strong beginning (may be empty) and the rest."""

    strong: str
    rest: str


type Data = Mapping[str, Any]


def _number(data: Data, name: str) -> int:
    try:
        return int(data.get(name, 0))
    except (TypeError, ValueError):
        return 0


def _real(data: Data, name: str) -> float:
    try:
        return float(data.get(name, 0))
    except (TypeError, ValueError):
        return 0.0


def _changed(data: Data) -> Sentence:
    n = _number(data, "blocks")
    strong = ngettext("%(n)s block changed", "%(n)s blocks changed", n) % {"n": n}
    visits, days = _number(data, "visits"), _number(data, "days")
    visits_told = ngettext("%(n)s visit", "%(n)s visits", visits) % {"n": visits}
    days_told = ngettext("%(n)s day", "%(n)s days", days) % {"n": days}
    if visits and days:
        rest = _("that had stood still for %(visits)s and %(days)s") % {"visits": visits_told, "days": days_told}
    elif visits:
        rest = _("that had stood still for %(visits)s") % {"visits": visits_told}
    else:
        rest = ""
    return Sentence(strong, rest)


def _score(data: Data) -> Sentence:
    score, cut = _real(data, "score"), _real(data, "cut")
    words = _("score %(score)s, the cut is %(cut)s") % {
        "score": wording.decimal(score, 2),
        "cut": wording.decimal(cut, 2),
    }
    if cut <= 0:
        return Sentence("", words)
    return Sentence(_("%(times)s× the cut:") % {"times": wording.decimal(score / cut, 1)}, words)


def _distance(data: Data) -> Sentence:
    bits, threshold = _number(data, "distance"), _number(data, "threshold")
    template = (
        ngettext(
            "Distance %(bits)s bit, above the threshold of %(threshold)s",
            "Distance %(bits)s bits, above the threshold of %(threshold)s",
            bits,
        )
        if bits > threshold
        else ngettext(
            "Distance %(bits)s bit, within the threshold of %(threshold)s",
            "Distance %(bits)s bits, within the threshold of %(threshold)s",
            bits,
        )
    )
    return Sentence("", template % {"bits": bits, "threshold": threshold})


def _return(data: Data) -> Sentence:
    try:
        pattern = "j M Y" if (get_language() or "en").startswith("en") else "DATE_FORMAT"  # as other moments are told
        day = date_format(date.fromisoformat(str(data.get("date", ""))), pattern)
    except ValueError:
        return Sentence(_("Back to an earlier text"), "")
    return Sentence(_("Back to an earlier text,"), _("the one of %(date)s") % {"date": day})


def _flapping(data: Data) -> Sentence:
    n = _number(data, "times")
    return Sentence(
        "", ngettext("Came back to this text %(n)s time", "Came back to this text %(n)s times", n) % {"n": n}
    )


def _look_alike(data: Data) -> Sentence:
    n = _number(data, "blocks")
    strong = ngettext(
        "%(n)s block with invisible or look-alike characters", "%(n)s blocks with invisible or look-alike characters", n
    )
    return Sentence(strong % {"n": n}, "")


def _elsewhere(data: Data) -> Sentence:
    n = _number(data, "blocks")
    strong = ngettext(
        "%(n)s block moved to another part of the text", "%(n)s blocks moved to another part of the text", n
    )
    return Sentence(strong % {"n": n}, "")


def _redirected(data: Data) -> Sentence:
    return Sentence(_("Another host:"), _("the page is now served from %(host)s") % {"host": data.get("host", "?")})


def _lied(data: Data) -> Sentence:
    days = _number(data, "days")
    rest = ngettext(
        "the page changed under the same %(which)s; “not modified” is not believed for %(n)s day",
        "the page changed under the same %(which)s; “not modified” is not believed for %(n)s days",
        days,
    )
    return Sentence(_("The site hid it:"), rest % {"which": data.get("which", "ETag"), "n": days})


def _aged(data: Data) -> Sentence:
    days = _number(data, "days")
    rest = ngettext(
        "By its own date the page had not changed for %(n)s day", "By its own date the page had not changed for %(n)s days", days
    )  # fmt: skip
    return Sentence("", rest % {"n": days})


def _charset_changed(data: Data) -> Sentence:
    names = {"was": data.get("was", "?"), "now": data.get("now", "?")}
    return Sentence("", _("Character encoding %(now)s, before %(was)s") % names)


def _vendor(data: Data) -> Sentence:
    vendor = str(data.get("vendor", ""))
    return Sentence("", VENDORS.get(vendor, vendor) or _("Told by the answer's status, headers or words"))


def _elsewhere_old(data: Data) -> Sentence:
    words = _("from %(vantage)s the page still shows the earlier text") % {"vantage": data.get("vantage", "?")}
    return Sentence(_("Differs by place:"), words)


def _still_old(data: Data) -> Sentence:
    n = _number(data, "checks")
    words = ngettext(
        "after %(n)s check %(vantage)s still shows the earlier text; raised all the same",
        "after %(n)s checks %(vantage)s still shows the earlier text; raised all the same",
        n,
    )
    return Sentence(_("Differs by place:"), words % {"n": n, "vantage": data.get("vantage", "?")})


TYPES: dict[str, Callable[[], str]] = {
    "html": lambda: _("a page (HTML)"),
    "text": lambda: _("plain text"),
    "json": lambda: _("JSON"),
    "xml": lambda: _("XML"),
    "feed": lambda: _("a feed"),
    "pdf": lambda: _("a PDF"),
    "file": lambda: _("a file"),
}


def type_words(code: object) -> str:
    """A type of document in a sentence: "a PDF"."""
    words = TYPES.get(str(code))
    return words() if words else str(code)


def _type_changed(data: Data) -> Sentence:
    words = _("the site sent %(found)s where %(expected)s was expected")
    names = {"found": type_words(data.get("found", "?")), "expected": type_words(data.get("expected", "?"))}
    return Sentence(_("Another type of document:"), words % names)


def _by_digest(data: Data) -> Sentence:
    if pages := data.get("pages"):
        words = _("Pages without text, their pictures are compared by digest: %(pages)s") % {"pages": pages}
        return Sentence("", words)
    size = wording.byte_size(_number(data, "bytes"))
    words = _("Compared by digest: %(type)s, %(size)s") % {"type": data.get("type") or "?", "size": size}
    return Sentence("", words)


def _link_changed(data: Data) -> Sentence:
    words = _("it now leads to %(new)s; before it led to %(old)s")
    return Sentence(_("Another link:"), words % {"new": data.get("new", "?"), "old": data.get("old", "?")})


def _link_missing(data: Data) -> Sentence:
    words = _("the page has none that “%(selector)s” matches") % {"selector": data.get("selector", "?")}
    return Sentence(_("No link to the document:"), words)


# The rules of the judgement, as they stand after "left out:". Each says what a person sees, not how it was found.
LEFT_OUT: dict[str, Callable[[], str]] = {
    "ignore-rule": lambda: _("matches an ignore rule"),
    "typography": lambda: _("only quotes, dashes, spaces or case"),
    "relative-time": lambda: _("only a relative time moved on"),
    "day-shift": lambda: _("every date moved by the same day"),
    "volatile-slot": lambda: _("this place keeps moving"),
    "volatile-pattern": lambda: _("clock, counter or token"),
    "rotation": lambda: _("shown here before"),
    "return": lambda: _("shown here before"),
    "variant": lambda: _("shown here before"),
    "echo": lambda: _("repeats the page title"),
    "repeat": lambda: _("one copy more or less of a text that stayed"),
    "placeholder": lambda: _("loading notice"),
    "consent": lambda: _("consent banner"),
    "advert": lambda: _("advertising or recommendations"),
    "furniture": lambda: _("menu, footer or sidebar"),
    "reorder": lambda: _("same entries in another order"),
    "moved": lambda: _("same text in another place"),
    "resplit": lambda: _("same text, divided differently"),
    "field": lambda: _("repeats what a field says"),
    "below-cut": lambda: _("too slight"),
    "slight": lambda: _("too slight"),
}


def left_out_words(rule: str) -> str:
    """What a rule left out, in a few words: "clock, counter or token"."""
    words = LEFT_OUT.get(rule)
    return words() if words else _("noise")


def _left_out(rule: str, data: Data) -> Sentence:
    n = _number(data, "blocks")
    if not n:
        return Sentence("", _("Left out: %(rule)s") % {"rule": left_out_words(rule)})
    template = ngettext("%(n)s block left out: %(rule)s", "%(n)s blocks left out: %(rule)s", n)
    return Sentence("", template % {"n": n, "rule": left_out_words(rule)})


_CONTRADICTION = re.compile(r"(?s)(.+?): structured data says (.+), the page shows (.+)")


def _field(text: str, data: Data) -> Sentence:
    """A changed field: its name strong, then its values."""
    name = str(data.get("name", "")) or text.partition(":")[0]
    return Sentence(f"{name}:", field_words.words(name, text, data))


def _contradiction(text: str) -> Sentence:
    found = _CONTRADICTION.fullmatch(text)
    if not found:
        return Sentence(_("Structured data and the visible page disagree"), "")
    rest = _("structured data says %(said)s, the page shows %(seen)s") % {"said": found[2], "seen": found[3]}
    return Sentence(f"{found[1]}:", rest)


TOLD: dict[str, Callable[[Data], Sentence]] = {
    "changed": _changed,
    "score": _score,
    "distance": _distance,
    "return": _return,
    "flapping": _flapping,
    "redirect-changed": _redirected,
    "region-moved": lambda data: Sentence("", _("The main text no longer stands where it stood on the page")),
    "type-changed": _type_changed,
    "link-changed": _link_changed,
    "link-missing": _link_missing,
    "by-digest": _by_digest,
    "markup-only": lambda data: Sentence("", _("Only markup differs, no text")),
    "same-text": lambda data: Sentence("", _("Every block is the same")),
    "empty-diff": lambda data: Sentence("", _("No difference that could be shown")),
    "returned": lambda data: Sentence(_("The page shows the prior text again"), ""),
    "confirmed": lambda data: Sentence("", _("A second fetch shortly after showed the same change")),
    "robots-warned": lambda data: Sentence("", _("The site's robots.txt asks us not to fetch this page")),
    "not-confirmed": lambda data: Sentence("", _("A second fetch shortly after showed no such change")),
    "unconfirmed": lambda data: Sentence("", _("A second fetch to confirm this brought no page")),
    "hidden-text": lambda data: Sentence(_("Hidden text changed"), ""),
    "attribute-text": lambda data: Sentence(_("Alternative text changed"), ""),
    "embedded-text": lambda data: Sentence(_("Embedded text changed"), ""),
    "style-text": lambda data: Sentence(_("Text made by a style sheet changed"), ""),
    "link-target": lambda data: Sentence(_("A link leads elsewhere"), ""),
    "look-alike": _look_alike,
    "validator-lied": _lied,
    "validator-other": lambda data: Sentence(
        _("Not believed:"), _("the site said “not modified” of another version of the page")
    ),
    "last-modified-age": _aged,
    "charset-changed": _charset_changed,
    "charset-flip": _charset_changed,
    "evidence": _vendor,
    "vantage-same": lambda data: Sentence("", _("Seen from %(vantage)s too") % {"vantage": data.get("vantage", "?")}),
    "vantage-old": _elsewhere_old,
    "vantage-other": lambda data: Sentence(
        "",
        _("From %(vantage)s the page reads differently anyway, so it can't confirm this")
        % {"vantage": data.get("vantage", "?")},
    ),
    "vantage-unreached": lambda data: Sentence(
        "",
        _("From %(vantage)s the page could not be had, so it can't confirm this")
        % {"vantage": data.get("vantage", "?")},
    ),
    "vantage-still-old": _still_old,
    "moved-far": _elsewhere,
}


def _told(reason: Mapping[str, Any]) -> Sentence:
    code, data, text = str(reason.get("code", "")), reason.get("data") or {}, str(reason.get("text", ""))
    if code in TOLD:
        return TOLD[code](data)
    if code in WHY:
        return Sentence("", WHY[code]().rstrip("."))
    if code == "field":
        return _field(text, data)
    if code == "contradiction":
        return _contradiction(text)
    if code.startswith("left-out-"):
        return _left_out(code.removeprefix("left-out-"), data)
    return Sentence("", text.rstrip("."))


_RANK = {"score": 0, "changed": 1}


def sentences(reasons: list[Any]) -> list[Sentence]:
    """The reasons of a judgement, the score first; one of a code this version doesn't know stands as it was written."""
    found: list[tuple[int, Sentence]] = []
    for reason in reasons or []:
        if isinstance(reason, Mapping):
            found.append((_RANK.get(str(reason.get("code", "")), 2), _told(reason)))
        else:
            found.append((2, Sentence("", str(reason))))
    return [sentence for _rank, sentence in sorted(found, key=lambda item: item[0])]
