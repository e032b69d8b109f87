"""Monitors that ask for a browser: one page at a time, marked, judged like any other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from monitoring import storage
from monitoring.fetching import browser
from monitoring.fetching.capture import Capture, Failure, FetchRequest, Picture
from monitoring.models import Change, Monitor, Snapshot, Vantage
from monitoring.services import capture, schedule
from tests.monitoring.conftest import visit
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


class FakeBrowser:
    """Stands in for the browser: answers with what a test set, and remembers what it was asked."""

    def __init__(self) -> None:
        self.html = page()
        self.asked: list[FetchRequest] = []
        self.stages: list[str] = []
        self.fails = False
        self.closed = 0

    def __call__(self, **_: Any) -> FakeBrowser:
        return self

    def __enter__(self) -> FakeBrowser:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed += 1

    def render(self, request: FetchRequest) -> Capture | Failure:
        self.asked.append(request)
        self.stages.append(Monitor.objects.get(pk=request.key).stage)
        if self.fails:
            return Failure(
                key=request.key, url=request.url, reason="renderer-failed", message="The browser ended.", transient=True,
                started_at=timezone.now(), duration_ms=5,
            )  # fmt: skip
        body = self.html.encode()
        return Capture(
            key=request.key, url=request.url, final_url=request.url, status=200, headers=(), body=body, html=self.html,
            charset="utf-8", charset_source="utf-8", content_type="text/html", redirects=(), peer_address="",
            certificate_sha256="", started_at=timezone.now(), duration_ms=5, rendered=True, screenshot=b"\x89PNG picture",
            thumbnail=b"RIFF small", picture=Picture(width=1280, height=16_000, page_height=20_000),
        )  # fmt: skip


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch) -> FakeBrowser:
    """No real browser in these tests."""
    fake = FakeBrowser()
    monkeypatch.setattr(browser, "Renderer", fake)
    return fake


def test_a_rendered_page_is_kept_with_its_picture(watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer="browser", wait_selector="main")

    check = visit(monitor)

    kept = Snapshot.objects.get()
    assert check.reason == "first-capture"
    assert kept.rendered
    assert kept.screenshot is not None
    assert storage.get(kept.screenshot) == b"\x89PNG picture"
    assert kept.thumbnail is not None
    assert storage.get(kept.thumbnail) == b"RIFF small"
    assert kept.picture_cut_px == 4_000
    assert chromium.asked[0].render is not None
    assert chromium.asked[0].render.wait_selector == "main"
    assert chromium.stages == ["render"]


def test_a_rendered_change_is_found_against_the_stored_page(watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer="browser")
    visit(monitor)
    chromium.html = page(clauses=CLAUSES[1:])

    check = visit(monitor)

    assert check.outcome == "content"
    assert Change.objects.get().diff["counts"]["removed"] == 1
    assert len(chromium.asked) == 2


def test_no_conditions_are_sent_with_a_browser(watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer="browser")
    visit(monitor)
    Monitor.objects.update(etag='"v1"')

    visit(monitor)

    assert (chromium.asked[1].etag, chromium.asked[1].validators_url) == ("", "")


def test_a_failing_browser_is_an_error_and_no_more(watch: Watch, chromium: FakeBrowser) -> None:
    chromium.fails = True
    monitor = watch("/a", renderer="browser")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "renderer-failed")
    assert (monitor.stage, monitor.lease_until) == ("", None)


def test_a_worker_that_dies_with_its_browser_marks_that_monitor(
    watch: Watch, chromium: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor, other = watch("/a", renderer="browser"), watch("/b", renderer="browser")

    def dies(request: FetchRequest) -> Capture:
        raise SystemExit  # what the worker's time-out raises

    monkeypatch.setattr(chromium, "render", dies)
    monkeypatch.setattr(schedule, "release", lambda token: 0)  # as with a kill: nobody tidies up
    now = timezone.now()
    (batch,) = schedule.claim_due(now=now, limit=2, lease_s=60)
    with pytest.raises(SystemExit):
        capture.run_batch(batch.ids, batch.token)

    schedule.reconcile(now=now + timedelta(minutes=10))

    monitor.refresh_from_db()
    other.refresh_from_db()
    assert (monitor.stage_failures, other.stage_failures) == (1, 0)


def test_a_second_vantage_is_shown_the_page_in_the_browser_too(
    watch: Watch, chromium: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_GATE", "hunter2")
    proxy = "http://halden-{country}:{secret:GATE}@gate.example:7777"
    vienna = Vantage.objects.create(name="Vienna", country="AT", proxy_url=proxy, locale="de-AT")
    monitor = watch("/a", renderer="browser", confirm_vantage=vienna)
    visit(monitor)
    chromium.html = page(clauses=CLAUSES[1:])

    check = visit(monitor)

    assert check.outcome == "content"
    assert next(reason["code"] for reason in check.reasons) == "vantage-same"
    assert [request.vantage.name for request in chromium.asked] == ["default", "default", "Vienna"]
    last = chromium.asked[-1].vantage
    assert (last.locale, last.proxy_url) == ("de-AT", "http://halden-at:hunter2@gate.example:7777")
