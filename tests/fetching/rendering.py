"""A site in a thread of its own, for renders, which block; and what a render leaves behind."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from monitoring.fetching.browser import find_chromium
from monitoring.fetching.capture import Capture, Failure, FetchRequest, Limits, Outcome, RenderSpec
from monitoring.fetching.guard import AddressPolicy
from tests.fetching.server import Answer, Site, response, serve

BUDGET = Limits(total_s=40.0, max_bytes=1_000_000)

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(not find_chromium(), reason="no Chromium on this machine"),
]


@contextmanager
def running(answers: Mapping[str, Answer], *, tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """A site in a thread of its own: `render` blocks."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    context = serve(answers, tls=tls)
    site = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(5)
    try:
        yield site
    finally:
        asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


def allowing(*sites: Site) -> AddressPolicy:
    return AddressPolicy(allow=frozenset(("127.0.0.1", site.port) for site in sites))


def make_request(url: str, **changes: Any) -> FetchRequest:
    fields: dict[str, Any] = {"key": 7, "url": url, "limits": BUDGET, "render": RenderSpec(quiet_ms=200)}
    return FetchRequest(**fields | changes)


def capture_of(outcome: Outcome) -> Capture:
    assert isinstance(outcome, Capture), outcome
    return outcome


def failure_of(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure), outcome
    return outcome


def html(body: str, *headers: str) -> bytes:
    return response(f"<!doctype html><html><head></head><body>{body}</body></html>", headers=headers)


def left_behind(scratch: Path) -> list[str]:
    """Files in the folder, and command lines of processes that work in it; killed ones get a moment to go."""
    ends_at = time.monotonic() + 3
    while True:
        found = [str(path) for path in scratch.iterdir()]
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                line = entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if str(scratch) in line:
                    found.append(line)
        if not found or time.monotonic() > ends_at:
            return found
