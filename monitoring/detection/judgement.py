"""What a comparison says, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The four outcomes that compare two good captures."""

    NONE = "none"
    NOISE = "noise"
    CONTENT = "content"
    FIELD = "field"


class EditKind(StrEnum):
    """What happened to one block."""

    ADDED = "added"
    REMOVED = "removed"
    REWORDED = "reworded"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence of the explanation: a stable code, the English sentence, and its figures."""

    code: str
    text: str
    data: dict[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edit:
    """One block edit: indexes into the two readings' blocks (-1 where there is no side).

    `explained` names the rule that calls it noise (see `explain.RULES`: `volatile-pattern`, `volatile-slot`, `rotation`,
    `consent` ...), or why it weighs too little to count: `furniture`, `advert`, `below-cut`. Empty means substance.
    `weight` is its substance in [0, 1], 0 where a rule explains it.
    """

    kind: EditKind
    old: int
    new: int
    explained: str = ""
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The limits a judgement is made with; a page type's, or a monitor's own.

    threshold: bits (0..64) of fingerprint distance above which the distance speaks for content.
    cut: substance score (0..1) from which a change is content.
    ignore_patterns, ignore_places: RE2 patterns of text, and slots of blocks, that people chose to leave out.
    """

    threshold: int = 3
    cut: float = 0.5
    order_matters: bool = False
    case_matters: bool = False
    ignore_patterns: tuple[str, ...] = ()
    ignore_places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Kind, how much, and why. `delta` is the block delta (<= 2 KB) to store with the check.

    main: the weight of the strongest unexplained edit that readers see in the main text, 0 for none.
    """

    kind: Kind
    score: float
    distance: int
    settings: Settings
    reasons: tuple[Reason, ...] = ()
    edits: tuple[Edit, ...] = ()
    delta: bytes = b""
    visible_difference: bool = False
    main: float = 0.0


FAR_SHARE = 0.5
"""Share of the cut that an edit of the main text must reach for the distance to speak for it."""


def is_content(score: float, distance: int, main: float, *, cut: float, threshold: int) -> bool:
    """Whether these figures of a comparison make it content under a cut and a threshold.

    score: substance of the whole. main: weight of the strongest unexplained edit that readers see in the main text;
    with a distance above the threshold, half the cut is enough for it.
    """
    return score >= cut or (distance > threshold and 0.0 < main >= cut * FAR_SHARE)
