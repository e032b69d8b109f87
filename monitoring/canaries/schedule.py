"""When something is planted, and whether the visits after it saw what was planted. Times are POSIX seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import floor


@dataclass(frozen=True, slots=True)
class Schedule:
    """A planting every `every_s` seconds, at `phase_s` after the epoch and all multiples from there; pure in time."""

    every_s: float
    phase_s: float = 0.0

    def turn(self, at: float) -> int:
        """The number of the planting that stands at a moment."""
        return floor((at - self.phase_s) / self.every_s)

    def planted_at(self, turn: int) -> float:
        """The moment of a planting."""
        return self.phase_s + turn * self.every_s

    def share(self, at: float) -> float:
        """How much of the time until the next planting has gone by, in [0, 1)."""
        return (at - self.planted_at(self.turn(at))) / self.every_s


class Verdict(StrEnum):
    """What came of a planting; `void` says nothing of the watch: we did not look, or began anew ourselves."""

    WAITING = "waiting"
    SEEN = "seen"
    WRONG = "wrong"
    MISSED = "missed"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Sight:
    """A visit after a planting. `recorded`: what it found stands where people would see it. `anew`: a new baseline of ours."""

    outcome: str
    at: float
    recorded: bool = True
    anew: bool = False
    score: float | None = None


# What may pass: the next visit says more. A page that stays unread is missed when its time is over.
_PASSING = frozenset({"error", "gone"})


def judged(
    expected: str, sights: Iterable[Sight], *, due: float, now: float, rested: bool = False
) -> tuple[Verdict, Sight | None]:
    """What came of a planting, and by which visit: the first one that says anything decides.

    sights: the visits since the planting, oldest first. due: until when it has to be seen. rested: for a part of that time
    nothing of ours ran. Errs towards alarm: a change that is read as noise first and as content later is a wrong kind.
    """
    last: Sight | None = None
    anew = False
    for sight in sights:
        if sight.outcome == expected and sight.recorded and not sight.anew:
            return Verdict.SEEN, sight
        last = sight
        anew = anew or sight.anew
        if not sight.anew and sight.outcome not in _PASSING:
            return Verdict.WRONG, sight
    if now < due:
        return Verdict.WAITING, last
    return (Verdict.VOID if rested or anew else Verdict.MISSED), last
