"""One site as its page tells it: days by kind, charts of what is measured, its silence, and how politely it is visited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.calibrating import drift
from monitoring.calibrating.drift import Day
from monitoring.models import HintSource, Outcome, RobotsFile, RobotsPolicy, Site, SiteWatch
from monitoring.services import watching
from review import charts, wording
from review.selectors.history import month_labels

GOOD = (Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD)
SHARES = ((0.0, 0), (0.5, 50), (1.0, 100))


@dataclass(frozen=True, slots=True)
class Measure:
    """Something measured every day: its name, its drawing, and the same in a sentence."""

    name: str
    chart: charts.Chart
    sentence: str


def share(days: Sequence[Day], outcomes: Sequence[str]) -> float | None:
    """The share of visits that came to one of the outcomes; None without visits."""
    visits = sum(day.visits for day in days)
    return sum(day.counts.get(one, 0) for day in days for one in outcomes) / visits if visits else None


def measures(days: Sequence[Day], *, now: datetime, span: timedelta) -> list[Measure]:
    """What the days show: pages that could be compared, blocks, how long a visit takes, how far noise goes."""
    percent = [(at, _("%(n)s %%") % {"n": n}) for at, n in SHARES]

    def share_of(*outcomes: str) -> Callable[[Sequence[Day]], float | None]:
        return lambda some: share(some, outcomes)

    def percent_words(value: float) -> str:
        return _("%(n)s %%") % {"n": wording.decimal(100 * value, 0)}

    slowest = max((drift.typical_ms([day]) or 0.0 for day in days), default=0.0) or 1.0
    seconds = [(at, milliseconds(at * slowest)) for at in (0.0, 0.5, 1.0)]
    drawings = (
        (_("Brought a page to compare"), share_of(*GOOD), 1.0, percent, percent_words),
        (_("Met a block page"), share_of(Outcome.BLOCKED), 1.0, percent, percent_words),
        (_("Time of a visit, median"), drift.typical_ms, slowest, seconds, milliseconds),
        (
            _("Score of noise, median"), drift.typical_noise, 1.0,
            [(at, wording.decimal(at, 1)) for at in (0.0, 0.5, 1.0)], lambda value: wording.decimal(value, 2),
        ),
    )  # fmt: skip
    found = []
    for name, measure, most, heights, words in drawings:
        steps = [(_start(day), None if (v := measure([day])) is None else v / most) for day in days]
        whole = measure(days)
        if whole is None:
            continue
        chart = charts.scores_over_time(
            [], cuts=_with_gaps(steps, now - span), now=now, span=span, height=110, left=48.0, heights=heights,
            months=month_labels(now=now, span=span)[::2],
        )  # fmt: skip
        values = [share * most for _at, share in steps if share is not None]
        sentence = _("%(name)s: %(all)s over all days shown, between %(low)s and %(high)s on one day.") % {
            "name": name, "all": words(whole), "low": words(min(values)), "high": words(max(values)),
        }  # fmt: skip
        found.append(Measure(name, chart, sentence))
    return found


def milliseconds(value: float) -> str:
    """A duration: "181 ms", "2.4 s"."""
    if value < 1_000:
        return _("%(n)s ms") % {"n": wording.decimal(value, 0)}
    return _("%(n)s s") % {"n": wording.decimal(value / 1_000, 1)}


def _start(day: Day) -> datetime:
    return datetime.combine(date.fromordinal(day.number), time(), UTC)


def _with_gaps(steps: Sequence[tuple[datetime, float | None]], start: datetime) -> list[tuple[datetime, float | None]]:
    """Each value for its own day: where the next day has none, the line ends. Begins with the span."""
    found: list[tuple[datetime, float | None]] = []
    for at, value in steps:
        if found and found[-1][0] + timedelta(days=1) < at:
            found.append((found[-1][0] + timedelta(days=1), None))
        found.append((at, value))
    if found and found[0][0] > start:
        found.insert(0, (start, None))
    return found


def silence_words(watch: SiteWatch | None) -> str:
    """How still the site stands, against what is usual there."""
    sign = watching.silence_of(watch) if watch is not None else None
    if watch is None or sign is None or not sign.data:
        return _("Too few changes were seen here to say what silence would mean.")
    said = _("No change for %(days)s days, where one comes every %(usual)s days.") % {
        "days": wording.decimal(sign.data["days"], 1), "usual": wording.decimal(sign.data["usual_days"], 1),
    }  # fmt: skip
    if not watch.still_visits:
        return said
    still = ngettext(
        "The last visit showed no difference at all.",
        "The last %(n)s visits showed no difference at all.",
        watch.still_visits,
    ) % {"n": watch.still_visits}
    return f"{said} {still}"


def robots_words(site: Site, found: RobotsFile | None) -> str:
    """What robots.txt means for us here."""
    if site.robots_policy == RobotsPolicy.IGNORE:
        return _("ignored: %(why)s") % {"why": site.robots_reason}
    state = found.get_state_display() if found is not None else _("not read yet")
    return f"{site.get_robots_policy_display()}; {state}"


def hint_sources(site: Site) -> int:
    """How many sitemaps and feeds of the site are in use."""
    return HintSource.objects.filter(site=site).count() if site.use_hints else 0
