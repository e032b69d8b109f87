"""Whether a capture shows the page at all, asked before anything is compared.

A block page, a login form or an empty shell compared with the page gives a huge false change, and one
taken for a baseline hides every later change. So each capture is assessed first, on what it is (status,
headers, markup), what it says (phrases), how much prose it holds, and how it differs from the last good
capture. The gate errs towards good: phrases count only where the page holds little else, because
policies speak of captchas and denied access too. Wording is neutral: what was seen, not who is to blame.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import islice
from urllib.parse import urlsplit

from . import quality_phrases as said
from .blocks import Block, Reading, Surface
from .normalise import normalise

SHORT_WORDS = 60
"""Up to here a page is short enough that a phrase anywhere in it is what the page says."""
LITTLE_PROSE = 40
"""Words of other prose up to which a page that carries a phrase is taken at its word."""
HEAD_PROSE = 120
"""The same where the phrase stands in the title or a heading."""
LONG_WORDS = 400
"""From here on phrases are not looked for, unless the last good capture held twice as much."""
BASELINE_WORDS = 60
"""A baseline shorter than this says nothing about what is missing."""

MESSAGE_WORDS = 300
"""A page shown in place of another holds less prose than this."""

_TEXT_LIMIT = 20_000
_MARKUP_LIMIT = 300_000


class State(StrEnum):
    """What a capture is good for. Only good ones are compared."""

    GOOD = "good"
    BLOCKED = "blocked"
    GONE = "gone"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What is known of a capture besides its reading; everything is optional.

    status: HTTP status, 0 when unknown. headers: any case; of several values one. body_bytes: decoded
    size, -1 when unknown. truncated: the transfer ended early. html: the decoded markup, for evidence
    that a reading leaves out (challenge scripts, password inputs, a missing end).
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    requested_url: str = ""
    final_url: str = ""
    content_type: str = ""
    body_bytes: int = -1
    truncated: bool = False
    html: str = ""


@dataclass(frozen=True, slots=True)
class Quality:
    """The assessment: state, a stable reason code, one neutral sentence, and what it rests on.

    `vendor` names the protection service of a blocked page, where its headers or markup do.
    """

    state: State
    code: str = ""
    sentence: str = ""
    evidence: tuple[str, ...] = ()
    vendor: str = ""

    @property
    def outcome(self) -> str:
        """`good`, `blocked`, `gone` or `error`."""
        return str(self.state)

    @property
    def is_good(self) -> bool:
        """Whether this capture may be compared and become a baseline."""
        return self.state is State.GOOD


GOOD = Quality(State.GOOD)


def assess(facts: PageFacts, reading: Reading, baseline: Reading | None = None) -> Quality:
    """What the capture is: the page itself, or something a site shows in its place.

    `baseline` is the last good capture; with it, missing text counts as evidence. Linear in the page.
    """
    case = _Case(facts, reading, baseline)
    for check in _CHECKS:
        verdict = check(case)
        if verdict is not None:
            return replace(verdict, vendor=_vendor(case)) if verdict.state is State.BLOCKED else verdict
    return GOOD


# -- what is looked at ----------------------------------------------------------------


class _Shape:
    """The amounts of a reading; each is measured when first asked for."""

    def __init__(self, reading: Reading) -> None:
        self.visible = reading.visible

    @cached_property
    def words(self) -> int:
        """Words that a reader sees."""
        return sum(map(_words, self.visible))

    @cached_property
    def blocks(self) -> dict[str, int]:
        """The blocks of prose: folded text and its number of words."""
        found: dict[str, int] = {}
        for block in self.visible:
            count = _words(block)
            if count >= 8 and block.link_density < 0.5:
                found[normalise(block.text)] = count
        return found

    @cached_property
    def prose(self) -> int:
        """Words of prose; a text that stands twice counts once."""
        return sum(self.blocks.values())


class _Case:
    """One assessment; what it looks at is measured when first asked for."""

    def __init__(self, facts: PageFacts, reading: Reading, baseline: Reading | None) -> None:
        self.facts = facts
        self.reading = reading
        self.baseline = baseline
        self.shape = _Shape(reading)

    @cached_property
    def headers(self) -> dict[str, str]:
        return {k.lower(): v for k, v in self.facts.headers.items()}

    @cached_property
    def before(self) -> _Shape | None:
        """The baseline's shape, when it is long enough to miss something."""
        if self.baseline is None:
            return None
        shape = _Shape(self.baseline)
        return shape if shape.words >= BASELINE_WORDS else None

    @cached_property
    def lesser(self) -> bool:
        """Whether the page is clearly shorter than its baseline. What follows is only looked at then."""
        return self.before is not None and self.shape.words < 0.7 * self.before.words

    @cached_property
    def retained(self) -> float:
        """Share (0..1) of the baseline's prose that still stands, word for word; 1 without a baseline."""
        if self.before is None or not self.before.prose:
            return 1.0
        kept = sum(words for text, words in self.before.blocks.items() if text in self.shape.blocks)
        return kept / self.before.prose

    @cached_property
    def stands(self) -> bool:
        """Whether at least half of what the baseline said outside links is still there, however short."""
        if self.baseline is None:
            return False
        now = {b.text for b in self.shape.visible}
        then = {b.text: _words(b) for b in self.baseline.visible if b.link_density < 0.5}
        return sum(w for text, w in then.items() if text in now) >= 0.5 * max(1, sum(then.values()))

    @cached_property
    def new_prose(self) -> int:
        """Words of prose that the baseline did not have."""
        known = self.before.blocks if self.before else {}
        return sum(words for text, words in self.shape.blocks.items() if text not in known)

    @cached_property
    def shrunk(self) -> bool:
        """Whether most of the baseline's prose is missing and little came in its place."""
        if not self.lesser or self.before is None:
            return False
        return self.retained < 0.25 and self.shape.prose < min(MESSAGE_WORDS, 0.35 * self.before.prose)

    @cached_property
    def text(self) -> str:
        return normalise(self.reading.text[:_TEXT_LIMIT])

    @cached_property
    def hidden(self) -> str:
        texts = (b.text for b in self.reading.blocks if b.surface is Surface.HIDDEN)
        return normalise(" ".join(texts)[:_TEXT_LIMIT])

    @cached_property
    def title(self) -> str:
        return normalise(self.reading.title[:300])

    @cached_property
    def heads(self) -> str:
        """The title and the first headings, when they are short enough to be a message."""
        heads = list(islice((b.text for b in self.shape.visible if b.heading), 3))
        return "\n".join(h for h in (self.title, *map(normalise, heads)) if len(h) < 120)

    @cached_property
    def markup(self) -> str:
        return self.facts.html[:_MARKUP_LIMIT].lower()

    @cached_property
    def hits(self) -> dict[str, list[str]]:
        """The phrases found, by class, without those the baseline says too."""
        found = _phrases_in(f"{self.title}\n{self.text}")
        if not found or self.baseline is None:
            return found
        known = normalise(f"{self.baseline.title}\n{self.baseline.text}")
        fresh = {cls: [p for p in phrases if p not in known] for cls, phrases in found.items()}
        return {cls: phrases for cls, phrases in fresh.items() if phrases}

    @cached_property
    def other_prose(self) -> int:
        """Words of prose outside the blocks that carry a phrase."""
        phrases = [p for found in self.hits.values() for p in found]
        return sum(w for text, w in self.shape.blocks.items() if not any(p in text for p in phrases))

    @cached_property
    def asks_password(self) -> bool:
        return bool(_PASSWORD.search(self.markup))


def _words(block: Block) -> int:
    """Words of a block; where words are not spaced, two characters count as one."""
    spaced = block.text.count(" ") + 1
    if len(block.text) < 14 * spaced or block.text.isascii():
        return spaced
    return len(block.text) // 2


_HEAD = 3


@lru_cache(maxsize=1)
def _phrase_index() -> dict[str, list[tuple[str, str]]]:
    """The phrases and their classes by their first characters."""
    index: dict[str, list[tuple[str, str]]] = {}
    for cls, phrases in said.PHRASES.items():
        for phrase in phrases:
            index.setdefault(phrase[:_HEAD], []).append((phrase, cls))
    return index


def _phrases_in(folded: str) -> dict[str, list[str]]:
    """The phrases that the text says, by class, as they come.

    A phrase stands at the beginning of a word; what follows it is free, because many are stems.
    """
    index = _phrase_index()
    hits: dict[str, list[str]] = {}
    for at in range(len(folded) - _HEAD + 1):
        for phrase, cls in index.get(folded[at : at + _HEAD], ()):
            if folded.startswith(phrase, at) and not _inside_word(folded, at):
                hits.setdefault(cls, []).append(phrase)
    return {cls: list(dict.fromkeys(phrases)) for cls, phrases in hits.items()}


def _inside_word(folded: str, at: int) -> bool:
    return (
        at > 0
        and folded[at].isascii()
        and folded[at].isalnum()
        and folded[at - 1].isascii()
        and folded[at - 1].isalnum()
    )


# -- the checks, in the order in which they speak ---------------------------------------


def _verdict(cls: str, *evidence: str) -> Quality:
    outcome, sentence = said.MEANING[cls]
    return Quality(State(outcome), cls, sentence, tuple(e for e in evidence if e))


def _by_status(case: _Case) -> Quality | None:
    status = case.facts.status
    evidence = f"status {status}"
    if status in (0, 200, 203):
        return None
    if status in (404, 410):
        return Quality(
            State.GONE, "status-gone", "The site answered that there is no page at this address.", (evidence,)
        )
    if challenge := _by_vendor_header(case):
        return challenge
    if status in (401, 407):
        return _verdict(said.LOGIN, evidence)
    if status in (403, 451):
        return _verdict(said.DENIED, evidence, *_vendors(case))
    if status == 429:
        return _verdict(said.LIMITED, evidence)
    if status == 503:
        found = _phrases_in(case.text[:4000])
        cls = said.CAPTCHA if said.CAPTCHA in found else said.MAINTENANCE
        return _verdict(cls, evidence, *_vendors(case))
    return Quality(State.ERROR, "status-error", f"The site answered with status {status}.", (evidence,))


_CHALLENGE_HEADERS = (
    ("cloudflare", "cf-mitigated", ("challenge", "captcha")),
    ("aws waf", "x-amzn-waf-action", ("challenge", "captcha", "block")),
    ("datadome", "x-datadome", ("blocked", "protected")),
    ("datadome", "x-dd-b", ("1", "2")),
    ("perimeterx", "x-px-block", ("1", "true")),
    ("akamai", "akamai-mitigated", ("1", "true")),
)
_VENDOR_HEADERS = (
    ("cloudflare", "cf-ray", ""),
    ("akamai", "server", "akamaighost"),
    ("imperva", "x-iinfo", ""),
    ("imperva", "x-cdn", "incapsula"),
    ("imperva", "x-cdn", "imperva"),
    ("datadome", "x-datadome", ""),
    ("datadome", "server", "datadome"),
    ("aws waf", "x-amzn-waf-action", ""),
    ("perimeterx", "x-px-vid", ""),
    ("sucuri", "x-sucuri-block", ""),
)


def _by_vendor_header(case: _Case) -> Quality | None:
    """A protection service that says in a header what it did. DataDome marks good pages `protected`."""
    for vendor, name, values in _CHALLENGE_HEADERS:
        value = case.headers.get(name, "").strip().lower()
        if value not in values:
            continue
        if value == "protected" and case.facts.status in (0, 200):
            continue
        cls = said.DENIED if value in ("block", "blocked") else said.CAPTCHA
        return _verdict(cls, f"header {name}: {value} ({vendor})")
    return None


def _vendor(case: _Case) -> str:
    """The service that stands before the page: by what it says it did, by its markup, by its headers; empty for none."""
    for vendor, name, values in _CHALLENGE_HEADERS:
        if case.headers.get(name, "").strip().lower() in values:
            return vendor
    for vendor, _, _ in _markup_signs(case):
        return vendor
    for vendor, name, sign in _VENDOR_HEADERS:
        if name in case.headers and sign in case.headers[name].lower():
            return vendor
    return ""


def _vendors(case: _Case) -> list[str]:
    found = [
        f"served by {vendor} (header {name})"
        for vendor, name, sign in _VENDOR_HEADERS
        if name in case.headers and sign in case.headers[name].lower()
    ]
    return list(dict.fromkeys(found))


def _by_transfer(case: _Case) -> Quality | None:
    if case.facts.truncated:
        return Quality(State.ERROR, "truncated", "The transfer ended before the page was complete.")
    if case.facts.html[:5] == "%PDF-" or case.facts.html[:200].count("\x00") > 5:
        return Quality(State.ERROR, "not-html", "What the site sent is not an HTML page.")
    return None


_CUT = re.compile(r"<[a-zA-Z/!][^<>]{0,2000}\Z")


def _by_ending(case: _Case) -> Quality | None:
    """A page cut off: no closing tag at the end, and either cut inside a tag or shorter than it was."""
    html = case.facts.html
    if not html or "</html" in html[-3000:].lower() or "</body" in html[-3000:].lower():
        return None
    sentence = "The page breaks off before its end."
    if _CUT.search(html[-2100:]):
        return Quality(State.ERROR, "truncated", sentence, ("ends inside a tag",))
    before = case.before
    if before is None or case.baseline is None or not case.lesser or case.new_prose > 20:
        return None
    mine = [b.text for b in case.shape.visible]
    theirs = [b.text for b in case.baseline.visible]
    same = sum(a == b for a, b in zip(mine[:-1], theirs, strict=False))
    if len(mine) <= 1 or same >= 0.8 * (len(mine) - 1):
        return Quality(State.ERROR, "truncated", sentence, ("no closing tag", _amounts(case)))
    return None


# What the second and third bytes of UTF-8 look like when each is read as a character of its own.
_TAIL = "[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"
_MOJIBAKE = re.compile(rf"[ÃÂÐÑÎÏ]{_TAIL}|[à-ïÂ]{_TAIL}{_TAIL}|\ufffd")
_MOJIBAKE_SIGN = re.compile("[ÃÂÐÑÎÏà-ï]" + _TAIL + "|\ufffd")


def _by_encoding(case: _Case) -> Quality | None:
    """Text decoded by the wrong table, or binary data shown as text."""
    text = case.reading.text[:_TEXT_LIMIT]
    if text.isascii():
        return None
    if not _MOJIBAKE_SIGN.search(text):
        return None
    bad = len(_MOJIBAKE.findall(text))
    if bad < 5 or bad < 0.004 * len(text):
        return None
    if case.baseline is not None:
        known = case.baseline.text[:_TEXT_LIMIT]
        if len(_MOJIBAKE.findall(known)) > bad / 3:
            return None
    return Quality(
        State.ERROR, "mojibake", "The text arrived in a wrong character encoding.", (f"{bad} broken characters",)
    )


def _by_emptiness(case: _Case) -> Quality | None:
    if case.shape.words > 3 or case.text.strip():
        return None
    html = case.facts.html
    if case.facts.body_bytes == 0 or (html and not html.strip()):
        return Quality(State.BLOCKED, "empty-body", "The site sent an empty page.")
    if signs := _markup_signs(case):
        return _verdict(signs[0][1], f"{signs[0][0]} in the markup")
    if said.SCRIPT in _phrases_in(case.hidden) or "<script" in case.markup:
        return _verdict(said.SCRIPT, "no visible text")
    return Quality(State.BLOCKED, "empty-text", "The page the site sent holds no text.")


def _markup_signs(case: _Case) -> list[tuple[str, str, str]]:
    return [row for row in said.MARKUP_SIGNS if row[2] in case.markup]


_SPEAKING = (
    said.CAPTCHA,
    said.LIMITED,
    said.DENIED,
    said.GONE,
    said.MAINTENANCE,
    said.FAILURE,
    said.PARKED,
    said.REDIRECT,
    said.SCRIPT,
    said.LOGIN,
    said.CONSENT,
)
# These say little by themselves: a link or a banner of any page may read so.
_WEAK = frozenset({said.LOGIN, said.CONSENT})


def _by_phrases(case: _Case) -> Quality | None:
    if case.shape.words > LONG_WORDS and not case.shrunk and not _phrases_in(case.heads):
        return None
    if case.text.strip(" .") in said.WAITING:
        return _verdict(said.SCRIPT, f"“{case.text}” and nothing else")
    for cls in _SPEAKING:
        phrases = case.hits.get(cls)
        if not phrases:
            continue
        why = _weak_case(case, cls) if cls in _WEAK else _speaks(case, phrases)
        if why:
            return _verdict(cls, f"“{phrases[0]}” {why}", _amounts(case), *_named_signs(case))
    return None


def _by_number(case: _Case) -> Quality | None:
    """A bare status number for a title or heading, on a page with next to no prose."""
    if case.shape.words > LONG_WORDS or case.stands or case.other_prose > LITTLE_PROSE:
        return None
    found = _STATUS_TITLE.search(case.heads)
    if found is None or (case.baseline is not None and found.group() in normalise(case.baseline.title)):
        return None
    return _verdict(said.STATUS_TITLES[found[1]], f"“{found.group().strip()}” for a heading", _amounts(case))


_STATUS_TITLE = re.compile(r"(?m)^(?:[^\d\n]{0,14}\b)?(401|403|404|410|429|451|500|502|503|504)\b(?:[^\d\n]{0,60})$")


def _by_bare_words(case: _Case) -> Quality | None:
    """A title or heading that says two words and no more, such as “Not found”, on a page with next to no prose."""
    if case.shape.words > SHORT_WORDS or case.stands or case.other_prose > LITTLE_PROSE:
        return None
    known = normalise(f"{case.baseline.title}\n{case.baseline.text}") if case.baseline is not None else ""
    for part in (*_PARTS.split(case.heads), case.text[:120]):
        words = part.strip(" .!")
        if words in said.BARE and words not in known:
            return _verdict(said.BARE[words], f"“{words}” for a heading", _amounts(case))
    return None


_PARTS = re.compile(r"\n|\s[-|–—·:»]\s|:\s")


def _speaks(case: _Case, phrases: list[str]) -> str:
    """Why these phrases are what the page says, or an empty string."""
    if case.shrunk:
        return "where most of the page's text is missing"
    if case.stands:
        return ""
    if case.shape.words <= SHORT_WORDS and case.other_prose <= LITTLE_PROSE:
        return "on a page that says little else"
    if any(p in case.heads for p in phrases) and case.other_prose <= HEAD_PROSE:
        return "in the title or a heading"
    return ""


def _weak_case(case: _Case, cls: str) -> str:
    if case.shrunk:
        return "where most of the page's text is missing"
    if cls is said.LOGIN and case.asks_password and case.other_prose <= LITTLE_PROSE:
        return "beside a password field, on a page that says little else"
    if cls is said.CONSENT and case.before is None and case.shape.words <= 2 * SHORT_WORDS and not case.other_prose:
        return "on a page that says little else"
    return ""


def _named_signs(case: _Case) -> list[str]:
    return [f"{vendor} in the markup" for vendor, _, _ in _markup_signs(case)][:2]


def _by_markup(case: _Case) -> Quality | None:
    """Challenge scripts and password fields, on a page with next to no prose of its own."""
    if not case.facts.html or (case.shape.words > 2 * SHORT_WORDS and not case.shrunk):
        return None
    if case.other_prose > LITTLE_PROSE and not case.shrunk:
        return None
    for vendor, cls, sign in _markup_signs(case):
        if vendor in ("recaptcha", "hcaptcha", "turnstile") and not (case.shrunk or case.shape.words <= 20):
            continue
        return _verdict(cls, f"{vendor} in the markup ({sign})", _amounts(case))
    if case.asks_password and (case.shrunk or (case.shape.words <= 40 and _LOGIN_TITLE.search(case.heads))):
        return _verdict(said.LOGIN, "a password field", _amounts(case))
    return None


_PASSWORD = re.compile(r"<input[^>]{0,400}type=[\"']?password")
_LOGIN_TITLE = re.compile(
    r"\b(?:log ?in|sign ?in|anmeld|einlogg|connexion|se connecter|iniciar sesi|acced|inloggen|entrar|zaloguj)|ログイン|登录|登入|로그인"
)
_SINK = re.compile(
    r"/(?:log-?in|sign-?in|sso|auth|authenticate|captcha|challenge|blocked|unblock|denied|forbidden|error"
    r"|consent|verify|sorry|404|not-?found|anmelden|connexion|authwall|checkpoint)(?:[.-][a-z0-9]{1,5})?(?:/|$)"
)


def _by_redirect(case: _Case) -> Quality | None:
    """A redirect that ends at a place where every unwanted visit ends."""
    asked, got = urlsplit(case.facts.requested_url), urlsplit(case.facts.final_url)
    if not asked.netloc or not got.netloc or (asked.netloc, asked.path) == (got.netloc, got.path):
        return None
    sink = _SINK.search(got.path.lower())
    if sink and not _SINK.search(asked.path.lower()) and (case.before is None or case.retained < 0.5):
        return Quality(
            State.BLOCKED,
            "redirect-sink",
            "The site forwarded to another page than the one asked for.",
            (f"ends at {got.path[:120]}",),
        )
    if got.path in ("", "/") and len(asked.path) > 1 and case.retained < 0.5:
        return Quality(State.GONE, "redirect-home", "The site forwarded to its home page.", (f"ends at {got.netloc}/",))
    return None


_CANONICAL = re.compile(r"<link\b[^>]{0,300}\brel=[\"']?canonical\b[^>]{0,600}>", re.IGNORECASE)
_HREF = re.compile(r"\bhref=[\"']?([^\"'\s>]+)", re.IGNORECASE)


def _by_contrast(case: _Case) -> Quality | None:
    """The page is well-formed and says nothing suspicious, but most of what stood there is gone."""
    before = case.before
    if before is None or not case.lesser or before.prose < BASELINE_WORDS or case.retained > 0.3:
        return None
    if case.new_prose <= max(15, 0.02 * before.prose):
        sentence = "Most of the page's text is missing and nothing stands in its place."
        return Quality(State.BLOCKED, "text-missing", sentence, (_amounts(case),))
    far_shorter = before.prose >= MESSAGE_WORDS and case.shape.prose < 0.2 * before.prose
    if far_shorter and case.retained < 0.03 and not _same_subject(case):
        sentence = "Nothing of the page's text is left, and a much shorter text stands in its place."
        return Quality(State.BLOCKED, "other-page", sentence, (_amounts(case),))
    return None


def _by_language(case: _Case) -> Quality | None:
    """Another language's version of the page: it names another language, and no sentence is the same."""
    before, now = case.before, case.reading.lang
    then = case.baseline.lang if case.baseline is not None else ""
    if before is None or not now or not then or now == then:
        return None
    if before.prose < BASELINE_WORDS or case.shape.prose > 1.5 * before.prose or case.retained > 0.05:
        return None  # a far longer page is the better one, and the baseline should not have been taken
    sentence = "The site showed the page in another language."
    return Quality(State.BLOCKED, "other-language", sentence, (f"{then} before, {now} now",))


def _by_home(case: _Case) -> Quality | None:
    """Another page, whose markup names the root of the site as its own address."""
    before = case.before
    if before is None or not _is_home(case) or before.prose < BASELINE_WORDS or case.retained > 0.03:
        return None
    if _same_subject(case):
        return None  # some sites name their root on every page
    return Quality(
        State.GONE, "redirect-home", "The site showed its home page in place of the page.", (_amounts(case),)
    )


def _same_subject(case: _Case) -> bool:
    """Whether the titles share two words or more, beyond the name of the site that every title bears."""
    then = case.baseline.title if case.baseline is not None else ""
    return len(set(_TITLE_WORD.findall(case.title)) & set(_TITLE_WORD.findall(normalise(then)))) >= 2


_TITLE_WORD = re.compile(r"[^\W\d_]{4,}")


def _is_home(case: _Case) -> bool:
    html, at = case.facts.html, -1
    for _ in range(10):  # the word may stand in scripts and texts before it stands in the link
        at = html.find("canonical", at + 1, _MARKUP_LIMIT)
        if at < 0:
            return False
        found = _CANONICAL.search(html, max(0, at - 700), at + 700)
        href = _HREF.search(found.group()) if found else None
        if href is not None:
            address = urlsplit(href.group(1))
            return bool(address.netloc) and address.path in ("", "/") and not address.query
    return False


def _amounts(case: _Case) -> str:
    if case.before is None:
        return f"{case.shape.words} words"
    return f"{case.shape.words} words, {case.before.words} in the last good capture"


_CHECKS: tuple[Callable[[_Case], Quality | None], ...] = (
    _by_status,
    _by_vendor_header,
    _by_transfer,
    _by_redirect,
    _by_emptiness,
    _by_ending,
    _by_encoding,
    _by_phrases,
    _by_number,
    _by_bare_words,
    _by_markup,
    _by_contrast,
    _by_language,
    _by_home,
)
