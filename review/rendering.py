"""The diff document as HTML. The one place where page text becomes markup: everything is escaped here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from review.explaining import left_out_words

# JSON as it was stored: dicts and lists of strings and numbers, read defensively.
type Json = Any

MAX_CHANGED_BLOCKS = 400
MAX_HTML_CHARS = 200_000
OPS = ("equal", "added", "removed", "reworded", "rewritten", "moved_from", "moved_to")


@dataclass(frozen=True, slots=True)
class Extras:
    """What a page adds to the bare diff: a pattern of key terms, and links at each place (`?d=HASH`, empty for none).

    ignorable: whether these offer to ignore the place from now on.
    """

    terms: re.Pattern[str] | None = None
    permalink: str = ""
    ignorable: bool = False


BARE = Extras()
_extras: ContextVar[Extras] = ContextVar("extras", default=BARE)


@contextmanager
def printing(extras: Extras) -> Iterator[None]:
    """Diffs printed inside have these extras."""
    token = _extras.set(extras)
    try:
        yield
    finally:
        _extras.reset(token)


def _text(text: str) -> SafeString:
    """Page text, escaped, with key terms marked."""
    pattern = _extras.get().terms
    if pattern is None:
        return format_html("{}", text)
    parts, at = [], 0
    for match in pattern.finditer(text):
        parts += [format_html("{}", text[at : match.start()]), format_html('<b class="term">{}</b>', match[0])]
        at = match.end()
    return joined([*parts, format_html("{}", text[at:])])


# A run of hidden characters has one name; the letters that a run of tags spells follow the colon.
_RUN = re.compile(r"(U\+[0-9A-F]{4,6} [^:]+?) and (\d+) more((?::.*)?)", re.DOTALL)


def joined(parts: Iterable[SafeString]) -> SafeString:
    """Escaped pieces as one."""
    return format_html_join("", "{}", ((part,) for part in parts))


def _chip(text: str, name: str, times: int) -> SafeString:
    """Invisible or look-alike characters: named, and shown themselves only where they can't steer what is around them."""
    harmless = text and all(unicodedata.category(char)[0] in "LNPS" for char in text)
    shown = format_html("{}", text) if harmless else ""
    if run := _RUN.fullmatch(name):
        name = _("%(name)s and %(n)s more") % {"name": run[1], "n": run[2]} + run[3]
    if times > 1:
        name = f"{name} ×{times}"
    return format_html('<span class="odd">{}<span class="chip">{}</span></span>', shown, name)


def _pieces(segments: Iterable[Sequence[str]], exact: int = 1) -> SafeString:
    """Segments of one side as text, equal characters in a row as one chip; `exact` is where that side's spelling is."""
    parts: list[SafeString] = []
    for name, group in groupby(segments, key=lambda s: (s[2] if len(s) > 2 else "") if s[0] == "!" else None):
        run = [s[exact] if s[0] == "=" and len(s) == 4 else s[1] for s in group]
        parts.append(_text("".join(run)) if name is None else _chip("".join(run), name, len(run)))
    return joined(parts)


def _side(segment: Sequence[str]) -> str:
    if segment[0] == "!":
        return segment[3] if len(segment) > 3 else "="
    return segment[0]


def _mark(side: str, inner: SafeString, *, spoken: bool, whole: bool = False) -> SafeString:
    tag = "ins" if side == "+" else "del"
    kind = mark_safe(' class="whole"') if whole else ""
    if not spoken:
        return format_html("<{}{}>{}</{}>", tag, kind, inner, tag)
    word = _("added") if side == "+" else _("removed")
    return format_html(
        '<{}{}><span class="vh">[{}: </span>{}<span class="vh">]</span></{}>', tag, kind, word, inner, tag
    )


def segments_html(
    segments: Iterable[Sequence[str]], *, spoken: bool = True, only: str = "=+-", whole: bool = False
) -> SafeString:
    """Segments as marked text; `only` picks the sides ("=-" is the old text), `whole` marks an entire block."""
    parts: list[SafeString] = []
    exact = {"=-": 2, "=+": 3}.get(only, 1)
    for side, group in groupby(segments, key=_side):
        if side not in only:
            continue
        inner = _pieces(group, exact)
        parts.append(inner if side == "=" else _mark(side, inner, spoken=spoken, whole=whole))
    return joined(parts)


def plain(segments: Iterable[Sequence[str]], side: str) -> str:
    """The text of one side, exactly: "-" the old, "+" the new."""
    exact = 2 if side == "-" else 3
    return "".join(str(s[exact] if s[0] == "=" and len(s) == 4 else s[1]) for s in segments if _side(s) in ("=", side))


def _segments(block: dict[str, Json]) -> list[Json]:
    if block.get("op") == "rewritten":
        return [["-", s[1]] if s[0] != "!" else s for s in block.get("before", [])] + [
            ["+", s[1]] if s[0] != "!" else s for s in block.get("after", [])
        ]
    return list(block.get("segments", []))


def anchor(block: dict[str, Json]) -> str:
    """The fragment of a changed place; the frames use the same ones."""
    return f"p{int(block['place'])}" if block.get("place") else ""


SURFACES = {
    "hidden": lambda: _("Hidden text changed"),
    "attribute": lambda: _("Alternative text changed"),
    "embedded": lambda: _("Embedded text changed"),
    "style": lambda: _("Text made by a style sheet changed"),
    "link": lambda: _("Link target changed"),
}


# Beside "Added" or "Removed".
SURFACE_NAMES = {
    "hidden": lambda: _("Hidden text"),
    "attribute": lambda: _("Alternative text"),
    "embedded": lambda: _("Embedded text"),
    "style": lambda: _("Text made by a style sheet"),
    "link": lambda: _("Link target"),
}


def _labels(block: dict[str, Json], words: str = "") -> SafeString:
    """What stands above a changed block: what happened, where readers don't see it, the rule that left it out."""
    inner = joined([format_html("<span>{}</span>", words) if words else SafeString(""), _notes(block)])
    return format_html('<div class="tagline">{}</div>', inner) if inner else SafeString("")


def _notes(block: dict[str, Json]) -> SafeString:
    names = SURFACE_NAMES if block.get("op") in ("added", "removed") else SURFACES
    surface, rule = names.get(str(block.get("surface", "visible"))), _rule(block)
    page = block.get("page")
    return joined(
        [
            format_html('<span class="surf">{}</span>', _("Page %(number)s") % {"number": page})
            if isinstance(page, int)
            else SafeString(""),
            format_html('<span class="surf">{}</span>', surface()) if surface else SafeString(""),
            format_html('<span class="rule">{}</span>', _("Left out: %(rule)s") % {"rule": left_out_words(rule)})
            if rule
            else SafeString(""),
        ]
    )


def _rule(block: dict[str, Json]) -> str:
    return str(block.get("left_out") or "")


def _paragraph_no(block: dict[str, Json], side: str) -> str:
    number = block.get(side)
    return str(number) if isinstance(number, int) else ""


def _wrap(block: dict[str, Json], inner: SafeString) -> SafeString:
    tag = "h3" if block.get("heading") else "p"
    return format_html("<{}><bdi>{}</bdi></{}>", tag, inner, tag)


def _spoken_label(block: dict[str, Json], word: str) -> SafeString:
    number = _paragraph_no(block, "new") or _paragraph_no(block, "old")
    return format_html('<span class="vh">{}</span>', f"{word}, ¶ {number}" if number else word)


def _shell(block: dict[str, Json], css: str, gutter: SafeString, inner: SafeString) -> SafeString:
    place = anchor(block)
    attributes = format_html(' id="{}" data-place tabindex="-1"', place) if place else ""
    listed = " li" if block.get("tag") == "li" and "d" not in css.split() and "a" not in css.split() else ""
    listed += " out" if _rule(block) else ""
    return format_html(
        '<div class="b {}{}"{}><span class="g" aria-hidden="true">{}</span><div class="t">{}{}</div></div>',
        css,
        listed,
        attributes,
        gutter,
        inner,
        _links(place),
    )


def _links(place: str) -> SafeString:
    """At a changed place: its address to hand on, and its text to quote. Relative to the change's page."""
    permalink, ignorable = _extras.get().permalink, _extras.get().ignorable
    if not place or not permalink:
        return SafeString("")
    return format_html(
        '<div class="at"><a href="{}#{}" data-copy-link>{}</a> <a href="quote/{}/" data-quote>{}</a>{}</div>',
        permalink,
        place,
        _("Link to this place"),
        place[1:],
        _("Quote"),
        format_html(' <a href="ignore/{}/">{}</a>', place[1:], _("Ignore from now on…")) if ignorable else "",
    )


def _sign(sign: str) -> SafeString:
    return format_html("<b>{}</b>", sign)


def _pair_name(block: dict[str, Json]) -> str:
    return "".join(c for c in str(block.get("pair") or "") if c.isalnum())[:20]


def _equal(block: dict[str, Json], *, spoken: bool) -> SafeString:
    gutter = "" if block.get("heading") else _paragraph_no(block, "new")
    return _shell(block, "ctx", format_html("{}", gutter), _wrap(block, segments_html(_segments(block), only="=")))


def _added(block: dict[str, Json], *, spoken: bool) -> SafeString:
    inner = segments_html(_segments(block), spoken=spoken, only="=+", whole=True)
    return _shell(
        block, "a", _sign("+"), joined([_labels(block, _("Added")), format_html("<p><bdi>{}</bdi></p>", inner)])
    )


def _removed(block: dict[str, Json], *, spoken: bool) -> SafeString:
    inner = segments_html(_segments(block), spoken=spoken, only="=-", whole=True)
    return _shell(
        block,
        "d",
        _sign("−"),
        joined([_labels(block, _("Removed")), format_html("<p><bdi>{}</bdi></p>", inner)]),
    )


def _reworded(block: dict[str, Json], *, spoken: bool) -> SafeString:
    inner = _wrap(block, segments_html(_segments(block), spoken=spoken))
    return _shell(block, "c", _sign("~"), joined([_spoken_label(block, _("Reworded")), _labels(block), inner]))


def _rewritten(block: dict[str, Json], *, spoken: bool) -> SafeString:
    before = _mark("-", _pieces(block.get("before", [])), spoken=spoken)
    after = _mark("+", _pieces(block.get("after", [])), spoken=spoken)
    inner = format_html(
        '<div class="rewrite"><div><span class="lbl" aria-hidden="true">{}</span>'
        '<p><bdi>{}</bdi></p></div><div><span class="lbl" aria-hidden="true">{}</span><p><bdi>{}</bdi></p></div></div>',
        _("Before"),
        before,
        _("After"),
        after,
    )
    return _shell(block, "c", _sign("≠"), joined([_labels(block, _rewritten_words()), inner]))


def _rewritten_words() -> str:
    return _("Rewritten: too little in common to mark word by word")


def _edited(block: dict[str, Json]) -> bool:
    # The old end of a move holds the old text unmarked; its counts say whether the new end has marks.
    counted = bool(block.get("edits")) or any(block.get("sentences") or ())
    return counted or any(_side(s) != "=" for s in _segments(block))


def _moved_from(block: dict[str, Json], *, spoken: bool) -> SafeString:
    pair = _pair_name(block)
    words = _("Moved, with edits") if _edited(block) else _("Moved, wording unchanged")
    inner = format_html(
        '<div class="tagline">{} <a href="#to-{}">{}</a>{}</div><p class="ghost"><bdi>{}</bdi></p>',
        words,
        pair,
        _("go to new position"),
        _notes(block),
        plain(_segments(block), "-"),
    )
    return format_html(
        '<div class="b m from{}" id="from-{}"><span class="g" aria-hidden="true"><b>↓</b></span>'
        '<div class="t">{}</div></div>',
        " out" if _rule(block) else "",
        pair,
        inner,
    )


def _moved_to(block: dict[str, Json], *, spoken: bool) -> SafeString:
    pair, old = _pair_name(block), _paragraph_no(block, "old")
    unchanged = not _edited(block)
    if old:
        words = (
            _("Moved here from ¶ %(number)s, wording unchanged")
            if unchanged
            else _("Moved here from ¶ %(number)s, with edits")
        ) % {"number": old}
    else:
        words = _("Moved here, wording unchanged") if unchanged else _("Moved here, with edits")
    inner = joined(
        [
            format_html(
                '<div class="tagline" id="to-{}">{} <a href="#from-{}">{}</a>{}</div>',
                pair,
                words,
                pair,
                _("see old position"),
                _notes(block),
            ),
            _wrap(block, segments_html(_segments(block), spoken=spoken)),
        ]
    )
    return _shell(block, "m to", _sign("↑"), inner)


BLOCKS = {
    "equal": _equal,
    "added": _added,
    "removed": _removed,
    "reworded": _reworded,
    "rewritten": _rewritten,
    "moved_from": _moved_from,
    "moved_to": _moved_to,
}


def _fold(block: dict[str, Json], inner: SafeString) -> SafeString:
    noise = int(block.get("left_out") or 0)
    count = int(block.get("count", len(block.get("blocks", []))))
    parts = []
    if count or not noise:
        parts.append(
            ngettext("%(count)s unchanged paragraph", "%(count)s unchanged paragraphs", count) % {"count": count}
        )
    if noise:
        parts.append(ngettext("%(count)s left out as noise", "%(count)s left out as noise", noise) % {"count": noise})
    words = _(", ").join(parts)
    sections = [str(s) for s in block.get("sections", []) if s]
    where = ""
    if sections:
        span = sections[0] if len(sections) == 1 or sections[0] == sections[-1] else f"{sections[0]} – {sections[-1]}"
        where = format_html(" <em>· {}</em>", span[:160])
    return format_html(
        '<details class="fold"><summary><span>{}{}</span></summary><div class="in">{}</div></details>',
        words,
        where,
        inner,
    )


def _in_fold(block: dict[str, Json], printers: dict[str, Any], *, spoken: bool) -> SafeString:
    """A block behind a fold: unchanged text, or a change that was left out as noise, with its marks."""
    op = str(block.get("op")) if _rule(block) else "equal"
    printed: SafeString = printers[op if op in printers else "equal"](block, spoken=spoken)
    return printed


def diff_html(document: dict[str, Json], *, spoken: bool = True, everything: bool = False) -> tuple[SafeString, bool]:
    """The diff for one column, and whether it was cut at the bound (then a link offers the rest)."""
    return _print(document, BLOCKS, spoken=spoken, everything=everything)


def _print(
    document: dict[str, Json], printers: dict[str, Any], *, spoken: bool, everything: bool
) -> tuple[SafeString, bool]:
    parts: list[SafeString] = []
    changed = length = 0
    for block in document.get("blocks", []):
        if not everything and (changed >= MAX_CHANGED_BLOCKS or length >= MAX_HTML_CHARS):
            return joined(parts), True
        op = block.get("op")
        if op == "fold":
            part = _fold(block, joined(_in_fold(b, printers, spoken=spoken) for b in block.get("blocks", [])))
        elif op in printers:
            part = printers[op](block, spoken=spoken)
            changed += op != "equal"
        else:
            continue
        parts.append(part)
        length += len(part)
    return joined(parts), False


# --- side by side ----------------------------------------------------------------------------------------------


def _pair_row(css: str, block: dict[str, Json], left: SafeString, right: SafeString) -> SafeString:
    place = anchor(block)
    attributes = format_html(' id="{}" data-place tabindex="-1"', place) if place else ""
    out = " out" if _rule(block) else ""
    return format_html('<div class="r {}{}"{}>{}{}{}</div>', css, out, attributes, left, right, _links(place))


VOID = mark_safe('<div class="void"></div>')


def _cell(css: str, inner: SafeString) -> SafeString:
    return format_html('<div class="{}">{}</div>', css, inner)


def _both_equal(block: dict[str, Json], *, spoken: bool) -> SafeString:
    text = _wrap(block, segments_html(_segments(block), only="="))
    # the second copy is not a second heading of the page
    again = format_html(
        '<p class="{}"><bdi>{}</bdi></p>', "h" if block.get("heading") else "", plain(_segments(block), "+")
    )
    return format_html('<div class="r ctx"><div>{}</div><div aria-hidden="true">{}</div></div>', text, again)


def _twin(labels: SafeString) -> SafeString:
    """The left column's labels once more, unseen, so that both texts begin on the same line."""
    return format_html('<div class="twin" aria-hidden="true">{}</div>', labels) if labels else labels


def _both_changed(block: dict[str, Json], *, spoken: bool) -> SafeString:
    segments, labels = _segments(block), _labels(block)
    left = joined([labels, _wrap(block, segments_html(segments, spoken=spoken, only="=-"))])
    right = joined([_twin(labels), _wrap(block, segments_html(segments, spoken=spoken, only="=+"))])
    return _pair_row("c", block, _cell("l", left), _cell("rt", right))


def _both_rewritten(block: dict[str, Json], *, spoken: bool) -> SafeString:
    segments, labels = _segments(block), _labels(block, _rewritten_words())
    left = joined([labels, _wrap(block, segments_html(segments, spoken=spoken, only="=-", whole=True))])
    right = joined([_twin(labels), _wrap(block, segments_html(segments, spoken=spoken, only="=+", whole=True))])
    return _pair_row("c", block, _cell("l", left), _cell("rt", right))


def _only_new(block: dict[str, Json], *, spoken: bool) -> SafeString:
    inner = _wrap(block, segments_html(_segments(block), spoken=spoken, only="=+", whole=True))
    return _pair_row("c", block, VOID, _cell("rt", joined([_labels(block, _("Added")), inner])))


def _only_old(block: dict[str, Json], *, spoken: bool) -> SafeString:
    inner = _wrap(block, segments_html(_segments(block), spoken=spoken, only="=-", whole=True))
    return _pair_row("c", block, _cell("l", joined([_labels(block, _("Removed")), inner])), VOID)


def _split_from(block: dict[str, Json], *, spoken: bool) -> SafeString:
    pair = _pair_name(block)
    inner = format_html(
        '<div class="tagline">{} <a href="#to-{}">{}</a>{}</div><p><bdi>{}</bdi></p>',
        _("Moved, with edits") if _edited(block) else _("Moved, wording unchanged"),
        pair,
        _("go to new position"),
        _notes(block),
        plain(_segments(block), "-"),
    )
    out = " out" if _rule(block) else ""
    return format_html('<div class="r m{}" id="from-{}"><div class="hot b m">{}</div>{}</div>', out, pair, inner, VOID)


def _split_to(block: dict[str, Json], *, spoken: bool) -> SafeString:
    pair = _pair_name(block)
    inner = format_html(
        '<div class="tagline" id="to-{}">{} <a href="#from-{}">{}</a>{}</div>{}',
        pair,
        _("Moved here, with edits") if _edited(block) else _("Moved here, wording unchanged"),
        pair,
        _("see old position"),
        _notes(block),
        _wrap(block, segments_html(_segments(block), spoken=spoken)),
    )
    return _pair_row("m", block, VOID, _cell("hot b m", inner))


SPLIT = {
    "equal": _both_equal,
    "added": _only_new,
    "removed": _only_old,
    "reworded": _both_changed,
    "rewritten": _both_rewritten,
    "moved_from": _split_from,
    "moved_to": _split_to,
}


def split_html(document: dict[str, Json], *, spoken: bool = True, everything: bool = False) -> tuple[SafeString, bool]:
    """The diff in two columns, and whether it was cut at the bound."""
    return _print(document, SPLIT, spoken=spoken, everything=everything)


def diff_text(document: dict[str, Json]) -> str:
    """The diff as plain text, for files: a sign before each line, [-removed-] and {+added+} within one."""
    lines: list[str] = []
    for block in document.get("blocks", []):
        op = str(block.get("op"))
        if op == "fold":
            lines.append(f"  ({int(block.get('count', 0))} unchanged)")
        elif op == "rewritten":
            lines += [f"- {_flat(block.get('before', []))}", f"+ {_flat(block.get('after', []))}"]
        else:
            sign = {"added": "+", "removed": "-", "equal": " ", "moved_from": "<", "moved_to": ">"}.get(op, "~")
            marked = op in ("reworded", "moved_to")
            lines.append(f"{sign} {_flat(block.get('segments', []), marked=marked)}")
    return "\n".join(lines) + "\n"


def _flat(segments: Iterable[Sequence[str]], *, marked: bool = False) -> str:
    parts = []
    for segment in segments:
        side, text = _side(segment), str(segment[1])
        parts.append({"-": f"[-{text}-]", "+": f"{{+{text}+}}"}.get(side, text) if marked else text)
    return " ".join("".join(parts).split())


# --- small print -------------------------------------------------------------------------------------------------


def unit_word(document: dict[str, Json]) -> str:
    """What the sizes count."""
    return _("characters") if document.get("unit") == "characters" else _("words")


def shape(*, places: int) -> str:
    """The small print under a size: how many places."""
    return ngettext("%(n)s place", "%(n)s places", places) % {"n": places} if places else ""
