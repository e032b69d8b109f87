"""Workers by class: each has its own queue and room, and a page goes to those that can read it."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from monitoring import queueing, stopping, tasks
from monitoring.fetching import browser
from monitoring.models import Check, Monitor, Process, Site, WorkerClass
from monitoring.services import capture, pools, schedule, ticker
from tests.factories import NOW, make_monitor
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite, Page
from tests.monitoring.test_pipeline import page
from tests.monitoring.test_rendered import FakeBrowser
from tests.monitoring.test_rendering import SHELL

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch) -> FakeBrowser:
    """No real browser in these tests."""
    fake = FakeBrowser()
    monkeypatch.setattr(browser, "Renderer", fake)
    return fake


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...]]]:
    """What was handed to the broker: queue, and function with its arguments."""
    sent: list[tuple[str, tuple[Any, ...]]] = []
    monkeypatch.setattr(queueing, "_registry", {})
    monkeypatch.setattr(queueing, "async_task", lambda *args, cluster, **_: sent.append((cluster, args)))
    return sent


def announced(kind: WorkerClass, workers: int, *, now: Any = NOW) -> None:
    """So many workers of a class that gave a sign of life."""
    Process.objects.bulk_create(
        Process(
            key=secrets.token_hex(8), kind=Process.Kind.WORKER, queue=pools.queue_of(kind), host="h", pid=1, version="0",
            started_at=now, seen_at=now,
        )
        for _ in range(workers)
    )  # fmt: skip


def work(kind: WorkerClass) -> dict[str, int]:
    """One batch of a class, claimed and visited as its worker does."""
    by_browser = kind == WorkerClass.BROWSER
    counts: dict[str, int] = {}
    Site.objects.update(next_free_at=None)
    for claim in schedule.claim_due(now=timezone.now(), limit=50, lease_s=60, by_browser=by_browser):
        for outcome, number in capture.run_batch(claim.ids, claim.token, by_browser=by_browser).items():
            counts[outcome] = counts.get(outcome, 0) + number
    return counts


# -- the column -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_of", "expected"),
    [
        ({"renderer": "http"}, False),
        ({"renderer": "browser"}, True),
        ({"renderer": "auto"}, False),
        ({"renderer": "auto", "learned_renderer": "browser"}, True),
        ({"renderer": "auto", "steps": [{"do": "consent"}]}, True),
        ({"renderer": "http", "learned_renderer": "browser"}, False),
    ],
)
def test_a_monitor_is_filed_under_the_class_that_its_settings_ask_for(
    settings_of: dict[str, Any], expected: bool
) -> None:
    monitor = make_monitor(**settings_of)
    assert Monitor.objects.get().by_browser is expected

    # As the release before leaves rows behind, and as the migration finds them.
    Monitor.objects.update(by_browser=False)
    importlib.import_module("monitoring.migrations.0017_claims_by_class").mark_monitors_of_the_browser(apps, None)
    assert Monitor.objects.get().by_browser is expected

    monitor.refresh_from_db()
    monitor.renderer, monitor.steps = "http", []
    monitor.save(update_fields=["renderer", "steps"])
    assert not Monitor.objects.get().by_browser


def test_saving_something_else_leaves_the_class_alone() -> None:
    monitor = make_monitor(renderer="auto")
    Monitor.objects.update(by_browser=True)

    monitor.name = "Another"
    monitor.save(update_fields=["name"])

    assert Monitor.objects.get().by_browser


# -- claims and queues ----------------------------------------------------------------------------------------------


def test_a_backlog_of_renders_takes_no_place_of_other_pages(queued: list[Any]) -> None:
    announced(WorkerClass.HTTP, 1)
    announced(WorkerClass.BROWSER, 1)
    renders = [
        make_monitor(renderer="browser", next_check_at=NOW - timedelta(minutes=5)).pk
        for _ in range(schedule.RENDERS_MOST + 6)
    ]
    plain = make_monitor().pk

    ticker.turn(now=NOW)
    ticker.turn(now=NOW)

    by_queue = dict(queued)
    assert len(queued) == 2
    assert by_queue["tideline"][1] == [plain]
    assert by_queue["tideline-browser"][1] == renders[: schedule.RENDERS_MOST]
    assert by_queue["tideline-browser"][3:] == ("browser",)
    assert len(by_queue["tideline"]) == 3  # as workers of the release before know it


def test_a_backlog_of_pages_takes_no_place_of_renders(queued: list[Any]) -> None:
    announced(WorkerClass.BROWSER, 2)
    for _ in range(30):
        make_monitor(next_check_at=NOW - timedelta(minutes=5))
    rendered = [make_monitor(renderer="browser").pk for _ in range(8)]

    ticker.turn(now=NOW)

    batches = [arguments[1] for queue, arguments in queued if queue == "tideline-browser"]
    assert batches == [rendered[:4], rendered[4:]]  # one for each worker


def test_without_workers_that_render_such_pages_wait_and_it_is_said(queued: list[Any]) -> None:
    announced(WorkerClass.HTTP, 1)
    waiting = make_monitor(renderer="browser", next_check_at=NOW - timedelta(minutes=5))
    make_monitor(renderer="browser", next_check_at=NOW - timedelta(minutes=5), enabled=False)

    turn = ticker.turn(now=NOW)

    waiting.refresh_from_db()
    assert (turn.batches, turn.unrendered, queued) == (0, 1, [])
    assert waiting.lease_until is None
    assert pools.waits_for_nobody(waiting, now=NOW)
    assert not pools.waits_for_nobody(make_monitor(next_check_at=NOW - timedelta(hours=1)), now=NOW)
    announced(WorkerClass.BROWSER, 1)
    assert ticker.turn(now=NOW).unrendered == 0
    assert not pools.waits_for_nobody(waiting, now=NOW)


def test_workers_of_all_machines_count_and_dead_ones_do_not(settings: Any) -> None:
    settings.WORKERS = 3
    assert pools.capacity(now=NOW) == {"http": 3, "browser": 0}  # nobody announced: of an older release perhaps
    for kind, workers, ago in [
        ("http", 2, 0),
        ("http", 5, 40),
        ("http", 9, 61),
        ("browser", 4, 0),
        ("browser", 7, 3600),
    ]:
        announced(WorkerClass(kind), workers, now=NOW - timedelta(seconds=ago))
    Process.objects.create(key="t", kind="ticker", host="h", pid=2, version="0", started_at=NOW, seen_at=NOW)

    assert pools.capacity(now=NOW) == {"http": 7, "browser": 4}


def test_a_batch_that_nobody_took_from_the_queue_puts_no_page_under_suspicion() -> None:
    """Its message was lost, or waited longer than the lease: no worker died over it."""
    monitor = make_monitor()
    (claim,) = schedule.claim_due(now=NOW, limit=5, lease_s=60)

    assert schedule.reconcile(now=NOW + timedelta(seconds=61)) == 1

    monitor.refresh_from_db()
    assert (monitor.lease_until, monitor.stage) == (None, "")
    assert schedule.take_over(claim.ids, claim.token, now=NOW + timedelta(seconds=62)) == ""


def test_the_claim_of_a_class_is_answered_by_its_index() -> None:
    Monitor.objects.bulk_create(
        Monitor(
            name=str(n),
            url=f"https://a.example/{n}",
            site_id=one.site_id,
            team_id=one.team_id,
            page_type_id=one.page_type_id,
            vantage_id=one.vantage_id,
            by_browser=n % 2 == 0,
            next_check_at=NOW - timedelta(seconds=n),
        )
        for one in [make_monitor()]
        for n in range(2000)
    )
    wanted = schedule.due(NOW).filter(by_browser=False).order_by("next_check_at", "pk")[:500]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    assert "monitor_due_class" in wanted.explain()


# -- hand-over ------------------------------------------------------------------------------------------------------


def test_a_page_that_turns_out_to_need_a_browser_goes_to_the_workers_that_have_one(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    site.pages["/a"] = Page(SHELL)
    monitor, other = watch("/a", renderer="auto"), watch("/b", page())
    announced(WorkerClass.BROWSER, 1, now=timezone.now())
    due_at = monitor.next_check_at

    assert work(WorkerClass.HTTP) == {"handed-over": 1, "none": 1}

    monitor.refresh_from_db()
    assert (monitor.by_browser, monitor.lease_until, monitor.next_check_at) == (True, None, due_at)
    assert (chromium.asked, Check.objects.filter(monitor=monitor).count()) == ([], 0)
    assert work(WorkerClass.HTTP) == {}

    assert work(WorkerClass.BROWSER) == {"none": 1}

    monitor.refresh_from_db()
    other.refresh_from_db()
    assert (monitor.learned_renderer, monitor.by_browser, monitor.check_no) == ("browser", True, 1)
    assert (other.by_browser, other.check_no) == (False, 1)


def test_a_page_that_no_browser_could_read_either_goes_back(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    site.pages["/a"] = Page(SHELL)
    chromium.fails = True
    monitor = watch("/a", renderer="auto")
    announced(WorkerClass.BROWSER, 1, now=timezone.now())

    work(WorkerClass.HTTP)
    assert work(WorkerClass.BROWSER) == {"blocked": 1}

    monitor.refresh_from_db()
    assert (monitor.by_browser, monitor.learned_renderer) == (False, "")
    assert monitor.browser_tried_at is not None


def test_where_nobody_renders_what_http_brought_is_recorded(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    site.pages["/a"] = Page(SHELL)
    monitor = watch("/a", renderer="auto")

    assert work(WorkerClass.HTTP) == {"blocked": 1}

    monitor.refresh_from_db()
    assert (monitor.by_browser, monitor.check_no, monitor.browser_tried_at) == (False, 1, None)


def test_a_batch_of_the_release_before_is_worked_off_and_its_renders_handed_over(
    watch: Watch, chromium: FakeBrowser
) -> None:
    """Such a task names no class, and its monitors may be set to the browser."""
    rendered, plain = watch("/a", page(), renderer="browser"), watch("/b", page())
    Monitor.objects.update(by_browser=False)
    (claim,) = schedule.claim_due(now=timezone.now(), limit=5, lease_s=60)

    assert tasks.run_batch(list(claim.ids), claim.token) == "handed-over=1 none=1"

    rendered.refresh_from_db()
    plain.refresh_from_db()
    assert (rendered.by_browser, rendered.lease_until, rendered.check_no, chromium.asked) == (True, None, 0, [])
    assert plain.check_no == 1
    assert work(WorkerClass.BROWSER) == {"none": 1}


def test_a_monitor_under_suspicion_stays_so_when_it_is_handed_over(watch: Watch) -> None:
    monitor = watch("/a", renderer="browser")
    Monitor.objects.update(by_browser=False, stage="render", stage_failures=1)
    (claim,) = schedule.claim_due(now=timezone.now(), limit=5, lease_s=60)

    schedule.hand_over(claim.ids, claim.token)

    monitor.refresh_from_db()
    assert (monitor.stage, monitor.stage_failures) == (schedule.CAREFUL, 1)


def test_a_lease_that_was_lost_hands_nothing_over(watch: Watch) -> None:
    monitor = watch("/a", renderer="auto")

    assert schedule.hand_over([monitor.pk], "somebody else's") == 0
    assert not Monitor.objects.get().by_browser


# -- stopping -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster_stops(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Calling it asks this worker to stop."""
    monkeypatch.setattr(stopping, "_event", None)
    stopping.prepare()
    return stopping.request


def test_a_worker_that_is_to_stop_gives_back_what_it_has_not_recorded(
    watch: Watch, cluster_stops: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monitors = [watch(f"/{n}", page()) for n in range(6)]
    seen = capture._Batch._visit

    def stops_after_the_third(self: Any, monitor: Monitor, outcome: Any) -> None:
        seen(self, monitor, outcome)
        if sum(self.counts.values()) == 3:
            cluster_stops()

    monkeypatch.setattr(capture._Batch, "_visit", stops_after_the_third)
    (claim,) = schedule.claim_due(now=timezone.now(), limit=10, lease_s=60)

    assert capture.run_batch(claim.ids, claim.token) == {"none": 3}

    assert Check.objects.count() == 3
    assert Monitor.objects.filter(lease_until=None, check_no=0, stage="").count() == 3
    assert len(schedule.claim_due(now=timezone.now(), limit=10, lease_s=60)[0].ids) == len(monitors) - 3


def test_a_batch_that_comes_while_stopping_is_given_back_at_once(
    watch: Watch, cluster_stops: Callable[[], None]
) -> None:
    watch("/a", page())
    (claim,) = schedule.claim_due(now=timezone.now(), limit=10, lease_s=60)
    cluster_stops()

    assert tasks.run_batch(list(claim.ids), claim.token) == "nothing held"
    assert Monitor.objects.get().lease_until is None


def test_pages_for_the_browser_are_given_back_too(
    watch: Watch, chromium: FakeBrowser, cluster_stops: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("/a", "/b"):
        watch(name, renderer="browser")
    render = chromium.render

    def stops(request: Any) -> Any:
        cluster_stops()
        return render(request)

    monkeypatch.setattr(chromium, "render", stops)
    (claim,) = schedule.claim_due(now=timezone.now(), limit=10, lease_s=60, by_browser=True)

    capture.run_batch(claim.ids, claim.token, by_browser=True)

    assert len(chromium.asked) == 1
    assert Monitor.objects.filter(lease_until=None, lease_token="").count() == 2


def test_a_visit_as_before_needs_no_class(watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer="browser")

    assert visit(monitor).outcome == "none"
