"""Alarms of promises in words: what stands in the way, how much it breaks or endangers, since when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import Cause, Monitor, Outage, PromiseAlarm, Site
from monitoring.scheduling.hosts import FULL
from monitoring.services import promises as watch
from review import wording

if TYPE_CHECKING:
    from django.contrib.auth.models import User

NAMED_SITES = 3


@dataclass(frozen=True, slots=True)
class Line:
    """An alarm ready to print. `quiet`: the last look found nothing of it any more."""

    label: str
    team: str
    since: datetime
    why: str
    count: str
    url: str
    quiet: bool


_DAY_S = 86_400.0


def line(alarm: PromiseAlarm) -> Line:
    """An alarm in words."""
    show = "&show=risk" if not alarm.broken and alarm.at_risk else ""
    return Line(
        label=alarm.get_cause_display(),
        team=alarm.team.name,
        since=alarm.began_at,
        why=cause_sentence(alarm.cause, alarm.facts),
        count=count_sentence(alarm.broken, alarm.at_risk),
        url=f"{reverse('overdue')}?cause={alarm.cause}{show}",
        quiet=not alarm.trouble,
    )


def sentence(alarm: PromiseAlarm) -> str:
    """An alarm in one line, for a digest: whose, why, how much."""
    count = count_sentence(alarm.broken, alarm.at_risk)
    why = cause_sentence(alarm.cause, alarm.facts)
    return f"{alarm.team.name}: {why} {count}." if count else f"{alarm.team.name}: {why}"


def open_alarms(user: User) -> list[PromiseAlarm]:
    """The alarms in force of the user's teams, those with the most broken promises first."""
    return list(_visible(user).filter(cleared_at__isnull=True).order_by("-broken", "-at_risk", "began_at", "pk")[:50])


def past_alarms(user: User, *, most: int = 20) -> list[PromiseAlarm]:
    """Alarms that are over, the latest first."""
    return list(_visible(user).filter(cleared_at__isnull=False).order_by("-cleared_at", "-pk")[:most])


def _visible(user: User) -> QuerySet[PromiseAlarm]:
    rows = PromiseAlarm.objects.filter(raised_at__isnull=False).select_related("team")
    return rows if user.is_superuser else rows.filter(team__members=user.pk)


def cause_sentence(cause: str, facts: dict[str, Any]) -> str:
    """What stands in the way, in a sentence."""
    if cause == Cause.HOST:
        return _hosts_words(facts)
    if cause == Cause.BUDGET:
        return _(
            "What is promised needs %(needed)s fetches a day by itself, and the budget is %(budget)s. It is kept all the same; nothing is left for other pages."
        ) % {"needed": facts.get("needed", "?"), "budget": facts.get("budget", "?")}
    return {
        Cause.ERRORS: _("Visits fail: what came back could not be compared."),
        Cause.ROBOTS: _("robots.txt forbids the pages."),
        Cause.QUARANTINE: _("Pages are held because work on them broke off three times; “check now” takes them back."),
        Cause.REST: _("Their sites asked to be left alone, or could not be reached, and rest."),
        Cause.QUEUE: _("The workers are behind: more is due than they can visit."),
        Cause.STOPPED: _("No worker has finished a visit for ten minutes although pages are due."),
        Cause.OUTAGE: _outage_words(),
    }.get(Cause(cause), cause)


def count_sentence(broken: int, at_risk: int) -> str:
    """How many promises are broken or in danger; empty for none."""
    parts = []
    if broken:
        parts.append(
            ngettext("%(n)s page was not read in time", "%(n)s pages were not read in time", broken) % {"n": broken}
        )
    if at_risk:
        parts.append(ngettext("%(n)s promise is at risk", "%(n)s promises are at risk", at_risk) % {"n": at_risk})
    return ", ".join(parts)


def host_sentence(site: Site) -> str:
    """What a site bears against what is promised of its pages, and what would make both meet."""
    gap = site.effective_gap_s
    allowed = int(_DAY_S * FULL / gap) if gap else 0
    return _(
        "%(site)s bears %(allowed)s visits a day; what is promised for its pages needs %(needed)s. It would fit with a gap of %(gap)s s, or with promises %(times)s times as long."
    ) % {
        "site": site.name,
        "allowed": allowed,
        "needed": round(site.least_load * allowed),
        "gap": wording.decimal(fitting_gap_s(site), 2),
        "times": wording.decimal(site.least_load, 1),
    }


def fitting_gap_s(site: Site) -> float:
    """The longest gap, rounded down to a hundredth, at which all that is promised of a full site's pages could be kept."""
    return int(100 * site.effective_gap_s / site.least_load) / 100


def _hosts_words(facts: dict[str, Any]) -> str:
    wanted = list(facts.get("sites", []))[:NAMED_SITES]
    found = Site.objects.in_bulk(wanted)
    sites = [found[pk] for pk in wanted if pk in found and found[pk].least_load > 1]
    more = int(facts.get("count", len(sites))) - len(sites)
    if not sites:
        return _("Sites bear fewer visits than is promised for their pages.")
    sentences = [host_sentence(site) for site in sites]
    if more > 0:
        sentences.append(ngettext("%(n)s more site as well.", "%(n)s more sites as well.", more) % {"n": more})
    return " ".join(sentences)


def _outage_words() -> str:
    last = Outage.objects.order_by("-ended_at").first()
    if last is None:
        return _("Nothing was at work for a while.")
    return _("Nothing was at work from %(began)s to %(ended)s; each page is visited once, however many visits it missed.") % {
        "began": wording.day_words(last.began_at, "clock"),
        "ended": wording.day_words(last.ended_at, "clock"),
    }  # fmt: skip


def stopped_sentence(now: datetime) -> str:
    """That nobody looks any more, told by the page itself: a watch that sleeps can't tell; empty while it is awake."""
    at = watch.last_look()
    if at is None or not watch.is_blind(now=now):
        return ""
    return _("No worker has been at work since %(at)s. Nothing is visited and no mail is sent.") % {
        "at": wording.day_words(at, "clock")
    }


def pages_of(alarm: PromiseAlarm, *, now: datetime, most: int) -> list[Monitor]:
    """The pages an alarm is about, the oldest promise first."""
    if alarm.cause == Cause.BUDGET:
        return []
    rows = (
        watch.near_end(now).filter(team=alarm.team_id).annotate(cause=watch.cause_of(now, waits=waits_as(alarm.cause)))
    )
    return list(rows.filter(cause=alarm.cause).select_related("site", "page_type", "team")[:most])


def waits_as(cause: str) -> str:
    """The cause that is given to pages that merely wait, so that a list names the same as its alarm."""
    return cause if cause in {Cause.QUEUE, Cause.STOPPED} else Cause.QUEUE


def promised_words(monitor: Monitor) -> str:
    """What is promised of a page: "1 day"."""
    return wording.long_span(timedelta(seconds=monitor.effective_max_s))
