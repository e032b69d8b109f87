"""A worker's batch: fetch many pages at once, and judge and record each as it arrives.

Pages come from a `Fetcher`, which has a thread of its own. Judging and every use of the database happen in the worker's
main thread, so that neither slows the other's clock. Results are recorded through the batch's ledger, which writes
routine ones a few at a time.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import InterfaceError, OperationalError
from django.db.models import Prefetch, QuerySet
from django.utils import timezone

from monitoring import stopping
from monitoring.fetching.capture import Failure, FetchRequest, Link, Outcome
from monitoring.fetching.guard import AddressPolicy
from monitoring.limits import children_cpu_s, is_cut_off
from monitoring.models import Change, Monitor, Renderer, RobotsPolicy, Site, Snapshot
from monitoring.services import (
    following,
    hints,
    places,
    politeness,
    pools,
    rendering,
    robots,
    schedule,
    tallies,
    validators,
    vantages,
)
from monitoring.services.egress import address_policy, exemption_of, is_our_page
from monitoring.services.findings import Finding
from monitoring.services.handover import Fetcher
from monitoring.services.judge import audit_due, confirm_capture, judge_capture, stale_baseline
from monitoring.services.ledger import Ledger
from monitoring.services.record import StaleLeaseError
from monitoring.services.rules import Rules, rules_of
from monitoring.services.secrets import SecretError

if TYPE_CHECKING:
    from monitoring.fetching import browser

logger = logging.getLogger(__name__)

BUDGET_S = 180.0
REQUEST_S = 15.0  # left of the budget, at least, for a second fetch
MOST_DOUBTFUL = 40
# A batch that only waits for slow sites takes on more, so that they hold up nobody else.
TOP_UP_BELOW = 40
TOP_UP_S = 90.0
MOST_AHEAD_S = 2 * schedule.LOOKAHEAD.total_seconds()
GROUP_SIZE = 8
OVERTIME_S = 15.0
MOST_DOUBTFUL_BYTES = 1_000_000
_CONFIRMED_KINDS = frozenset({Change.Kind.CONTENT, Change.Kind.FIELD})


class _StopRequestedError(Exception):
    """This worker's cluster is stopping: what is not recorded yet is given back."""


def run_batch(
    ids: Sequence[int],
    token: str,
    *,
    budget_s: float = BUDGET_S,
    alive: Callable[[], None] = lambda: None,
    by_browser: bool | None = None,
    starts: Mapping[int, float] = MappingProxyType({}),
) -> dict[str, int]:
    """Visit the monitors of a claimed batch; the number of checks by outcome, and of `lost` and `crashed` ones.

    `by_browser` is the worker's class: False starts no browser and hands over what needs one (counted as `handed-over`), None
    is a worker that does everything. `starts` are those of the claim.

    What is not reached within the budget is given back and is due again at once. A batch whose token holds
    nothing any more (delivered twice, or overdue) is a no-op. `alive` hears signs of life.
    """
    if stopping.is_requested():
        schedule.release(token)
        return {}
    own = schedule.take_over(ids, token, now=timezone.now())
    if not own:
        return {}
    tallies.stages.begin()
    try:
        return dict(_Batch(own, ids, budget_s, alive, by_browser=by_browser, starts=starts).run())
    finally:
        tallies.stages.end()
        schedule.release(own)


def request_for(monitor: Monitor, *, now: datetime) -> FetchRequest:
    """What is asked of the site for one visit: the same each time, but for the conditions.

    Raises `SecretError` where a cookie or a step refers to a secret that the deployment does not have.
    """
    return browser_request(monitor) if monitor.uses_browser else _plain_request(monitor, now=now)


def _plain_request(monitor: Monitor, *, now: datetime) -> FetchRequest:
    """The same over HTTP, with the conditions that the baseline's address gave."""
    request = _request(monitor)
    if monitor.baseline is None or not may_ask_conditionally(monitor, now):
        return request
    return replace(
        request,
        etag=monitor.etag,
        last_modified=monitor.last_modified,
        validators_url=monitor.baseline.final_url,
    )


def browser_request(monitor: Monitor) -> FetchRequest:
    """The same for a browser, whatever the monitor is set to; raises `SecretError`."""
    spec = rendering.spec_of(monitor)
    return replace(_request(monitor), cookies=(), render=spec, limits=rendering.limits_of(spec))


def _request(monitor: Monitor) -> FetchRequest:
    return FetchRequest(
        key=monitor.pk,
        url=monitor.url,
        vantage=vantages.spec_of(monitor.vantage),
        charset_hint=monitor.charset,
        charset=monitor.charset_override,
        cookies=rendering.cookies_of(monitor.site),
        exemption=exemption_of(monitor),
    )


def may_ask_conditionally(monitor: Monitor, now: datetime) -> bool:
    """Whether "not modified" would tell us anything: validators belong to the baseline and nothing else is to be seen."""
    return not (
        stale_baseline(monitor) or audit_due(monitor, now) or monitor.suspect or validators.wants_whole(monitor, now)
    )


def _baselines() -> QuerySet[Snapshot]:
    """Baselines with the columns that most visits look at. Where pages are the same nobody asks for the rest."""
    return Snapshot.objects.only(
        "final_url", "detector_version", "taken_at", "rendered", "content_type", "document_type", "charset", "link", "payload_id",
    )  # fmt: skip


class _Batch:
    """One run of `run_batch`."""

    def __init__(
        self,
        token: str,
        ids: Sequence[int],
        budget_s: float,
        alive: Callable[[], None],
        *,
        by_browser: bool | None,
        starts: Mapping[int, float],
    ) -> None:
        self.token, self.alive, self.by_browser = token, alive, by_browser
        self.began = self.renewed = time.monotonic()
        self.ends = self.began + budget_s
        self.monitors: dict[int, Monitor] = {}
        self.rules: dict[int, Rules] = {}
        self.sites: dict[int, Site] = {}
        self.robots = robots.Book(())
        self.counts: Counter[str] = Counter()
        self.renders = by_browser is not False
        self.ledger = Ledger(token, written=self._count, lost=self._lose, crashed=self._crash)
        self.doubtful: dict[int, Finding] = {}
        self.links: dict[int, Link] = {}  # of the pages that led to a document
        self.unfollowed: list[int] = []
        self.abroad: dict[int, Finding] = {}  # changes that the monitor's second vantage is asked about
        self.remarks: dict[int, str] = {}
        self.probes: set[int] = set()  # asked by HTTP although “auto” gets them by browser
        self.unanswered: set[int] = set()  # of these, the ones for which that was not enough
        self.escalated: dict[int, Finding] = {}  # what HTTP brought where a browser is tried as well
        self.waiting: dict[int, list[Monitor]] = {}  # by site, until its robots.txt is there
        self.next_at: dict[int, float] = {}  # by site, when it may be asked again
        self._wait_for_turns(starts)
        self.fresh = self._take(ids)

    def _take(self, ids: Sequence[int]) -> list[Monitor]:
        """Read the monitors that the token holds and that are not here yet, in the order of `ids`."""
        rows = (
            Monitor.objects.filter(lease_token=self.token)
            .exclude(pk__in=self.monitors)
            .prefetch_related(
                "site", "team", "page_type", "vantage", "confirm_vantage", Prefetch("baseline", _baselines())
            )
        )
        order = {pk: place for place, pk in enumerate(ids)}
        taken = sorted(rows, key=lambda m: order.get(m.pk, len(order)))
        if not self.renders and (elsewhere := [monitor.pk for monitor in taken if monitor.uses_browser]):
            self._hand_over(elsewhere)  # handed out by an older release, or set to a browser since
            taken = [monitor for monitor in taken if not monitor.uses_browser]
        for monitor in taken:
            monitor.site = self.sites.setdefault(monitor.site_id, monitor.site)
        self.monitors |= {monitor.pk: monitor for monitor in taken}
        self.rules |= rules_of(taken)
        self.robots = robots.Book(self.sites.values())
        self.probes |= {monitor.pk for monitor in taken if rendering.is_probe(monitor)}
        return taken

    def run(self) -> Counter[str]:
        """Pages over HTTP together, those that may have killed a worker apart, then those for the browser one by one."""
        policy = address_policy()
        try:
            with Fetcher(policy, left_s=self._left_s()) as fetcher:
                self._start(self.fresh, fetcher)
                self._drain(fetcher, top_up=True)
                self._confirm(fetcher)
                self._apart(fetcher)
                self._confirm(fetcher)
                self.ledger.flush()  # the loop's end may take a while
            self._render_all(policy)
            if self.unfollowed:
                with Fetcher(policy, left_s=self._left_s()) as fetcher:
                    self._follow(fetcher)
                    self._drain(fetcher)
                    self._confirm(fetcher)
        except _StopRequestedError:
            logger.info("stopping; what this batch has not done is given back")
        finally:
            self.ledger.flush()
        return self.counts

    # -- asking ----------------------------------------------------------------------------

    def _start(self, monitors: Sequence[Monitor], fetcher: Fetcher) -> None:
        """Ask for these pages, where necessary for their sites' robots.txt first; careful ones wait for `_apart`."""
        now = timezone.now()
        for monitor in monitors:
            site = monitor.site
            if not is_our_page(monitor) and (site.pk in self.waiting or self.robots.is_due(site, now)):
                if site.pk not in self.waiting:
                    fetcher.add(robots.request_for(monitor, vantages.spec_of(monitor.vantage)), self._turn(site))
                self.waiting.setdefault(site.pk, []).append(monitor)
            elif self._is_plain(monitor):
                self._ask(monitor, fetcher)

    def _ask(self, monitor: Monitor, fetcher: Fetcher) -> None:
        """Ask for a page when its site's turn has come; one that robots.txt forbids is recorded as that."""
        now = timezone.now()
        if self._may_visit(monitor, now):
            try:
                request = _request(monitor) if monitor.pk in self.probes else request_for(monitor, now=now)
            except (SecretError, ValidationError) as error:
                self._handle(rendering.unresolved(monitor, error, now=now))
                return
            fetcher.add(request, self._turn(monitor.site))

    def _turn(self, site: Site) -> float:
        """Seconds from now until the site may be asked again; the turn is taken."""
        now = time.monotonic()
        at = max(self.next_at.get(site.pk, now), now)
        self.next_at[site.pk] = at + site.effective_gap_s
        return at - now

    def _wait_for_turns(self, starts: Mapping[int, float]) -> None:
        """Leave alone until then the sites at which other batches have the turns before."""
        now, wall = time.monotonic(), timezone.now().timestamp()
        for site_id, at in starts.items():
            wait = min(at - wall, MOST_AHEAD_S)  # the clock of who claimed may be another machine's
            self.next_at[site_id] = max(self.next_at.get(site_id, now), now + wait)

    def _follow(self, fetcher: Fetcher) -> None:
        """Ask for the documents behind the links that were found, each when its site's turn has come."""
        now = timezone.now()
        pks, self.unfollowed = self.unfollowed, []
        for pk in pks:
            monitor, link = self.monitors[pk], self.links[pk]
            if following.is_same_host(monitor, link) and not self._may_visit(monitor, now, url=link.target):
                continue
            try:
                request = _plain_request(monitor, now=now)
            except (SecretError, ValidationError) as error:
                self._handle(rendering.unresolved(monitor, error, now=now))
                continue
            fetcher.add(following.request_to(link, request), self._turn(monitor.site))

    def _may_visit(self, monitor: Monitor, now: datetime, *, url: str = "") -> bool:
        if is_our_page(monitor):
            return True
        decision = self.robots.decide(monitor.site, url or monitor.url, now=now)
        if decision.allowed:
            if decision.sentence and monitor.site.robots_policy == RobotsPolicy.WARN:
                self.remarks[monitor.pk] = decision.sentence
            return True
        self._handle(
            Failure(
                key=monitor.pk,
                url=url or monitor.url,
                reason=robots.DISALLOWED,
                message=decision.sentence,
                transient=False,
                started_at=now,
                duration_ms=0,
            )
        )
        return False

    def _drain(self, fetcher: Fetcher, *, top_up: bool = False) -> None:
        """Take outcomes until all that was asked for has come."""
        on_wait = (lambda: self._wait(fetcher)) if top_up else self._keep_alive
        for outcome in fetcher.outcomes(on_wait=on_wait, patience=self._patience):
            if outcome.key < 0:
                self._learn_robots(-outcome.key, outcome, fetcher)
                continue
            monitor = self.monitors[outcome.key]
            vantage = monitor.confirm_vantage if outcome.key in self.abroad else monitor.vantage
            if self._is_own(monitor) and politeness.note(
                monitor.site, outcome, now=timezone.now(), through_proxy=bool(vantage and vantage.proxy_url)
            ):
                # What was not asked for yet is given back, and due again when the site has had its rest.
                fetcher.drop({pk for pk, other in self.monitors.items() if other.site_id == monitor.site_id})
            self._handle(outcome)
            if self.unfollowed:
                self._follow(fetcher)

    def _is_own(self, monitor: Monitor) -> bool:
        """Whether what comes now tells of the monitor's own site, and not of another that a link led to."""
        link = self.links.get(monitor.pk)
        return link is None or following.is_same_host(monitor, link)

    def _learn_robots(self, site_id: int, outcome: Outcome, fetcher: Fetcher) -> None:
        site, now = self.sites[site_id], timezone.now()
        self._keep_alive()
        self.robots.learn(site, outcome, now=now)
        waiting = self.waiting.pop(site_id, [])
        if (rules := self.robots.rules(site)) is not None:
            hints.found(site, rules.sitemaps, now=now)
        if isinstance(outcome, Failure) and politeness.note(
            site, outcome, now=now, through_proxy=any(monitor.vantage.proxy_url for monitor in waiting)
        ):
            waiting = waiting[:1]  # one page tells what is wrong
        for monitor in waiting:
            if self._is_plain(monitor):
                self._ask(monitor, fetcher)

    def _wait(self, fetcher: Fetcher) -> None:
        """While the last pages of slow sites are awaited, take on what has come due since."""
        self._keep_alive()
        now = time.monotonic()
        if (
            self.by_browser
            or fetcher.pending > TOP_UP_BELOW
            or now - self.began > TOP_UP_S
            or self._left_s() < 2 * REQUEST_S
        ):
            return
        for claim in schedule.claim_due(
            now=timezone.now(), limit=schedule.BATCH_LEAST, lease_s=settings.LEASE_S, by_browser=self.by_browser
        ):
            if schedule.adopt(claim, self.token):
                self._wait_for_turns(claim.starts)
                self._start(self._take(claim.ids), fetcher)

    def _apart(self, fetcher: Fetcher) -> None:
        """Visit those over whose batch a worker died: a few at a time, and one by one those of a few that died."""
        careful = [m for m in self.monitors.values() if m.stage == schedule.CAREFUL and not self._by_browser(m)]
        for start in range(0, len(careful), GROUP_SIZE):
            if self._left_s() < REQUEST_S:
                return
            group = careful[start : start + GROUP_SIZE]
            held = schedule.enter_group([m.pk for m in group], self.token, now=timezone.now())
            for monitor in group:
                if monitor.pk in held:
                    self._ask(monitor, fetcher)
            self._drain(fetcher)
        for monitor in self.monitors.values():
            if monitor.stage != schedule.ALONE or self._by_browser(monitor):
                continue
            if self._left_s() < REQUEST_S:
                return
            if schedule.enter_stage(monitor.pk, self.token, "fetch", now=timezone.now()):
                self._ask(monitor, fetcher)
                self._drain(fetcher)
            else:
                self.counts["lost"] += 1

    def _left_s(self) -> float:
        return self.ends - time.monotonic()

    def _patience(self) -> float:
        """Seconds for which nothing but an outcome is of interest."""
        due_s = self.ledger.due_s
        return 1.0 if due_s is None else min(due_s, 1.0)

    def _keep_alive(self) -> None:
        """Write what waited long enough; renew the lease when a third of it is gone.

        Not beyond the budget, when something does not end.
        """
        if stopping.is_requested():
            raise _StopRequestedError
        self.ledger.flush_due()
        now = time.monotonic()
        if now >= self.ends + OVERTIME_S:
            return
        self.alive()
        if now - self.renewed > settings.LEASE_S / 3:
            schedule.renew(self.token, now=timezone.now())
            self.renewed = now

    def _by_browser(self, monitor: Monitor) -> bool:
        return monitor.uses_browser and monitor.pk not in self.probes

    def _is_plain(self, monitor: Monitor) -> bool:
        """Whether a page is fetched over HTTP together with others."""
        return not self._by_browser(monitor) and monitor.stage not in (schedule.CAREFUL, schedule.ALONE)

    def _render_all(self, policy: AddressPolicy) -> None:
        """Pages for the browser, one after the other in as few browsers as can be; sites by themselves, for their cookies."""
        pks = {pk for pk, monitor in self.monitors.items() if self._by_browser(monitor)}
        order = sorted(pks | self.unanswered | self.escalated.keys(), key=lambda pk: (self.monitors[pk].site_id, pk))
        if not order:
            return
        from monitoring.fetching import browser  # Playwright takes a while to import; most batches need none

        before_s = children_cpu_s()
        with browser.Renderer(policy=policy, chromium_path=settings.CHROMIUM) as renderer:
            for pk in order:
                if self._left_s() > REQUEST_S:
                    self._render(self.monitors[pk], renderer)
            for pk in list(self.abroad):
                self._render_abroad(self.monitors[pk], renderer)
        tallies.count("cpu", "render", by=children_cpu_s() - before_s)
        for pk in self.escalated.keys() - set(self.unfollowed):  # no time was left for these
            self._guarded(pk, lambda pk=pk: self._record(self.monitors[pk], self.escalated.pop(pk)))  # type: ignore[misc]

    def _render(self, monitor: Monitor, renderer: browser.Renderer) -> None:
        if stopping.is_requested():
            raise _StopRequestedError
        now = timezone.now()
        self.ledger.flush()  # a page in a browser takes seconds
        schedule.renew(self.token, now=now)
        self.alive()
        if monitor.site.rests(now) or not self._may_visit(monitor, now):
            return
        if not schedule.enter_stage(monitor.pk, self.token, "render", now=now):
            self.escalated.pop(monitor.pk, None)
            self.counts["lost"] += 1
            return
        try:
            request = browser_request(monitor)
        except (SecretError, ValidationError) as error:
            self._handle(rendering.unresolved(monitor, error, now=now))
            return
        outcome = renderer.render(request)
        tallies.count("renders", "failed" if isinstance(outcome, Failure) else "page")
        politeness.note(monitor.site, outcome, now=timezone.now(), through_proxy=bool(monitor.vantage.proxy_url))
        self._handle(outcome)

    def _confirm(self, fetcher: Fetcher) -> None:
        """Fetch once more what wants to open a change, and where the monitor says so from a second vantage as well.

        What can't be fetched in time is recorded as it is.
        """
        if self.doubtful:
            for delay, requests in self._second_waves(self.doubtful, after_s=settings.CONFIRM_DELAY_S):
                for request in requests:
                    fetcher.add(replace(request, etag="", last_modified=""), delay)
            self._drain(fetcher)
            for pk in list(self.doubtful):
                self._guarded(pk, lambda pk=pk: self._settle(self.monitors[pk], self.doubtful.pop(pk)))  # type: ignore[misc]
        if self.abroad:
            for delay, requests in self._second_waves(self.abroad, after_s=0.0):
                for request in requests:
                    vantage = self.monitors[request.key].confirm_vantage
                    if vantage is not None:
                        fetcher.add(places.request_from(request, vantage), delay)
            self._drain(fetcher)
            for pk in list(self.abroad):
                self._guarded(pk, lambda pk=pk: self._unasked(self.monitors[pk]))  # type: ignore[misc]

    def _render_abroad(self, monitor: Monitor, renderer: browser.Renderer) -> None:
        """Show a page to the browser once more as the second vantage sees it; without time for it, the finding stands."""
        now = timezone.now()
        if monitor.confirm_vantage is None or self._left_s() < REQUEST_S or monitor.site.rests(now):
            self._guarded(monitor.pk, lambda: self._unasked(monitor))
            return
        try:
            request = places.request_from(browser_request(monitor), monitor.confirm_vantage)
        except (SecretError, ValidationError):
            self._guarded(monitor.pk, lambda: self._unasked(monitor))
            return
        outcome = renderer.render(request)
        politeness.note(
            monitor.site, outcome, now=timezone.now(), through_proxy=bool(monitor.confirm_vantage.proxy_url)
        )
        self._handle(outcome)

    def _unasked(self, monitor: Monitor) -> None:
        """Record a change that the second vantage could not be asked about."""
        finding = self.abroad.pop(monitor.pk)
        if monitor.confirm_vantage is not None:
            finding = places.unreached(finding, monitor.confirm_vantage, "There was no time left to ask.")
        self._record(monitor, finding)

    def _second_waves(self, waiting: Iterable[int], *, after_s: float) -> list[tuple[float, list[FetchRequest]]]:
        now = timezone.now()
        waves: dict[float, list[FetchRequest]] = {}
        by_site: dict[int, list[int]] = {}
        for pk in waiting:
            by_site.setdefault(self.monitors[pk].site_id, []).append(pk)
        for pks in by_site.values():
            site = self.monitors[pks[0]].site
            if site.rests(now):
                continue
            wait = schedule.reserve(site, len(pks), now=now, after_s=after_s)
            for place, pk in enumerate(pks):
                delay = float(math.ceil(wait + place * site.effective_gap_s))
                if delay < self._left_s() - REQUEST_S:
                    try:
                        request = self._again(pk, now=now)
                    except (SecretError, ValidationError):
                        continue  # recorded as it is
                    waves.setdefault(delay, []).append(request)
        return sorted(waves.items())

    def _again(self, pk: int, *, now: datetime) -> FetchRequest:
        """The request that confirms what was found: of a document behind a link for the document alone."""
        link = self.links.get(pk)
        if link is None:
            return request_for(self.monitors[pk], now=now)
        return following.request_to(link, _plain_request(self.monitors[pk], now=now))

    def _handle(self, outcome: Outcome) -> None:
        """Judge one outcome, and record it or set it aside for a second look."""
        self._keep_alive()
        before = tallies.stages.switch("judge")
        self._guarded(outcome.key, lambda: self._visit(self.monitors[outcome.key], outcome))
        tallies.stages.switch(before)

    def _guarded(self, pk: int, work: Callable[[], None]) -> None:
        """Do one monitor's work; a bug of ours there must not stop the others."""
        try:
            work()
        except StaleLeaseError:
            self._lose(pk)
        except (OperationalError, InterfaceError):
            raise  # the database is away: nothing can be recorded, the leases run out
        except Exception as error:
            if is_cut_off(error):
                raise
            self._crash(pk, error)

    def _count(self, outcome: str) -> None:
        self.counts[outcome] += 1

    def _lose(self, pk: int) -> None:
        logger.warning("monitor=%d lease lost, nothing written", pk)
        tallies.count("unwritten", "lost")
        self.counts["lost"] += 1

    def _crash(self, pk: int, error: Exception) -> None:
        """Report a bug of ours at a monitor, and see to it that it is tried again later."""
        logger.error("monitor=%d crashed", pk, exc_info=error)
        tallies.count("unwritten", "crashed")
        self.counts["crashed"] += 1
        schedule.stage_failed(pk, self.token, "judge", now=timezone.now())

    def _visit(self, monitor: Monitor, outcome: Outcome) -> None:
        now, rules = timezone.now(), self.rules[monitor.pk]
        if monitor.stage and not schedule.enter_stage(monitor.pk, self.token, "judge", now=now):
            raise StaleLeaseError(f"monitor {monitor.pk}")
        if monitor.link_selector:
            followed = self._followed(monitor, outcome)
            if followed is None:
                self._set_aside(monitor)
                return
            outcome = followed
        held = self.abroad.pop(monitor.pk, None)
        if held is not None:
            self._record(monitor, places.confirm_elsewhere(monitor, held, outcome, rules=rules, now=now))
            return
        if monitor.pk in self.escalated:
            self._settle(monitor, self._better(monitor, judge_capture(monitor, outcome, rules=rules, now=now)))
            return
        first = self.doubtful.pop(monitor.pk, None)
        if first is not None:
            finding = confirm_capture(monitor, first, outcome, rules=rules, now=now)
        else:
            finding = judge_capture(monitor, outcome, rules=rules, now=now)
            if remark := self.remarks.get(monitor.pk):
                warning = {"code": "robots-warned", "text": remark[:300], "data": {}}
                finding = replace(finding, reasons=(*finding.reasons, warning))
            if monitor.pk in self.probes and monitor.pk not in self.unanswered:
                if not rendering.is_enough(monitor, finding):
                    self.unanswered.add(monitor.pk)  # HTTP is not enough: by browser, as always
                    return
                finding = replace(finding, learned=Renderer.HTTP)
            elif rendering.wants_browser(monitor, finding, now=now):
                if self.renders:
                    self.escalated[monitor.pk] = finding
                    return
                if pools.somebody_renders(now=now):
                    self._hand_over([monitor.pk])
                    return
            if self._wants_second_look(monitor, finding):
                self.doubtful[monitor.pk] = finding
                self._set_aside(monitor)
                return
        self._settle(monitor, finding)

    def _hand_over(self, pks: Sequence[int]) -> None:
        """Give monitors to the workers that render pages."""
        self.counts["handed-over"] += schedule.hand_over(pks, self.token)

    def _settle(self, monitor: Monitor, finding: Finding) -> None:
        """Record a finding, or set it aside until the monitor's second vantage was asked."""
        if monitor.confirm_vantage is None or finding.opens not in _CONFIRMED_KINDS or finding.capture is None:
            self._record(monitor, finding)
            return
        self.abroad[monitor.pk] = finding
        if len(self.abroad) > MOST_DOUBTFUL or len(finding.capture.body) > MOST_DOUBTFUL_BYTES:
            self._unasked(monitor)  # pages wait in memory
        else:
            self._set_aside(monitor)

    def _set_aside(self, monitor: Monitor) -> None:
        """While it waits for more it is no suspect, should the worker die."""
        if monitor.stage:
            schedule.enter_stage(monitor.pk, self.token, schedule.CAREFUL, now=timezone.now())

    def _followed(self, monitor: Monitor, outcome: Outcome) -> Outcome | None:
        """The document behind the monitor's link, None while it is awaited; the page itself where it has no such link."""
        link = self.links.get(monitor.pk)
        if link is not None and outcome.url == link.target:
            return following.document_of(outcome, link)
        fresh = following.link_of(outcome, monitor.link_selector)
        if fresh is None:
            self.links.pop(monitor.pk, None)
            return outcome
        self.links[monitor.pk] = fresh
        self.unfollowed.append(monitor.pk)
        return None

    def _better(self, monitor: Monitor, rendered: Finding) -> Finding:
        """Of what HTTP and a browser brought the one to record, and what is learned from it."""
        plain = self.escalated.pop(monitor.pk)
        if rendered.good:
            return replace(rendered, learned=Renderer.BROWSER)
        return replace(plain, tried_browser=True)

    def _wants_second_look(self, monitor: Monitor, finding: Finding) -> bool:
        """Whether a second fetch is worth its cost: over HTTP, for what would open a change; pages wait in memory."""
        return (
            finding.opens in _CONFIRMED_KINDS
            and not finding.learned
            and len(self.doubtful) < MOST_DOUBTFUL
            and finding.capture is not None
            and not finding.capture.rendered
            and len(finding.capture.body) <= MOST_DOUBTFUL_BYTES
        )

    def _record(self, monitor: Monitor, finding: Finding) -> None:
        self.ledger.add(finding, monitor, rules=self.rules[monitor.pk], now=timezone.now())
