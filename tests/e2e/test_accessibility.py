"""axe-core on the pages people work with: both themes, two widths, three languages.

The usual run takes four of the twelve combinations, among them each pair of theme and width and each language; the rest is long.
"""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from monitoring.models import Change, Monitor, Vantage, VantageComparison
from tests.e2e import seed
from tests.e2e.conftest import Open

pytestmark = pytest.mark.browser
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
WIDTHS = [(1440, 900), (390, 844)]
LANGUAGES = {"en": "en-GB", "de": "de-DE", "ja": "ja-JP"}
USUAL = {("light", 1440, "en"), ("dark", 390, "de"), ("light", 390, "ja"), ("dark", 1440, "ja")}
STATES = [
    pytest.param(
        {
            "color_scheme": theme,
            "viewport": {"width": size[0], "height": size[1]},
            "locale": locale,
            "bypass_csp": True,
            "reduced_motion": "reduce",
        },
        id=f"{theme}-{size[0]}-{language}",
        marks=() if (theme, size[0], language) in USUAL else pytest.mark.long,
    )
    for theme in ("light", "dark")
    for size in WIDTHS
    for language, locale in LANGUAGES.items()
]


def problems(page: object) -> list[str]:
    """What axe finds, one line each."""
    results = Axe().run(page, options=RULES)
    return [
        f"{v['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
        for v in results.response["violations"]
        for node in v["nodes"]
    ]


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_on_the_pages_of_a_reviewer(
    open_as: Open, site: str, state: dict[str, Any], people: dict[str, object]
) -> None:
    seed.past_verdicts(people)  # type: ignore[arg-type]
    seed.more_shapes(people)  # type: ignore[arg-type]
    seed.plantings()
    page = open_as(**state)
    change = Change.objects.get(monitor__name="Privacy notice", state="open")
    jacket = Monitor.objects.get(name="Trail jacket")
    found = {}
    for path in (
        "/", "/queue/", f"/c/{change.pk}/", f"/c/{change.pk}/?view=split", f"/c/{change.pk}/?view=fields",
        f"/c/{change.pk}/?view=rendered", f"/c/{change.pk}/ignore/1/", f"/c/{change.pk}/?view=prior&d=000000000000", f"/m/{change.monitor_id}/compare/", f"/m/{change.monitor_id}/selector/?q=h2",
        "/queue/?q=data", "/queue/?q=nowhere&priority=3", "/queue/?view=snoozed", "/monitors/", f"/m/{change.monitor_id}/", "/sites/", "/canaries/", f"/sites/{jacket.site_id}/", f"/sites/{change.monitor.site_id}/", "/verdicts/", "/verdicts/report/", "/fields/", f"/fields/?monitor={jacket.pk}", f"/fields/?monitor={jacket.pk}&name=price", "/calibration/privacy-policy/",
        "/me/", "/queue/?kind=noise", "/nowhere/",
    ):  # fmt: skip
        page.goto(site + path)
        assert page.locator("html").get_attribute("lang") == state["locale"][:2]
        if lines := problems(page):
            found[path] = lines

    assert found == {}


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_on_a_comparison_of_vantages(
    open_as: Open, site: str, state: dict[str, Any], people: dict[str, object]
) -> None:
    page = open_as(**state)
    change = Change.objects.get(monitor__name="Privacy notice", state="open")
    sides = [
        {"vantage": name, "final_url": change.monitor.url, "at": "2026-11-30T09:00:00+00:00", "ms": 80, "status": 200,
         "size_bytes": 41_000, "title": "Privacy notice", "language": "en", "problem": ""}
        for name in ("Berlin", "Vienna")
    ]  # fmt: skip
    first, second = (Vantage.objects.create(name=name) for name in ("Berlin", "Vienna"))
    VantageComparison.objects.create(
        monitor=change.monitor, first=first, second=second, state="done", facts=sides, diff=change.diff
    )

    page.goto(f"{site}/m/{change.monitor_id}/vantages/")

    assert page.locator("ins, del").count() > 0
    assert problems(page) == []


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_at_the_door(chromium: Browser, site: str, state: dict[str, Any]) -> None:
    context = chromium.new_context(**state)
    page = context.new_page()
    found = {}
    for path in ("/login/", "/password/"):
        page.goto(site + path)
        if lines := problems(page):
            found[path] = lines
    context.close()

    assert found == {}


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_no_page_scrolls_sideways(open_as: Open, site: str, width: int) -> None:
    page = open_as(viewport={"width": width, "height": 800})
    change = Change.objects.get(monitor__name="Privacy notice")
    wide = []
    for path in (
        "/",
        "/queue/",
        f"/c/{change.pk}/",
        f"/c/{change.pk}/?view=split",
        "/monitors/",
        f"/m/{change.monitor_id}/",
        "/sites/",
        "/canaries/",
        f"/sites/{change.monitor.site_id}/",
        "/verdicts/",
        "/verdicts/report/",
        "/me/",
    ):
        page.goto(site + path)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path)

    assert wide == []
