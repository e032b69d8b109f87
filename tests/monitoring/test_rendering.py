"""Steps and access on monitors and sites, and the renderer that “auto” learns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from monitoring import storage
from monitoring.fetching import browser
from monitoring.fetching.capture import Capture, Failure, FetchRequest
from monitoring.models import Change, Check, Monitor, MonitorState, Payload, SettingChange, Snapshot
from monitoring.services import monitors, rendering, retention
from monitoring.services.capture import request_for
from monitoring.services.secrets import SecretError
from tests.factories import make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite, Page
from tests.monitoring.test_pipeline import CLAUSES, page
from tests.monitoring.test_rendered import FakeBrowser

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

SHELL = b"<html><body><div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript><script src=/a.js></script></body></html>"


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch) -> FakeBrowser:
    """No real browser in these tests."""
    fake = FakeBrowser()
    monkeypatch.setattr(browser, "Renderer", fake)
    return fake


def serve(site: LocalSite, body: str | bytes, *, status: int = 200) -> None:
    site.pages["/a"] = Page(body.encode() if isinstance(body, str) else body, status=status)


# -- auto ----------------------------------------------------------------------------------------------------------


def test_auto_stays_with_http_where_that_is_enough(watch: Watch, site: LocalSite, chromium: FakeBrowser) -> None:
    serve(site, page())
    monitor = watch("/a", renderer="auto")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("none", "first-capture")
    assert chromium.asked == []
    assert monitor.learned_renderer == ""


def test_auto_takes_a_browser_for_a_shell_and_remembers(watch: Watch, site: LocalSite, chromium: FakeBrowser) -> None:
    serve(site, SHELL)
    monitor = watch("/a", renderer="auto")

    first, second = visit(monitor), visit(monitor)

    assert [first.outcome, second.outcome] == ["none", "none"]
    assert first.reason == "first-capture"
    assert Snapshot.objects.get(role="baseline").rendered
    assert (monitor.learned_renderer, site.visits["/a"], len(chromium.asked)) == ("browser", 1, 2)
    assert monitor.learned_since is not None


def test_a_page_that_neither_can_read_is_recorded_once_and_not_tried_again_at_once(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    serve(site, SHELL)
    chromium.fails = True
    monitor = watch("/a", renderer="auto")

    check = visit(monitor)
    visit(monitor)

    assert (check.outcome, check.reason) == ("blocked", "needs-script")
    assert len(chromium.asked) == 1
    assert monitor.learned_renderer == ""
    Monitor.objects.update(browser_tried_at=timezone.now() - timedelta(hours=7))
    visit(monitor)
    assert len(chromium.asked) == 2


def test_a_switch_to_the_browser_is_no_change(watch: Watch, site: LocalSite, chromium: FakeBrowser) -> None:
    serve(site, page())
    monitor = watch("/a", renderer="auto")
    visit(monitor)
    serve(site, SHELL)
    chromium.html = page(clauses=CLAUSES[1:])

    check = visit(monitor)

    assert (check.outcome, check.reason, check.detail) == ("none", "our-change", "renderer changed")
    assert not Change.objects.exists()
    assert (monitor.state, monitor.learned_renderer) == (MonitorState.OK, "browser")


def learned(watch: Watch, site: LocalSite, chromium: FakeBrowser) -> Monitor:
    """A monitor that gets its page by browser and is about to ask by HTTP again."""
    serve(site, SHELL)
    monitor = watch("/a", renderer="auto")
    visit(monitor)
    Monitor.objects.update(check_no=rendering.PROBE_EVERY - 1)
    Check.objects.update(check_no=rendering.PROBE_EVERY - 1)
    chromium.asked.clear()
    return monitor


def test_now_and_then_http_is_tried_again_and_taken_where_it_says_the_same(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    monitor = learned(watch, site, chromium)
    serve(site, chromium.html.replace("<body>", "<body class=static>"))

    check = visit(monitor)

    assert (check.outcome, monitor.learned_renderer, chromium.asked) == ("noise", "http", [])
    assert monitor.baseline is not None
    assert not monitor.baseline.rendered  # so that a change from here on is compared with its like
    serve(site, page(clauses=CLAUSES[1:]))
    assert visit(monitor).outcome == "content"


def test_where_http_says_something_else_the_browser_decides_at_the_same_visit(
    watch: Watch, site: LocalSite, chromium: FakeBrowser
) -> None:
    monitor = learned(watch, site, chromium)
    before = site.visits["/a"]
    serve(site, page(clauses=CLAUSES[2:]))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("none", "same-bytes")
    assert (site.visits["/a"] - before, len(chromium.asked), monitor.learned_renderer) == (1, 1, "browser")
    assert Check.objects.filter(check_no=rendering.PROBE_EVERY).count() == 1


def test_auto_with_steps_always_takes_the_browser(watch: Watch, site: LocalSite, chromium: FakeBrowser) -> None:
    serve(site, page())
    monitor = watch("/a", renderer="auto", steps=[{"do": "consent"}])

    visit(monitor)

    assert (site.visits["/a"], len(chromium.asked)) == (0, 1)


# -- steps ---------------------------------------------------------------------------------------------------------


def test_a_step_that_fails_is_an_error_with_the_page_as_evidence(
    watch: Watch, chromium: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", renderer="browser", steps=[{"do": "click", "selector": "#more"}])
    visit(monitor)
    taken = chromium.render

    def fails(request: FetchRequest) -> Failure:
        seen = taken(request)
        assert isinstance(seen, Capture)
        said = "Step 1 (click “#more”) failed: nothing on the page let it be done within 5 s."
        return Failure(
            key=request.key, url=request.url, reason="step-failed", message=said, transient=False,
            started_at=timezone.now(), duration_ms=5, evidence=replace(seen, body=b"<p>half</p>", html="<p>half</p>"),
        )  # fmt: skip

    monkeypatch.setattr(chromium, "render", fails)
    before = monitor.baseline

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "step-failed")
    assert "Step 1 (click “#more”)" in check.detail
    kept = Snapshot.objects.get(role="error")
    assert check.snapshot == kept
    assert kept.screenshot is not None
    assert kept.expires_at is not None
    assert (monitor.baseline, Change.objects.count()) == (before, 0)


def test_steps_are_checked_before_they_are_kept(watch: Watch) -> None:
    monitor = watch("/a", renderer="browser")

    with pytest.raises(ValidationError, match="Step 1: click needs exactly one of"):
        monitors.change_settings(monitor, {"steps": [{"do": "click"}]}, actor=None)
    with pytest.raises(ValidationError, match="Step 1"):
        monitors.change_settings(monitor, {"steps": [{"do": "click", "selector": ":::"}]}, actor=None)


def test_changed_steps_start_a_new_baseline_and_are_on_record(watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer="browser")
    visit(monitor)

    monitors.change_settings(monitor, {"steps": [{"do": "consent"}]}, actor=None)

    assert monitor.rebaseline == "steps changed"
    assert SettingChange.objects.get(name="steps").new == '[{"do": "consent"}]'


# -- secrets and access --------------------------------------------------------------------------------------------

TYPING = [{"do": "type", "selector": "#u", "value": "secret:SHOP"}]


def test_a_secret_is_resolved_for_the_visit_and_kept_nowhere(
    watch: Watch, chromium: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP", "correct horse")
    monitor = watch("/a", renderer="browser", steps=TYPING)

    check = visit(monitor)

    request = chromium.asked[0]
    assert request.render is not None
    assert request.render.secrets == (("SHOP", "correct horse"),)
    assert "horse" not in repr(request)
    assert check.outcome == "none"
    for row in (monitor, check, Snapshot.objects.get(), *SettingChange.objects.all()):
        assert "horse" not in repr(row.__dict__)


@pytest.mark.parametrize("renderer", ["browser", "auto"])
def test_a_missing_secret_is_an_error_that_names_it(renderer: str, watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer=renderer, steps=TYPING)

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "secret-missing")
    assert "TIDELINE_SECRET_SHOP" in check.detail
    assert chromium.asked == []


def test_a_secret_goes_only_to_the_hosts_that_the_deployment_names(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP", "correct horse")
    monkeypatch.setenv("TIDELINE_SECRET_SHOP_HOSTS", "shop.example, login.example")
    here = watch("/a", renderer="browser", steps=TYPING)
    there = watch("/b", renderer="browser", steps=[TYPING[0] | {"on": "login.example"}])

    with pytest.raises(SecretError, match="may not be given to 127"):
        request_for(here, now=timezone.now())
    allowed = request_for(there, now=timezone.now()).render
    assert allowed is not None
    assert allowed.secrets == (("SHOP", "correct horse"),)


def test_a_sites_cookies_are_sent_over_http_and_what_it_sets_is_not_kept(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SESSION", "s3cr3t-value")
    site.pages["/a"] = Page(page().encode(), headers={"Set-Cookie": "session=another-secret"})
    monitor = watch("/a")
    assert monitors.change_access(monitor.site, {"cookies": "session = secret:SESSION\n"}, actor=None) == 1

    visit(monitor)

    assert site.asked["/a"]["cookie"] == "session=s3cr3t-value"
    kept = Snapshot.objects.get()
    assert ["Set-Cookie", "(secret)"] in kept.headers
    assert "s3cr3t" not in repr(list(SettingChange.objects.values()))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cookies": "session=in-clear"}, "Line 1 is no cookie"),
        ({"cookies": "a=secret:B\n\nses sion=secret:X"}, "Line 3 is no cookie"),
        ({"cookies": "a=secret:KEY"}, "is not KEY"),
        ({"login_url": "http://10.0.0.1/"}, "public address"),
        ({"login_url": "https://www.example.org/login"}, "Signing in takes steps"),
        ({"login_url": "https://www.example.org/", "login_steps": [{"do": "dance"}]}, "Step 1: “do” is"),
    ],
)
def test_what_is_wrong_with_a_sites_access_is_named_and_nothing_is_kept(
    changes: dict[str, Any], said: str, watch: Watch
) -> None:
    monitor = watch("/a")

    with pytest.raises(ValidationError, match=said):
        monitors.change_access(monitor.site, changes, actor=None)

    monitor.site.refresh_from_db()
    assert (monitor.site.cookies, monitor.site.login_url, monitor.site.login_steps) == ("", "", [])


def test_the_sign_in_of_a_site_comes_with_its_pages_and_changes_their_baseline(
    watch: Watch, chromium: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP", "correct horse")
    monitor = watch("/a", renderer="browser")
    visit(monitor)
    monitors.change_access(monitor.site, {"login_url": "https://www.example.org/in", "login_steps": TYPING}, actor=None)

    check = visit(monitor)

    access = chromium.asked[1].render.access if chromium.asked[1].render else None
    assert access is not None
    assert (access.realm, access.login_url) == (monitor.site.host, "https://www.example.org/in")
    assert chromium.asked[1].limits.total_s > 30
    assert (check.reason, check.detail) == ("our-change", "access to the site changed")


# -- pictures ------------------------------------------------------------------------------------------------------


def test_pictures_are_kept_as_long_as_their_snapshot(watch: Watch, chromium: FakeBrowser) -> None:
    monitor = watch("/a", renderer="browser")
    visit(monitor)
    long_after = timezone.now() + timedelta(days=400)
    retention.sweep(now=long_after)
    assert Payload.objects.count() == 3
    Monitor.objects.update(baseline=None)
    Snapshot.objects.update(expires_at=timezone.now())

    retention.sweep(now=long_after)

    assert (Snapshot.objects.count(), Payload.objects.count(), list(storage.store().objects())) == (0, 0, [])


# -- in the admin --------------------------------------------------------------------------------------------------


def test_a_sites_page_takes_references_and_shows_no_value(
    watch: Watch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP", "correct horse")
    monitor = watch("/a")
    client.force_login(make_user("root", role="admin", is_superuser=True))
    address = reverse("admin:monitoring_site_change", args=[monitor.site_id])
    form = {
        "name": "Local",
        "gap_s": "0",
        "robots_policy": "obey",
        "robots_reason": "",
        "use_hints": "on",
        "hint_url": "",
    }

    refused = client.post(address, form | {"cookies": "session=in-clear"}).content.decode()
    signing = {"login_url": "https://www.example.org/in", "login_steps": json.dumps(TYPING)}
    kept = client.post(address, form | {"cookies": "session=secret:SHOP"} | signing)

    assert "Line 1 is no cookie" in refused
    assert kept.status_code == 302
    monitor.refresh_from_db()
    assert (monitor.site.cookies, monitor.site.login_steps) == ("session=secret:SHOP", TYPING)
    assert monitor.rebaseline == "access to the site changed"
    assert "horse" not in client.get(address).content.decode()


def test_a_snapshots_page_shows_its_picture(watch: Watch, chromium: FakeBrowser, client: Client) -> None:
    visit(watch("/a", renderer="browser"))
    client.force_login(make_user("root", role="admin", is_superuser=True))
    kept = Snapshot.objects.get()

    shown = client.get(reverse("admin:monitoring_snapshot_change", args=[kept.pk])).content.decode()

    assert reverse("picture", args=[kept.pk, "screenshot"]) in shown
    assert reverse("picture", args=[kept.pk, "thumbnail"]) in shown
