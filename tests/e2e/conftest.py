"""The product in a real Chromium: a live server on both hosts, a seeded workspace, people signed in by the form."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import override_settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.e2e import seed
from tests.e2e.browser import launch_options

# Playwright's sync API runs an event loop in this thread; the rows are read between its calls, never inside.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


expect.set_options(timeout=15_000)  # a busy machine is slow, not wrong


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the whole run."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        yield browser
        browser.close()


@pytest.fixture
def site(transactional_db: None, settings: Any) -> Iterator[str]:
    """The address of the running product; snapshots come from localhost, everything else from 127.0.0.1."""
    # A page may still be loading when its test ends; the thread that answers it may then close the connection.
    connection.inc_thread_sharing()
    settings.MIDDLEWARE = ["tests.e2e.turns.OneAtATime", *settings.MIDDLEWARE]  # read when the server starts
    server = LiveServer("127.0.0.1")
    port = server.url.rsplit(":", 1)[1]
    frame = f"http://localhost:{port}"
    policy = {**settings.SECURE_CSP, "frame-src": [frame]}
    with override_settings(
        APP_ORIGIN=server.url,
        FRAME_ORIGIN=frame,
        SECURE_CSP=policy,
        ALLOWED_HOSTS=["127.0.0.1", "localhost"],
        CSRF_TRUSTED_ORIGINS=[server.url],
    ):
        yield server.url
    server.stop()


@pytest.fixture
def people(site: str) -> dict[str, User]:
    """A seeded workspace; gives the people by name."""
    return seed.seed()


type Open = Callable[..., Page]


@pytest.fixture
def open_as(chromium: Browser, site: str, people: dict[str, User]) -> Iterator[Open]:
    """Signs a person in through the form and gives their page."""
    contexts: list[BrowserContext] = []

    def opened(name: str = "ines", **options: Any) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, "locale": "en-GB", **options})
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{site}/login/")
        page.fill("input[name=username]", name)
        page.fill("input[name=password]", seed.PASSWORD)
        page.click("main button.primary")
        page.wait_for_selector(".avatar")
        return page

    yield opened
    for context in contexts:
        context.close()
