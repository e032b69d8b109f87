"""Rules drawn from one example: how to name a block, or all blocks that read like it, by what it said before and after.

Both err to the narrow side: a pattern covers the whole block, and its words are letters where they changed and
themselves where they did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import re2

from .ignore import IgnoreRuleError, compile_pattern

LONGEST = 2_000  # characters of a block that a rule is drawn from
LEAST = 8  # characters that tell a block from others

_NUMBER = re.compile(r"\d+")
_TOKEN = re.compile(r"\d+|[^\W\d_]+|\s+|.", re.DOTALL)


def shared_text(old: str, new: str) -> str:
    """The longest run of whole words without a number that both texts have, by which their block can be known; empty where it says too little.

    "Visitors today: 1,204" and "Visitors today: 1,377" share "Visitors today:". One side alone shares all of itself.
    """
    if not (old and new):
        runs = [old or new]
    else:
        a, b = _TOKEN.findall(old[:LONGEST]), _TOKEN.findall(new[:LONGEST])
        same = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
        runs = [run for i, _j, n in same for run in _NUMBER.split("".join(a[i : i + n]))]
    best = max((run.strip().lstrip(".,;:!?)] ") for run in runs), key=len)
    return best if len(best) >= LEAST and any(c.isalpha() for c in best) else ""


def pattern_for(pairs: Iterable[tuple[str, str]]) -> str:
    """An RE2 pattern that covers these blocks, each given by its text before and after; empty where there is none.

    ("Visitors today: 1,204", "Visitors today: 1,377") gives `^Visitors today: \\p{Nd}+,\\p{Nd}+$`: any number stands for
    a number, a word that changed for any word.
    """
    known = list(pairs)
    if not known or any(len(text) > LONGEST for pair in known for text in pair):
        return ""
    each = list(dict.fromkeys(_pattern(old, new) for old, new in known))
    pattern = f"^{each[0]}$" if len(each) == 1 else f"^(?:{'|'.join(each)})$"
    try:
        compiled = compile_pattern(pattern)
    except IgnoreRuleError:
        return ""
    return pattern if all(compiled.fullmatch(text) for pair in known for text in pair if text) else ""


def _pattern(old: str, new: str) -> str:
    a, b = _TOKEN.findall(old or new), _TOKEN.findall(new or old)
    parts = []
    for op, i, i2, j, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if op == "equal":
            parts.append("".join(_same(token) for token in a[i:i2]))
            continue
        ways = list(dict.fromkeys(_shape(side) for side in (a[i:i2], b[j:j2])))
        one = ways[0] if len(ways) == 1 else f"(?:{'|'.join(way for way in ways if way)})"
        parts.append(one if all(ways) else f"{one}?")
    return "".join(parts)


def _same(token: str) -> str:
    return r"\p{Nd}+" if token.isdecimal() else re2.escape(token)


def _shape(tokens: Sequence[str]) -> str:
    return "".join(r"\p{L}+" if token.isalpha() else _same(token) for token in tokens)
