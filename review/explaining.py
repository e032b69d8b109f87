"""Why a change was flagged, in the reader's language: known reason codes are translated, others stand as written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext


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
    if visits and days:
        rest = ngettext(
            "that had stood still for %(visits)s visits and %(days)s day",
            "that had stood still for %(visits)s visits and %(days)s days",
            days,
        ) % {"visits": visits, "days": days}
    elif visits:
        rest = ngettext(
            "that had stood still for %(visits)s visit", "that had stood still for %(visits)s visits", visits
        ) % {"visits": visits}
    else:
        rest = ""
    return Sentence(strong, rest)


def _score(data: Data) -> Sentence:
    score, cut = _real(data, "score"), _real(data, "cut")
    words = _("score %(score)s, the cut is %(cut)s") % {"score": f"{score:.2f}", "cut": f"{cut:.2f}"}
    if cut <= 0:
        return Sentence("", words)
    return Sentence(_("%(times)s× the cut:") % {"times": f"{score / cut:.1f}"}, words)


def _distance(data: Data) -> Sentence:
    bits, threshold = _number(data, "distance"), _number(data, "threshold")
    template = (
        _("Distance %(bits)s bits, above the threshold of %(threshold)s")
        if bits > threshold
        else _("Distance %(bits)s bits, within the threshold of %(threshold)s")
    )
    return Sentence("", template % {"bits": bits, "threshold": threshold})


def _return(data: Data) -> Sentence:
    return Sentence(_("Back to an earlier text,"), _("the one of %(date)s") % {"date": data.get("date", "?")})


def _flapping(data: Data) -> Sentence:
    n = _number(data, "times")
    return Sentence(
        "", ngettext("Came back to this text %(n)s time", "Came back to this text %(n)s times", n) % {"n": n}
    )


def _counted(one: Callable[[int], str]) -> Callable[[Data], Sentence]:
    def told(data: Data) -> Sentence:
        n = _number(data, "blocks")
        return Sentence("", one(n) % {"n": n})

    return told


TOLD: dict[str, Callable[[Data], Sentence]] = {
    "changed": _changed,
    "score": _score,
    "distance": _distance,
    "return": _return,
    "flapping": _flapping,
    "markup-only": lambda data: Sentence("", _("Only markup differs, no text")),
    "same-text": lambda data: Sentence("", _("Every block is the same")),
    "left-out-volatile-pattern": _counted(
        lambda n: ngettext(
            "%(n)s block left out: clock, counter or token", "%(n)s blocks left out: clock, counter or token", n
        )
    ),
    "left-out-volatile-slot": _counted(
        lambda n: ngettext("%(n)s block left out that keeps moving", "%(n)s blocks left out that keep moving", n)
    ),
    "left-out-rotation": _counted(
        lambda n: ngettext("%(n)s block left out: shown here before", "%(n)s blocks left out: shown here before", n)
    ),
    "left-out-moved": _counted(
        lambda n: ngettext("%(n)s moved block, not counted", "%(n)s moved blocks, not counted", n)
    ),
    "left-out-reorder": _counted(
        lambda n: ngettext("%(n)s reordered entry, not counted", "%(n)s reordered entries, not counted", n)
    ),
    "left-out-furniture": _counted(
        lambda n: ngettext(
            "%(n)s block left out in menus, footers and sidebars",
            "%(n)s blocks left out in menus, footers and sidebars",
            n,
        )
    ),
    "left-out-consent": _counted(
        lambda n: ngettext("%(n)s block left out in a consent banner", "%(n)s blocks left out in a consent banner", n)
    ),
    "left-out-typography": _counted(
        lambda n: ngettext(
            "%(n)s block left out: only quotes, dashes, spaces or case",
            "%(n)s blocks left out: only quotes, dashes, spaces or case",
            n,
        )
    ),
    "left-out-below-cut": _counted(
        lambda n: ngettext("%(n)s block left out as too slight", "%(n)s blocks left out as too slight", n)
    ),
    "left-out-advert": _counted(
        lambda n: ngettext("%(n)s block left out in advertising", "%(n)s blocks left out in advertising", n)
    ),
    "left-out-ignore-rule": _counted(
        lambda n: ngettext("%(n)s block left out by an ignore rule", "%(n)s blocks left out by an ignore rule", n)
    ),
    "hidden-text": lambda data: Sentence(_("Hidden text changed"), ""),
    "attribute-text": lambda data: Sentence(_("Text in an attribute changed"), ""),
    "embedded-text": lambda data: Sentence(_("Embedded text changed"), ""),
    "style-text": lambda data: Sentence(_("Text made by a style sheet changed"), ""),
    "link-target": lambda data: Sentence(_("A link leads elsewhere"), ""),
}


def sentences(reasons: list[Any]) -> list[Sentence]:
    """The reasons of a judgement, the score first."""
    found: list[tuple[int, Sentence]] = []
    for reason in reasons or []:
        if isinstance(reason, str):
            found.append((2, Sentence("", reason)))
            continue
        code, data = str(reason.get("code", "")), reason.get("data") or {}
        told = TOLD[code](data) if code in TOLD else Sentence("", str(reason.get("text", "")).rstrip("."))
        found.append((0 if code == "score" else 1 if code == "changed" else 2, told))
    return [sentence for _rank, sentence in sorted(found, key=lambda item: item[0])]
