"""When trouble is told: not at its first sign, not again at every look, and once when it is over.

An alarm goes by looks, made every minute or so. Trouble has to be there at several looks in a row and for some
minutes before it is raised, and away for longer than that before it is over; so what comes and goes is told once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Event(StrEnum):
    """What there is to tell after a look."""

    RAISED = "raised"
    GROWN = "grown"
    REMINDED = "reminded"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, in seconds, and at how many looks in a row, trouble is there before it is raised or away before it is over.

    gap_s: two looks further apart than this are not in a row. remind_after_s: while it lasts. Trouble that is `growth`
    times what was told, and at least `growth_by` pages more, is told again at once.
    """

    raise_after_s: float = 300.0
    raise_looks: int = 3
    clear_after_s: float = 900.0
    clear_looks: int = 3
    remind_after_s: float = 86_400.0
    gap_s: float = 600.0
    growth: float = 2.0
    growth_by: int = 10


class Seen(NamedTuple):
    """What earlier looks left: whether it is raised; whether the last look found trouble, since when, at how many looks.

    Times are in seconds on one clock. `told_at` and `told` are when it was last told, and of how many pages.
    """

    raised: bool = False
    trouble: bool = False
    since: float = 0.0
    looks: int = 0
    at: float = 0.0
    told_at: float = 0.0
    told: int = 0


_DEFAULTS = Patience()


def after_look(
    seen: Seen, *, trouble: bool, pages: int, now: float, p: Patience = _DEFAULTS
) -> tuple[Seen, Event | None]:
    """What is known after a look at `now` that found trouble with so many pages or none, and what is to be told.

    A time in which nobody looked counts for nothing, and neither does one by which the clock was set back.
    """
    in_a_row = seen.looks > 0 and seen.trouble == trouble and 0 <= now - seen.at <= p.gap_s
    row = seen._replace(
        trouble=trouble, since=seen.since if in_a_row else now, looks=seen.looks + 1 if in_a_row else 1, at=now
    )
    lasted = now - row.since
    event: Event | None = None
    if not row.raised:
        if trouble and row.looks >= p.raise_looks and lasted >= p.raise_after_s:
            event = Event.RAISED
    elif not trouble:
        if row.looks >= p.clear_looks and lasted >= p.clear_after_s:
            event = Event.CLEARED
    elif pages >= row.told * p.growth and pages >= row.told + p.growth_by:
        event = Event.GROWN
    elif now - row.told_at >= p.remind_after_s:
        event = Event.REMINDED
    if event is not None:
        row = row._replace(raised=event is not Event.CLEARED, told_at=now, told=pages)
    return row, event
