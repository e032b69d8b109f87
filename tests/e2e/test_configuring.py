"""An admin adds a monitor in a real browser: with script and without, preview first; nothing breaks the page's policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect

from monitoring.models import Monitor, PageType, Team, Vantage
from tests.e2e.conftest import Open

pytestmark = pytest.mark.browser

PAGE = (
    b"<!doctype html><html lang=en><title>Terms of sale</title><main><h1>Terms of sale</h1><p>You may send back what you"
    b" bought within thirty days, and we pay for the way back, provided that the goods are whole.</p><p>All prices hold on"
    b" the day of the order, read at 12:30 by our staff, and include the tax of your country.</p></main></html>"
)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the test says what went wrong."""


@pytest.fixture
def shop(settings: Any) -> Iterator[str]:
    """A page on loopback that the tests' policy lets through."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings.TEST_ALLOWED_ADDRESSES = [f"127.0.0.1:{server.server_port}"]
        yield f"http://127.0.0.1:{server.server_port}/terms"
        server.shutdown()
        thread.join()


@pytest.fixture
def admin(people: dict[str, User]) -> str:
    """The name of somebody who may configure; the only team, page type and vantage make the choices short."""
    ines = people["ines"]
    ines.groups.add(Group.objects.get_or_create(name="admin")[0])
    ines.is_staff = ines.is_superuser = True
    ines.save()
    return "ines"


def complaints(page: Page) -> list[str]:
    """Collects what the browser objects to: errors of scripts, and whatever the content policy stopped."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    return found


def choose(page: Page, name: str, text: str) -> None:
    """Pick from one of Django's completion lists."""
    page.click(f".field-{name} .select2-selection")
    page.fill(".select2-search__field", text)
    page.click(f".select2-results__option:has-text('{text}')")


def test_a_monitor_is_added_after_a_look(open_as: Open, site: str, shop: str, admin: str) -> None:
    page = open_as(admin)
    found = complaints(page)
    vantage, kind, team = Vantage.objects.first(), PageType.objects.first(), Team.objects.first()
    assert vantage is not None
    assert kind is not None
    assert team is not None

    page.goto(f"{site}/admin/monitoring/monitor/add/")
    page.fill("#id_url", shop)
    page.fill("#id_name", "Terms of sale")
    page.select_option("#id_team", str(team.pk))
    choose(page, "page_type", kind.name)
    choose(page, "vantage", vantage.name)
    page.click("text=Add another Ignore rule")
    page.select_option("#id_ignore_rules-0-kind", "selector")
    page.fill("#id_ignore_rules-0-value", ".advert")
    page.click("input[name=_preview]")

    expect(page.locator(".preview .said")).to_contain_text("can be watched")
    expect(page.locator("mark[title=clock]")).to_contain_text("12:30")
    assert not Monitor.objects.filter(url=shop).exists()

    page.click("input[name=_edit]")
    expect(page.locator("#id_name")).to_have_value("Terms of sale")
    expect(page.locator("#id_ignore_rules-0-value")).to_have_value(".advert")
    page.click("input[name=_save]")

    expect(page.locator(".messagelist .success")).to_contain_text("was added")
    monitor = Monitor.objects.get(url=shop)
    assert monitor.ignore_rules.get().value == ".advert"
    assert monitor.next_check_at is not None
    assert found == []


def test_the_same_without_script(open_as: Open, site: str, shop: str, admin: str) -> None:
    monitor = Monitor.objects.order_by("pk").first()
    assert monitor is not None
    page = open_as(admin, java_script_enabled=False)

    page.goto(f"{site}/admin/monitoring/monitor/{monitor.pk}/change/")
    page.fill("#id_url", shop)
    page.click("input[name=_preview]")

    expect(page.locator(".preview")).to_contain_text("send back what you bought")
    page.click("input[name=_save]")
    expect(page.locator(".messagelist")).to_contain_text("new baseline: address changed")
    monitor.refresh_from_db()
    assert monitor.url == shop


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_our_own_pages_in_admin(
    open_as: Open, site: str, shop: str, admin: str, theme: str
) -> None:
    monitor = Monitor.objects.order_by("pk").first()
    assert monitor is not None
    page = open_as(admin, color_scheme=theme, bypass_csp=True)
    found = {}

    page.goto(f"{site}/admin/monitoring/monitor/{monitor.pk}/change/")
    page.fill("#id_url", shop)
    page.click("input[name=_preview]")
    found["preview"] = _violations(page)
    page.goto(f"{site}/admin/monitoring/monitor/import/")
    found["import"] = _violations(page)
    text = b"url\nhttp://10.0.0.1/\nhttps://a.example/\n"
    page.set_input_files("input[type=file]", {"name": "list.csv", "mimeType": "text/csv", "buffer": text})
    page.click("input[type=submit]")
    found["report"] = _violations(page)

    assert found == {"preview": [], "import": [], "report": []}


def _violations(page: Page) -> list[str]:
    return [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in Axe().run(page).response["violations"]]
