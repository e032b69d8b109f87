"""Deciding when things go wrong or happen at once: dropped connections, colleagues, a day by keyboard, other languages."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from monitoring.models import Change
from review.models import Preferences, Verdict
from tests.e2e.conftest import Open

pytestmark = pytest.mark.browser


def begin(page: Page, site: str) -> None:
    """The queue's first change, once the script has taken over."""
    page.goto(f"{site}/queue/")
    page.click("[data-start]")
    page.wait_for_selector("[data-place].now")


def test_a_verdict_that_was_not_sent_outlives_a_reload_and_is_sent_from_another_page(open_as: Open, site: str) -> None:
    page = open_as()
    begin(page, site)
    title = page.locator("[data-decide]").get_attribute("data-title") or "?"
    page.wait_for_load_state("networkidle")
    page.route("**/decide/", lambda route: route.fulfill(status=503, body="busy"))
    page.keyboard.press("a")
    expect(page.locator(".notice.bad")).to_contain_text(title)

    page.goto(f"{site}/queue/")
    expect(page.locator(".notice.bad")).to_contain_text(title)
    assert not Verdict.objects.exists()
    page.unroute("**/decide/")
    page.click(".notice.bad button >> nth=0")

    expect(page.locator(".toast")).to_contain_text("Approved")
    expect(page.locator(".notice.bad")).to_have_count(0)
    page.goto(f"{site}/queue/")
    expect(page.locator(".notice.bad")).to_have_count(0)
    assert [v.change.monitor.name for v in Verdict.objects.all()] == [title]


def test_what_is_kept_belongs_to_one_person(open_as: Open, site: str) -> None:
    page = open_as()
    begin(page, site)
    page.wait_for_load_state("networkidle")
    page.route("**/decide/", lambda route: route.abort())
    page.keyboard.press("a")
    expect(page.locator(".notice.bad")).to_be_visible()

    page.evaluate("document.querySelector('form[action=\"/logout/\"]').submit()")
    page.wait_for_selector("input[name=username]")
    page.fill("input[name=username]", "mara")
    page.fill("input[name=password]", "correct horse battery")
    page.click("main button.primary")
    page.wait_for_selector(".avatar")

    expect(page.locator(".notice.bad")).to_have_count(0)


def test_who_else_looks_is_told_while_one_reads(open_as: Open, site: str) -> None:
    change = Change.objects.get(monitor__name="Privacy notice")
    mara = open_as("mara")
    mara.goto(f"{site}/c/{change.pk}/")

    ines = open_as("ines")
    ines.goto(f"{site}/c/{change.pk}/")

    expect(ines.locator("[data-here]")).to_contain_text(re.compile(r"Mara .* is looking at this since \d\d:\d\d"))


def test_every_change_of_the_queue_is_triaged_by_keyboard_alone(open_as: Open, site: str) -> None:
    page = open_as()
    page.goto(f"{site}/queue/")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-place].now")
    waiting = Change.objects.filter(state="open").count()

    for number in range(waiting):
        expect(page.locator("[data-waiting]").first).to_have_text(str(waiting - number))
        if number % 3 == 2:
            page.keyboard.press("r")
            page.keyboard.press("4")
        else:
            page.keyboard.press("ad"[number % 2])
        if number < waiting - 1:
            expect(page.locator("[data-waiting]").first).to_have_text(str(waiting - number - 1))

    expect(page.locator("h1")).to_have_text("Nothing is waiting for you.")
    verdicts = list(Verdict.objects.order_by("pk").values_list("action", "reason"))
    assert len(verdicts) == waiting
    assert verdicts[2::3] == [("dismiss", "rotating")] * len(verdicts[2::3])


@pytest.mark.parametrize(("language", "approved"), [("de", "Bestätigt"), ("ja", "承認")])
def test_a_shift_in_another_language(
    language: str, approved: str, open_as: Open, site: str, people: dict[str, User]
) -> None:
    Preferences.objects.update_or_create(user=people["ines"], defaults={"language": language})
    page = open_as()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    begin(page, site)
    assert page.locator("html").get_attribute("lang") == language

    page.keyboard.press("a")

    expect(page.locator(".toast")).to_contain_text(approved)
    assert said == []


def test_a_place_is_copied_as_quotation_and_as_link(open_as: Open, site: str) -> None:
    page = open_as(permissions=["clipboard-read", "clipboard-write"])
    change = Change.objects.get(monitor__name="Privacy notice")
    page.goto(f"{site}/c/{change.pk}/")
    place = page.locator("[data-place]").first

    place.hover()
    place.locator("[data-quote]").click()
    expect(page.locator(".toast")).to_contain_text("quotation is copied")
    quotation = page.evaluate("navigator.clipboard.readText()")
    place.locator("[data-copy-link]").click()
    expect(page.locator(".toast")).to_contain_text("link is copied")
    link = page.evaluate("navigator.clipboard.readText()")

    assert "will not share your usage data" in quotation
    assert change.monitor.url in quotation
    page.goto(f"{site}/queue/")
    page.goto(link)
    expect(page.locator("[data-place].now")).to_have_attribute("id", "p1")
