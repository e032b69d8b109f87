"""Sitemaps and feeds, read as hints: an entry newer than the last check may pull that check forward, never put it off."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from monitoring.fetching.capture import Capture, FetchRequest, Limits, Outcome
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import check_url, parse
from monitoring.fetching.http import fetch
from monitoring.fetching.sitemaps import Listed, UnreadableListError, read_list
from monitoring.models import Hint, HintSource, Monitor, Site
from monitoring.scheduling.hints import Trust, accepted_cost, is_worth, next_poll_s, telling
from monitoring.services import politeness, rates, robots, schedule
from monitoring.services.egress import address_policy
from monitoring.services.vantages import spec_of

logger = logging.getLogger(__name__)

SIGNAL = "signal"  # the plan's reason of a visit that a hint pulled forward
MAX_BYTES = 10 * 1024 * 1024
LIMITS = Limits(total_s=15.0, max_bytes=MAX_BYTES, max_redirects=5)
MOST_SOURCES = 5  # of one site, as its robots.txt names them
MOST_MAPS = 10  # of one index at a time, the newest first
POLL_S = 30.0  # for one run of the job
AGAIN_AFTER_TROUBLE = timedelta(hours=6)
_DAY_S = 86_400.0

type Fetch = Callable[[FetchRequest], Outcome]


def found(site: Site, addresses: Iterable[str], *, now: datetime) -> int:
    """Take note of the sitemaps that a site's robots.txt names, those of its own host. Gives how many are new."""
    if not site.use_hints or site.hint_url:
        return 0
    wanted = [url for text in addresses if (url := _own(site, text))][:MOST_SOURCES]
    if not wanted:
        return 0
    known = set(HintSource.objects.filter(site=site).values_list("url", flat=True))
    new = [HintSource(site=site, url=url, next_at=now) for url in dict.fromkeys(wanted) if url not in known]
    HintSource.objects.bulk_create(new[: max(0, MOST_SOURCES - len(known))], ignore_conflicts=True)
    return len(new)


def choose(site: Site, *, now: datetime) -> None:
    """Bring a site's sources in line with its settings: the one it names, those of robots.txt, or none."""
    sources = HintSource.objects.filter(site=site)
    if not site.use_hints:
        sources.delete()
    elif site.hint_url:
        sources.exclude(url=site.hint_url).delete()
        HintSource.objects.get_or_create(site=site, url=site.hint_url, defaults={"next_at": now})
    elif (rules := robots.Book([site]).rules(site)) is not None:
        found(site, rules.sitemaps, now=now)


def any_due(*, now: datetime) -> bool:
    """Whether a source wants to be read."""
    return _due(now).exists()


def poll(*, now: datetime, budget_s: float = POLL_S, fetcher: Fetch | None = None) -> int:
    """Read sources that are due, longest overdue first, for so many seconds. Gives how many checks were pulled forward."""
    ends = time.monotonic() + budget_s
    pulled = 0
    for source in _due(now).select_related("site").order_by("next_at")[:100]:
        if time.monotonic() >= ends:
            break
        pulled += _read(source, now, fetcher or _fetch, ends)
    return pulled


def settle(monitor: Monitor, *, good: bool, changed: bool) -> None:
    """Count what came of a visit that a hint pulled forward; one that brought no page says nothing about the source."""
    hint = Hint.objects.select_related("source").filter(monitor=monitor).first()
    if hint is None:
        return
    if good:
        trust = Trust(hint.source.hits, hint.source.misses).after(changed=changed)
        HintSource.objects.filter(pk=hint.source_id).update(hits=trust.hits, misses=trust.misses)
    hint.delete()


# -- reading -----------------------------------------------------------------------------


def _due(now: datetime) -> QuerySet[HintSource]:
    watched = Monitor.objects.filter(site=OuterRef("site"), enabled=True, quarantined_at__isnull=True)
    rests = Q(site__rest_until__gt=now) & Q(site__rest_until__lte=now + politeness.LONGEST_REST)
    return HintSource.objects.filter(Exists(watched), next_at__lte=now, site__use_hints=True).exclude(rests)


def _fetch(request: FetchRequest) -> Outcome:
    return asyncio.run(fetch(request, policy=address_policy()))


def _read(source: HintSource, now: datetime, fetcher: Fetch, ends: float) -> int:
    """Read one source and use what it says; every end plans the next reading."""
    site = source.site
    listed: Listed | None = None
    problem = ""
    decision = robots.Book([site]).decide(site, source.url, now=now)
    if not decision.allowed:
        problem = decision.sentence
    else:
        outcome = _ask(source, source.url, now, fetcher, conditional=True)
        politeness.note(site, outcome, now=now)
        listed, problem = _listed(outcome)
        if isinstance(outcome, Capture) and not outcome.not_modified and listed is not None:
            source.etag, source.last_modified = outcome.header("ETag")[:500], outcome.header("Last-Modified")[:100]
    dates = list(listed.pages) if listed else []
    if listed and listed.maps:
        dates += _of_maps(source, listed, now, fetcher, ends)
    source.problem, source.checked_at = problem[:300], now
    if listed is not None:
        source.entries = len(dates)
    wait = AGAIN_AFTER_TROUBLE if problem else timedelta(seconds=next_poll_s(Trust(source.hits, source.misses)))
    source.next_at = now + wait
    source.save()
    return _use(source, [(url, at) for url, at in dates if at is not None], now)


def _listed(outcome: Outcome) -> tuple[Listed | None, str]:
    """The entries and no problem, or none and what is wrong; nothing of both where nothing is new."""
    if not isinstance(outcome, Capture):
        return None, outcome.message
    if outcome.not_modified:
        return None, ""
    if outcome.status != 200:
        return None, f"The site answered with status {outcome.status}."
    try:
        return read_list(outcome.body, max_bytes=MAX_BYTES), ""
    except UnreadableListError as error:
        return None, str(error)


def _of_maps(
    source: HintSource, listed: Listed, now: datetime, fetcher: Fetch, ends: float
) -> list[tuple[str, datetime | None]]:
    """The entries of an index's sitemaps: the newest few, where dates tell, that moved since the last reading.

    With a long gap few fit into the time: the others have their turn when the index is read again.
    """
    oldest = datetime.min.replace(tzinfo=now.tzinfo)
    wanted = [
        (at or oldest, url)
        for text, at in listed.maps
        if (url := _own(source.site, text)) and (at is None or source.checked_at is None or at >= source.checked_at)
    ]
    dates: list[tuple[str, datetime | None]] = []
    for _, url in sorted(wanted, reverse=True)[:MOST_MAPS]:
        if time.monotonic() + source.site.effective_gap_s > ends:
            break
        part, _problem = _listed(_ask(source, url, now, fetcher, conditional=False))
        dates += part.pages if part else ()
        if source.site.rests(now):
            break
    return dates


def _ask(source: HintSource, url: str, now: datetime, fetcher: Fetch, *, conditional: bool) -> Outcome:
    """One request in the site's turn, as one of its monitors asks."""
    monitor = Monitor.objects.filter(site=source.site, enabled=True).select_related("vantage").first()
    assert monitor is not None  # noqa: S101 - sources of sites without monitors are not due
    wait = schedule.reserve(source.site, 1, now=now, after_s=0.0)
    time.sleep(min(max(wait, 0.0), source.site.effective_gap_s))
    return fetcher(
        FetchRequest(
            key=0,
            url=url,
            vantage=spec_of(monitor.vantage),
            limits=LIMITS,
            etag=source.etag if conditional else "",
            last_modified=source.last_modified if conditional else "",
        )
    )


def _own(site: Site, text: str) -> str:
    """The canonical address when it is one of the site's own host, else the empty string."""
    try:
        url = check_url(text, address_policy())
        return url if parse(url).origin.partition("://")[2] == site.host else ""
    except Refused:
        return ""


# -- using what was read -----------------------------------------------------------------


def _use(source: HintSource, dates: list[tuple[str, datetime]], now: datetime) -> int:
    """Pull forward the checks for which it is worth it. Gives how many."""
    newest = telling(((_key(url), at) for url, at in dates), read_at=now)
    if not newest:
        return 0
    trust = Trust(source.hits, source.misses)
    rows = Monitor.objects.filter(
        site=source.site, enabled=True, quarantined_at__isnull=True, lease_until__isnull=True,
        next_check_at__gt=now, last_checked_at__isnull=False,
    ).select_related("page_type", "team", "site")  # fmt: skip
    # Nothing is written while rows are read: SQLite would refuse it.
    named = [(one, at) for one in rows.iterator(chunk_size=500) if (at := newest.get(_key(one.url))) is not None]
    pulled = sum(_pull(monitor, source, at, trust, now) for monitor, at in named)
    if pulled:
        logger.info("site=%d source=%d pulled=%d", source.site_id, source.pk, pulled)
    return pulled


def _pull(monitor: Monitor, source: HintSource, changed_at: datetime, trust: Trust, now: datetime) -> bool:
    """Plan the next check of a monitor earlier, if the hint is news and worth a fetch."""
    last, planned = monitor.last_checked_at, monitor.next_check_at
    if last is None or planned is None or changed_at <= last:
        return False
    at = max(now, last + timedelta(seconds=monitor.effective_min_s))
    wait_days = (planned - at).total_seconds() / _DAY_S
    weight = max(monitor.effective_weight, 0.01)
    if schedule.follows_rate(monitor):
        cost = monitor.team.price * monitor.site.host_factor
    else:
        prior = rates.PRIOR
        cost = accepted_cost(weight=weight, rate=prior.a / prior.b, interval_days=monitor.effective_interval_s / _DAY_S)
    if not is_worth(weight=weight, precision=trust.precision, wait_days=wait_days, cost=cost):
        return False
    with transaction.atomic():
        moved = Monitor.objects.filter(pk=monitor.pk, next_check_at=planned, lease_until__isnull=True)
        if not moved.update(next_check_at=at, plan_reason=SIGNAL):
            return False
        Hint.objects.update_or_create(
            monitor=monitor, defaults={"source": source, "changed_at": changed_at, "made_at": now}
        )
    return True


def _key(url: str) -> str:
    """An address without its fragment, spelt as monitors spell theirs; as it is where it cannot be read."""
    try:
        target = parse(url.strip())
    except Refused:
        return url
    return f"{target.origin}{target.path}{target.query}"
