"""robots.txt as RFC 9309 reads it: groups by product name, the longest matching rule decides, allow wins a tie.

Pure: text in, a decision out. Work is linear in the text and bounded, whatever a site puts into its patterns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_to_bytes

MAX_BYTES = 500 * 1024
MAX_RULES = 5_000
MAX_PATTERN = 2_000
MAX_SITEMAPS = 50
MAX_CRAWL_DELAY_S = 60.0

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_PRODUCT = re.compile(r"[A-Za-z_-]+")
_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
# What stays as it is when escapes are brought into one spelling; `*` and `$` are the pattern's own.
_SAFE = "/:@!&'()*+,;=-._~?[]|^$\"<>{}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line."""

    allow: bool
    pattern: str

    @property
    def text(self) -> str:
        """The line as the file has it."""
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


@dataclass(frozen=True, slots=True)
class Robots:
    """What a robots.txt says to one product. No rules: everything may be fetched."""

    rules: tuple[Rule, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    named: bool = False  # the file names the product, not only everybody

    def rule_for(self, path: str) -> Rule | None:
        """The rule that decides on a path with its query, None when none matches. `/robots.txt` is always allowed."""
        if path == "/robots.txt":
            return None
        wanted = _spelt(path or "/")
        best: Rule | None = None
        for rule in self.rules:
            if best is not None and (len(rule.pattern), rule.allow) <= (len(best.pattern), best.allow):
                continue
            if _matches(rule.pattern, wanted):
                best = rule
        return best

    def allows(self, path: str) -> bool:
        """Whether a path with its query may be fetched."""
        rule = self.rule_for(path)
        return rule is None or rule.allow


def parse(body: bytes | str, product: str) -> Robots:
    """The rules for a product name such as `Tideline`; what cannot be read is passed over, beyond 500 KiB all of it.

    Groups that name the product count together; only where there is none do those for `*`.
    """
    text = body[:MAX_BYTES].decode("utf-8", "replace") if isinstance(body, bytes) else body[:MAX_BYTES]
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    current: list[str] = []
    open_head = False
    for line in _LINE_ENDS.split(text.removeprefix("\ufeff")):
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "user-agent":
            if not open_head:
                current = []
            open_head = True
            found = "*" if value.startswith("*") else _PRODUCT.match(value)
            agent = found if isinstance(found, str) else (found[0].lower() if found else "")
            current.append(agent)
            groups.setdefault(agent, [])
        elif name == "sitemap":
            if value and len(value) <= MAX_PATTERN and len(sitemaps) < MAX_SITEMAPS:
                sitemaps.append(value)
        elif name in {"allow", "disallow", "crawl-delay"}:
            open_head = False
            for agent in current:
                if len(groups[agent]) < MAX_RULES:
                    groups[agent].append((name, value))
    wanted = product.lower()
    lines = groups.get(wanted, groups.get("*", []))
    rules = tuple(
        Rule(name == "allow", _spelt(value))
        for name, value in lines
        if name != "crawl-delay" and value and len(value) <= MAX_PATTERN and value[0] in "/*$"
    )
    return Robots(rules, _delay(lines), tuple(dict.fromkeys(sitemaps)), wanted in groups)


def _delay(lines: list[tuple[str, str]]) -> float | None:
    """The longest Crawl-delay, within a minute; None where there is none that is a number."""
    found = [float(value) for name, value in lines if name == "crawl-delay" and _NUMBER.fullmatch(value)]
    return min(max(found), MAX_CRAWL_DELAY_S) if found else None


def _spelt(path: str) -> str:
    """A path or pattern with its escapes in one spelling: `/caf%c3%a9`, `/café` and `/caf%C3%A9` are the same.

    An escaped `/`, `*` or `$` stays escaped: it is data and not syntax.
    """
    parts = re.split(r"(%2[fF]|%2[aA]|%24)", path)
    spelt = [
        part.upper() if index % 2 else quote_from_bytes(unquote_to_bytes(part.encode("utf-8", "replace")), safe=_SAFE)
        for index, part in enumerate(parts)
    ]
    return "".join(spelt)


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern with `*` and a closing `$` matches from the start of a path; no backtracking."""
    anchored = pattern.endswith("$")
    pieces = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    if len(pieces) == 1:
        return not anchored or at == len(path)
    for piece in pieces[1:-1]:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    last = pieces[-1]
    if anchored:
        return len(path) - len(last) >= at and path.endswith(last)
    return path.find(last, at) >= 0
