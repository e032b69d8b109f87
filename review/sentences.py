"""A diff document in words: the head sentence, what stands unmarked, and what the diff leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.detection.diff import summary as counted_codes

# JSON as it was stored; the shape is in docs/contracts.md.
type Document = Mapping[str, Any]
type Counted = Callable[[int], str]

# Every code of `monitoring.detection.diff.summary`. Both forms stand here so that the catalogues hold them.
HAPPENED: dict[str, Counted] = {
    "clause-reworded": lambda n: ngettext("%(n)s clause reworded", "%(n)s clauses reworded", n),
    "sentence-removed": lambda n: ngettext("%(n)s sentence removed", "%(n)s sentences removed", n),
    "sentence-added": lambda n: ngettext("%(n)s sentence added", "%(n)s sentences added", n),
    "paragraph-reworded": lambda n: ngettext("%(n)s paragraph reworded", "%(n)s paragraphs reworded", n),
    "paragraph-rewritten": lambda n: ngettext("%(n)s paragraph rewritten", "%(n)s paragraphs rewritten", n),
    "paragraph-removed": lambda n: ngettext("%(n)s paragraph removed", "%(n)s paragraphs removed", n),
    "paragraph-added": lambda n: ngettext("%(n)s paragraph added", "%(n)s paragraphs added", n),
    "paragraph-moved": lambda n: ngettext("%(n)s paragraph moved", "%(n)s paragraphs moved", n),
    "heading-reworded": lambda n: ngettext("%(n)s heading reworded", "%(n)s headings reworded", n),
    "heading-rewritten": lambda n: ngettext("%(n)s heading rewritten", "%(n)s headings rewritten", n),
    "heading-removed": lambda n: ngettext("%(n)s heading removed", "%(n)s headings removed", n),
    "heading-added": lambda n: ngettext("%(n)s heading added", "%(n)s headings added", n),
    "heading-moved": lambda n: ngettext("%(n)s heading moved", "%(n)s headings moved", n),
    "entry-reworded": lambda n: ngettext("%(n)s entry reworded", "%(n)s entries reworded", n),
    "entry-rewritten": lambda n: ngettext("%(n)s entry rewritten", "%(n)s entries rewritten", n),
    "entry-removed": lambda n: ngettext("%(n)s entry removed", "%(n)s entries removed", n),
    "entry-added": lambda n: ngettext("%(n)s entry added", "%(n)s entries added", n),
    "entry-moved": lambda n: ngettext("%(n)s entry moved", "%(n)s entries moved", n),
    "hidden-reworded": lambda n: ngettext("%(n)s hidden text reworded", "%(n)s hidden texts reworded", n),
    "hidden-rewritten": lambda n: ngettext("%(n)s hidden text rewritten", "%(n)s hidden texts rewritten", n),
    "hidden-removed": lambda n: ngettext("%(n)s hidden text removed", "%(n)s hidden texts removed", n),
    "hidden-added": lambda n: ngettext("%(n)s hidden text added", "%(n)s hidden texts added", n),
    "attribute-reworded": lambda n: ngettext("%(n)s alternative text reworded", "%(n)s alternative texts reworded", n),
    "attribute-rewritten": lambda n: ngettext(
        "%(n)s alternative text rewritten", "%(n)s alternative texts rewritten", n
    ),
    "attribute-removed": lambda n: ngettext("%(n)s alternative text removed", "%(n)s alternative texts removed", n),
    "attribute-added": lambda n: ngettext("%(n)s alternative text added", "%(n)s alternative texts added", n),
    "embedded-reworded": lambda n: ngettext("%(n)s embedded text reworded", "%(n)s embedded texts reworded", n),
    "embedded-rewritten": lambda n: ngettext("%(n)s embedded text rewritten", "%(n)s embedded texts rewritten", n),
    "embedded-removed": lambda n: ngettext("%(n)s embedded text removed", "%(n)s embedded texts removed", n),
    "embedded-added": lambda n: ngettext("%(n)s embedded text added", "%(n)s embedded texts added", n),
    "style-reworded": lambda n: ngettext("%(n)s style sheet text reworded", "%(n)s style sheet texts reworded", n),
    "style-rewritten": lambda n: ngettext("%(n)s style sheet text rewritten", "%(n)s style sheet texts rewritten", n),
    "style-removed": lambda n: ngettext("%(n)s style sheet text removed", "%(n)s style sheet texts removed", n),
    "style-added": lambda n: ngettext("%(n)s style sheet text added", "%(n)s style sheet texts added", n),
    "link-reworded": lambda n: ngettext("%(n)s link target changed", "%(n)s link targets changed", n),
    "link-rewritten": lambda n: ngettext("%(n)s link target replaced", "%(n)s link targets replaced", n),
    "link-removed": lambda n: ngettext("%(n)s link target removed", "%(n)s link targets removed", n),
    "link-added": lambda n: ngettext("%(n)s link target added", "%(n)s link targets added", n),
}
IGNORED: dict[str, Counted] = {
    "whitespace": lambda n: ngettext("%(n)s white-space run", "%(n)s white-space runs", n),
    "quotes": lambda n: ngettext("%(n)s quotation mark", "%(n)s quotation marks", n),
    "composition": lambda n: ngettext("%(n)s accent stored differently", "%(n)s accents stored differently", n),
    "markup": lambda n: ngettext("markup of %(n)s paragraph", "markup of %(n)s paragraphs", n),
}


def _other(n: int) -> str:
    return ngettext("%(n)s other change", "%(n)s other changes", n)


def _with_number(words: Counted, n: int) -> str:
    return words(n) % {"n": number_format(n, force_grouping=True)}


def _list(parts: Iterable[str]) -> str:
    return _(", ").join(parts)


def _text(sentences: list[str]) -> str:
    """Sentences one after another; no space follows an ideographic full stop."""
    return " ".join(sentences).replace("。 ", "。")


def _count(document: Document, name: str) -> int:
    try:
        return max(0, int(document.get(name) or 0))
    except (TypeError, ValueError):
        return 0


def summary(document: Document) -> str:
    """What changed, counted, as one sentence without its full stop; empty when no text did.

    For example "1 clause reworded, 1 sentence added, 1 paragraph moved".
    """
    if not document.get("blocks"):
        return ""
    told = _list(_with_number(HAPPENED.get(code, _other), n) for code, n in counted_codes(dict(document)))
    if not told and (places := _count(document, "places")):  # what can't be named must not pass for no change
        told = _with_number(lambda n: ngettext("%(n)s place", "%(n)s places", n), places)
    return told[:1].upper() + told[1:]


def ignored_note(document: Document) -> str:
    """What differs without a mark, and what was left out as noise; empty when nothing does.

    Where nothing is marked at all, it begins with "No text changed." and says what did.
    """
    if "blocks" not in document:
        return ""
    ignored = document.get("ignored") or {}
    unmarked = _list(_with_number(words, n) for name, words in IGNORED.items() if (n := _count(ignored, name)))
    sentences = []
    if not _count(document, "places"):
        sentences.append(_("No text changed."))
        if unmarked:
            sentences.append(_("What differs: %(list)s.") % {"list": unmarked})
    elif unmarked:
        sentences.append(_("Not marked: %(list)s.") % {"list": unmarked})
    if noise := _count(document, "left_out"):
        sentences.append(
            _with_number(
                lambda n: ngettext("%(n)s change left out as noise.", "%(n)s changes left out as noise.", n), noise
            )
        )
    return _text(sentences)


def bounds_note(document: Document) -> str:
    """What a limit kept from the diff, for a page that is very long or very different; empty when it's complete."""
    sentences = []
    if document.get("simplified"):
        sentences.append(_("Simplified: the page is too long to compare word by word everywhere."))
    if rest := _count(document, "rest"):
        sentences.append(
            _with_number(
                lambda n: ngettext(
                    "%(n)s more changed paragraph is not shown here; the snapshots hold it.",
                    "%(n)s more changed paragraphs are not shown here; the snapshots hold them.",
                    n,
                ),
                rest,
            )
        )
    if cut := _count(document, "cut"):
        sentences.append(
            _with_number(
                lambda n: ngettext(
                    "%(n)s character of long texts is not shown.", "%(n)s characters of long texts are not shown.", n
                ),
                cut,
            )
        )
    return _text(sentences)
