"""Which part of the page is its main region, and what inside it is furniture.

Order of the rules: a selector set by a person, the region remembered from earlier visits, a `main` or
`article` landmark that holds enough of the prose, and else the place where the prose is.

Prose mass of a run is its text outside links, doubled where a character is a word or half of one
(Chinese, Japanese), and discounted where it does not read like a sentence or is the teaser of another
page. A box is as good a region as it is complete (its share of the page's mass) and pure (mass against
all its characters). Sums go up the tree, so inner dividers cannot cut the body in pieces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Final

from .blocks import Surface
from .walk import ANONYMOUS, HEADINGS, Box, Outline, Run

_HEAVY_SHARE: Final = 0.45
"""An element with more than this share of the prose is never left out for its name alone."""

_REST_MIN: Final = 200.0
"""... unless it is named comments, footer or consent and this much prose is left without it."""

_LANDMARK_SHARE: Final = 0.45
"""A main or article element must hold this share of the prose to be believed."""

_PURITY: Final = 1.5
"""How much purity counts against completeness."""

_SENTENCE: Final = re.compile(r"[.!?;:,][\s\"'”’)]|[.!?…]['\"”’)]*$|[。、，！？；：．।۔؟،]")

_FURNITURE_TAGS: Final = frozenset(
    {"nav", "footer", "aside", "dialog", "search", "select", "button", "textarea", "noframes"}
)
_UNREAD_TAGS: Final = _FURNITURE_TAGS | {"option", "optgroup", "label", "legend"}
_FURNITURE_ROLES: Final = frozenset(
    {"navigation", "contentinfo", "banner", "complementary", "search", "dialog", "alertdialog", "menu", "menubar"}
)
_FURNITURE_NAMES: Final = re.compile(
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
_CAMEL: Final = re.compile(r"([a-z])([A-Z])")
_NAMED_TAGS: Final = frozenset(
    ["div", "section", "ul", "ol", "dl", "table", "form", "header", "li", "span", "fieldset", "figure", "center"]
)


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
    share = plain / size
    if not text.isascii():
        plain += min(plain, (len(text.encode()) - size) // 2)  # three bytes a character, as in Chinese
    if plain < 20 or not _SENTENCE.search(text):
        return 0.15 * plain
    return plain * share


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
    teasers = _teasers(runs, mass)
    whole = sum(mass)
    announced = sum(mass[text] for _, text in teasers)
    if announced > _LISTING_SHARE * whole or announced > whole - announced < _LISTING_REST:
        teasers = []  # a page of teasers: they are what it has to say
    for _, text in teasers:
        mass[text] *= 0.25
    dropped = _furniture(outline, mass)
    for first, last in _threads(outline, [0.0 if d else m for m, d in zip(mass, dropped, strict=True)]):
        dropped[first:last] = [True] * (last - first)
    spread = _concentration(runs, mass, dropped) < _SPREAD
    pure = [0.0, *accumulate(0.0 if d else m for m, d in zip(mass, dropped, strict=True))]
    length = _lengths(runs, dropped)
    best = _recall(remembered, boxes, pure) if remembered else None
    how = "remembered"
    if best is None:
        if pure[-1] < min(_THREAD_REST * whole, 3 * _THIN) and _is_bare_post(outline, mass, dropped):
            best = _around_title(outline, length, dropped)
            spread = True
        elif pure[-1] < _THIN:
            best = _thin(outline, dropped)
            spread = True
        else:
            best = _densest(outline, pure, length, dropped, spread=spread)
        if best is None:
            return Choice(None, "whole", "", [not d for d in dropped])
        how = "landmark" if best.tag in _LANDMARKS else "prose"
    first, last = best.first, best.last
    keep = [first <= i < last and not dropped[i] for i in range(len(runs))]
    linked = sum(r.link_chars for r, k in zip(runs, keep, strict=True) if k)
    if not spread or linked < _LINKED_SHARE * (length[last] - length[first]):
        _prune(runs, mass, keep, teasers)
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
        if box.tag in _LANDMARKS and recall >= _LANDMARK_SHARE:
            value *= _LANDMARK_BONUS
        if title >= 0 and (first <= title < last or (title < first and length[first] - length[title] < _TITLE_NEAR)):
            value *= _TITLE_BONUS
        if value >= score:
            best, score = box, value
    return _with_siblings(best, outline.boxes, pure) if best is not None else None


def _title(outline: Outline, dropped: list[bool]) -> int:
    """Index of the first h1 that is no furniture, -1 for none."""
    return next((i for i, r in enumerate(outline.runs) if r.tag == "h1" and r.text and not dropped[i]), -1)


_COMPLETE_MIN: Final = 0.3
_REMEMBERED_SHARE: Final = 0.3
_LANDMARKS: Final = frozenset({"main", "article"})
_LANDMARK_BONUS: Final = 1.1
_TITLE_BONUS: Final = 1.1
_TITLE_NEAR: Final = 1500
_THIN: Final = 250.0
_SIBLING_SHARE: Final = 0.25


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


_THREAD_REST: Final = 0.15
_TITLE_MIN: Final = 60
_TITLE_GROWTH: Final = 2.5


def _is_bare_post(outline: Outline, mass: list[float], dropped: list[bool]) -> bool:
    """Whether nothing but a title and short notes is left once the comments are gone."""
    longest = max((m for m, gone in zip(mass, dropped, strict=True) if not gone), default=0.0)
    return longest < _NOTE_MAX and _title(outline, dropped) >= 0


_NOTE_MAX: Final = 200.0


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
        landmark = box.tag in _LANDMARKS or box.attrs.get("role") == "main"
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


_LINKED_SHARE: Final = 0.15
_LISTING_REST: Final = 400.0
_LISTING_SHARE: Final = 0.8
_SPREAD: Final = 0.4
_PURITY_SPREAD: Final = 0.5
_LEAVES: Final = frozenset(
    [
        "p",
        "li",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "td",
        "tr",
        "th",
        "dd",
        "dt",
        "pre",
        "span",
        "figcaption",
    ]
)


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


def _prune(runs: list[Run], mass: list[float], keep: list[bool], teasers: list[tuple[int, int]]) -> None:
    """Take out what is no text of this page inside its region."""
    total = sum(m for m, k in zip(mass, keep, strict=True) if k)
    for head, text in teasers:
        if mass[text] < 0.1 * total:
            keep[head : text + 1] = [False] * (text + 1 - head)
    for index, run in enumerate(runs):
        if keep[index] and run.link_chars and run.link_chars >= 0.6 * len(run.text) and run.tag != "p":
            keep[index] = False
    for index, run in enumerate(runs):
        if keep[index] and len(run.text) < 80 and (run.tag in ("label", "legend", "option") or _is_meta(run.box)):
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


_META_NAMES: Final = re.compile(
    r"(?:^|[-_\s])(?:dates?|time|author|by-?line|posted|published|meta|credits?|kicker|label|count)(?:$|[-_\s])"
)


def _is_meta(box: Box) -> bool:
    attrs = box.attrs
    return bool(attrs) and _META_NAMES.search(f"{attrs.get('class') or ''} {attrs.get('id') or ''}".lower()) is not None


def _parent(run: Run) -> int:
    box: Box | None = run.box
    while box is not None and box.tag in _LEAVES:
        box = box.parent
    return id(box)


_BODY_MIN: Final = 60.0

_TEASER_MIN: Final = 3


def _teasers(runs: list[Run], mass: list[float]) -> list[tuple[int, int]]:
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
        if len(group) < _TEASER_MIN:
            continue
        cards = {id(runs[head].box.parent) for head, _ in group}
        if runs[group[0][0]].tag in HEADINGS or len(cards) >= _TEASER_MIN:  # not the paragraphs of one text
            pairs += group
    return pairs


_THREAD_MIN: Final = 4
_THREAD_RATIO: Final = 0.25
_THREAD_TAGS: Final = frozenset({"li", "article", "div", "section"})


def _threads(outline: Outline, mass: list[float]) -> list[tuple[int, int]]:
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
        if len(group) < _THREAD_MIN:
            continue
        first, last = group[0].first, group[-1].last
        held = sum(mass[first:last])
        if held < 2 * _REST_MIN or sum(mass[:first]) < _THREAD_RATIO * held or (found and first < found[-1][1]):
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


_DIGIT: Final = re.compile(r"\d")


@lru_cache(maxsize=16384)
def _furniture_name(classes: str, ident: str) -> str:
    """What in these class and id tokens names furniture, "" for nothing; a strong name begins with "<"."""
    names = f"{classes[:300]} {ident[:100]}"
    if len(names) == 1:
        return ""
    lower = names.lower()
    if lower != names:
        lower = _CAMEL.sub(r"\1-\2", names).lower()
    found = _FURNITURE_NAMES.search(lower)
    if found is None:
        return ""
    name = found[0].strip("-_ \t\n")
    return "<" + name if found["strong"] else name


def _furniture(outline: Outline, mass: list[float]) -> list[bool]:
    """For each run whether it stands in furniture, by the tag, role or name of an element around it.

    Small elements go first, and the share of the next is taken of what is left: one banner more or less on the page
    decides nothing about the rest.
    """
    sums = [0.0, *accumulate(mass)]
    groups = _furniture_groups(outline, sums)
    left = sums[-1]
    dropped = [False] * len(mass)
    gone: list[tuple[float, str]] = []
    order = sorted(
        (name[0] != "<", sum(sums[b.last] - sums[b.first] for b in boxes), name) for name, boxes in groups.items()
    )
    for _, held, name in order:
        if held > 0.0:
            held = sum(0.0 if dropped[i] else mass[i] for b in groups[name] for i in range(b.first, b.last))
        if held <= _HEAVY_SHARE * left or (name[0] == "<" and left - held >= _REST_MIN):
            left -= held
            gone.append((held, name))
            for box in groups[name]:
                dropped[box.first : box.last] = [True] * (box.last - box.first)
    held, name = max(((h, n) for h, n in gone if n[0] != "<" or n == "<aside"), default=(0.0, ""))
    if left < _THIN and held > left:  # hardly anything else on the page: it was no furniture after all
        for box in groups[name]:
            dropped[box.first : box.last] = [False] * (box.last - box.first)
    return dropped


_STRONG_TAGS: Final = frozenset({"footer", "aside"})
_STRONG_ROLES: Final = frozenset({"contentinfo", "dialog", "alertdialog"})


def _furniture_groups(outline: Outline, sums: list[float]) -> dict[str, list[Box]]:
    """The elements that look like furniture, by name; elements of one name are judged together.

    Names that begin with "<" are strong: they may hold most of the page as long as some prose is left without them.
    """
    groups: dict[str, list[Box]] = {}
    core = _core(outline, sums)
    for box in outline.boxes:
        first, last = box.first, box.last
        if first == last:
            continue
        name = _furniture_of(box)
        by_name = box.tag not in _FURNITURE_TAGS and box.attrs.get("role") not in _FURNITURE_ROLES
        if name and not (by_name and any(first <= c < last for c in core)):
            group = groups.setdefault(name, [])
            if not group or first >= group[-1].last:  # not inside one that counts already
                group.append(box)
    return groups


def _furniture_of(box: Box) -> str:
    """The name a box goes under as furniture: by tag or role ("=" or "<" first), or by its class and id tokens."""
    attrs = box.attrs
    if box.tag in _FURNITURE_TAGS:
        return f"<{box.tag}" if box.tag in _STRONG_TAGS else f"={box.tag} {box.first}"
    if not attrs:
        return ""
    role = attrs.get("role")
    if role in _FURNITURE_ROLES:
        return f"<{role}" if role in _STRONG_ROLES else f"={box.tag} {box.first}"
    if box.tag in _NAMED_TAGS:
        return _furniture_name(attrs.get("class") or "", attrs.get("id") or "")
    return ""


def _core(outline: Outline, sums: list[float]) -> list[int]:
    """First runs of the landmarks that hold much of the prose: no element around one goes for its name."""
    least = _CORE_SHARE * sums[-1]
    return [
        box.first for box in outline.boxes if box.tag in _LANDMARKS and sums[box.last] - sums[box.first] >= least > 0.0
    ][:4]


_CORE_SHARE: Final = 0.3
