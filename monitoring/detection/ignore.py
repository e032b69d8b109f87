"""Rules that people write about what to leave out: checked before they are saved, named when wrong.

Patterns go through RE2 and nothing else. RE2 runs in time linear in the text whatever the pattern says
((a+)+$ is harmless), at the price of look-around and back-references, which are refused by name.
Selectors are tried on the parser that will run them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from .normalise import normalise

MAX_PATTERN = 1_000
MAX_SELECTOR = 1_000
MAX_PROGRAM = 20_000
MIN_BLOCK = 3

# Texts with nothing in common: a pattern that takes all of each would hide every change of a page.
_PROBES = ("Terms of use", "第3条", "12.50 €", "no", "-")

_NOT_IN_RE2 = (
    ("(?=", "a look-ahead (?=...)"),
    ("(?!", "a negative look-ahead (?!...)"),
    ("(?<=", "a look-behind (?<=...)"),
    ("(?<!", "a negative look-behind (?<!...)"),
    ("(?>", "an atomic group (?>...)"),
    ("(?(", "a conditional group (?(...)...)"),
    ("(?P=", "a back-reference (?P=name)"),
    ("(?#", "a comment (?#...)"),
)

_FAULTS = (
    ("missing ]", "A bracket [ is never closed"),
    ("missing )", "A parenthesis ( is never closed"),
    ("unexpected )", "A parenthesis ) closes nothing"),
    ("no argument for repetition operator", "A repetition sign has nothing to repeat"),
    ("bad repetition operator", "Two repetition signs stand after each other"),
    ("invalid repetition size", "A repetition asks for more than 1,000 times"),
    ("invalid escape sequence", "A backslash is followed by something it has no meaning for"),
    ("invalid character class range", "A range inside [ ] has an unknown name or its ends are swapped"),
    ("invalid character class", "A class inside [ ] is not known"),
    ("trailing \\", "The pattern ends in a single backslash"),
    ("pattern too large", "The pattern is too large"),
    ("invalid named capture group", "A named group has a name that cannot be used"),
    ("invalid perl operator", "A group starting with (? is of a kind that is not supported"),
)


class IgnoreRuleError(ValueError):
    """A rule that cannot be used; the message is one sentence that says what is wrong with it."""


def compile_pattern(pattern: str) -> Any:  # Any: google-re2 ships no types
    """The compiled RE2 pattern. IgnoreRuleError, in a sentence, when it is empty, faulty or takes everything."""
    if not pattern.strip():
        raise IgnoreRuleError("The pattern is empty.")
    if len(pattern) > MAX_PATTERN:
        raise IgnoreRuleError(f"The pattern has {len(pattern):,} characters; {MAX_PATTERN:,} are allowed.")
    return _compile(pattern)


def validate_pattern(pattern: str) -> None:
    """Nothing, or IgnoreRuleError naming what is wrong with the pattern."""
    compile_pattern(pattern)


def validate_selector(selector: str) -> None:
    """Nothing, or IgnoreRuleError naming the selector that the parser does not accept, or that takes the page."""
    if not selector.strip():
        raise IgnoreRuleError("The selector is empty.")
    if len(selector) > MAX_SELECTOR:
        raise IgnoreRuleError(f"The selector has {len(selector):,} characters; {MAX_SELECTOR:,} are allowed.")
    fault = selector_fault(selector)
    if fault:
        raise IgnoreRuleError(fault)
    if _probe_page().body in _probe_page().css(selector):
        raise IgnoreRuleError(f"The selector {_quoted(selector)} takes the whole page.")


def selector_fault(selector: str) -> str:
    """Why a CSS selector cannot be used, in a sentence; empty when the parser accepts it."""
    if "\x00" in selector or any("\ud800" <= c <= "\udfff" for c in selector):
        return "The selector holds a character that no page can contain."
    try:
        _probe_page().css(selector)
    except SelectolaxError:
        return f"The selector {_quoted(selector)} does not parse{_hint(selector)}."
    return ""


def validate_block(text: str) -> str:
    """The folded text a block must contain to be left out. IgnoreRuleError when it says too little."""
    folded = normalise(text)
    if len(folded) < MIN_BLOCK:
        raise IgnoreRuleError(f"A block is known by at least {MIN_BLOCK} characters of its text.")
    return folded


def validate_place(slot: str) -> None:
    """Nothing, or IgnoreRuleError where this names no place of a block."""
    if not slot.strip() or slot.strip().lower() in ("html", "body"):
        raise IgnoreRuleError("A place is the address of one block, as a change shows it.")


@lru_cache(maxsize=512)
def _compile(pattern: str) -> Any:  # Any: google-re2 ships no types
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        compiled = re2.compile(pattern, options)
    except UnicodeEncodeError as err:
        raise IgnoreRuleError("The pattern holds a character that no page can contain.") from err
    except re2.error as err:
        raise IgnoreRuleError(_fault(pattern, err)) from err
    if compiled.programsize > MAX_PROGRAM:
        raise IgnoreRuleError("The pattern is too large: its repetitions multiply.")
    if all(compiled.fullmatch(probe) for probe in _PROBES):
        raise IgnoreRuleError(f"The pattern {_quoted(pattern)} matches any text and would hide every change.")
    return compiled


def _fault(pattern: str, err: Exception) -> str:
    said = err.args[0].decode("utf-8", "replace") if err.args and isinstance(err.args[0], bytes) else str(err)
    for sign, name in _NOT_IN_RE2:
        if sign in pattern and ("perl operator" in said or "named capture" in said):
            return f"The pattern uses {name}, which is not supported because it can take unbounded time."
    if "invalid escape" in said and said.rstrip()[-1:].isdigit():
        return "The pattern uses a back-reference, which is not supported because it can take unbounded time."
    for sign, sentence in _FAULTS:
        if sign in said:
            where = said.partition(": ")[2]
            return f"{sentence} in the pattern (at {_quoted(where)})." if where else f"{sentence} in the pattern."
    return f"The pattern does not parse ({said})."


def _hint(selector: str) -> str:
    if "/" in selector:
        return "; it looks like XPath, and CSS is expected"
    if "::" in selector:
        return "; pseudo-elements such as ::before are no elements"
    if selector.count("[") != selector.count("]"):
        return "; a bracket [ is not closed"
    if selector.count("(") != selector.count(")"):
        return "; a parenthesis is not closed"
    if "," in selector and any(not part.strip() for part in selector.split(",")):
        return "; there is nothing beside a comma"
    return ""


def _quoted(text: str) -> str:
    return f"“{text[:60]}…”" if len(text) > 60 else f"“{text}”"


@lru_cache(maxsize=1)
def _probe_page() -> LexborHTMLParser:
    return LexborHTMLParser("<!doctype html><title>t</title><body><main><p>text</p></main></body>")
