"""One browser in a process of its own: jobs as lines of JSON on standard input, results on standard output.

Started by `browser.Renderer` and killed by it with everything that it started. Each page gets a context of its own, with
an egress proxy of its own; the browser itself is given a proxy through which nothing goes. When standard input ends,
the owner is dead, and this process ends itself and its browser.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Page,
    Playwright,
    Response,
    Route,
    WebSocketRoute,
    async_playwright,
)
from playwright.async_api import Error as BrowserError
from playwright.async_api import Request as PageRequest
from playwright.async_api import TimeoutError as BrowserTimeout

from monitoring.fetching import faults
from monitoring.fetching.browser import Job
from monitoring.fetching.browser_family import descendants, finish, naming, remove_tree
from monitoring.fetching.browser_launch import launches
from monitoring.fetching.browser_pipe import encode
from monitoring.fetching.browser_steps import LEFT_OUT, Actor, Secrets
from monitoring.fetching.capture import Hop, VantageSpec
from monitoring.fetching.egress import MARK, EgressProxy, Upstream
from monitoring.fetching.errors import FetchError, LookupFailed, Refused, TooLarge
from monitoring.fetching.guard import AddressPolicy, Target, vet
from monitoring.fetching.http import DEFAULT_USER_AGENT, media_type, printable
from monitoring.fetching.resolver import NameBook, SystemLookup, policy_beyond

# Beyond 16,384 pixels the browser's own canvas ends and it repeats the page instead.
MAX_SCREENSHOT_HEIGHT = 16_000
THUMBNAIL_WIDTH, THUMBNAIL_SHAPE = 320, 1.25  # height to width, at most
# A page that goes from address to address by itself is given up after so many.
MAX_MOVES = 30
# What a browser context may take to close before the browser itself is given up.
CLOSE_S = 3.0
# A page is its document and all that it loads; the document alone is bounded by the request's own limit.
TRAFFIC_FACTOR = 8
# Seconds kept back from waiting, for the document and the screenshot.
RESERVE_S = 2.0
POLL_S = 0.05
# A page that never rests is read as it is after this long.
SETTLE_S = 10.0
# A request that has been under way for so long is a stream or a long poll, and does not make the network busy.
LONG_POLL_S = 5.0
ENDLESS_KINDS = frozenset({"eventsource", "websocket", "ping", "media"})

FLAGS = (
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-quic",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
    # Peer connections may use nothing that does not go through the proxy, which carries no UDP.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Names are the proxy's business; whatever went past it would find none.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)

# The document as the reader sees it, with open shadow roots and frames of the same site unfolded. It copies into an inert document, so that
# the copies of custom elements do not run, and it runs in a world of its own, where the page's script cannot lie to it.
# Properties are read through their prototypes: an element named "childNodes" or "documentElement" hides the real one.
SERIALISE = """
(() => {
  const getter = (type, name) => {
    const read = Object.getOwnPropertyDescriptor(type.prototype, name).get;
    return node => read.call(node);
  };
  const firstChild = getter(Node, "firstChild"), nextSibling = getter(Node, "nextSibling");
  const nodeType = getter(Node, "nodeType"), shadowRoot = getter(Element, "shadowRoot");
  const content = getter(HTMLTemplateElement, "content"), outerHTML = getter(Element, "outerHTML");
  const contentDocument = getter(HTMLIFrameElement, "contentDocument"), body = getter(Document, "body");
  const append = (to, node) => Node.prototype.appendChild.call(to, node);

  const inert = getter(Document, "implementation")(document).createHTMLDocument("");
  const shallow = node => Document.prototype.importNode.call(inert, node, false);
  const unfolded = (to, mark, from) => {
    const part = Document.prototype.createElement.call(inert, "div");
    part.setAttribute(mark, "open");
    append(to, part);
    pending.push([from, part]);
  };
  const root = getter(Document, "documentElement")(document);
  const copy = shallow(root);
  const pending = [[root, copy]];
  while (pending.length) {
    const [from, to] = pending.pop();
    const shadow = nodeType(from) === 1 ? shadowRoot(from) : null;
    if (shadow) unfolded(to, "data-shadow-root", shadow);
    if (from instanceof HTMLTemplateElement) pending.push([content(from), content(to)]);
    for (let child = firstChild(from); child; child = nextSibling(child)) {
      const twin = shallow(child);
      append(to, twin);
      if (nodeType(child) === 1) pending.push([child, twin]);
      // Beside the frame, since what stands inside one is not parsed; frames of other sites give no document.
      const framed = child instanceof HTMLIFrameElement ? contentDocument(child) : null;
      if (framed && body(framed)) unfolded(to, "data-frame", body(framed));
    }
  }
  const doctype = getter(Document, "doctype")(document);
  return (doctype ? "<!DOCTYPE " + doctype.name + ">\\n" : "") + outerHTML(copy);
})()
"""


@dataclass
class Visit:
    """What is seen of the page while it loads. Not slotted: Playwright leaves a mark on the owner of a handler."""

    job: Job
    proxy: EgressProxy
    ends_at: float
    page: Page | None = None
    document: Response | None = None
    at: str = ""
    hops: list[Hop] = field(default_factory=list)
    in_flight: dict[PageRequest, float] = field(default_factory=dict)
    last_traffic_at: float = 0.0

    def begin(self) -> None:
        """Forget what led here: the page's own address comes next."""
        self.document, self.at = None, ""
        self.hops.clear()

    def left_s(self, *, reserve: float = 0.0) -> float:
        """Seconds until the budget is used up, at least a moment."""
        return max(self.ends_at - time.monotonic() - reserve, 0.05)

    def is_main(self, request: PageRequest) -> bool:
        """Whether this request is for the document of the page itself."""
        if self.page is None or not request.is_navigation_request():
            return False
        try:
            return request.frame == self.page.main_frame
        except BrowserError:
            return False  # the first request of a window that the page opened, which has no frame yet

    def vetted(self, url: str) -> Target:
        """The target of a request of the page, announced to the proxy; raises `Refused`."""
        target = self.judged(url)
        self.proxy.announce(target.host, target.port)
        return target

    def judged(self, url: str) -> Target:
        """The target of a request of the page; raises `Refused`."""
        target = vet(url, self.job.policy, exemption=self.job.exemption)
        if self._would_take_cookies(target):
            raise Refused(
                "cookies", "The site's cookies belong to its own port, and a browser would send them to this one too."
            )
        return target

    def _would_take_cookies(self, target: Target) -> bool:
        """Whether the page's cookies would go to another origin: browsers tell hosts apart and not their ports.

        From http to https on their usual ports is the one way that stays open: it is the same site, and safer.
        """
        access = self.job.spec.access
        if access is None or not access.cookies:
            return False
        home = vet(self.job.url, self.job.policy, exemption=self.job.exemption)
        if target.host != home.host or target.origin == home.origin:
            return False
        return (home.port, target.scheme, target.port) != (80, "https", 443)

    def requested(self, request: PageRequest) -> None:
        """A request started, among them those after a redirect, which no route handler sees."""
        self.last_traffic_at = time.monotonic()
        if request.resource_type not in ENDLESS_KINDS:
            self.in_flight[request] = self.last_traffic_at
        if self.is_main(request):
            if self.at and request.redirected_from is None and self.at != request.url:
                # The page itself went on, by script or meta refresh: status 0.
                self.hops.append(Hop(status=0, url=self.at, location=request.url[:8192]))
            self.at = request.url
        try:
            self.vetted(request.url)
        except Refused:
            return  # not announced, so the proxy refuses it; the route handler aborts it as well

    def ended(self, request: PageRequest) -> None:
        """A request finished or failed."""
        self.last_traffic_at = time.monotonic()
        self.in_flight.pop(request, None)

    def is_quiet(self, quiet_s: float) -> bool:
        """Whether nothing has come or gone for so long and nothing is expected."""
        now = time.monotonic()
        busy = any(now - since < LONG_POLL_S for since in self.in_flight.values())
        return not busy and now - self.last_traffic_at >= quiet_s

    def answered(self, response: Response) -> None:
        """An answer arrived; the last one to the main frame is the document."""
        if not self.is_main(response.request):
            return
        if 300 <= response.status < 400 and response.headers.get("location"):
            location = response.headers["location"][:8192]
            self.hops.append(Hop(status=response.status, url=response.url, location=location))
        else:
            self.document = response

    async def routed(self, route: Route) -> None:
        """The second line of defence: what the guard refuses never leaves the browser."""
        request = route.request
        kind = request.resource_type
        unwanted = {"media"} if self.job.spec.screenshot else {"media", "image", "font"}
        if kind in unwanted:
            await route.abort("blockedbyclient")
            return
        if not request.url.startswith(("data:", "blob:", "about:")):
            try:
                self.vetted(request.url)
            except Refused:
                await route.abort("blockedbyclient")
                return
        if self.is_main(request):
            # The browser's locale decides this header for documents; the vantage's full value is meant.
            await route.continue_(headers=request.headers | {"accept-language": self.job.vantage.language})
        else:
            await route.continue_()


def _no_socket(socket: WebSocketRoute) -> None:
    """Web sockets are never opened: nothing of a page's text needs one."""
    # Not connected to the server: the page sees a socket on which nothing ever happens.


class Result(tuple[dict[str, Any], bytes, bytes, bytes]):
    """Facts, HTML, screenshot and thumbnail of one page."""

    __slots__ = ()


class BrowserHost:
    """The browser of this process; an async context manager that starts it and lets it go."""

    def __init__(self, job: Job, folder: Path) -> None:
        self._job, self._folder = job, folder
        self._deaf = EgressProxy(AddressPolicy(), NameBook(SystemLookup(1)), max_bytes=0)
        self._playwright: Playwright | None = None
        self.browser: Browser | None = None
        self.remark = ""
        # What a sign-in left, by realm and vantage: cookies and storage, as Playwright has them.
        self.states: dict[tuple[str, VantageSpec], Any] = {}

    async def start(self) -> Browser:
        """The browser, started in the safest way that works here."""
        await self._deaf.__aenter__()
        self._playwright = await async_playwright().start()
        for launch in launches(self._job.chromium, self._folder):
            try:
                browser = await self._playwright.chromium.launch(
                    executable_path=launch.executable,
                    headless=True,
                    chromium_sandbox=launch.sandbox,
                    args=list(FLAGS),
                    # What belongs to no page goes here, and no further.
                    proxy={"server": f"http://127.0.0.1:{self._deaf.port}", "bypass": "<-loopback>"},
                    timeout=self._job.budget_s * 1000,
                )
            except BrowserError as error:
                sys.stderr.write(error.message)
                continue
            self.remark, self.browser = launch.remark, browser
            return browser
        raise FetchError("The browser could not be started.", reason="renderer-failed", transient=True)

    async def close(self) -> None:
        """Let it go, if it is there."""
        with suppress(BrowserError):
            if self.browser is not None:
                await self.browser.close()
        if self._playwright is not None:
            await self._playwright.stop()
        await self._deaf.__aexit__(None, None, None)


async def render(job: Job, host: BrowserHost) -> Result:
    """The page's facts, its HTML and its pictures; raises `FetchError`."""
    ends_at = time.monotonic() + job.budget_s
    if job.vantage.proxy_fault:
        raise Refused("proxy", job.vantage.proxy_fault)
    lookup = SystemLookup(8)
    try:
        names = NameBook(lookup)
        first = vet(job.url, job.policy, exemption=job.exemption)
        job = replace(job, policy=await policy_beyond(first, job.policy, names))
        proxy = EgressProxy(
            job.policy,
            names,
            exemption=job.exemption,
            upstream=Upstream.of(job.vantage.proxy_url),
            max_bytes=job.limits.max_bytes * TRAFFIC_FACTOR,
        )
        async with proxy:
            return await _shown(Visit(job, proxy, ends_at), host)
    finally:
        lookup.close()


async def _shown(visit: Visit, host: BrowserHost) -> Result:
    """The page shown in a context of its own, which is gone afterwards."""
    browser = host.browser or await host.start()
    try:
        context = await browser.new_context(**context_options(visit, host.states.get(_visitor(visit.job))))
        try:
            result = await _read(visit, context, host)
        finally:
            tired = await _closed(browser, context)
    except BrowserError as error:
        raise _fault(error, visit) from error
    result[0].update({"remark": host.remark, "tired": tired})
    return result


async def _closed(browser: Browser, context: BrowserContext) -> str:
    """Close a page's context; why the browser should not be used again, or nothing."""
    try:
        async with asyncio.timeout(CLOSE_S):
            await context.close()
    except (TimeoutError, BrowserError):
        return "the context did not close"
    return "a context was left" if browser.contexts else ""


def context_options(visit: Visit, state: Any = None) -> dict[str, Any]:
    """What one page's context is made with: as whom it asks, and what it may not do."""
    job = visit.job
    width, height = job.vantage.viewport
    return {
        "proxy": {"server": f"http://127.0.0.1:{visit.proxy.port}", "bypass": "<-loopback>"},
        "service_workers": "block",
        "accept_downloads": False,
        "locale": job.vantage.locale or job.vantage.language.partition(",")[0].partition(";")[0].strip() or "en-US",
        "timezone_id": job.vantage.time_zone,
        "viewport": {"width": width, "height": height},
        "user_agent": job.vantage.user_agent or DEFAULT_USER_AGENT,
        "extra_http_headers": {"Accept-Language": job.vantage.language},
        "reduced_motion": "reduce",
        **({"storage_state": state} if state else {}),
    }


async def guard_context(context: BrowserContext, visit: Visit) -> None:
    """Put the second line of defence before a context's pages: every request is judged before it leaves."""
    await context.route("**/*", visit.routed)
    await context.route_web_socket("**/*", _no_socket)


def _visitor(job: Job) -> tuple[str, VantageSpec]:
    """Whose session is gone on with: one that was opened from another country, or by another agent, is somebody else's."""
    return job.spec.access.realm if job.spec.access else "", job.vantage


async def _read(visit: Visit, context: BrowserContext, host: BrowserHost) -> Result:
    job = visit.job
    secrets = Secrets(job.spec.secrets, job.spec.access)
    await guard_context(context, visit)
    page = visit.page = await context.new_page()
    cdp = await context.new_cdp_session(page)
    await cdp.send("Network.enable")  # without it the browser keeps no certificates to ask for afterwards
    page.on("request", visit.requested)
    page.on("requestfinished", visit.ended)
    page.on("requestfailed", visit.ended)
    page.on("response", visit.answered)
    page.on("popup", lambda popup: asyncio.ensure_future(popup.close()))
    actor = Actor(page, secrets, left_s=lambda: visit.left_s(reserve=RESERVE_S), is_quiet=visit.is_quiet)
    await _get_in(visit, context, page, actor, host)
    visit.begin()
    try:
        await _go(visit, page, job.url)
    except BrowserError as error:
        if _BARE not in error.message or visit.document is None or _is_ours(visit, visit.document):
            raise
        # A refusal without a body: the browser shows a page of its own, and the status is all there is.
        return Result((await _facts(visit, visit.document.url, cdp, actor.secrets), b"", b"", b""))
    _check_document(visit)
    try:
        await actor.work(job.spec.steps, home=job.url)
        await _settle(visit, page)
    except FetchError as error:
        if error.reason not in ("step-failed", "timeout"):
            raise
        return await _evidence_of(error, visit, page, cdp, actor)
    return await _taken(visit, page, cdp, actor)


async def _go(visit: Visit, page: Page, url: str) -> None:
    """Open this address; a page that leads on by itself meanwhile is followed."""
    try:
        await page.goto(url, wait_until="domcontentloaded", timeout=visit.left_s(reserve=RESERVE_S) * 1000)
    except BrowserError as error:
        if "interrupted by another navigation" not in error.message:
            raise
        await page.wait_for_load_state("domcontentloaded", timeout=visit.left_s(reserve=RESERVE_S) * 1000)


async def _get_in(visit: Visit, context: BrowserContext, page: Page, actor: Actor, host: BrowserHost) -> None:
    """Give the context the realm's cookies, and sign in where nobody of this browser has."""
    access = visit.job.spec.access
    if access is None:
        return
    if access.cookies:
        origin = vet(visit.job.url, visit.job.policy, exemption=visit.job.exemption).origin
        await context.add_cookies([{"name": name, "value": value, "url": origin} for name, value in access.cookies])
    if not access.login_url or _visitor(visit.job) in host.states:
        return
    url = vet(access.login_url, visit.job.policy, exemption=visit.job.exemption).url
    await _go(visit, page, url)
    try:
        _check_document(visit)
        await actor.work(access.login_steps, home=url)
    except FetchError as error:
        raise FetchError(f"Signing in failed. {error.sentence}", reason="login-failed", transient=False) from error
    await _quiet(visit)
    host.states[_visitor(visit.job)] = await context.storage_state()


async def _taken(visit: Visit, page: Page, cdp: CDPSession, actor: Actor) -> Result:
    """The page as it stands now."""
    job = visit.job
    html = actor.secrets.left_out(await _serialised(visit, page, cdp))
    _check_document(visit)
    body = html.encode("utf-8", "replace")
    if len(body) > job.limits.max_bytes:
        raise TooLarge(f"The rendered page is larger than {job.limits.max_bytes} bytes.")
    facts = await _facts(visit, page.url, cdp, actor.secrets)
    shot = thumbnail = b""
    if job.spec.screenshot:
        await actor.cover_secrets()
        facts["picture"], shot, thumbnail = await _pictures(visit, page, cdp)
    return Result((facts, body, shot, thumbnail))


async def _evidence_of(error: FetchError, visit: Visit, page: Page, cdp: CDPSession, actor: Actor) -> Result:
    """The failure, with the page as it stood then where it can still be had."""
    why = {"reason": error.reason, "message": error.sentence, "transient": error.transient}
    try:
        taken = await _taken(visit, page, cdp, actor)
    except (FetchError, BrowserError):
        raise error from None
    taken[0].update(why)
    return taken


def _check_document(visit: Visit) -> None:
    """Raise when the document that the browser shows is none that the site sent, or none that we read."""
    if visit.proxy.over_budget:
        raise TooLarge("The page loads more than is allowed.")
    _check_moves(visit)
    document = visit.document
    if visit.page is None or document is None:
        raise FetchError("The site sent no document.", reason="protocol")
    if _is_ours(visit, document) or not visit.page.url.startswith(("http:", "https:")):
        _raise_trouble(visit)
        raise FetchError("The page led to where the browser may not go.", reason="redirect-refused")
    kind = media_type(document.headers.get("content-type", "")) or "text/html"
    if not (kind.startswith("text/") or kind.endswith(("xml", "json"))) or kind == "image/svg+xml":
        raise FetchError(f"The site answered with {kind}, which is no page to render.", reason="unsupported-type")


def _is_ours(visit: Visit, document: Response) -> bool:
    """Whether our own proxy gave this answer, in the place of the site."""
    return document.headers.get(MARK) == visit.proxy.token


def _check_moves(visit: Visit) -> None:
    if len(visit.hops) > MAX_MOVES:
        raise FetchError("The page goes from address to address without end.", reason="too-many-redirects")


def _raise_trouble(visit: Visit) -> None:
    """Raise what the guard or the proxy had against the address that the page went to last."""
    if not visit.at:
        return
    try:
        target = visit.judged(visit.at)
        trouble = visit.proxy.trouble.get(f"{target.host}:{target.port}")
    except Refused as refused:
        trouble = refused
    if isinstance(trouble, Refused) and visit.hops:
        raise FetchError(
            f"The site redirects to an address that is not fetched. {trouble.sentence}", reason="redirect-refused"
        )
    if isinstance(trouble, LookupFailed):
        raise faults.of_lookup(trouble)
    if trouble is not None:
        raise trouble


async def _settle(visit: Visit, page: Page) -> None:
    """Wait for the selector, or until the network has been quiet, but not for ever."""
    spec = visit.job.spec
    if spec.wait_selector:
        try:
            await page.wait_for_selector(
                spec.wait_selector, state="attached", timeout=visit.left_s(reserve=RESERVE_S) * 1000
            )
        except BrowserTimeout as error:
            raise FetchError(
                "What the monitor waits for did not appear in time.", reason="timeout", transient=True
            ) from error
        return
    await _quiet(visit)


async def _quiet(visit: Visit) -> None:
    """Wait until the network has been quiet, but not for ever."""
    ends_at = time.monotonic() + SETTLE_S
    while time.monotonic() < ends_at and visit.left_s(reserve=RESERVE_S) > POLL_S:
        _check_moves(visit)
        if visit.is_quiet(visit.job.spec.quiet_ms / 1000):
            return
        await asyncio.sleep(POLL_S)


async def _serialised(visit: Visit, page: Page, cdp: CDPSession) -> str:
    """The document as HTML; asked again when the page goes elsewhere in between."""
    for attempt in range(MAX_MOVES):
        _check_moves(visit)
        try:
            tree = await cdp.send("Page.getFrameTree")
            world = await cdp.send(
                "Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "reader"}
            )
            answer = await cdp.send(
                "Runtime.evaluate",
                {
                    "expression": SERIALISE,
                    "contextId": world["executionContextId"],
                    "returnByValue": True,
                    "timeout": visit.left_s() * 1000,
                },
            )
            value = answer["result"].get("value")
            if isinstance(value, str):
                return value
        except BrowserError:
            if attempt >= max(2, len(visit.hops)):  # it fails although the page stays where it is
                raise
        await page.wait_for_load_state("domcontentloaded", timeout=visit.left_s() * 1000)
    raise FetchError("The page could not be read.", reason="renderer-failed", transient=True)


async def _pictures(visit: Visit, page: Page, cdp: CDPSession) -> tuple[dict[str, int], bytes, bytes]:
    """The page from the top, at most so high, and a small one of its beginning; empty when the browser cannot take them.

    The text is what counts, so that is no failure.
    """
    width, viewport_height = visit.job.vantage.viewport
    try:
        metrics = await cdp.send("Page.getLayoutMetrics")
        page_height = max(int(metrics["cssContentSize"]["height"]), viewport_height)
        height = min(page_height, MAX_SCREENSHOT_HEIGHT)
        size = {"width": width, "height": height, "page_height": page_height}
        shot = await page.screenshot(
            clip={"x": 0, "y": 0, "width": width, "height": height},
            full_page=True,
            animations="disabled",
            caret="hide",
            timeout=visit.left_s() * 1000,
        )
    except BrowserError:
        return {}, b"", b""
    return size, shot, await _thumbnail(visit, cdp, width, height)


async def _thumbnail(visit: Visit, cdp: CDPSession, width: int, height: int) -> bytes:
    """A small WebP of the top of the page; empty when the browser cannot take it."""
    clip = {
        "x": 0,
        "y": 0,
        "width": width,
        "height": min(height, int(width * THUMBNAIL_SHAPE)),
        "scale": THUMBNAIL_WIDTH / width,
    }
    try:
        async with asyncio.timeout(visit.left_s()):
            answer = await cdp.send(
                "Page.captureScreenshot",
                {"format": "webp", "quality": 70, "clip": clip, "captureBeyondViewport": True},
            )
    except (BrowserError, TimeoutError):
        return b""
    return base64.b64decode(answer["data"])


async def _facts(visit: Visit, url: str, cdp: CDPSession, secrets: Secrets) -> dict[str, Any]:
    assert visit.document is not None  # noqa: S101 - checked by _check_document
    document = visit.document
    target = vet(url, visit.job.policy, exemption=visit.job.exemption)
    clean = secrets.left_out
    # Where somebody is signed in, the cookies that come back are as good as a password.
    hidden = {"set-cookie"} if visit.job.spec.access else set()
    return {
        "final_url": clean(target.url),
        "status": document.status,
        "headers": [
            [header["name"], LEFT_OUT if header["name"].lower() in hidden else clean(printable(header["value"]))]
            for header in await document.headers_array()
        ],
        "content_type": media_type(document.headers.get("content-type", "")),
        "redirects": [
            {"status": hop.status, "url": clean(hop.url), "location": clean(hop.location)} for hop in visit.hops
        ],
        "peer_address": visit.proxy.peers.get(f"{target.host}:{target.port}", ""),
        "certificate_sha256": await certificate_digest(cdp, target),
    }


async def certificate_digest(cdp: CDPSession, target: Target) -> str:
    """SHA-256 of the certificate that the browser was shown for this origin; empty for http."""
    if target.scheme != "https":
        return ""
    try:
        answer = await cdp.send("Network.getCertificate", {"origin": target.origin})
    except BrowserError:
        return ""
    chain = answer.get("tableNames", [])
    return hashlib.sha256(base64.b64decode(chain[0])).hexdigest() if chain else ""


def _fault(error: BrowserError, visit: Visit) -> FetchError:
    """What went wrong, in our own words: the browser's message may hold the page's."""
    if visit.proxy.over_budget:
        return TooLarge("The page loads more than is allowed.")
    try:
        _check_moves(visit)
        _raise_trouble(visit)
    except FetchError as trouble:
        return trouble
    text = error.message
    if isinstance(error, BrowserTimeout):
        return FetchError("The page did not load in time.", reason="timeout", transient=True)
    for mark, (cause, sentence) in _CERTIFICATE.items():
        if mark in text:
            return FetchError(sentence, reason="tls", cause=cause)
    for marks, reason, sentence, transient in _FAULTS:
        if any(mark in text for mark in marks):
            return FetchError(sentence, reason=reason, transient=transient, cause=_CAUSES.get(marks[0], ""))
    return FetchError("The browser could not read the page.", reason="renderer-failed", transient=True)


# The browser tells no more of a certificate past its day than that it is not valid on this one.
_CERTIFICATE = {
    "ERR_CERT_COMMON_NAME_INVALID": ("tls-wrong-name", "The site's certificate is for another host name."),
    "ERR_CERT_DATE_INVALID": ("tls-date", "The site's certificate has expired, or is not valid yet."),
    "ERR_CERT_AUTHORITY_INVALID": ("tls-unknown-issuer", "The site's certificate leads to no authority that is trusted here."),
    "ERR_CERT_REVOKED": ("tls-revoked", "The site's certificate was revoked."),
    "ERR_CERT_WEAK": ("tls-weak", "The site's certificate uses a key or method that is too weak."),
    "ERR_CERT_": ("tls-invalid", "The site's certificate is not valid for it."),
}  # fmt: skip
_CAUSES = {"ERR_SSL_": "tls-handshake"}
_BARE = "ERR_HTTP_RESPONSE_CODE_FAILURE"
_FAULTS = (
    (("ERR_SSL_",), "tls", "No secure connection to the site could be made.", True),
    (("ERR_TIMED_OUT",), "timeout", "The page did not load in time.", True),
    (("ERR_TOO_MANY_REDIRECTS",), "too-many-redirects", "The site redirects too often.", False),
    (("ERR_BLOCKED_BY_CLIENT", "ERR_UNSAFE_PORT", "ERR_UNKNOWN_URL_SCHEME"), "redirect-refused", "The site redirects to an address that is not fetched.", False),
    (("ERR_CONNECTION", "ERR_TUNNEL", "ERR_PROXY"), "connect", "No connection to the site could be made.", True),
    (("ERR_EMPTY_RESPONSE", "ERR_INVALID", "ERR_CONTENT", "ERR_RESPONSE", "ERR_INCOMPLETE", "ERR_HTTP2"), "protocol", "The answer is not valid HTTP.", False),
    (("Download is starting", "ERR_ABORTED"), "unsupported-type", "The site answered with a file instead of a page.", False),
)  # fmt: skip


def _lift_memory_limit() -> None:
    """Take off the worker's limit on allocations: it is too small for a browser, whose memory the parent watches."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on every system

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


async def answer(job: Job, host: BrowserHost) -> bytes:
    """The result of one job as it is written; any failure is one in words."""
    parts = (b"", b"", b"")
    try:
        facts, html, shot, thumbnail = await render(job, host)
        parts = (html, shot, thumbnail)
    except FetchError as error:
        clean = Secrets(job.spec.secrets, job.spec.access).left_out
        facts = {
            "reason": error.reason,
            "message": clean(error.sentence),
            "transient": error.transient,
            "cause": error.cause,
            "data": error.data,
        }
    except Exception:  # noqa: BLE001 - the top of a job: told without the message, which may hold what was typed
        kind, _, trace = sys.exc_info()
        sys.stderr.write("".join(traceback.format_tb(trace)) + f"{kind}\n")
        facts = {"reason": "renderer-failed", "message": "The browser could not read the page.", "transient": True}
    return encode(facts, parts)


def _listen(loop: asyncio.AbstractEventLoop, jobs: asyncio.Queue[str]) -> None:
    """Hand lines of standard input to the loop; at their end the owner is dead, and so are we, browser and all."""
    for line in sys.stdin:
        loop.call_soon_threadsafe(jobs.put_nowait, line)
    folder = Path.cwd()
    finish({*descendants(os.getpid()), *naming(str(folder))} - {os.getpid()})
    remove_tree(folder)
    os._exit(0)


async def serve() -> None:
    """Answer jobs until standard input ends."""
    _lift_memory_limit()
    jobs: asyncio.Queue[str] = asyncio.Queue()
    threading.Thread(target=_listen, args=(asyncio.get_running_loop(), jobs), daemon=True).start()
    host: BrowserHost | None = None
    while True:
        job = Job.from_json(await jobs.get())
        host = host or BrowserHost(job, Path.cwd())
        data = await answer(job, host)
        with suppress(BrokenPipeError):  # the owner died; `_listen` is about to end us
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(serve())
