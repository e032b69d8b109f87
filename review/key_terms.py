"""A team's key terms in a diff: as a pattern for printing, and where they stand in what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

_SPACED = re.compile(r"[a-z0-9\u00c0-\u024f\u0370-\u04ff]", re.IGNORECASE)


def pattern_of(terms: Sequence[str]) -> re.Pattern[str] | None:
    """One pattern for all terms, None for none. A term begins a word (scripts with spaces); white space is any white space.

    "arbitrat" finds "Arbitration" and not "nonarbitrable".
    """
    parts = [
        (r"(?<!\w)" if _SPACED.match(term) else "") + r"\s+".join(re.escape(word) for word in term.split())
        for term in terms
    ]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def found_in(document: dict[str, Any], terms: Sequence[str]) -> list[tuple[str, int]]:
    """(term, how often) among the added and removed text, the most frequent first."""
    if not terms or (pattern := pattern_of(terms)) is None:
        return []
    spelled = {" ".join(term.split()).casefold(): term for term in terms}
    counts: Counter[str] = Counter()
    for block in document.get("blocks", []):
        if block.get("op") in ("equal", "fold"):
            continue
        for segments in (block.get("segments", ()), block.get("before", ()), block.get("after", ())):
            whole = block.get("op") in ("added", "removed", "rewritten")
            for segment in segments:
                if segment[0] in "-+" or whole:
                    counts.update(_terms_in(str(segment[1]), pattern, spelled))
    return counts.most_common(12)


def _terms_in(text: str, pattern: re.Pattern[str], spelled: dict[str, str]) -> list[str]:
    return [spelled.get(" ".join(match[0].split()).casefold(), match[0]) for match in pattern.finditer(text)]
