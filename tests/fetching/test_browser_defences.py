"""What keeps a page in its browser, taken away piece by piece.

Each defence is removed by itself. Either the canary is then reached, or another layer still stops the page: then that
one is removed as well, and the canary is reached. So every test here turns red when a defence that counts is lost.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, async_playwright

from monitoring.fetching import browser_worker
from monitoring.fetching.browser import Job, find_chromium
from monitoring.fetching.browser_worker import BrowserHost, Visit
from monitoring.fetching.capture import RenderSpec, VantageSpec
from monitoring.fetching.egress import EgressProxy
from monitoring.fetching.guard import AddressPolicy, vet
from tests.fetching.rendering import BUDGET, allowing, html, needs_browser, running
from tests.fetching.server import Site, response
from tests.fetching.test_browser import KINDS, datagrams, received

pytestmark = needs_browser

type Patch = pytest.MonkeyPatch
type Removal = Callable[[Patch], None]


# -- the defences, each as the way to take it away -----------------------------------------------------------------


def proxy(patch: Patch) -> None:
    """The browser gets the network itself."""
    options = browser_worker.context_options

    def without(visit: Visit, state: Any = None) -> dict[str, Any]:
        return {name: value for name, value in options(visit, state).items() if name != "proxy"}

    patch.setattr(browser_worker, "context_options", without)
    start = BrowserHost.start

    async def bare(self: BrowserHost) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            launch = async_playwright

            class Bare:
                async def start(self) -> Any:
                    playwright = await launch().start()
                    original = playwright.chromium.launch
                    inside.setattr(
                        playwright.chromium, "launch", lambda **options: original(**options | {"proxy": None})
                    )
                    return playwright

            inside.setattr(browser_worker, "async_playwright", Bare)
            return await start(self)

    patch.setattr(BrowserHost, "start", bare)


def names(patch: Patch) -> None:
    """The browser may look names up itself."""
    patch.setattr(browser_worker, "FLAGS", tuple(f for f in browser_worker.FLAGS if "host-resolver" not in f))


def loopback_through_proxy(patch: Patch) -> None:
    """Loopback goes past the proxy, as browsers do when nobody says otherwise."""
    options = browser_worker.context_options

    def bypassed(visit: Visit, state: Any = None) -> dict[str, Any]:
        found = options(visit, state)
        return found | {"proxy": {"server": found["proxy"]["server"], "bypass": "127.0.0.1,localhost"}}

    patch.setattr(browser_worker, "context_options", bypassed)


def routes(patch: Patch) -> None:
    """No request is judged in the browser."""

    async def unguarded(context: BrowserContext, visit: Visit) -> None:
        return

    patch.setattr(browser_worker, "guard_context", unguarded)


def socket_routes(patch: Patch) -> None:
    """Web sockets are opened."""

    async def only_requests(context: BrowserContext, visit: Visit) -> None:
        await context.route("**/*", visit.routed)

    patch.setattr(browser_worker, "guard_context", only_requests)


def workers_blocked(patch: Patch) -> None:
    """Service workers may be installed."""
    options = browser_worker.context_options
    patch.setattr(
        browser_worker,
        "context_options",
        lambda visit, state=None: options(visit, state) | {"service_workers": "allow"},
    )


def webrtc_policy(patch: Patch) -> None:
    """Peer connections use whatever network there is."""
    patch.setattr(browser_worker, "FLAGS", tuple(f for f in browser_worker.FLAGS if "webrtc" not in f))


def announcements(patch: Patch) -> None:
    """The proxy lets through what no request of the page asked for."""
    init = EgressProxy.__init__

    def announced(self: EgressProxy, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        event = asyncio.Event()
        event.set()
        patch.setattr(self, "_event", lambda host, port: event)

    patch.setattr(EgressProxy, "__init__", announced)


def proxy_guard(patch: Patch) -> None:
    """The proxy judges no address."""
    patch.setattr(EgressProxy, "_connect", _connect_anywhere)


async def _connect_anywhere(self: EgressProxy, target: Any, *, tunnel: bool) -> Any:
    return await asyncio.open_connection(target.host, target.port)


def all_guards(patch: Patch) -> None:
    """No address is judged anywhere: neither in the browser's routes nor in the proxy."""
    from monitoring.fetching import egress

    everywhere = AddressPolicy(allow=frozenset(("127.0.0.1", port) for port in range(1024, 65536)))

    def agree(url: str, policy: AddressPolicy, **more: Any) -> Any:
        return vet(url, everywhere, **more)

    patch.setattr(browser_worker, "vet", agree)
    patch.setattr(egress, "vet", agree)
    proxy_guard(patch)


# -- a render in this process, so that its parts can be taken away -------------------------------------------------


def render_here(site: Site, *, path: str = "/") -> None:
    """One page as the worker shows it, whatever comes of it."""
    job = Job(
        url=f"{site.url}{path}",
        vantage=VantageSpec(),
        limits=BUDGET,
        spec=RenderSpec(quiet_ms=400),
        policy=allowing(site),
        exemption=None,
        chromium=find_chromium(),
        budget_s=BUDGET.total_s,
    )

    async def run() -> None:
        with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o711)
            host = BrowserHost(job, Path(folder))
            try:
                await browser_worker.answer(job, host)
            finally:
                await host.close()

    asyncio.run(run())


@contextmanager
def canaries(host: str) -> Iterator[tuple[Site, Site, Callable[[], bool]]]:
    """A page with every kind of request at a loopback site that it must not reach; and whether a packet came by UDP."""
    with running({"*": html("x")}) as canary, datagrams() as udp:
        page = KINDS.format(c=f"http://{host}:{canary.port}", h=host, p=canary.port, u=udp.getsockname()[1])
        page += f"""<script>navigator.serviceWorker && navigator.serviceWorker.register("/sw.js").catch(() => 0)</script>
        <meta http-equiv=refresh content="3;url=http://127.0.0.1:{canary.port}/refresh">"""
        worker = response(
            f"fetch('http://127.0.0.1:{canary.port}/sw', {{mode: 'no-cors'}})", content_type="text/javascript"
        )
        with running({"/": html(page), "/sw.js": worker}) as site:
            yield site, canary, lambda: _arrived(udp)


def _arrived(udp: Any) -> bool:
    """Whether a packet came, or comes in a moment."""
    udp.settimeout(0.2)
    started = time.monotonic()
    while time.monotonic() - started < 0.2:
        try:
            if received(udp):
                return True
        except TimeoutError:
            return False
    return False


def reached(patch: Patch, *removed: Removal, host: str = "127.0.0.1") -> set[str]:
    """What gets through with these defences removed: paths, `connection`, `udp`."""
    for removal in removed:
        removal(patch)
    with canaries(host) as (site, canary, packet):
        render_here(site)
        found = set(canary.paths()) | ({"connection"} if canary.connections else set())
        return found | ({"udp"} if packet() else set())


def test_with_all_defences_nothing_is_reached(monkeypatch: Patch) -> None:
    assert reached(monkeypatch) == set()


@pytest.mark.parametrize(
    ("removal", "witness"),
    [(proxy, "connection"), (webrtc_policy, "udp")],
)
def test_a_defence_without_a_second_one_is_missed_at_once(removal: Removal, witness: str, monkeypatch: Patch) -> None:
    assert witness in reached(monkeypatch, removal)


@pytest.mark.slow
def test_without_all_else_the_browser_still_knows_no_names(monkeypatch: Patch) -> None:
    with monkeypatch.context() as alone:
        assert "/img" not in reached(alone, proxy, routes, host="localhost")

    assert "/img" in reached(monkeypatch, proxy, routes, names, host="localhost")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("removal", "others", "witness"),
    [
        (routes, (proxy,), "/script"),
        (socket_routes, (proxy,), "/socket"),
        (workers_blocked, (proxy, routes), "/sw"),
        (loopback_through_proxy, (routes,), "/img"),
        (announcements, (routes, all_guards), "/img"),
        (all_guards, (), "/fetch"),
        (proxy_guard, (all_guards,), "/fetch"),
    ],
)
def test_of_two_defences_each_stands_without_the_other(
    removal: Removal, others: tuple[Removal, ...], witness: str, monkeypatch: Patch
) -> None:
    """Alone its loss lets nothing through, since `others` still stand; without these too, the canary is reached."""
    if others:
        with monkeypatch.context() as alone:
            assert witness not in reached(alone, removal)

    assert witness in reached(monkeypatch, removal, *others)
