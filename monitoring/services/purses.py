"""The hard cap at work: visits of a team that has spent what it may wait, but for those that are promised or asked for.

A claim pays for what it takes, by what each visit is likely to cost. One that dies after that has paid for nothing,
which errs towards spending too little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet

from monitoring.models import Counts, Monitor, Team
from monitoring.scheduling import bucket, unchanged_cost

NEAR = timedelta(hours=2)  # a promise whose time is over within this is kept whatever it costs
_AT_ANY_PRICE = ("max-age", "asked", "confirm", "fixed-interval")
_COUNTED = 100_000  # no more are counted as waiting
_DAY = timedelta(days=1)
_WRONG = timedelta(hours=2)


def goes_on(now: datetime) -> Q:
    """Visits that may overdraw: what is promised, asked for, to be confirmed, or pinned to an interval."""
    return Q(plan_reason__in=_AT_ANY_PRICE) | Q(interval_s__isnull=False) | Q(deadline_at__lte=now + NEAR)


class Purses:
    """What the teams with a budget may still spend, for one claim."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._left: dict[int, float] = {}
        self._counts: dict[int, str] = {}
        self._spent: dict[int, float] = defaultdict(float)
        self._known: dict[int, tuple[int, float]] = {}
        for team in Team.objects.filter(budget__isnull=False).only("budget", "budget_counts", "tokens", "tokens_at"):
            self._left[team.pk] = _held(team, now)
            self._counts[team.pk] = team.budget_counts

    @property
    def empty(self) -> set[int]:
        """Teams that have nothing left."""
        return {team for team, left in self._left.items() if left <= 0}

    def affordable(self, rows: QuerySet[Monitor]) -> QuerySet[Monitor]:
        """The rows without those that have to wait."""
        return rows.filter(goes_on(self._now) | ~Q(team__in=empty)) if (empty := self.empty) else rows

    def within(self, ids: Sequence[int]) -> set[int]:
        """Those of `ids`, in their order, that can be paid for or go on at any price; nothing is paid yet."""
        costs = self._known = self._costs(ids)
        free = (
            set(Monitor.objects.filter(goes_on(self._now), pk__in=list(costs)).values_list("pk", flat=True))
            if costs
            else set()
        )
        left, taken = dict(self._left), set(ids) - costs.keys()
        for pk in ids:
            if pk not in costs:
                continue
            team, cost = costs[pk]
            if pk in free or left[team] > 0:
                taken.add(pk)
                left[team] -= cost
            elif self._left[team] > 0:
                self._left[team] = min(self._left[team], 0.0)  # the rest waits, in later passes of this claim too
        return taken

    def pay(self, ids: Iterable[int]) -> None:
        """Take out what these visits, which `within` was asked about last, are likely to cost."""
        for pk in ids:
            if pk not in self._known:
                continue
            team, cost = self._known[pk]
            self._left[team] -= cost
            self._spent[team] += cost

    def close(self) -> None:
        """Write down what was spent. Two claims at once both take out theirs."""
        for pk, spent in self._spent.items():
            team = Team.objects.only("budget", "tokens", "tokens_at").filter(pk=pk, budget__isnull=False).first()
            if team is None:
                continue
            row = Team.objects.filter(pk=pk)
            as_read = row.filter(tokens=team.tokens, tokens_at=team.tokens_at)
            if not as_read.update(tokens=_held(team, self._now) - spent, tokens_at=self._now):
                row.update(tokens=F("tokens") - spent)

    def _costs(self, ids: Sequence[int]) -> dict[int, tuple[int, float]]:
        """Team and likely cost of a visit, for those of teams with a budget."""
        if not self._left or not ids:
            return {}
        found = Monitor.objects.filter(pk__in=ids, team__in=list(self._left))
        return {
            pk: (team, self._cost(self._counts[team], by_browser, trusted=gives_304 and not self._doubted(until)))
            for pk, team, by_browser, gives_304, until in found.values_list(
                "pk", "team", "by_browser", "gives_304", "distrusted_until"
            )
        }

    def _doubted(self, until: datetime | None) -> bool:
        return until is not None and until > self._now

    @staticmethod
    def _cost(counts: str, by_browser: bool, *, trusted: bool) -> float:
        if counts == Counts.CHECKS:
            return 1.0
        return float(settings.BROWSER_COST) if by_browser else unchanged_cost(trusted=trusted)


def _held(team: Team, now: datetime) -> float:
    """What a team may spend now. A time that lies far ahead was written by a clock that was wrong: then it is full."""
    budget, at = float(team.budget or 0), team.tokens_at
    if at is None or at > now + _WRONG:
        return bucket.filled(None, budget=budget, days=0.0)
    return bucket.filled(team.tokens, budget=budget, days=(now - at) / _DAY)


def count_waiting(due: QuerySet[Monitor], *, now: datetime) -> None:
    """Write down how many due visits of each team wait for its budget."""
    empty = Purses(now).empty
    waiting: dict[int, int] = {}
    if empty:
        chosen = due.filter(~goes_on(now), team__in=empty).values("pk")[:_COUNTED]
        rows = Monitor.objects.filter(pk__in=chosen).order_by().values("team").annotate(n=Count("pk"))
        waiting = {row["team"]: row["n"] for row in rows}
    Team.objects.filter(waiting__gt=0).exclude(pk__in=waiting).update(waiting=0)
    for team, number in waiting.items():
        Team.objects.filter(pk=team).exclude(waiting=number).update(waiting=number)
