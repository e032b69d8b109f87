"""Names for places on a page that stay the same from visit to visit."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_PATH_CAP = 240
"""Characters of a path that are kept; deeper places are named by the tail of their path."""

_HASHED = re.compile(
    r"(?ix) \d{3,}"  # any longer number: ids, sizes, timestamps
    r"| ^(css|sc|jsx|jss|emotion|makestyles|svelte|astro|ng|v|data|ember|react|radix|headlessui|mui|wp)[-_:]?\w*\d"
    r"| ^(css|sc|jsx|jss|emotion)-[a-z0-9]{5,}$"  # generated names that happen to hold no digit
    r"| (^|[_-])[0-9a-f]{6,}$"
    r"| [_-]{2}[a-z0-9]{5,}$"  # CSS modules: block__x1Yz9
    r"| ^[a-z0-9]{0,3}\d+[a-z0-9]*$"  # x1ab2, a12
    r"| [a-z0-9]*\d[a-z]+\d[a-z0-9]*$"  # letters and digits in turn
    r"| [:\[\]/.%!@]"  # utility classes with arguments
)
_DIGIT = re.compile(r"\d")
_ARGUMENT = re.compile(r"[:\[\]/.%!@]")
_SHEETS = frozenset({"css", "sc", "jsx", "jss", "emotion"})
_STATE_HEADS = frozenset({"is", "has", "js", "no", "lazy", "animate", "fade", "aos", "wow"})
_STATE_TAILS = frozenset(
    [
        "active",
        "open",
        "opened",
        "close",
        "closed",
        "show",
        "shown",
        "hide",
        "hidden",
        "visible",
        "selected",
        "current",
        "loaded",
        "loading",
        "collapsed",
        "expanded",
        "disabled",
        "enabled",
        "first",
        "last",
        "odd",
        "even",
        "focus",
        "hover",
        "sticky",
        "fixed",
    ]
)
_TRACKING = re.compile(
    r"(?i)^(utm_\w+|ut[ms]|gclid|gclsrc|dclid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_[ce]id|_ga|_gl|_hs\w+|"
    r"mkt_tok|ref_?src|sid|sessionid|session_id|jsessionid|phpsessid|aspsessionid\w*|cfid|cftoken|token|csrf\w*|nonce|"
    r"_t|ts|timestamp|cb|cachebuster|rand|random|trk\w*|spm|scm|wt\.mc\w*|cmpid|at_\w+|pk_\w+|piwik_\w+|matomo_\w+|_=?)$"
)
_SESSION_PATH = re.compile(r"(?i);(jsessionid|sid|phpsessid)=[^/?#]*")


@lru_cache(maxsize=8192)
def label(tag: str, ident: str, classes: str) -> str:
    """A short name for an element by tag, id and at most two class tokens that look hand-written.

    >>> label("div", "main", "css-1a2b3c content is-open")
    'div#main.content'
    """
    name = tag
    if ident and len(ident) < 60 and not _is_generated(ident):
        name += "#" + ident
    if classes:
        tokens = {t for t in classes[:500].split() if 1 < len(t) < 40 and _is_written(t)}
        if tokens:
            name += "." + ".".join(sorted(tokens)[:2])
    return name


def _is_written(token: str) -> bool:
    """Whether a class name looks hand-written and names the element, not the state it is in."""
    if _is_generated(token):
        return False
    words = token.lower().replace("_", "-").split("-")
    return words[0] not in _STATE_HEADS and words[-1] not in _STATE_TAILS


def _is_generated(token: str) -> bool:
    """Whether a token looks made by a program: hashed, numbered, or a utility class with arguments.

    Most tokens hold no digit, and then a look at the last word does: the pattern costs ten times as much.
    """
    if _DIGIT.search(token):
        return _HASHED.search(token) is not None
    head, dash, tail = token.lower().replace("_", "-").rpartition("-")
    if len(tail) >= _HEX_MIN and tail.isascii() and not tail.strip("abcdef"):
        return True
    if len(tail) >= _TAIL_MIN and tail.isascii() and tail.isalpha() and (head.endswith("-") or head in _SHEETS):
        return bool(dash)
    return _ARGUMENT.search(token) is not None


_HEX_MIN = 6
_TAIL_MIN = 5


def extend(path: str, name: str) -> str:
    """`path` with one more step, kept to its last 240 characters at a step border."""
    longer = f"{path}/{name}" if path else name
    if len(longer) <= _PATH_CAP:
        return longer
    cut = longer[-_PATH_CAP:]
    return "…/" + cut[cut.find("/") + 1 :]


@lru_cache(maxsize=8192)
def link_target(href: str) -> str:
    """The target of a link without what changes by itself: tracking parameters, session ids, cache busters.

    Page-internal anchors and scripts give "". Parameters are kept in their order.
    """
    href = href.strip()
    if not href or href[0] == "#" or href[:11].lower() == "javascript:":
        return ""
    if len(href) > 2000:
        href = href[:2000]
    if "?" not in href and ";" not in href:
        return href
    return _without_tracking(href)


def _without_tracking(href: str) -> str:
    try:
        parts = urlsplit(href)
    except ValueError:
        return href
    path = _SESSION_PATH.sub("", parts.path) if ";" in parts.path else parts.path
    if not parts.query:
        return urlunsplit(parts._replace(path=path))
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    kept = [(k, v) for k, v in pairs if not _TRACKING.match(k)]
    query = parts.query if len(kept) == len(pairs) else urlencode(kept)
    return urlunsplit(parts._replace(path=path, query=query))
