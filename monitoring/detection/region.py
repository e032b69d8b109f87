"""Which part of the page is its main region.

Order of the rules: a selector set by a person, the region remembered from earlier visits, a `main` or
`article` landmark that holds enough of the prose, and else the place where the prose is.

Prose mass of a run is its text outside links, doubled where a character is a word or half of one
(Chinese, Japanese), and discounted where it does not read like a sentence or is the teaser of another
page. A box is as good a region as it is complete (its share of the page's mass) and pure (mass against
all its characters). Sums go up the tree, so inner dividers cannot cut the body in pieces.

The constants were set on public ground truth and are blunt: each may move by a third without a change of
more than a point in the scores, and choosing them on one half of the pages does no worse on the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from .blocks import Surface
from .furniture import FURNITURE_TAGS, LANDMARKS, THIN, furniture, is_meta, teasers, threads
from .walk import ANONYMOUS, HEADINGS, Box, Outline, Run

_PURITY: Final = 1.5
"""How much purity counts against completeness ..."""

_PURITY_SPREAD: Final = 0.5
"""... and on a page whose prose is spread over many places."""

_SPREAD: Final = 0.4
"""A page is spread when no one place holds this share of its prose."""

_COMPLETE_MIN: Final = 0.3
"""A region holds at least this share of the prose,"""

_LANDMARK_SHARE: Final = 0.45
"""a main or article element this share to be believed, and is then preferred by a bonus."""

_REMEMBERED_SHARE: Final = 0.3
"""A remembered region is kept while it holds this share of the prose."""

_LANDMARK_BONUS: Final = 1.1
_TITLE_BONUS: Final = 1.1
"""For a place that holds the h1 or begins not far behind it."""

_TITLE_NEAR: Final = 1500
_SIBLING_SHARE: Final = 0.25
"""Siblings of the region's kind with this share of its prose belong to it: posts of a thread."""

_LISTING_SHARE: Final = 0.8
_LISTING_REST: Final = 400.0
"""A page is a listing when its teasers hold that share of the prose, or most of it and less than this is left."""

_TEASER_WEIGHT: Final = 0.25
_LINKED_SHARE: Final = 0.15
"""On a spread page link texts belong to the region when they are more than this share of it."""

_BODY_MIN: Final = 60.0
"""A run with this mass is a paragraph."""

_THREAD_REST: Final = 0.15
_NOTE_MAX: Final = 200.0
"""A page is a bare post when comments hold all but that share of the prose and nothing else is longer than this."""

_TITLE_MIN: Final = 60
_TITLE_GROWTH: Final = 2.5

_SENTENCE: Final = re.compile(r"[.!?;:,][\s\"'”’)]|[.!?…]['\"”’)]*$|[。、，！？；：．।۔؟،]")
_UNREAD_TAGS: Final = FURNITURE_TAGS | {"option", "optgroup", "label", "legend"}
_LEAVES: Final = HEADINGS.keys() | {"p", "li", "blockquote", "td", "tr", "th", "dd", "dt", "pre", "span", "figcaption"}


@dataclass(frozen=True, slots=True)
class Choice:
    """The element taken for the main region, by which rule, and for each run whether it is main text."""

    box: Box | None
    how: str
    path: str
    keep: list[bool] = field(default_factory=list)


def prose_mass(run: Run) -> float:
    """How much of a run is prose: characters outside links, weighted by script and by looking like sentences."""
    if run.surface is not Surface.VISIBLE:
        return 0.0
    text = run.text
    size = len(text)
    plain = size - run.link_chars
    if plain <= 0 or run.tag in _UNREAD_TAGS:
        return 0.0
    share = plain / size if run.link_chars else 1.0
    if not text.isascii():
        plain += min(plain, (len(text.encode()) - size) // 2)  # three bytes a character, as in Chinese
    if plain >= 20 and (", " in text or ". " in text or _SENTENCE.search(text)):  # the two looks are the cheap part
        return plain * share
    return 0.15 * plain


def choose(outline: Outline, *, remembered: str = "") -> Choice:
    """The main region of a walked page.

    Elements marked in the walk are what a person chose: they are taken whole, nothing inside them is furniture.
    remembered: `path` of an earlier choice; taken again if it still holds enough of the prose.
    """
    runs, boxes = outline.runs, outline.boxes
    if outline.marked:
        keep = [False] * len(runs)
        for box in outline.marked:
            keep[box.first : box.last] = [True] * (box.last - box.first)
        return Choice(outline.marked[0], "selector", address(outline.marked[0], boxes), keep)
    mass = [prose_mass(run) for run in runs]
    pairs = teasers(runs, mass)
    whole = sum(mass)
    announced = sum(mass[text] for _, text in pairs)
    if announced > _LISTING_SHARE * whole or announced > whole - announced < _LISTING_REST:
        pairs = []  # a page of teasers: they are what it has to say
    for _, text in pairs:
        mass[text] *= _TEASER_WEIGHT
    dropped = furniture(outline, mass)
    for first, last in threads(outline, [0.0 if d else m for m, d in zip(mass, dropped, strict=True)]):
        dropped[first:last] = [True] * (last - first)
    spread = _concentration(runs, mass, dropped) < _SPREAD
    pure = [0.0, *accumulate(0.0 if d else m for m, d in zip(mass, dropped, strict=True))]
    length = _lengths(runs, dropped)
    best = _recall(remembered, boxes, pure) if remembered else None
    how = "remembered"
    if best is None:
        if pure[-1] < min(_THREAD_REST * whole, 3 * THIN) and _is_bare_post(outline, mass, dropped):
            best = _around_title(outline, length, dropped)
            spread = True
        elif pure[-1] < THIN:
            best = _thin(outline, dropped)
            spread = True
        else:
            best = _densest(outline, pure, length, dropped, spread=spread)
        if best is None:
            return Choice(None, "whole", "", [not d for d in dropped])
        how = "landmark" if best.tag in LANDMARKS else "prose"
    first, last = best.first, best.last
    keep = [first <= i < last and not dropped[i] for i in range(len(runs))]
    linked = sum(r.link_chars for r, k in zip(runs, keep, strict=True) if k)
    if not spread or linked < _LINKED_SHARE * (length[last] - length[first]):
        _prune(runs, mass, keep, pairs)
        if not spread:
            _trim(runs, mass, keep)
    return Choice(best, how, address(best, boxes), keep)


def address(box: Box, boxes: list[Box]) -> str:
    """The box's path and its number among the boxes of that path, such as "html/body/div#page/article[1]"."""
    number = 0
    classes, ident = box.attrs.get("class"), box.attrs.get("id")
    for other in boxes:
        if other is box:
            break
        if other.tag == box.tag and other.attrs.get("class") == classes and other.attrs.get("id") == ident:
            number += other.path == box.path
    return f"{box.path}[{number}]"


def _recall(remembered: str, boxes: list[Box], pure: list[float]) -> Box | None:
    """The box of a remembered address, if it still holds enough of the page's prose."""
    least = _REMEMBERED_SHARE * pure[-1]
    path = remembered.rpartition("[")[0]
    tag = re.split(r"[#.]", path.rpartition("/")[2], maxsplit=1)[0]
    fallback: Box | None = None
    for box in boxes:
        if (box.tag == tag or box.tag in ANONYMOUS) and pure[box.last] - pure[box.first] >= least and box.path == path:
            if address(box, boxes) == remembered:
                return box
            fallback = box
    return fallback


def _densest(
    outline: Outline, pure: list[float], length: list[int], dropped: list[bool], *, spread: bool
) -> Box | None:
    """The box with the best product of completeness and purity."""
    purity = _PURITY_SPREAD if spread else _PURITY
    title = _title(outline, dropped)
    best, score = None, -1.0
    least = _COMPLETE_MIN * pure[-1]
    for box in outline.boxes:
        first, last = box.first, box.last
        held = pure[last] - pure[first]
        if held < least:
            continue
        recall = held / pure[-1]
        precision = min(1.0, held / max(1.0, length[last] - length[first]))
        value = recall * precision**purity
        if box.tag in LANDMARKS and recall >= _LANDMARK_SHARE:
            value *= _LANDMARK_BONUS
        if title >= 0 and (first <= title < last or (title < first and length[first] - length[title] < _TITLE_NEAR)):
            value *= _TITLE_BONUS
        if value >= score:
            best, score = box, value
    return _with_siblings(best, outline.boxes, pure) if best is not None else None


def _title(outline: Outline, dropped: list[bool]) -> int:
    """Index of the first h1 that is no furniture, -1 for none."""
    return next((i for i, r in enumerate(outline.runs) if r.tag == "h1" and r.text and not dropped[i]), -1)


def _with_siblings(best: Box, boxes: list[Box], pure: list[float]) -> Box:
    """The box around several of a kind when the chosen one is but one of them: the posts of a thread."""
    parent = best.parent
    if parent is None or parent.tag in ("html", "") or best.tag == "main":
        return best
    kind = (best.attrs.get("class") or "").split()[:1]
    held = pure[best.last] - pure[best.first]
    beside = 0.0
    for box in boxes:
        if (
            box.parent is parent
            and box is not best
            and box.tag == best.tag
            and (box.attrs.get("class") or "").split()[:1] == kind
        ):
            beside += pure[box.last] - pure[box.first]
    return parent if beside >= _SIBLING_SHARE * held else best


def _is_bare_post(outline: Outline, mass: list[float], dropped: list[bool]) -> bool:
    """Whether nothing but a title and short notes is left once the comments are gone."""
    longest = max((m for m, gone in zip(mass, dropped, strict=True) if not gone), default=0.0)
    return longest < _NOTE_MAX and _title(outline, dropped) >= 0


def _around_title(outline: Outline, length: list[int], dropped: list[bool]) -> Box | None:
    """The surroundings of the h1, up to where the page gets much longer at once: a post that is all comments."""
    title = _title(outline, dropped)
    box: Box | None = outline.runs[title].box
    best = box
    while box is not None:
        held = length[box.last] - length[box.first]
        if best is not None and held > _TITLE_GROWTH * max(_TITLE_MIN, length[best.last] - length[best.first]):
            break
        best = box
        box = box.parent
    return best


def _thin(outline: Outline, dropped: list[bool]) -> Box | None:
    """The region of a page that is not made of prose: all its text counts, links too."""
    length = _lengths(outline.runs, dropped)
    title = _title(outline, dropped)
    best: Box | None = None
    for box in outline.boxes:
        share = (length[box.last] - length[box.first]) / max(1, length[-1])
        landmark = box.tag in LANDMARKS or box.attrs.get("role") == "main"
        if share >= 0.8 or (share >= 0.4 and (landmark or box.first <= title < box.last)):
            best = box
    return best


def _lengths(runs: list[Run], dropped: list[bool]) -> list[int]:
    return [
        0,
        *accumulate(
            0 if gone or run.surface is not Surface.VISIBLE else len(run.text)
            for run, gone in zip(runs, dropped, strict=True)
        ),
    ]


def _concentration(runs: list[Run], mass: list[float], dropped: list[bool]) -> float:
    """The largest share of the prose that stands in one place: beside or one level below each other."""
    held: dict[int, float] = {}
    total = 0.0
    for run, m, gone in zip(runs, mass, dropped, strict=True):
        if m >= _BODY_MIN and not gone:
            total += m
            box: Box | None = run.box
            if box is not None and box.tag in _LEAVES:
                box = box.parent
            for _ in range(2):
                if box is not None:
                    held[id(box)] = held.get(id(box), 0.0) + m
                    box = box.parent
    return max(held.values()) / total if total else 0.0


def _prune(runs: list[Run], mass: list[float], keep: list[bool], pairs: list[tuple[int, int]]) -> None:
    """Take out what is no text of this page inside its region."""
    total = sum(m for m, k in zip(mass, keep, strict=True) if k)
    for head, text in pairs:
        if mass[text] < 0.1 * total:
            keep[head : text + 1] = [False] * (text + 1 - head)
    for index, run in enumerate(runs):
        if keep[index] and run.link_chars and run.link_chars >= 0.6 * len(run.text) and run.tag != "p":
            keep[index] = False
    for index, run in enumerate(runs):
        if keep[index] and len(run.text) < 80 and (run.tag in ("label", "legend", "option") or is_meta(run.box)):
            keep[index] = False


def _trim(runs: list[Run], mass: list[float], keep: list[bool]) -> None:
    """Take out what stands before the first and behind the last paragraph, unless it stands beside paragraphs."""
    bodies = {_parent(r) for r, m, k in zip(runs, mass, keep, strict=True) if k and m >= _BODY_MIN}
    first = next((i for i, k in enumerate(keep) if k and mass[i] >= _BODY_MIN), -1)
    if first < 0:
        return
    for index in range(first):
        if runs[index].tag not in HEADINGS or first - index > 3:
            keep[index] = keep[index] and _parent(runs[index]) in bodies
    last = next(i for i in range(len(keep) - 1, -1, -1) if keep[i] and mass[i] >= _BODY_MIN)
    for index in range(last + 1, len(keep)):
        if runs[index].tag != "li" or len(runs[index].text) < 25:
            keep[index] = keep[index] and _parent(runs[index]) in bodies


def _parent(run: Run) -> int:
    box: Box | None = run.box
    while box is not None and box.tag in _LEAVES:
        box = box.parent
    return id(box)
