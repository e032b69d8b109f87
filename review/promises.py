"""Promises in words: when a page is visited next and why then, how often it changes, and which promises are broken and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from monitoring.models import Cause, Check, Monitor, Outcome, Site, Team
from monitoring.scheduling import chance_of_change, rate_range
from monitoring.services import pools
from monitoring.services.promises import GRACE
from review import alarms, standing, wording

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SHOWN = 8
COUNTED = 10_000  # counting stops here
ENOUGH_SHAPE = 1.5  # below that too little is known to name an interval
_DAY_S = 86_400.0
_GOOD = {Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD}

PLANS = {
    "first": gettext_lazy("it is new or its address changed"),
    "asked": gettext_lazy("somebody asked for it"),
    "fixed-interval": gettext_lazy("that is its interval"),
    "expected-change": gettext_lazy("a change is likely by then"),
    "max-age": gettext_lazy("it is promised at least that often"),
    "min-interval": gettext_lazy("it may not be visited sooner"),
    "politeness": gettext_lazy("its site bears no more visits"),
    "retry": gettext_lazy("the last visit failed"),
    "signal": gettext_lazy("the site's sitemap or feed names a change"),
    "confirm": gettext_lazy("the last visit found something to confirm"),
}


@dataclass(frozen=True, slots=True)
class Broken:
    """A page that was not read in time. `since` is when it should have been read at the latest."""

    monitor: Monitor
    since: datetime
    promised: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """What stands in the way of promises: pages not read in time (`more` beyond those shown), and what cannot be kept."""

    broken: tuple[Broken, ...]
    more: int
    impossible: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.broken and not self.impossible


def next_sentence(monitor: Monitor, now: datetime) -> str:
    """When the next check is, and why then; empty where none is planned."""
    if not monitor.enabled or monitor.quarantined_at or monitor.next_check_at is None:
        return ""
    why = PLANS.get(monitor.plan_reason, monitor.plan_reason)
    if not why:
        return ""
    if pools.waits_for_nobody(monitor, now=now):
        return _("Due, but no worker renders pages: one with a browser has to be started.")
    if monitor.next_check_at <= now:
        return _("Due now, because %(why)s.") % {"why": why}
    at = wording.day_words(monitor.next_check_at, "clock")
    return _("Next check %(at)s, because %(why)s.") % {"at": at, "why": why}


def chance_sentence(monitor: Monitor) -> str:
    """How likely the next check finds a change, and how soon one would be known on average; empty where it's not planned."""
    if monitor.next_check_at is None or monitor.last_ok_at is None or monitor.rate_a < ENOUGH_SHAPE:
        return ""
    ahead = monitor.next_check_at - monitor.last_ok_at
    share = round(100 * chance_of_change(monitor.rate, ahead.total_seconds() / _DAY_S))
    return _("Chance that it finds a change: %(share)s %%. A change is known after %(span)s on average.") % {
        "share": share,
        "span": wording.long_span(ahead / 2),
    }


def rate_sentence(monitor: Monitor, *, checks: int, changes: int, over: timedelta) -> str:
    """How often the page changes, as far as that is known from so many comparisons over so long a time."""
    if not checks:
        return ""
    seen = ngettext(
        "%(changes)s in %(n)s check over %(span)s", "%(changes)s in %(n)s checks over %(span)s", checks
    ) % {"changes": changes, "n": checks, "span": wording.long_span(over)}  # fmt: skip
    if not changes:
        return _("No substantive change so far (%(seen)s).") % {"seen": seen}
    if monitor.rate_a < ENOUGH_SHAPE:
        return _("Too early to say how often it changes (%(seen)s); it is planned like a typical page.") % {
            "seen": seen
        }
    every = timedelta(days=monitor.rate_b / monitor.rate_a)
    rarest, liveliest = rate_range(monitor.rate)
    return _(
        "Substantive change about every %(span)s, most likely between %(least)s and %(most)s (%(seen)s)."
    ) % {
        "span": wording.long_span(every),
        "least": wording.long_span(timedelta(days=1 / liveliest)),
        "most": wording.long_span(timedelta(days=1 / rarest)),
        "seen": seen,
    }  # fmt: skip


def broken_promise(monitor: Monitor, *, now: datetime) -> Broken | None:
    """What became of the monitor's promise, or None while it is kept."""
    if not monitor.enabled or monitor.deadline_at is None or monitor.deadline_at > now - GRACE:
        return None
    return told([monitor], now)[0]


def report(user: User, *, now: datetime, shown: int = SHOWN, told_already: Collection[str] = ()) -> Report:
    """Broken promises of the user's teams, the oldest first, and those that cannot all be kept.

    Causes in `told_already` are those of alarms that stand beside it.
    """
    late = Monitor.objects.visible_to(user).filter(enabled=True, deadline_at__lt=now - GRACE)
    first = list(late.select_related("site", "team", "page_type").order_by("deadline_at", "pk")[:shown])
    more = late.order_by()[:COUNTED].count() - len(first) if len(first) == shown else 0
    impossible = (
        *([] if Cause.HOST in told_already else _too_full(user)),
        *([] if Cause.BUDGET in told_already else _too_dear(user)),
    )
    return Report(tuple(told(first, now)), more, impossible)


def told(monitors: Sequence[Monitor], now: datetime) -> list[Broken]:
    """What became, or will, of these monitors' promises, and why, in their order."""
    if not monitors:
        return []
    states = {row.monitor.pk: row for row in standing.standings(monitors, now=now)}
    wanted = {(monitor.pk, monitor.check_no) for monitor in monitors}
    last = {
        pk: outcome
        for pk, number, outcome in Check.objects.filter(
            monitor__in=[monitor.pk for monitor in monitors],
            check_no__in={number for _pk, number in wanted},
        ).values_list("monitor_id", "check_no", "outcome")
        if (pk, number) in wanted
    }
    queue = _queue(now) if any(_is_only_late(m, last.get(m.pk), now) for m in monitors) else ""
    return [
        Broken(
            monitor=monitor,
            since=monitor.deadline_at or now,
            promised=wording.long_span(timedelta(seconds=monitor.effective_max_s)),
            why=_why(monitor, states[monitor.pk], last.get(monitor.pk), now) or queue,
        )
        for monitor in monitors
    ]


def _is_only_late(monitor: Monitor, outcome: str | None, now: datetime) -> bool:
    return not _why(monitor, None, outcome, now)


def _why(monitor: Monitor, stands: standing.Standing | None, outcome: str | None, now: datetime) -> str:
    """Why a page was not read in time, as far as the page or its site is the cause."""
    if monitor.quarantined_at is not None:
        return capfirst(monitor.quarantine_words) + "."
    if outcome is not None and outcome not in _GOOD:
        return (stands.why if stands else "") or _("The last visits brought no page to compare.")
    if monitor.site.rests(now) and monitor.site.rest_until is not None:
        return _("The site is left alone until %(until)s.") % {
            "until": wording.day_words(monitor.site.rest_until, "clock")
        }
    return alarms.host_sentence(monitor.site) if monitor.site.least_load > 1 else ""


def _queue(now: datetime) -> str:
    """How much is due that no worker has come to."""
    due = Monitor.objects.filter(
        enabled=True, quarantined_at__isnull=True, lease_until__isnull=True, next_check_at__lte=now
    )
    waits = due.order_by()[:COUNTED].count()
    oldest = due.order_by("next_check_at").values_list("next_check_at", flat=True).first()
    if not waits or oldest is None:
        return _("It is being visited now.")
    return ngettext(
        "The workers are behind: %(n)s page is due, since %(span)s.",
        "The workers are behind: %(n)s pages are due, the first since %(span)s.",
        waits,
    ) % {"n": waits, "span": wording.long_span(now - oldest)}


def _too_full(user: User) -> list[str]:
    """Sites that cannot bear what is promised."""
    sites = Site.objects.filter(Exists(Monitor.objects.visible_to(user).filter(site=OuterRef("pk"))), least_load__gt=1)
    return [alarms.host_sentence(site) for site in sites.order_by("-least_load")[:SHOWN]]


def _too_dear(user: User) -> list[str]:
    """Teams whose budget does not even pay for what is promised; the promises are kept all the same."""
    teams = Team.objects.filter(budget__isnull=False)
    if not user.is_superuser:
        teams = teams.filter(members=user.pk)
    return [
        _(
            "Promises of %(team)s alone need %(needed)s fetches a day; its budget is %(budget)s. They are kept all the same."
        )
        % {"team": team.name, "needed": round(team.least_spend), "budget": team.budget}
        for team in teams.filter(Q(least_spend__gt=0)).order_by("name")
        if team.budget is not None and team.least_spend > team.budget * 1.01
    ]
