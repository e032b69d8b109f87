"""robots.txt of the sites under watch: read once a day through the same egress as pages, and asked before each visit.

Which answers mean what follows RFC 9309: none there (4xx) forbids nothing; a server that fails (5xx, 429) forbids
everything once it has failed for a day and no earlier copy is at hand, and nothing any more after thirty. A site that
cannot be reached at all decides nothing: the page's own visit tells better what is wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils.formats import date_format

from monitoring.fetching.capture import Capture, FetchRequest, Limits, Outcome, VantageSpec
from monitoring.fetching.guard import parse as parse_url
from monitoring.fetching.robots import MAX_BYTES, Robots, parse
from monitoring.models import Monitor, RobotsFile, RobotsPolicy, Site

DISALLOWED = "robots-disallowed"
FRESH = timedelta(hours=24)
AGAIN = timedelta(hours=1)  # where the server failed
AGAIN_UNREACHED = timedelta(minutes=10)
GRACE = timedelta(hours=24)
GIVE_UP = timedelta(days=30)
# A file may be longer than what is read of it; beyond four times that it is no robots.txt.
LIMITS = Limits(total_s=10.0, max_bytes=4 * MAX_BYTES, max_redirects=5)
_UNREACHED = frozenset({"dns", "connect", "tls", "timeout", "protocol", "refused-by-policy"})
_State = RobotsFile.State


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a page may be fetched, and where robots.txt has a say in it, why or in spite of what."""

    allowed: bool
    sentence: str = ""


class Book:
    """The robots.txt files of some sites, as far as they are known."""

    def __init__(self, sites: Iterable[Site]) -> None:
        ids = [site.pk for site in sites if site.robots_policy != RobotsPolicy.IGNORE]
        rows = RobotsFile.objects.filter(site_id__in=ids).defer("text") if ids else ()
        self._files = {row.site_id: row for row in rows}

    def is_due(self, site: Site, now: datetime) -> bool:
        """Whether the file has to be read before the site is visited; a time far ahead is a wrong clock's."""
        if site.robots_policy == RobotsPolicy.IGNORE:
            return False
        row = self._files.get(site.pk)
        return row is None or not now < row.next_at <= now + FRESH

    def learn(self, site: Site, outcome: Outcome, *, now: datetime) -> RobotsFile:
        """Keep what the site answered; `site` gets its Crawl-delay."""
        row = self._files.get(site.pk) or RobotsFile(site=site, state=_State.FAILING, next_at=now)
        _take_in(row, outcome, now)
        row.save()
        self._files[site.pk] = row
        delay = 0.0
        if row.read_at is not None:
            delay = _rules(site.pk, row.read_at).crawl_delay_s or 0.0
        if delay != site.crawl_delay_s:
            site.crawl_delay_s = delay
            site.save(update_fields=["crawl_delay_s"])
        return row

    def rules(self, site: Site) -> Robots | None:
        """The rules in the last file that could be read, if there is one."""
        row = self._files.get(site.pk)
        return _rules(site.pk, row.read_at) if row is not None and row.read_at is not None else None

    def decide(self, site: Site, url: str, *, now: datetime) -> Decision:
        """Whether the address may be fetched under the site's policy."""
        if site.robots_policy == RobotsPolicy.IGNORE:
            return Decision(True, f"robots.txt is ignored here: {site.robots_reason}")
        objection = self._objection(site, url, now)
        if not objection:
            return Decision(True)
        if site.robots_policy == RobotsPolicy.WARN:
            return Decision(True, f"{objection} It is fetched all the same, as the site's policy here says.")
        return Decision(False, f"{objection} It was not fetched; an admin can change the policy of this site.")

    def _objection(self, site: Site, url: str, now: datetime) -> str:
        row = self._files.get(site.pk)
        if row is None or row.state == _State.ABSENT:
            return ""
        if row.read_at is not None:
            target = parse_url(url)
            rule = _rules(site.pk, row.read_at).rule_for(target.path + target.query)
            return (
                f"The site's robots.txt asks us not to fetch this page ({rule.text[:150]})."
                if rule and not rule.allow
                else ""
            )
        since = row.failing_since
        if since is None or not since + GRACE <= now < since + GIVE_UP:
            return ""
        when = date_format(since, "j M Y, H:i")
        return f"The site's robots.txt fails with status {row.status} since {when} UTC, which forbids every page."


def request_for(monitor: Monitor, vantage: VantageSpec) -> FetchRequest:
    """What is asked to read the robots.txt of a monitor's site; the key is the site's, negative."""
    target = parse_url(monitor.url)
    return FetchRequest(key=-monitor.site_id, url=f"{target.origin}/robots.txt", vantage=vantage, limits=LIMITS)


def _take_in(row: RobotsFile, outcome: Outcome, now: datetime) -> None:
    """What an answer makes of the row."""
    if isinstance(outcome, Capture):
        row.status = outcome.status
        if outcome.status < 300:
            text = outcome.body[:MAX_BYTES].decode("utf-8", "replace").replace("\0", "\ufffd")
            row.state, row.text, row.read_at, row.failing_since = _State.READ, text, now, None
            row.next_at = now + FRESH
            return
        if outcome.status == 429 or outcome.status >= 500:
            row.state, row.failing_since = _State.FAILING, row.failing_since or now
            row.next_at = now + AGAIN
            if row.read_at is not None and row.read_at <= now - GIVE_UP:
                row.text, row.read_at = "", None
            return
    elif outcome.reason in _UNREACHED:
        row.next_at = now + AGAIN_UNREACHED
        return
    else:
        row.status = None
    row.state, row.text, row.read_at, row.failing_since = _State.ABSENT, "", None, None
    row.next_at = now + FRESH


@functools.lru_cache(maxsize=512)
def _rules(site_id: int, read_at: datetime) -> Robots:
    """The rules of one version of a file; parsed once per process."""
    text = RobotsFile.objects.filter(pk=site_id).values_list("text", flat=True).first()
    return parse(text or "", settings.ROBOT_NAME)
