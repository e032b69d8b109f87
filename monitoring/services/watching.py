"""Daily figures of sites and what is out of the ordinary in them: added up from new checks, looked at every hour.

No look reads all checks. `fold` adds up those that came since it last did, by their number; a check that is written more
than `LAG` after it began may be passed over, and then a day has one visit less.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Subquery, Sum
from django.dispatch import Signal

from monitoring.calibrating import drift
from monitoring.calibrating.drift import Day, Sign
from monitoring.calibrating.silence import Past, silence
from monitoring.models import Alarm, Check, FoldMark, Monitor, Outcome, Site, SiteDay, SiteWatch
from monitoring.scheduling import Rate
from monitoring.scheduling.alarms import Event, Patience, Seen, after_look

logger = logging.getLogger(__name__)

MARK = "site-days"
LAG = timedelta(minutes=10)
MOST = 20_000  # checks of one run; the rest follows with the next
FEWEST_CHANGES = 3  # before anything is said of a site's silence
REMEMBERED = 1_000.0  # visits
KEPT = timedelta(days=120)
PATIENCE = Patience(
    raise_after_s=3_600.0,
    raise_looks=2,
    clear_after_s=3_600.0,
    clear_looks=2,
    remind_after_s=7 * 86_400.0,
    gap_s=3 * 3_600.0,
)
_GOOD = frozenset({Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD})
_CHANGE = frozenset({Outcome.CONTENT, Outcome.FIELD})

alarm_told = Signal()
"""Sent inside the transaction of a look: `alarm`, `event` (of scheduling.alarms), `now`."""


# -- adding up ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Sum:
    """What new checks add to one day of a site and page type."""

    counts: Counter[str] = field(default_factory=Counter)
    scores: list[int] = field(default_factory=lambda: [0] * drift.SCORE_BINS)
    bits: list[int] = field(default_factory=lambda: [0] * drift.BIT_BINS)
    ms: list[int] = field(default_factory=lambda: [0] * drift.MS_BINS)


def anything_new(*, now: datetime) -> bool:
    """Whether `fold` has something to add up; cheap."""
    mark = FoldMark.objects.filter(name=MARK).values_list("check_id", flat=True).first() or 0
    return Check.objects.filter(pk__gt=mark, started_at__lte=now - LAG).exists()


def fold(*, now: datetime, most: int = MOST) -> int:
    """Add up the checks that came since; how many. Two workers at once don't count anything twice."""
    with transaction.atomic():
        FoldMark.objects.get_or_create(name=MARK)
        mark = FoldMark.objects.select_for_update().get(name=MARK)
        last = _last(mark.check_id, now, most)
        before = Check.objects.filter(monitor=OuterRef("monitor"), check_no=OuterRef("check_no") - 1)
        rows = list(
            Check.objects.filter(pk__gt=mark.check_id, pk__lte=last, monitor__is_canary=False)
            .annotate(
                body_before=Subquery(before.values("raw_sha256")[:1]), rebased_before=Subquery(before.values("rebased")[:1])
            )
            .order_by("pk")
            .values(
                "pk", "monitor__site", "monitor__page_type", "started_at", "outcome", "score", "distance", "duration_ms",
                "raw_sha256", "body_before", "rebased_before",
            )
        )  # fmt: skip
        _add_days(rows)
        _add_stillness(rows)
        if last > mark.check_id:
            mark.check_id = last
            mark.save(update_fields=["check_id"])
    return len(rows)


def _last(mark: int, now: datetime, most: int) -> int:
    """The number until which checks are added up: before the first one that began less than the lag ago."""
    numbers = Check.objects.filter(pk__gt=mark).order_by("pk").values_list("pk", "started_at")[:most]
    last = mark
    for pk, started_at in numbers:
        if started_at > now - LAG:
            break
        last = pk
    return last


def _add_days(rows: Iterable[Mapping[str, Any]]) -> None:
    sums: dict[tuple[int, int, date], _Sum] = defaultdict(_Sum)
    for row in rows:
        total = sums[row["monitor__site"], row["monitor__page_type"], row["started_at"].astimezone(UTC).date()]
        total.counts[row["outcome"]] += 1
        total.ms[drift.ms_bin(row["duration_ms"])] += 1
        if row["outcome"] == Outcome.NOISE and row["score"] is not None:
            total.scores[drift.score_bin(row["score"])] += 1
            total.bits[drift.bit_bin(row["distance"] or 0)] += 1
    for (site, page_type, day), total in sums.items():
        stored, _ = SiteDay.objects.get_or_create(site_id=site, page_type_id=page_type, day=day)
        stored.counts = dict(Counter(stored.counts) + total.counts)
        stored.scores = drift.merged([stored.scores, total.scores], drift.SCORE_BINS)
        stored.bits = drift.merged([stored.bits, total.bits], drift.BIT_BINS)
        stored.ms = drift.merged([stored.ms, total.ms], drift.MS_BINS)
        stored.save(update_fields=["counts", "scores", "bits", "ms"])


def _add_stillness(rows: Iterable[Mapping[str, Any]]) -> None:
    by_site: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["outcome"] in _GOOD:
            by_site[row["monitor__site"]].append(row)
    known = {watch.site_id: watch for watch in SiteWatch.objects.filter(site__in=by_site)}
    for site, visits in by_site.items():
        watch = known.get(site) or SiteWatch(site_id=site, first_visit_at=visits[0]["started_at"])
        for row in visits:
            _visit(watch, row)
        if any(row["outcome"] in _CHANGE for row in visits):
            watch.rate_a, watch.rate_b = _rate(site)
        watch.save()


def _visit(watch: SiteWatch, row: Mapping[str, Any]) -> None:
    moved = _moved(row)
    if watch.visits >= REMEMBERED:
        watch.visits, watch.moved = watch.visits / 2, watch.moved / 2
    watch.visits += 1
    watch.moved += moved
    watch.total_visits += 1
    watch.still_visits = 0 if moved else watch.still_visits + 1
    watch.last_visit_at = max(watch.last_visit_at or row["started_at"], row["started_at"])
    if row["outcome"] in _CHANGE:
        watch.changes += 1
        watch.last_change_at = max(watch.last_change_at or row["started_at"], row["started_at"])


def _moved(row: Mapping[str, Any]) -> bool:
    """Whether the body is not that of the visit before. An unchanged visit's row leaves its hash out: it is the baseline's."""
    if row["outcome"] in _CHANGE:
        return True
    if row["rebased_before"]:
        return bool(row["outcome"] == Outcome.NOISE)
    body: str = row["raw_sha256"]
    return body != (row["body_before"] or "")


def _rate(site: int) -> tuple[float, float]:
    """The rate of change of all pages of a site together, as a Gamma distribution."""
    found = Monitor.objects.filter(site=site, enabled=True).aggregate(
        a=Sum("rate_a"), mean=Sum(F("rate_a") / F("rate_b"))
    )
    if not found["a"] or not found["mean"]:
        return 0.0, 0.0
    return found["a"], found["a"] / found["mean"]


# -- looking -----------------------------------------------------------------------------


def days_of(site: Site, *, since: date) -> list[Day]:
    """A site's days from one on, all its page types together, the oldest first; days without visits are left out."""
    by_day: dict[date, list[SiteDay]] = defaultdict(list)
    for row in SiteDay.objects.filter(site=site, day__gte=since).order_by("day"):
        by_day[row.day].append(row)
    return [
        Day(
            day.toordinal(),
            dict(sum((Counter(row.counts) for row in rows), Counter())),
            drift.merged((row.scores for row in rows), drift.SCORE_BINS),
            drift.merged((row.bits for row in rows), drift.BIT_BINS),
            drift.merged((row.ms for row in rows), drift.MS_BINS),
        )
        for day, rows in by_day.items()
    ]


def look(*, now: datetime) -> int:
    """Look at every site with visits; how many alarms were raised, told again or cleared."""
    told = 0
    today = now.astimezone(UTC).date()
    days: dict[int, list[Day]] = defaultdict(list)
    recent = SiteDay.objects.filter(
        day__gt=today - timedelta(days=drift.RECENT + drift.BEFORE), site__monitors__enabled=True
    )
    for row in recent.distinct().iterator(chunk_size=2_000):
        days[row.site_id].append(Day(row.day.toordinal(), row.counts, row.scores, row.bits, row.ms))
    watches = {watch.site_id: watch for watch in SiteWatch.objects.filter(site__monitors__enabled=True).distinct()}
    open_ones = {(alarm.site_id, alarm.kind): alarm for alarm in Alarm.objects.filter(cleared_at__isnull=True)}
    for site in sorted({*days, *watches}):
        found = drift.signs(days.get(site, []), today.toordinal())
        if site in watches:
            found.append(silence_of(watches[site]))
        for sign in found:
            told += look_at(site, sign, open_ones.get((site, sign.kind)), now=now)
    return told


def silence_of(watch: SiteWatch) -> Sign:
    """What the stillness of a site comes to."""
    if (
        watch.changes < FEWEST_CHANGES
        or watch.last_change_at is None
        or watch.last_visit_at is None
        or not watch.rate_b
    ):
        return Sign(Alarm.Kind.SILENT, False, False, {})
    still = max(0.0, (watch.last_visit_at - watch.last_change_at) / timedelta(days=1))
    seen = (watch.last_visit_at - (watch.first_visit_at or watch.last_visit_at)) / timedelta(days=1)
    found = silence(
        Past(
            Rate(watch.rate_a, watch.rate_b),
            still,
            visits=int(watch.visits) - min(int(watch.visits), watch.still_visits),
            moved=min(int(watch.moved), int(watch.visits) - min(int(watch.visits), watch.still_visits)),
            still_visits=watch.still_visits,
            visits_a_day=watch.total_visits / max(1.0, seen),
        )
    )
    data = {key: round(value, 2) for key, value in asdict(found).items()}
    data |= {
        "days": round(still, 1),
        "usual_days": round(watch.rate_b / watch.rate_a, 1),
        "visits": float(watch.still_visits),
    }
    return Sign(Alarm.Kind.SILENT, found.is_silent, not found.is_over, data)


def look_at(
    site: int,
    sign: Sign,
    alarm: Alarm | None,
    *,
    now: datetime,
    patience: Patience = PATIENCE,
    facts: Mapping[str, Any] | None = None,
) -> bool:
    """Hold one rule's word on one site against its open alarm, if there is one; whether there was something to tell.

    `facts` stand in the alarm in place of the sign's figures.
    """
    if alarm is None and not sign.begins:
        return False
    raised = alarm is not None and alarm.raised_at is not None
    trouble = sign.begins or (raised and sign.goes_on)
    if alarm is None:
        alarm = Alarm(site_id=site, kind=sign.kind, since=now, looked_at=now, began_at=now)
    seen, event = after_look(_seen(alarm), trouble=trouble, pages=1, now=now.timestamp(), p=patience)
    if not seen.raised and not trouble and event is None:
        if alarm.pk is not None:
            alarm.delete()  # it was gone before it was told
        return False
    alarm.trouble, alarm.looks, alarm.looked_at = seen.trouble, seen.looks, now
    alarm.since = datetime.fromtimestamp(seen.since, UTC)
    if trouble and (said := facts or sign.data):
        alarm.facts = dict(said)
    with transaction.atomic():
        if event is not None:
            alarm.told_at = now
            alarm.raised_at = alarm.raised_at or now
            alarm.cleared_at = now if event is Event.CLEARED else None
        alarm.save()
        if event is not None:
            logger.warning("site=%d alarm=%s event=%s", site, alarm.kind, event)
            alarm_told.send(sender=Alarm, alarm=alarm, event=event, now=now)
    return event is not None


def _seen(alarm: Alarm) -> Seen:
    return Seen(
        raised=alarm.raised_at is not None,
        trouble=alarm.trouble,
        since=alarm.since.timestamp(),
        looks=alarm.looks,
        at=alarm.looked_at.timestamp(),
        told_at=alarm.told_at.timestamp() if alarm.told_at else 0.0,
        told=1,
    )


def forget(*, now: datetime) -> int:
    """Let daily figures go that no rule looks at any more."""
    return SiteDay.objects.filter(day__lt=(now - KEPT).date()).delete()[0]


def sites_in_alarm(ids: Iterable[int] | None = None) -> dict[int, list[Alarm]]:
    """Raised alarms of sites, the oldest first."""
    rows = Alarm.objects.filter(raised_at__isnull=False, cleared_at__isnull=True).order_by("began_at", "pk")
    found: dict[int, list[Alarm]] = defaultdict(list)
    for alarm in rows if ids is None else rows.filter(site__in=ids):
        found[alarm.site_id].append(alarm)
    return dict(found)
