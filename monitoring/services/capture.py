"""A worker's batch: fetch many pages at once, and judge and record each as it arrives.

The event loop runs in a thread of its own and hands outcomes over through a short queue. Judging and every use of
the database happen in the worker's main thread, so that neither slows the other's clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from monitoring.fetching.capture import Exemption, FetchRequest, Outcome, RenderSpec
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.http import fetch_many
from monitoring.models import Change, Monitor, Renderer
from monitoring.services import schedule, validators, vantages
from monitoring.services.egress import address_policy
from monitoring.services.findings import Finding
from monitoring.services.judge import audit_due, confirm_capture, judge_capture, stale_baseline
from monitoring.services.record import StaleLeaseError, record
from monitoring.services.rules import rules_of

logger = logging.getLogger(__name__)

BUDGET_S = 180.0
HANDOVER = 8  # outcomes that wait between the loop and the judge; they hold whole pages
REQUEST_S = 15.0  # left of the budget, at least, for a second fetch
MOST_DOUBTFUL = 40
MOST_DOUBTFUL_BYTES = 1_000_000
_CONFIRMED_KINDS = frozenset({Change.Kind.CONTENT, Change.Kind.FIELD})
SAMPLE_PREFIX = "/sample/"


def run_batch(ids: Sequence[int], token: str, *, budget_s: float = BUDGET_S) -> dict[str, int]:
    """Visit the monitors of a claimed batch; the number of checks by outcome, and of `lost` and `crashed` ones.

    What is not reached within the budget is given back and is due again at once. A batch whose token holds
    nothing any more (delivered twice, or overdue) is a no-op.
    """
    own = schedule.take_over(ids, token, now=timezone.now())
    if not own:
        return {}
    try:
        return dict(_Batch(own, ids, budget_s).run())
    finally:
        schedule.release(own)


def request_for(monitor: Monitor, *, now: datetime) -> FetchRequest:
    """What is asked of the site for one visit: the same each time, but for the conditions."""
    request = FetchRequest(
        key=monitor.pk,
        url=monitor.url,
        vantage=vantages.spec_of(monitor.vantage),
        charset_hint=monitor.charset,
        charset=monitor.charset_override,
        exemption=sample_exemption() if monitor.is_sample else None,
    )
    if monitor.renderer == Renderer.BROWSER:
        return replace(request, render=RenderSpec(wait_selector=monitor.wait_selector))
    if monitor.baseline is None or not may_ask_conditionally(monitor, now):
        return request
    return replace(
        request,
        etag=monitor.etag,
        last_modified=monitor.last_modified,
        validators_url=monitor.baseline.final_url,
    )


def sample_exemption() -> Exemption:
    """The way past the address guard for the product's own sample pages."""
    return Exemption(origin=settings.SAMPLE_ORIGIN, path_prefix=SAMPLE_PREFIX)


def may_ask_conditionally(monitor: Monitor, now: datetime) -> bool:
    """Whether "not modified" would tell us anything: validators belong to the baseline and nothing else is to be seen."""
    return not (
        stale_baseline(monitor) or audit_due(monitor, now) or monitor.suspect or validators.wants_whole(monitor, now)
    )


class _Batch:
    """One run of `run_batch`."""

    def __init__(self, token: str, ids: Sequence[int], budget_s: float) -> None:
        self.token = token
        self.ends = time.monotonic() + budget_s
        self.renewed = time.monotonic()
        rows = (
            Monitor.objects.filter(lease_token=token)
            .select_related("site", "page_type", "vantage", "baseline__payload")
            .defer("baseline__headers", "baseline__redirects", "baseline__vantage", "baseline__fields")
        )
        order = {pk: place for place, pk in enumerate(ids)}
        self.monitors = {m.pk: m for m in sorted(rows, key=lambda m: order.get(m.pk, len(order)))}
        self.rules = rules_of(self.monitors.values())
        self.counts: Counter[str] = Counter()
        self.doubtful: dict[int, Finding] = {}

    def run(self) -> Counter[str]:
        """Pages over HTTP together, then those for the browser one by one."""
        now = timezone.now()
        plain = [m for m in self.monitors.values() if m.renderer != Renderer.BROWSER]
        policy = address_policy()
        waves = _waves(plain, now=now)
        with _Fetcher(waves, policy, left_s=self._left_s()) as fetcher:
            for outcome in fetcher.outcomes(on_wait=self._keep_alive):
                self._handle(outcome)
        self._confirm(policy)
        for monitor in self.monitors.values():
            if monitor.renderer == Renderer.BROWSER and self._left_s() > 0:
                self._render(monitor, policy)
        return self.counts

    def _left_s(self) -> float:
        return self.ends - time.monotonic()

    def _keep_alive(self) -> None:
        """Renew the lease when a third of it is gone."""
        if time.monotonic() - self.renewed > settings.LEASE_S / 3:
            schedule.renew(self.token, now=timezone.now())
            self.renewed = time.monotonic()

    def _render(self, monitor: Monitor, policy: AddressPolicy) -> None:
        from monitoring.fetching.browser import render  # Playwright takes a while to import; most batches need none

        now = timezone.now()
        schedule.renew(self.token, now=now)
        if not schedule.enter_stage(monitor.pk, self.token, "render", now=now):
            self.counts["lost"] += 1
            return
        self._handle(render(request_for(monitor, now=now), policy=policy, chromium_path=settings.CHROMIUM))

    def _confirm(self, policy: AddressPolicy) -> None:
        """Fetch once more what wants to open a change; what can't be fetched in time is recorded as it is."""
        waves = self._second_waves()
        if waves:
            with _Fetcher(waves, policy, left_s=self._left_s()) as fetcher:
                for outcome in fetcher.outcomes(on_wait=self._keep_alive):
                    self._handle(outcome)
        for pk in list(self.doubtful):
            self._guarded(pk, lambda pk=pk: self._record(self.monitors[pk], self.doubtful.pop(pk)))  # type: ignore[misc]

    def _second_waves(self) -> list[tuple[float, list[FetchRequest]]]:
        now = timezone.now()
        waves: dict[float, list[FetchRequest]] = {}
        by_site: dict[int, list[int]] = {}
        for pk in self.doubtful:
            by_site.setdefault(self.monitors[pk].site_id, []).append(pk)
        for pks in by_site.values():
            site = self.monitors[pks[0]].site
            wait = schedule.reserve(site, len(pks), now=now, after_s=settings.CONFIRM_DELAY_S)
            for place, pk in enumerate(pks):
                delay = float(math.ceil(wait + place * site.gap_s))
                if delay < self._left_s() - REQUEST_S:
                    request = request_for(self.monitors[pk], now=now)
                    waves.setdefault(delay, []).append(replace(request, etag="", last_modified=""))
        return sorted(waves.items())

    def _handle(self, outcome: Outcome) -> None:
        """Judge one outcome, and record it or set it aside for a second look."""
        self._keep_alive()
        self._guarded(outcome.key, lambda: self._visit(self.monitors[outcome.key], outcome))

    def _guarded(self, pk: int, work: Callable[[], None]) -> None:
        """Do one monitor's work; a bug of ours there must not stop the others."""
        try:
            work()
        except StaleLeaseError:
            logger.warning("monitor=%d lease lost, nothing written", pk)
            self.counts["lost"] += 1
        except (OperationalError, InterfaceError):
            raise  # the database is away: nothing can be recorded, the leases run out
        except Exception:
            logger.exception("monitor=%d crashed", pk)
            self.counts["crashed"] += 1
            schedule.stage_failed(pk, self.token, "judge", now=timezone.now())

    def _visit(self, monitor: Monitor, outcome: Outcome) -> None:
        now, rules = timezone.now(), self.rules[monitor.pk]
        if monitor.stage and not schedule.enter_stage(monitor.pk, self.token, "judge", now=now):
            raise StaleLeaseError(f"monitor {monitor.pk}")
        first = self.doubtful.pop(monitor.pk, None)
        if first is not None:
            finding = confirm_capture(monitor, first, outcome, rules=rules, now=now)
        else:
            finding = judge_capture(monitor, outcome, rules=rules, now=now)
            if self._wants_second_look(monitor, finding):
                self.doubtful[monitor.pk] = finding
                if monitor.stage:  # while it waits it is no suspect
                    schedule.enter_stage(monitor.pk, self.token, schedule.CAREFUL, now=now)
                return
        self._record(monitor, finding)

    def _wants_second_look(self, monitor: Monitor, finding: Finding) -> bool:
        """Whether a second fetch is worth its cost: over HTTP, for what would open a change; pages wait in memory."""
        return (
            finding.opens in _CONFIRMED_KINDS
            and monitor.renderer == Renderer.HTTP
            and len(self.doubtful) < MOST_DOUBTFUL
            and finding.capture is not None
            and len(finding.capture.body) <= MOST_DOUBTFUL_BYTES
        )

    def _record(self, monitor: Monitor, finding: Finding) -> None:
        rules = self.rules[monitor.pk]
        check = record(finding, monitor, token=self.token, rules=rules, now=timezone.now())
        self.counts[check.outcome] += 1


def _waves(monitors: Sequence[Monitor], *, now: datetime) -> list[tuple[float, list[FetchRequest]]]:
    """Requests by the second at which they may start: one host is asked again only after its gap."""
    asked: Counter[int] = Counter()
    waves: dict[float, list[FetchRequest]] = {}
    for monitor in monitors:
        delay = math.ceil(asked[monitor.site_id] * monitor.site.gap_s)
        asked[monitor.site_id] += 1
        waves.setdefault(float(delay), []).append(request_for(monitor, now=now))
    return sorted(waves.items())


class _Fetcher:
    """Fetches in an event loop of its own thread; outcomes come out in the thread that asks for them."""

    def __init__(
        self, waves: Sequence[tuple[float, list[FetchRequest]]], policy: AddressPolicy, *, left_s: float
    ) -> None:
        self._waves, self._policy, self._left_s = waves, policy, left_s
        self._handover: queue.Queue[Outcome | BaseException | None] = queue.Queue(maxsize=HANDOVER)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="fetch", daemon=True)

    def __enter__(self) -> _Fetcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._handover.get_nowait()
        self._thread.join(timeout=10)

    def outcomes(self, *, on_wait: Callable[[], None]) -> Iterator[Outcome]:
        """Outcomes as they arrive; `on_wait` is called at least every second."""
        while True:
            try:
                item = self._handover.get(timeout=1.0)
            except queue.Empty:
                on_wait()
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _work(self) -> None:
        try:
            asyncio.run(self._all())
        except Exception as error:  # noqa: BLE001 - the top of the thread: raised again where outcomes are taken
            self._put_last(error)
        else:
            self._put_last(None)

    def _put_last(self, item: BaseException | None) -> None:
        while not self._stop.is_set():
            try:
                self._handover.put(item, timeout=0.2)
            except queue.Full:
                continue
            return

    async def _all(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(self._left_s, 0.0)):
                async with asyncio.TaskGroup() as group:
                    for delay, requests in self._waves:
                        group.create_task(self._wave(delay, requests))

    async def _wave(self, delay: float, requests: list[FetchRequest]) -> None:
        await asyncio.sleep(delay)
        outcomes = fetch_many(requests, policy=self._policy, concurrency=settings.FETCH_CONCURRENCY)
        async with contextlib.aclosing(outcomes):
            async for outcome in outcomes:
                if not await self._hand_over(outcome):
                    return

    async def _hand_over(self, outcome: Outcome) -> bool:
        """Whether the outcome was taken; False when nobody takes any more."""
        while not self._stop.is_set():
            try:
                self._handover.put_nowait(outcome)
            except queue.Full:
                await asyncio.sleep(0.005)
                continue
            return True
        return False
