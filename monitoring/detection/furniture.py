"""What on a page is furniture: menus, footers, banners, comments, teasers of other pages.

Told by tag and role, by the names people give such elements, and by their build where names are no help. Every
rule has a bound: what holds too much of the page's prose is not taken for furniture, whatever it is called.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import Final

from .walk import HEADINGS, Box, Outline, Run

HEAVY_SHARE: Final = 0.45
"""An element with more than this share of the prose is never left out for its name alone."""

REST_MIN: Final = 200.0
"""... unless it is named comments, footer or consent and this much prose is left without it."""

THIN: Final = 250.0
"""A page with less prose than this is not made of prose."""

CORE_SHARE: Final = 0.3
"""No name takes away what is around a main or article element with this share of the prose."""

TEASER_MIN: Final = 3
"""So many links with a text under them, built alike, are teasers."""

THREAD_MIN: Final = 4
"""So many siblings built alike are a comment thread ..."""

THREAD_RATIO: Final = 0.25
"""... when the text before them is at least this share of theirs."""

LANDMARKS: Final = frozenset({"main", "article"})
FURNITURE_TAGS: Final = frozenset(
    {"nav", "footer", "aside", "dialog", "search", "select", "button", "textarea", "noframes"}
)
_STRONG_TAGS: Final = frozenset({"footer", "aside"})
_ROLES: Final = frozenset(
    {"navigation", "contentinfo", "banner", "complementary", "search", "dialog", "alertdialog", "menu", "menubar"}
)
_STRONG_ROLES: Final = frozenset({"contentinfo", "dialog", "alertdialog"})
_NAMED_TAGS: Final = frozenset(
    ["div", "section", "ul", "ol", "dl", "table", "form", "header", "li", "span", "fieldset", "figure", "center"]
)
_THREAD_TAGS: Final = frozenset({"li", "article", "div", "section"})
_NAMES: Final = re.compile(
    r"(?:^|[-_\s])(?:"
    r"(?P<strong>comments?(?:[-_]?(?:list|area|section|form|thread|wrapper|container|box))?|disqus\w*|respond|replies|"
    r"cookies?\w*|consent\w*|gdpr\w*|foot(?:er)?)|"
    r"side-?bar\w*|related\w*|recommend\w*|recirc\w*|more-?(?:stories|articles|news|from)|read-?(?:more|next)|see-?also|"
    r"share|sharing\w*|sharedaddy|social\w*|follow-?us|add-?this\w*|"
    r"promo\w*|newsletter\w*|subscri\w*|sign-?up\w*|ads?|adverts?\w*|advertise\w*|sponsor\w*|outbrain\w*|taboola\w*|"
    r"nav(?:bar|igation)?|menu|breadcrumbs?|pagination|pager|"
    r"popular\w*|trending\w*|most-?read|widgets|widget-?area|toolbar\w*|skip-?link\w*|site-?header|masthead|top-?bar|"
    r"modal|popup|lightbox\w*|copyright|tag-?(?:list|links|cloud)|tags|"
    r"author-?(?:bio|box|info)|bio-?box|bio|post-?(?:meta|nav|tags)|entry-?(?:meta|footer|utility)|byline\w*|by-?line|"
    r"carousel\w*|disclaimer\w*|print\w*|notifications?|tooltip\w*|timestamp|metadata"
    r")(?:$|[-_\s])"
)
_META_NAMES: Final = re.compile(
    r"(?:^|[-_\s])(?:dates?|time|author|by-?line|posted|published|meta|credits?|kicker|label|count)(?:$|[-_\s])"
)
_CAMEL: Final = re.compile(r"([a-z])([A-Z])")
_DIGIT: Final = re.compile(r"\d")


def furniture(outline: Outline, mass: list[float]) -> list[bool]:
    """For each run whether it stands in furniture, by the tag, role or name of an element around it.

    Small elements go first, and the share of the next is taken of what is left: one banner more or less on the page
    decides nothing about the rest.
    """
    sums = [0.0, *accumulate(mass)]
    groups = _groups(outline, sums)
    left = sums[-1]
    dropped = [False] * len(mass)
    gone: list[tuple[float, str]] = []
    order = sorted(
        (name[0] != "<", sum(sums[b.last] - sums[b.first] for b in boxes), name) for name, boxes in groups.items()
    )
    for _, held, name in order:
        if held > 0.0:
            held = sum(0.0 if dropped[i] else mass[i] for b in groups[name] for i in range(b.first, b.last))
        if held <= HEAVY_SHARE * left or (name[0] == "<" and left - held >= REST_MIN):
            left -= held
            gone.append((held, name))
            for box in groups[name]:
                dropped[box.first : box.last] = [True] * (box.last - box.first)
    held, name = max(((h, n) for h, n in gone if n[0] != "<" or n == "<aside"), default=(0.0, ""))
    if left < THIN and held > left:  # hardly anything else on the page: it was no furniture after all
        for box in groups[name]:
            dropped[box.first : box.last] = [False] * (box.last - box.first)
    return dropped


def _groups(outline: Outline, sums: list[float]) -> dict[str, list[Box]]:
    """The elements that look like furniture, by name; elements of one name are judged together.

    Names that begin with "<" are strong: they may hold most of the page as long as some prose is left without them.
    """
    groups: dict[str, list[Box]] = {}
    core = _core(outline, sums)
    for box in outline.boxes:
        first, last = box.first, box.last
        if first == last:
            continue
        name = _name_of(box)
        by_name = box.tag not in FURNITURE_TAGS and box.attrs.get("role") not in _ROLES
        if name and not (by_name and any(first <= c < last for c in core)):
            group = groups.setdefault(name, [])
            if not group or first >= group[-1].last:  # not inside one that counts already
                group.append(box)
    return groups


def _name_of(box: Box) -> str:
    """The name a box goes under as furniture: by tag or role ("=" or "<" first), or by its class and id tokens."""
    attrs = box.attrs
    if box.tag in FURNITURE_TAGS:
        return f"<{box.tag}" if box.tag in _STRONG_TAGS else f"={box.tag} {box.first}"
    if not attrs:
        return ""
    role = attrs.get("role")
    if role in _ROLES:
        return f"<{role}" if role in _STRONG_ROLES else f"={box.tag} {box.first}"
    if box.tag in _NAMED_TAGS:
        return _named(attrs.get("class") or "", attrs.get("id") or "")
    return ""


@lru_cache(maxsize=16384)
def _named(classes: str, ident: str) -> str:
    """What in these class and id tokens names furniture, "" for nothing; a strong name begins with "<"."""
    names = f"{classes[:300]} {ident[:100]}"
    if len(names) == 1:
        return ""
    lower = names.lower()
    if lower != names:
        lower = _CAMEL.sub(r"\1-\2", names).lower()
    found = _NAMES.search(lower)
    if found is None:
        return ""
    name = found[0].strip("-_ \t\n")
    return "<" + name if found["strong"] else name


def _core(outline: Outline, sums: list[float]) -> list[int]:
    """First runs of the landmarks that hold much of the prose: no element around one goes for its name."""
    least = CORE_SHARE * sums[-1]
    return [
        box.first for box in outline.boxes if box.tag in LANDMARKS and sums[box.last] - sums[box.first] >= least > 0.0
    ][:4]


def threads(outline: Outline, mass: list[float]) -> list[tuple[int, int]]:
    """Ranges of runs that are comment threads, told by their build and not by a name.

    Four or more siblings of one tag that each hold several runs, most of them the same few short words ("Reply") and
    most of them a date or a count; and there is a text before them that they are comments on.
    """
    children: dict[int, list[Box]] = {}
    for box in outline.boxes:
        if box.last - box.first >= 3 and box.tag in _THREAD_TAGS:
            children.setdefault(id(box.parent), []).append(box)
    runs = outline.runs
    found: list[tuple[int, int]] = []
    for group in children.values():
        if len(group) < THREAD_MIN:
            continue
        first, last = group[0].first, group[-1].last
        held = sum(mass[first:last])
        if held < 2 * REST_MIN or sum(mass[:first]) < THREAD_RATIO * held or (found and first < found[-1][1]):
            continue
        words: dict[str, int] = {}
        dated = 0
        for box in group:
            short = {r.text for r in runs[box.first : box.last] if 0 < len(r.text) < 25}
            for text in short:
                words[text] = words.get(text, 0) + 1
            dated += any(_DIGIT.search(r.text) for r in runs[box.first : box.last] if len(r.text) < 60)
        if words and max(words.values()) >= 0.6 * len(group) and dated >= 0.6 * len(group):
            found.append((first, last))
    return found


def teasers(runs: list[Run], mass: list[float]) -> list[tuple[int, int]]:
    """Find what announces another page: a heading that is a link, and the text under it, three times alike.

    Gives the indexes of heading and text.
    """
    found: dict[tuple[str, str, str, str], list[tuple[int, int]]] = {}
    head = -9
    for index, run in enumerate(runs):
        n = len(run.text)
        if n >= 15 and run.link_chars >= 0.8 * n:
            if run.hrefs:
                head = index
        elif n >= 50 and mass[index] >= 40.0 and head >= 0:
            if index - head <= 5 and n <= 600:
                title = runs[head]
                key = (title.tag, title.box.attrs.get("class") or "", run.tag, run.box.attrs.get("class") or "")
                found.setdefault(key, []).append((head, index))
            head = -9
    pairs: list[tuple[int, int]] = []
    for group in found.values():
        if len(group) < TEASER_MIN:
            continue
        cards = {id(runs[head].box.parent) for head, _ in group}
        if runs[group[0][0]].tag in HEADINGS or len(cards) >= TEASER_MIN:  # not the paragraphs of one text
            pairs += group
    return pairs


def is_meta(box: Box) -> bool:
    """Whether the element is named as a line about the text: its date, author, credits, counts."""
    attrs = box.attrs
    return bool(attrs) and _is_meta_name(attrs.get("class") or "", attrs.get("id") or "")


@lru_cache(maxsize=4096)
def _is_meta_name(classes: str, ident: str) -> bool:
    return _META_NAMES.search(f"{classes[:300]} {ident[:100]}".lower()) is not None
