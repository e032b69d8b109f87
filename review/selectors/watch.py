"""The state of the watch: what checks found, who is blocking us, what is silent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Exists, Max, OuterRef, Q
from django.db.models.functions import TruncDate
from django.utils import timezone

from monitoring.models import Change, Check, Monitor, MonitorState, Outcome, Site
from monitoring.models.monitor import TROUBLED, MonitorQuerySet, of_visible
from monitoring.services import visits
from review.models import Verdict
from review.selectors.keyset import Order
from review.selectors.keyset import after as keyset_after

if TYPE_CHECKING:
    from django.contrib.auth.models import User

OUTCOMES = [Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD, Outcome.BLOCKED, Outcome.ERROR, Outcome.GONE]
DAYS = 30
COUNTED = 10_000  # counting stops here: an exact large number costs more than it says
SHOWN = 12
FEW, PAGE = 200, 25  # up to so many sites are shown at once; of more, so many a page
LOOKED_AT = 1_000  # pages of each bad state, to find the worst of many sites
UNREADABLE = tuple(state for state in TROUBLED if state != MonitorState.UNREAD)
SILENT_AFTER = timedelta(days=21)
SILENT_CHECKS = 20
# The worst kind of a day is what its cell shows: a page that can't be read looks like one that did not change.
WORST = ["none", "noise", "field", "content", "gone", "error", "blocked"]


@dataclass(frozen=True, slots=True)
class Figures:
    """The last 24 hours."""

    checks: int
    answered: int
    by_outcome: list[tuple[str, str, int]]
    overdue: int
    oldest_due: datetime | None
    monitors: int

    def of(self, outcome: str) -> int:
        """How many checks came to this."""
        return next((n for name, _label, n in self.by_outcome if name == outcome), 0)


def figures(*, user: User, now: datetime) -> Figures:
    """What the watch did in 24 hours, of the user's teams."""
    monitors = Monitor.objects.visible_to(user)
    counts = visits.counts(now=now, teams=None if user.is_superuser else list(user.teams.values_list("pk", flat=True)))
    total = sum(counts.values())
    late = monitors.filter(
        enabled=True, quarantined_at__isnull=True, next_check_at__lt=now - timedelta(minutes=15)
    ).order_by("next_check_at")
    overdue = late.order_by()[:COUNTED].count()
    return Figures(
        checks=total,
        answered=total - counts.get(Outcome.BLOCKED, 0) - counts.get(Outcome.ERROR, 0),
        by_outcome=[(str(o.value), str(o.label), counts[o]) for o in OUTCOMES if counts.get(o)],
        overdue=overdue,
        oldest_due=late.values_list("next_check_at", flat=True).first() if overdue else None,
        monitors=monitors.filter(enabled=True).order_by()[:COUNTED].count(),
    )


def troubled(*, user: User) -> list[Monitor]:
    """Monitors that are blocked, failing, gone or not yet read, the longest first."""
    rows = Monitor.objects.visible_to(user).filter(enabled=True).select_related("site").order_by("state_since", "pk")
    # Each state by itself, in the order of its index; together they would all be read and sorted.
    kinds = [rows.filter(state=state) for state in TROUBLED]
    found = {row.pk: row for kind in (*kinds, rows.filter(quarantined_at__isnull=False)) for row in kind[:SHOWN]}
    last = datetime.max.replace(tzinfo=UTC)
    return sorted(found.values(), key=lambda row: (row.state_since or last, row.pk))[:SHOWN]


@dataclass(frozen=True, slots=True)
class Week:
    """One line of the two-week table."""

    content: int
    approved: int
    dismissed: int


def weeks(*, user: User, now: datetime) -> list[Week]:
    """This week's and last week's figures."""
    found = []
    for index in (0, 1):
        until, since = now - timedelta(days=7 * index), now - timedelta(days=7 * (index + 1))
        changes = Change.objects.visible_to(user)
        opened = changes.filter(opened_at__gte=since, opened_at__lt=until).count()  # a week of the index
        given = _by_action("action", user, at__gte=since, at__lt=until)
        # Few are taken back; to ask of each whether it was takes longer than to count those.
        undone = _by_action("undoes__action", user, undoes__at__gte=since, undoes__at__lt=until)
        approved, dismissed = (given.get(action, 0) - undone.get(action, 0) for action in ("approve", "dismiss"))
        found.append(Week(opened, approved, dismissed))
    return found


def _by_action(column: str, user: User, **which: object) -> dict[str, int]:
    """How many verdicts there are of each action."""
    verdicts = of_visible(Verdict.objects.filter(**which), user, "change__monitor")
    return dict(verdicts.values_list(column).annotate(n=Count("pk")).order_by())


@dataclass(frozen=True, slots=True)
class SiteLine:
    """A site over 30 days: the worst outcome of each day (empty: no visit), rates, and what is wrong."""

    site: Site
    monitors: int
    days: list[str]
    counts: dict[str, int]
    total: int
    answered: float | None
    noise_rate: float | None
    content_rate: float | None
    blocked: int
    silent: bool
    trouble: int


BY_NAME = Order(("name", "pk"))


def sites(
    *, user: User, now: datetime, after: tuple[Any, ...] | None = None
) -> tuple[list[SiteLine], tuple[Any, ...] | None]:
    """Sites with monitors of the user's teams, those in trouble first; and where the next page starts, None at the end.

    All of them where there are few. Of many the ones with most trouble, then by name a few at a time: thirty days of ten
    thousand sites are millions of visits.
    """
    monitors = Monitor.objects.visible_to(user)
    theirs = Site.objects.filter(Exists(monitors.filter(site=OuterRef("pk")))).order_by(*BY_NAME.columns)
    found = list(theirs[: FEW + 1])
    if len(found) <= FEW:
        return _lines(monitors.filter(site__in=found), now), None
    worst: list[int] = []
    if after is None:
        # Of each state those that have been in it longest, by its index: all of them are too many to count at each look.
        bad = monitors.filter(enabled=True).order_by("state_since", "pk")
        longest = [bad.filter(state=state).values_list("site", flat=True)[:LOOKED_AT] for state in UNREADABLE]
        pages = Counter(site for kind in longest for site in kind)
        worst = sorted(pages, key=lambda site: (-pages[site], site))[:PAGE]
    room = PAGE - len(worst)
    rows = keyset_after(theirs, BY_NAME, after) if after else theirs
    named = list(rows[: room + 1])
    lines = _lines(monitors.filter(site__in=[*worst, *named[:room]]), now)
    if len(named) <= room:
        return lines, None
    return lines, BY_NAME.key(named[room - 1]) if room else ("", 0)


def _lines(monitors: MonitorQuerySet, now: datetime) -> list[SiteLine]:
    """The lines of the sites of some monitors."""
    zone = timezone.get_current_timezone()
    today = timezone.localtime(now).date()
    start = now - timedelta(days=DAYS)
    per_day: dict[int, dict[str, dict[str, int]]] = {}
    rows = (
        Check.objects.filter(monitor__in=monitors.values("pk"), started_at__gte=start)
        .annotate(day=TruncDate("started_at", tzinfo=zone))
        .values_list("monitor__site", "day", "outcome")
        .annotate(n=Count("pk"))
        .order_by()
    )
    for site_id, day, outcome, n in rows:
        per_day.setdefault(site_id, {}).setdefault(day.isoformat(), {})[str(outcome)] = n
    facts = {
        row["site"]: row
        for row in monitors.values("site").annotate(
            n=Count("pk"),
            blocked=Count("pk", filter=Q(state=MonitorState.BLOCKED, enabled=True)),
            failing=Count("pk", filter=Q(state__in=[MonitorState.ERROR, MonitorState.GONE], enabled=True)),
            last_ok=Max("last_ok_at"),
        )
    }
    lines = []
    names = [(today - timedelta(days=DAYS - 1 - i)).isoformat() for i in range(DAYS)]
    for site in Site.objects.filter(pk__in=facts):
        days = per_day.get(site.pk, {})
        counts: dict[str, int] = {}
        for found in days.values():
            for outcome, n in found.items():
                counts[outcome] = counts.get(outcome, 0) + n
        total = sum(counts.values())
        answered = total - counts.get("blocked", 0) - counts.get("error", 0)
        fact = facts[site.pk]
        recent = [d for d in names[-SILENT_AFTER.days :] if d in days]
        silent = (
            total >= SILENT_CHECKS
            and len(recent) >= SILENT_AFTER.days - 1
            and all(set(days[d]) <= {"none"} for d in recent)
        )
        lines.append(
            SiteLine(
                site=site,
                monitors=fact["n"],
                days=[max(days[d], key=WORST.index) if d in days else "" for d in names],
                counts=counts,
                total=total,
                answered=100 * answered / total if total else None,
                noise_rate=100 * counts.get("noise", 0) / answered if answered else None,
                content_rate=100 * counts.get("content", 0) / answered if answered else None,
                blocked=fact["blocked"],
                silent=silent,
                trouble=4 * fact["blocked"] + 2 * fact["failing"] + silent,
            )
        )
    return sorted(lines, key=lambda line: (-line.trouble, line.site.name.lower()))
