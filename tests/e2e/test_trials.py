"""An ignore rule is tried before it is saved, in a real browser with script and without."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from monitoring import storage
from monitoring.models import Change, IgnoreRule, Monitor, Snapshot, Team
from tests.e2e.conftest import Open
from tests.e2e.test_configuring import _violations as violations
from tests.e2e.test_configuring import admin, complaints
from tests.factories import make_change, make_monitor, make_snapshot
from tests.monitoring.test_pipeline import page as notice
from tests.monitoring.test_trials import OFFER, OFFERS, SELLS

__all__ = ["admin"]  # a fixture

pytestmark = pytest.mark.browser


@pytest.fixture
def watched(people: dict[str, User]) -> Monitor:
    """A monitor with two stored changes: an approved one of a clause, a dismissed one of the offer beside it."""
    team = Team.objects.filter(members=people["ines"]).first()
    monitor = make_monitor(name="Halden notice", team=team)
    clause, offer = (make_snapshot_of(monitor, html) for html in (notice(), notice(extra=OFFER.format(OFFERS[0]))))
    sold = make_snapshot_of(monitor, notice(clauses=SELLS))
    other = make_snapshot_of(monitor, notice(extra=OFFER.format(OFFERS[1])))
    make_change(monitor, prior=clause, new=sold, state=Change.State.APPROVED)
    make_change(monitor, prior=offer, new=other, state=Change.State.DISMISSED)
    monitor.baseline = other
    monitor.save()
    return monitor


def make_snapshot_of(monitor: Monitor, html: str) -> Snapshot:
    return make_snapshot(monitor, payload=storage.put(html.encode()), charset="utf-8", content_type="text/html")


def add_rule(page: Page, kind: str, value: str) -> None:
    """Fill in a new row of a monitor's ignore rules and press save."""
    page.click("text=Add another Ignore rule")
    page.select_option("#id_ignore_rules-0-kind", kind)
    page.fill("#id_ignore_rules-0-value", value)
    page.click("input[name=_save]")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_rule_is_tried_then_saved(watched: Monitor, site: str, open_as: Open, admin: str, theme: str) -> None:
    page = open_as(admin, color_scheme=theme, bypass_csp=True)
    page.goto(f"{site}/admin/monitoring/monitor/{watched.pk}/change/")

    add_rule(page, "selector", ".offer")
    expect(page.locator(".trial")).to_contain_text("sea songs")
    assert violations(page) == []
    assert not IgnoreRule.objects.exists()
    page.click("input[name=_save]")

    expect(page.locator(".messagelist .success")).to_contain_text("was changed")
    assert IgnoreRule.objects.get().value == ".offer"


def test_the_same_without_script(watched: Monitor, site: str, open_as: Open, admin: str) -> None:
    rule = IgnoreRule.objects.create(monitor=watched, kind="selector", value=".sidebar")
    page = open_as(admin, java_script_enabled=False)
    page.goto(f"{site}/admin/monitoring/ignorerule/{rule.pk}/change/")

    page.fill("#id_value", ".offer")
    page.click("input[name=_save]")
    expect(page.locator(".trial")).to_contain_text("sea songs")
    page.click("input[name=_edit]")
    expect(page.locator("#id_value")).to_have_value(".offer")
    page.click("input[name=_save]")
    page.click(".trial input[name=_save]")

    expect(page.locator(".messagelist .success")).to_contain_text("was changed")
    rule.refresh_from_db()
    assert rule.value == ".offer"


def test_a_refused_rule_asks_for_a_reason(watched: Monitor, site: str, open_as: Open, admin: str) -> None:
    page = open_as(admin)
    wrong = complaints(page)
    page.goto(f"{site}/admin/monitoring/monitor/{watched.pk}/change/")

    add_rule(page, "pattern", "We (do not )?sell personal data")
    expect(page.locator(".trial .errornote")).to_contain_text("Halden notice")
    page.fill("#override", "The clause is watched elsewhere.")
    page.click("input[name=_save]")

    expect(page.locator(".messagelist")).to_contain_text("successfully")
    assert watched.setting_changes.get(name="ignore").reason == "The clause is watched elsewhere."
    assert wrong == []
