"""How sure verdicts are: whether second opinions agree, and how long a decision takes. Of pages, never of people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING

from monitoring.calibrating.bounds import share_bounds
from monitoring.models import Change, Monitor, PageType
from review.models import Verdict

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SPAN = timedelta(days=180)
MOST = 5_000  # verdicts that are looked at, the newest
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A change on which a second opinion differs from the verdict that stands, and the two: "approve" or "dismiss"."""

    change: Change
    verdict: str
    opinion: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Quality:
    """Verdicts on pages of one type in `SPAN`.

    decided: how many have a time on screen; median_s: half of them took no longer, None without any. agreed of
    `compared` changes: the newest opinion of another person is that of the verdict; low, high: the interval of the share.
    """

    decided: int
    median_s: float | None
    compared: int
    agreed: int
    low: float
    high: float
    disagreements: list[Disagreement]


def quality(page_type: PageType, *, user: User, now: datetime) -> Quality:
    """How sure the verdicts on this type's pages are, of what the person may see; a fixed number of statements."""
    monitors = Monitor.objects.visible_to(user).filter(page_type=page_type)
    recent = Verdict.objects.filter(change__monitor__in=monitors.values("pk"), at__gte=now - SPAN).order_by("-pk")
    timed = recent.filter(
        action__in=[Verdict.Action.APPROVE, Verdict.Action.DISMISS],
        seconds_on_screen__isnull=False,
    ).standing()
    seconds = [value for value in timed.values_list("seconds_on_screen", flat=True)[:MOST] if value is not None]
    opinions = list(recent.filter(action=Verdict.Action.SECOND).values_list("change", "actor", "opinion", "at")[:MOST])
    standing = _standing(change for change, *_ in opinions)
    judged: dict[int, tuple[str, str, datetime]] = {}
    for change, actor, opinion, at in opinions:  # the newest first
        verdict, given_by = standing.get(change, ("", actor))
        if given_by != actor:
            judged.setdefault(change, (verdict, opinion, at))
    differing = {change: row for change, row in judged.items() if row[0] != row[1]}
    agreed = len(judged) - len(differing)
    low, high = share_bounds(agreed, len(judged)) if judged else (0.0, 1.0)
    return Quality(
        decided=len(seconds),
        median_s=median(seconds) if seconds else None,
        compared=len(judged),
        agreed=agreed,
        low=low,
        high=high,
        disagreements=_named(differing),
    )


def _standing(changes: Iterable[int]) -> dict[int, tuple[str, int]]:
    """By change the verdict in force and who gave it."""
    rows = Verdict.objects.filter(
        change__in=set(changes),
        action__in=[Verdict.Action.APPROVE, Verdict.Action.DISMISS],
    ).standing()
    return {
        change: (action, actor)
        for change, action, actor in rows.order_by("pk").values_list("change", "action", "actor")
    }


def _named(differing: dict[int, tuple[str, str, datetime]]) -> list[Disagreement]:
    newest = list(differing)[:MOST_NAMED]
    found = Change.objects.select_related("monitor__site").defer("diff", "search_text").in_bulk(newest)
    return [Disagreement(found[pk], *differing[pk]) for pk in newest if pk in found]
