"""What is known about one block edit, and which rule, if any, calls it noise.

Rules come in two strengths. The ones in this module are certain enough to stand alone: a reorder, a text
in a slot that is known to move, a clock, the page title repeated by a script. Everything else (furniture,
link lists, consent banners, promotions) only weighs in the substance score, see `score`.

A masked token in a slot that has stood still is never explained: the expiry date of a certificate matches
the same pattern as the clock in the header, and only the past of the slot tells them apart. Patterns alone
explain an edit as long as the slot has no past.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import re2

from monitoring.detection.align import Pairing, words
from monitoring.detection.blocks import Block, Reading, Region, Surface
from monitoring.detection.judgement import EditKind, Settings
from monitoring.detection.memory import Memory
from monitoring.detection.normalise import mask, normalise

TEXT_LIMIT = 40_000  # characters of one block that are compared word by word
STILL_VISITS = 3  # visits without a move from which a slot counts as standing still
SHORT_CHARS = 300  # the same in characters
SHORT_WORDS = 8  # words beside the masked fragments that a stamp may have
LIST_MOVES = 3  # quiet moves within one list from which its entries count as rotating
LIST_PLACES = 3  # a list of fewer places is too short to be told from two that changed
SHORT_PAGE_CHARS = 400  # a page with less text (some fifty words) has nothing but what it says
COPY_BLOCKS = 5  # blocks repeated from elsewhere on the page that make a second copy (a phone's layout)
TITLE_CHARS = 300  # a longer block repeats no title
BANNER_WORDS = 80  # longest block of a consent banner
MODULE_LIMIT = 60  # containers looked up on the other side
FACT_LIMIT = 600  # edits of one page that are looked at one by one; a rewritten page has more

CONSENT = re.compile(
    r"(?i)cookie|consent|gdpr|ccpa|(^|[^a-z])cmp([^a-z]|$)|privacy-?(banner|popup|notice-?bar)|tarteaucitron|onetrust|didomi|cybot"
)
ADVERT = re.compile(
    r"(?i)(^|[^a-z])(ads?|advert\w*|ad-?(slot|unit|box|banner)|sponsor\w*|promo\w*|werbung|anzeige|publicit\w*|teaser|"
    r"(announcement|notification|alert|top)-?(bar|banner)?|banner|newsletter|subscribe|signup|cta|call-to-action|upsell)([^a-z]|$)"
)
RELATED = re.compile(
    r"(?i)related|recommend|read-?more|also-?(like|read)|trending|popular|most-?read|latest|suggest|similar|carousel|swiper|slick|slider|marquee|ticker"
)
CHROME = re.compile(
    r"(?i)(^|[^a-z])(nav\w*|menu\w*|sub-?nav\w*|foot\w*|header\w*|sidebar\w*|side-?bar|breadcrumb\w*|toolbar|social\w*|share\w*|"
    r"search\w*|dropdown\w*|drawer\w*|off-?canvas|lang(uage)?s?-?\w*|login|account|widget\w*|chat\w*|feedback|rating|toast|tooltip|popup|modal|dialog)([^a-z]|$)"
)
STRUCTURE = re.compile(r"(^|/)(nav|footer|aside|dialog|menu|select|option)([#./\[]|$)")
NAMED_BOX = re.compile(r"(div|section|aside|dialog|form)[#.]")
WHOLE_PAGE = re.compile(r"(html|body|main)([#.\[]|$)")
HEADER = re.compile(r"(^|/)header([#./\[]|$)")
STAMP_WORD = re.compile(
    r"(?i)updat|last|modif|generat|refresh|render|as of|retriev|server|stand\b|aktualisiert|erzeugt|abgerufen|letzte|mis à jour|généré|dernière|"
    r"actualizado|última|generado|aggiornat|ultima|generat|bijgewerkt|laatst|atualizado|zaktualizowano|ostatni|更新|現在|最終|取得|生成|时间|時間|업데이트|갱신|기준"
)
AGE_WORD = re.compile(
    r"(?i)\b(now|today|yesterday|this|last|past|over|about|more|than|less|a|an|few|moments?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ago|in|the|"
    r"jetzt|heute|gestern|diese[rn]?|letzte[rn]?|über|vor|einer?|einem|mehr|als|sekunden?|minuten?|stunden?|tag(en)?|wochen?|monat(en)?|jahr(en)?|"
    r"aujourd'hui|aujourd|hui|hier|cette|dernière|il|y|plus|de|une?|secondes?|heures?|jours?|semaines?|mois|ans?|"
    r"hoy|ayer|esta|hace|más|segundos?|minutos?|horas?|días?|semanas?|mes(es)?|años?|oggi|ieri|questa|fa|giorn[oi]|settiman[ae]|"
    r"vandaag|gisteren|geleden|dagen|hoje|ontem|há|dias?|dzisiaj|wczoraj|temu|dni)\b|\d+|今日|昨日|今週|先週|今天|昨天|本周|오늘|어제|이번|지난|주"
)
CONSENT_TEXT = re.compile(r"(?i)\bcookies?\b|クッキー|쿠키|plików cookie")
TITLE_BREAK = re.compile(r"\s[-|\\/:·•»>]\s")
PLACEHOLDER = re.compile(
    r"(?i)^[\s.…]*(loading|please wait|lädt|wird geladen|chargement|cargando|caricamento|laden|carregando|wczytywanie|ładowanie|読み込み中|加载中|載入中|로딩\s?중)\w*[\s.…]*$"
)
BUILD = re.compile(r"(?<![\w.])v?\d+(?:\.\d+){3,}(?:[-+][\w.]+)?(?![\w.])")
MONEY = re.compile(
    r"[$€£¥₩₹₽]|(?i:\b(?:usd|eur|gbp|jpy|chf|cny|krw|pln|sek|nok|dkk)\b|\d\s?(?:円|元|원|zł|kr|euros?|dollars?))"
)
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nor",
        "neither",
        "without",
        "cannot",
        "nicht",
        "kein",
        "keine",
        "keinen",
        "keinem",
        "keiner",
        "keines",
        "nie",
        "niemals",
        "ohne",
        "pas",
        "jamais",
        "aucun",
        "aucune",
        "sans",
        "ni",
        "nunca",
        "ningún",
        "ninguna",
        "sin",
        "non",
        "mai",
        "nessun",
        "nessuno",
        "nessuna",
        "senza",
        "niet",
        "geen",
        "nooit",
        "zonder",
        "não",
        "nunca",
        "nenhum",
        "nenhuma",
        "sem",
        "nie",
        "nigdy",
        "żaden",
        "bez",
        "don",
        "doesn",
        "won",
        "isn",
        "aren",
        "can't",
        "shan't",
        "mustn",
    ]
)
CJK_NEGATION = re.compile(r"ない|ません|なかった|ず[、。に]|不|没|未|无|無|非|禁|안\s|않|없|못|아니")

STAMP_CLASSES = frozenset({"clock", "generated"})
DAY_CLASSES = frozenset({"date", "copyright"})
TOKEN_CLASSES = frozenset({"token", "id", "counter"})


@dataclass(frozen=True, slots=True)
class Place:
    """What the names along a tag path say about the place."""

    structure: bool
    header: bool
    chrome: bool
    consent: bool
    advert: bool
    related: bool

    @property
    def named(self) -> bool:
        """Whether any name along the path says that this is not the page's own text."""
        return self.structure or self.chrome or self.consent or self.advert or self.related


@lru_cache(maxsize=4096)
def place_of(path: str) -> Place:
    """The place of a tag path; a memo, because many edits of a page share a few paths.

    Names on the root, the body and the main element are left out: they hold for the whole page.
    """
    path = "/".join(step for step in path.split("/") if not WHOLE_PAGE.match(step))
    return Place(
        structure=bool(STRUCTURE.search(path)),
        header=bool(HEADER.search(path)),
        chrome=bool(CHROME.search(path)),
        consent=bool(CONSENT.search(path)),
        advert=bool(ADVERT.search(path)),
        related=bool(RELATED.search(path)),
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """One block edit, measured. Shares and flags are 0..1, counts are words."""

    kind: EditKind
    old: int
    new: int
    before: Block | None
    after: Block | None
    words_removed: int = 0
    words_added: int = 0
    numbers: bool = False
    money: bool = False
    negation: bool = False
    same_words: bool = False
    same_folded: bool = False
    masked: frozenset[str] = field(default_factory=frozenset)
    masked_rest: int = 0
    size: int = 0

    @property
    def block(self) -> Block:
        """The side of the edit that exists; the new one when both do."""
        found = self.after or self.before
        if found is None:
            raise ValueError("an edit has at least one side")
        return found

    @property
    def in_main(self) -> bool:
        """Whether either side stands in the main region."""
        return any(b is not None and b.region is Region.MAIN for b in (self.before, self.after))

    @property
    def path(self) -> str:
        """Where on the page, as tag path."""
        return self.block.path

    @property
    def link_density(self) -> float:
        """The lower of both sides, so that a link list that becomes prose counts as prose."""
        sides = [b.link_density for b in (self.before, self.after) if b is not None]
        return min(sides)

    @property
    def is_short(self) -> bool:
        """Whether both sides are a few words and no more."""
        longest = max(len(b.text) for b in (self.before, self.after) if b is not None)
        return self.size <= SHORT_WORDS and longest <= SHORT_CHARS

    @property
    def is_prose(self) -> bool:
        """Whether it reads like a sentence: six words or more, mostly not links."""
        return self.size >= 6 and self.link_density < 0.5


@dataclass(frozen=True, slots=True)
class Scene:
    """What the rules may look at beside the edit itself."""

    old: Reading
    new: Reading
    memory: Memory
    settings: Settings
    old_texts: Counter[str]
    new_texts: Counter[str]
    titles: frozenset[str]
    shifted: frozenset[int]
    whole: frozenset[tuple[int, int]]
    restless: frozenset[str]
    second_copy: bool
    short: bool
    ignore: Sequence[object] = ()


def gather(old: Reading, new: Reading, pairing: Pairing) -> list[Facts]:
    """The facts of every reworded, removed and added block, in that order.

    A page with more than `FACT_LIMIT` edits is looked at where it matters most: what readers see in the main region
    comes first.
    """
    reworded, removed, added = pairing.reworded, pairing.removed, pairing.added
    if len(reworded) + len(removed) + len(added) > FACT_LIMIT:
        rows = [(_rank(new.blocks[n]), 0, o, n) for o, n in reworded]
        rows += [(_rank(old.blocks[o]), 1, o, -1) for o in removed]
        rows += [(_rank(new.blocks[n]), 2, -1, n) for n in added]
        kept = sorted(rows)[:FACT_LIMIT]
        reworded = tuple((o, n) for _, step, o, n in kept if step == 0)
        removed = tuple(o for _, step, o, _n in kept if step == 1)
        added = tuple(n for _, step, _o, n in kept if step == 2)
    facts = [_reworded(o, n, old.blocks[o], new.blocks[n]) for o, n in reworded]
    facts += [_single(EditKind.REMOVED, i, old.blocks[i]) for i in removed]
    facts += [_single(EditKind.ADDED, i, new.blocks[i]) for i in added]
    return facts


def _rank(block: Block) -> int:
    return (block.region is not Region.MAIN) + 2 * (block.surface is not Surface.VISIBLE)


def explain(facts: Facts, scene: Scene) -> str:
    """The code of the rule that calls this edit noise, or "" when none does."""
    for code, rule in RULES:
        if rule(facts, scene):
            return code
    return ""


def stands_alone(block: Block) -> bool:
    """Whether the place of this block can matter: it is main text and no link."""
    return block.region is Region.MAIN and block.link_density < 0.8


def scene_of(old: Reading, new: Reading, memory: Memory, settings: Settings, facts: list[Facts]) -> Scene:
    """Everything that is computed once for all edits of a pair."""
    titles = {normalise(t) for r in (old, new) for t in (r.title,) if t}
    old_texts = Counter(b.text for b in old.blocks)
    new_texts = Counter(b.text for b in new.blocks)
    copies = sum(f.kind is not EditKind.REWORDED and _on_both_sides(f, old_texts, new_texts) for f in facts)
    return Scene(
        old=old,
        new=new,
        memory=memory,
        settings=settings,
        old_texts=old_texts,
        new_texts=new_texts,
        titles=frozenset(titles),
        shifted=_day_shift(facts),
        whole=_whole_modules(old, new, facts),
        restless=_restless_lists(old, new, memory),
        second_copy=copies >= COPY_BLOCKS,
        short=sum(len(b.text) for b in new.blocks) <= SHORT_PAGE_CHARS,
        ignore=tuple(re2.compile(p) for p in settings.ignore_patterns),
    )


def _restless_lists(old: Reading, new: Reading, memory: Memory) -> frozenset[str]:
    """Paths of lists whose entries change by themselves: quiet re-fetches moved several of their places, several times."""
    if not any(past.quiet_moves for past in memory.slots.values()):
        return frozenset()
    places: dict[str, dict[str, int]] = {}
    for block in chain(old.blocks, new.blocks):
        if block.list_id >= 0:
            places.setdefault(block.path, {})[block.slot] = memory.slot(block.slot).quiet_moves
    return frozenset(
        path
        for path, slots in places.items()
        if len(slots) >= LIST_PLACES and sum(map(bool, slots.values())) >= 2 and sum(slots.values()) >= LIST_MOVES
    )


def _whole_modules(old: Reading, new: Reading, facts: list[Facts]) -> frozenset[tuple[int, int]]:
    """The edits (old, new) whose container stands on one side only: a module that came or went as a whole.

    The container is the element around the block's own, or the block's own where that has a name.
    """
    known: dict[tuple[bool, str], bool] = {}
    found: set[tuple[int, int]] = set()
    for f in facts:
        if f.kind is EditKind.REWORDED:
            continue
        added = f.kind is EditKind.ADDED
        above, _, own = f.path.rpartition("/")
        for container in (above, f.path) if NAMED_BOX.match(own) else (above,):
            place = (added, container)
            if place not in known:
                if len(known) >= MODULE_LIMIT:
                    return frozenset(found)
                other = (old if added else new).blocks
                known[place] = not any(b.path.startswith(container) for b in other)
            if known[place]:
                found.add((f.old, f.new))
                break
    return frozenset(found)


def _reworded(o: int, n: int, before: Block, after: Block) -> Facts:
    was, now = before.text[:TEXT_LIMIT], after.text[:TEXT_LIMIT]
    old_words, new_words = words(was), words(now)
    gone = Counter(old_words)
    gone.subtract(new_words)
    removed = [w for w, c in gone.items() for _ in range(max(0, c))]
    added = [w for w, c in gone.items() for _ in range(max(0, -c))]
    changed = removed + added
    masked_was, masked_now = mask(was), mask(now)
    same_masked = masked_was.text == masked_now.text and masked_was.source != masked_now.source
    return Facts(
        EditKind.REWORDED,
        o,
        n,
        before,
        after,
        words_removed=len(removed),
        words_added=len(added),
        numbers=any(c.isdigit() for w in changed for c in w),
        money=bool(MONEY.search(was) or MONEY.search(now)) and NUMBER.findall(was) != NUMBER.findall(now),
        negation=any(w in NEGATIONS for w in changed)
        or len(CJK_NEGATION.findall(was)) != len(CJK_NEGATION.findall(now)),
        same_words=old_words == new_words,
        same_folded=masked_was.source == masked_now.source and max(len(before.text), len(after.text)) <= TEXT_LIMIT,
        masked=frozenset(s.cls for s in masked_now.spans) if same_masked else frozenset(),
        masked_rest=_rest(masked_now.text) if same_masked else 0,
        size=max(len(old_words), len(new_words)),
    )


def _single(kind: EditKind, index: int, block: Block) -> Facts:
    text = block.text[:TEXT_LIMIT]
    all_words = words(text)
    added = kind is EditKind.ADDED
    return Facts(
        kind,
        -1 if added else index,
        index if added else -1,
        None if added else block,
        block if added else None,
        words_removed=0 if added else len(all_words),
        words_added=len(all_words) if added else 0,
        numbers=any(c.isdigit() for c in text),
        money=bool(MONEY.search(text)),
        negation=any(w in NEGATIONS for w in all_words) or bool(CJK_NEGATION.search(text)),
        size=len(all_words),
    )


def _rest(masked: str) -> int:
    """Words beside the placeholders of a masked text."""
    return len(words(re.sub("\x02[^\x03]*\x03", " ", masked)))


# ---------------------------------------------------------------- the rules, strongest first


def _ignored(f: Facts, s: Scene) -> bool:
    places = s.settings.ignore_places
    if places and all(block.slot in places for block in (f.before, f.after) if block is not None):
        return True
    if not s.ignore:
        return False
    was = f.before.text if f.before else ""
    now = f.after.text if f.after else ""
    for pattern in s.ignore:
        was, now = pattern.sub(" ", was), pattern.sub(" ", now)  # type: ignore[attr-defined]
    return was.split() == now.split()


def _typography(f: Facts, s: Scene) -> bool:
    """Quotes, dashes, spaces; case too where the page type does not care.

    Invisible characters and look-alike letters of another script fold the same but are no typography.
    """
    if not f.same_folded or f.before is None or f.after is None:
        return False
    was, now = _plain(f.before.text), _plain(f.after.text)
    return was == now or (not s.settings.case_matters and was.casefold() == now.casefold())


def _relative(f: Facts, s: Scene) -> bool:
    if f.masked:
        return f.masked <= {"relative"}
    if f.before is None or f.after is None or not f.is_short:
        return False
    return bool(STAMP_WORD.search(f.after.text)) and _ageless(f.before.text) == _ageless(f.after.text)


def _ageless(text: str) -> str:
    """A short stamp without the words that say how long ago."""
    return " ".join(AGE_WORD.sub(" ", text).split()).casefold()


def _shifted(f: Facts, s: Scene) -> bool:
    return f.new in s.shifted and f.kind is EditKind.REWORDED


def _stamp(f: Facts, s: Scene) -> bool:
    """A clock, counter or token by pattern, in a short block.

    A clock whose slot has stood still is not explained, and nothing in the main region that has; a view counter or a
    request id beside it says nothing even when a cache kept it for a while. Copyright years never say anything.
    """
    if not f.masked or f.masked_rest > SHORT_WORDS or f.before is None or len(f.block.text) > TEXT_LIMIT:
        return False
    if f.masked == {"copyright"}:
        return True
    timed = bool(f.masked & (STAMP_CLASSES | DAY_CLASSES))
    if (f.in_main or timed) and s.memory.visits >= STILL_VISITS and not s.memory.slot(f.before.slot).moves:
        return False
    if f.masked & STAMP_CLASSES:
        return bool(f.masked & DAY_CLASSES or "generated" in f.masked or STAMP_WORD.search(f.block.text))
    return not f.masked & DAY_CLASSES and not f.money


def _moving_mask(f: Facts, s: Scene) -> bool:
    """Equal after masking, in a slot that moved on at least half of the visits.

    A date alone needs more than one move outside lists and sentences; in an entry of a list, and inside a sentence, it
    is part of what is said, and only quiet re-fetches make it volatile.
    """
    if not f.masked or f.before is None or _share(f.before, s) < 0.5:
        return False
    past = s.memory.slot(f.before.slot)
    if past.quiet_moves or not f.masked & DAY_CLASSES:
        return True
    own = f.in_main or not place_of(f.path).named
    if own and (f.masked_rest > SHORT_WORDS or f.before.list_id >= 0):
        return False
    return past.moves >= 2 or bool(f.masked & STAMP_CLASSES)


def _moving_slot(f: Facts, s: Scene) -> bool:
    """A slot that moves on most visits.

    Sentences, list entries and prices are not believed to be volatile because they changed often, unless a name along
    their path says that they stand in an advertisement or a menu: that is how a clause creeps. It takes quiet re-fetches in which they moved.
    """
    slot = f.before or f.after
    if slot is None or _share(slot, s) < 0.5:
        return False
    past = s.memory.slot(slot.slot)
    if past.quiet_moves:
        return True
    if f.money or _is_said(f, slot):
        return False
    return past.moves >= 2 or not (f.in_main or f.numbers)


def _known(f: Facts, s: Scene) -> bool:
    """A text that comes and goes in a slot that is not prose: a rotating module, a variant.

    In the main region it has to have come up several times. One return of a list entry is a change.
    """
    slot = f.before or f.after
    if slot is None:
        return False
    past = s.memory.slot(slot.slot)
    if not past.moves:
        return False
    side = f.after or f.before
    text = s.memory.text(side.text) if side is not None else None
    if text is None:
        return False
    if past.quiet_moves:
        return True
    return not _is_said(f, slot) and (not f.in_main or text.times >= 3)


def _restless(f: Facts, s: Scene) -> bool:
    """An entry of a list that was seen to change by itself: which of its places it takes says nothing."""
    block = f.after or f.before
    return block is not None and block.list_id >= 0 and block.path in s.restless


def _is_said(f: Facts, slot: Block) -> bool:
    """Whether this is something the page says: a sentence or an entry of a list, in the main region or in a plain place.

    The main region is where most of the prose is; a list of certificates beside it is no less the page's own.
    """
    return (f.is_prose or _is_entry(slot)) and (f.in_main or not place_of(f.path).named)


def _is_entry(block: Block) -> bool:
    """Whether a block is an entry of a list or table and not a link."""
    return block.list_id >= 0 and block.link_density <= 0.8


def _echo(f: Facts, s: Scene) -> bool:
    """The page's own title, or a part of it, written into the body by a script for screen readers."""
    if f.block.heading:
        return False
    if not s.titles or len(f.block.text) > TITLE_CHARS:
        return False
    sides = [normalise(b.text) for b in (f.before, f.after) if b is not None]
    if not any(side in s.titles for side in sides):
        return False
    return all(side in s.titles or any(side in _parts(title) for title in s.titles) for side in sides)


def _parts(title: str) -> list[str]:
    """The parts of a title around its separators: page name, site name."""
    return [part.strip() for part in TITLE_BREAK.split(title)]


def _repeat(f: Facts, s: Scene) -> bool:
    """One copy more or less of a text that stands on the page both times."""
    if f.kind is EditKind.REWORDED or (f.block.list_id >= 0 and f.size < SHORT_WORDS and not s.second_copy):
        return False
    return _on_both_sides(f, s.old_texts, s.new_texts)


def _on_both_sides(f: Facts, old_texts: Counter[str], new_texts: Counter[str]) -> bool:
    text = f.block.text
    return old_texts[text] > 0 and new_texts[text] > 0


def _wordless(f: Facts, s: Scene) -> bool:
    """A block of punctuation or symbols only that came or went."""
    return f.kind is not EditKind.REWORDED and not f.size


def _build(f: Facts, s: Scene) -> bool:
    """A build number of four parts, alone in its block, in a slot that has no past or is known to move."""
    if f.before is None or f.after is None or not f.is_short:
        return False
    if s.memory.visits >= STILL_VISITS and not s.memory.slot(f.before.slot).moves:
        return False
    was, times = BUILD.subn(" ", f.before.text)
    now, again = BUILD.subn(" ", f.after.text)
    return times == again == 1 and was == now and len(words(was)) <= 2


def _consent(f: Facts, s: Scene) -> bool:
    """A consent banner that came or went as a whole. A sentence changed inside one that stays is not explained."""
    if (f.old, f.new) not in s.whole or not CONSENT.search(f.path) or f.size > BANNER_WORDS:
        return False
    return not f.in_main or bool(CONSENT_TEXT.search(f.block.text))


def _placeholder(f: Facts, s: Scene) -> bool:
    return f.kind is not EditKind.REWORDED and bool(PLACEHOLDER.match(f.block.text))


RULES = (
    ("ignore-rule", _ignored),
    ("typography", _typography),
    ("relative-time", _relative),
    ("day-shift", _shifted),
    ("volatile-slot", _moving_mask),
    ("volatile-pattern", _stamp),
    ("volatile-slot", _moving_slot),
    ("rotation", _known),
    ("rotation", _restless),
    ("echo", _echo),
    ("repeat", _repeat),
    ("placeholder", _placeholder),
    ("consent", _consent),
    ("typography", _wordless),
    ("volatile-pattern", _build),
)


def _share(block: Block, s: Scene) -> float:
    """Share of the visits since the slot was first seen to move on which it moved; 0 with less than one move."""
    past = s.memory.slot(block.slot)
    if not past.moves:
        return 0.0
    return past.moves / max(1, s.memory.visits)


def _plain(text: str) -> str:
    """A text with one kind of quote, dash and space. What cannot be seen stays: somebody put it there."""
    return " ".join(unicodedata.normalize("NFC", text.translate(_TYPES)).split())


_TYPES = {
    **dict.fromkeys(map(ord, "‘’‚‛′`´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―"), "-"),
    **dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"), " "),
    ord("…"): "...",
    0xAD: None,  # the soft hyphen and the byte order mark are left by editors and say nothing
    0xFEFF: None,
}

_DAY = re.compile(r"(?<!\d)(\d{1,2})(?!\d)")


def _day_shift(facts: list[Facts]) -> frozenset[int]:
    """New indexes of date-only blocks that all moved by the same single day: the server's time zone, not news.

    At least two blocks have to move together and nothing but the date may stand in them.
    """
    dated = [
        (f.new, shift)
        for f in facts
        if f.masked and f.masked <= DAY_CLASSES and f.masked_rest <= 2 and (shift := _days(f)) is not None
    ]
    for step in (1, -1):
        together = [n for n, shift in dated if shift == step]
        if len(together) >= 2 and len(together) >= 0.9 * len(dated):
            return frozenset(together)
    return frozenset()


def _days(f: Facts) -> int | None:
    """+1 or -1 when the day number moves by one (or over the end of a month), else None."""
    if f.before is None or f.after is None:
        return None
    was, now = _DAY.findall(f.before.text), _DAY.findall(f.after.text)
    if len(was) != 1 or len(now) != 1:
        return None
    a, b = int(was[0]), int(now[0])
    if b - a in (1, -1):
        return b - a
    if b == 1 and 28 <= a <= 31:
        return 1
    if a == 1 and 28 <= b <= 31:
        return -1
    return None
