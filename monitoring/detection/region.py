"""Which part of the page is its main region.

Order of the rules: a selector set by a person, the region remembered from earlier visits, a `main` or
`article` landmark that holds enough of the prose, and else the place where the prose is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .blocks import Surface
from .script import UNSPACED, script_of
from .walk import Box, Outline


@dataclass(frozen=True, slots=True)
class Choice:
    """The element taken for the main region, by which rule, and for each run whether it is main text."""

    box: Box | None
    how: str
    path: str
    keep: list[bool] = field(default_factory=list)


def choose(outline: Outline, *, wanted: frozenset[int] = frozenset(), remembered: str = "") -> Choice:
    """The main region of a walked page."""
    return Choice(None, "whole", "", [True] * len(outline.runs))
