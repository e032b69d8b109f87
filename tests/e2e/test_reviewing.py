"""A reviewer's day in a real browser: with keys, with script off, with somebody faster."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from monitoring.models import Change
from review.models import Verdict
from tests.e2e.conftest import Open

pytestmark = pytest.mark.browser


def start(page: Page, site: str) -> None:
    """Open the queue's first change and wait until the script has taken over."""
    page.goto(f"{site}/queue/")
    page.click("[data-start]")
    page.wait_for_selector("[data-place].now")


def count(page: Page) -> str:
    """The number beside "Queue" in the navigation."""
    return page.inner_text("[data-waiting]").strip()


def test_read_dismiss_undo_approve_with_one_key_each(open_as: Open, site: str) -> None:
    page = open_as()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.clock.install()
    page.goto(f"{site}/queue/")
    assert count(page) == "9"
    first = page.inner_text(".q-title a >> nth=0")
    page.click("[data-start]")
    expect(page.locator("h1")).to_contain_text(first)
    expect(page.locator(".diff ins").first).to_be_visible()
    page.clock.fast_forward(2000)  # below 1.5 s nobody has read anything

    page.keyboard.press("d")
    expect(page.locator("[data-waiting]")).to_have_text("8")
    expect(page.locator(".toast")).to_contain_text("Dismissed")
    expect(page.locator("h1")).not_to_contain_text(first)
    second = page.inner_text("h1")

    page.keyboard.press("u")
    expect(page.locator("h1")).to_contain_text(first)
    expect(page.locator("[data-waiting]")).to_have_text("9")
    page.clock.fast_forward(2000)

    page.keyboard.press("a")
    expect(page.locator("[data-waiting]")).to_have_text("8")
    expect(page.locator("h1")).to_have_text(second)
    assert errors == []
    assert [v.action for v in Verdict.objects.order_by("pk")] == ["dismiss", "undo", "approve"]
    assert all(v.calibrates for v in Verdict.objects.filter(action="approve"))
    assert page.title().startswith(second.split("\n")[0][:5])


def test_another_reason_by_its_number(open_as: Open, site: str) -> None:
    page = open_as()
    start(page, site)
    page.keyboard.press("d")
    expect(page.locator(".toast [data-number='4']")).to_have_count(1)

    page.keyboard.press("4")

    expect(page.locator(".toast > span")).to_contain_text("Dismissed: rotating content")
    assert Verdict.objects.order_by("-pk")[0].reason == "rotating"


def test_the_reason_list_by_key(open_as: Open, site: str) -> None:
    page = open_as()
    start(page, site)
    page.keyboard.press("r")
    expect(page.locator("[data-reason='2']")).to_be_visible()

    page.keyboard.press("2")

    expect(page.locator(".toast")).to_contain_text("footer or navigation")


def test_places_move_the_snapshot_along(open_as: Open, site: str) -> None:
    page = open_as()
    page.goto(f"{site}/c/{Change.objects.get(monitor__name='Privacy notice').pk}/")
    expect(page.locator(".b.now")).to_have_id("p1")
    frame = page.frame_locator("iframe[data-follow]")
    expect(frame.locator("#p1")).to_contain_text("share your usage data")

    page.keyboard.press(".")

    expect(page.locator(".b.now")).to_have_id("p2")
    expect(page.locator("[data-place-n]")).to_have_text("2")
    snapshot = next(f for f in page.frames if "/frame/" in f.url)
    expect(frame.locator("#p2")).to_be_in_viewport()
    assert snapshot.url.endswith("#p2")


def test_everything_works_without_script(open_as: Open, site: str) -> None:
    page = open_as(java_script_enabled=False)
    page.goto(f"{site}/queue/")
    page.click(".q-title a >> nth=0")
    title = page.inner_text("h1")

    page.click("#decide button[value^='dismiss:'] >> nth=0")
    assert page.inner_text("h1") != title
    assert count(page) == "8"
    page.click("#decide button[value='undo']")
    assert title.split("\n")[0] in page.inner_text("h1")
    assert count(page) == "9"
    page.click("#decide button[value='approve']")
    assert count(page) == "8"
    assert [v.action for v in Verdict.objects.order_by("pk")] == ["dismiss", "undo", "approve"]


def test_two_reviewers_on_one_change(open_as: Open, site: str) -> None:
    ines, mara = open_as("ines"), open_as("mara")
    change = Change.objects.get(monitor__name="Privacy notice")
    for page in (ines, mara):
        page.goto(f"{site}/c/{change.pk}/")
    ines.keyboard.press("a")
    expect(ines.locator(".toast")).to_contain_text("Approved")

    mara.keyboard.press("d")

    expect(mara.locator(".notice.warn")).to_contain_text("Ines Toth decided this")
    expect(mara.locator(".notice.warn")).to_contain_text("Your dismissal was not saved")
    assert Verdict.objects.count() == 1


def test_a_verdict_that_does_not_arrive_is_kept_and_sent_again(open_as: Open, site: str) -> None:
    page = open_as()
    start(page, site)
    title = page.inner_text("h1 > span >> nth=0")
    page.wait_for_load_state("networkidle")
    page.route("**/decide/", lambda route: route.abort())
    page.keyboard.press("a")
    expect(page.locator(".notice.bad")).to_contain_text(title)
    assert not Verdict.objects.exists()

    page.unroute("**/decide/")
    page.click(".notice.bad button")

    expect(page.locator(".toast")).to_contain_text("Approved")
    assert Verdict.objects.count() == 1


def test_keys_are_ignored_while_typing_and_can_be_switched_off(open_as: Open, site: str) -> None:
    page = open_as()
    start(page, site)
    page.keyboard.press("n")
    page.keyboard.type("an odd add")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#notes")).to_contain_text("an odd add")
    assert not Verdict.objects.exists()

    page.goto(f"{site}/me/")
    page.uncheck("input[name=single_keys]")
    page.click("form.prefs button.primary")
    start(page, site)
    page.keyboard.press("a")
    page.keyboard.press("d")
    page.goto(f"{site}/verdicts/")

    assert not Verdict.objects.exists()


def test_new_arrivals_are_announced_and_the_list_stays(open_as: Open, site: str) -> None:
    page = open_as()
    page.clock.install()
    page.goto(f"{site}/queue/")
    rows = page.locator(".q-row").count()
    change = Change.objects.first()
    assert change is not None
    Change.objects.filter(pk=change.pk).update(updated_at="2036-01-01T00:00:00Z")

    page.clock.fast_forward(31_000)

    expect(page.locator("[data-arrivals]")).to_have_text(re.compile("1 new since you opened this"))
    assert page.locator(".q-row").count() == rows


def test_bulk_dismissal_and_its_undo(open_as: Open, site: str) -> None:
    page = open_as()
    page.goto(f"{site}/queue/")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected]")).to_have_text("2 selected")
    page.click("[data-bulk-dismiss]")
    expect(page.locator(".toast")).to_contain_text("Dismissed 2 changes")
    assert count(page) == "7"

    page.keyboard.press("u")

    expect(page.locator("[data-waiting]")).to_have_text("9")


def test_the_theme_stays(open_as: Open, site: str) -> None:
    page = open_as()
    page.goto(f"{site}/queue/")
    with page.expect_response("**/me/theme/"):
        page.click("[data-theme-form] button")
    assert page.get_attribute("html", "data-theme") == "dark"

    page.goto(f"{site}/sites/")

    assert page.get_attribute("html", "data-theme") == "dark"


def test_the_outline_of_a_place_waits_for_a_key(open_as: Open, site: str) -> None:
    page = open_as()
    start(page, site)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate("document.activeElement.matches('[data-place].now')")
    assert page.evaluate(outline) == "none"

    page.keyboard.press(".")

    assert page.evaluate(outline) == "solid"


def test_every_verdict_fits_a_phone_in_german(open_as: Open, site: str) -> None:
    page = open_as()
    page.context.add_cookies([{"name": "django_language", "value": "de", "url": site}])
    page.set_viewport_size({"width": 390, "height": 844})
    start(page, site)

    expect(page.locator("#decide [value=approve]")).to_contain_text("Bestätigen")
    edges = page.locator("#decide button[name=do]:visible").evaluate_all(
        "buttons => buttons.map(button => button.getBoundingClientRect().right)"
    )

    assert len(edges) >= 3
    assert max(edges) <= 390
