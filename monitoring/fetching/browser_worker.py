"""One page in one browser, in a process of its own: a job as JSON on standard input, the result on standard output.

Started by `browser.render` and killed by it with everything that it started. The result is one line of JSON, followed by
the HTML and the screenshot, whose sizes the line tells.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
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

from monitoring.fetching.browser import Job
from monitoring.fetching.browser_launch import launches
from monitoring.fetching.capture import Hop
from monitoring.fetching.egress import MARK, EgressProxy, Upstream
from monitoring.fetching.errors import FetchError, Refused, TooLarge
from monitoring.fetching.guard import Target, vet
from monitoring.fetching.http import DEFAULT_USER_AGENT, media_type, printable
from monitoring.fetching.resolver import NameBook, SystemLookup, policy_beyond

MAX_SCREENSHOT_HEIGHT = 8000
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
    remark: str = ""
    hops: list[Hop] = field(default_factory=list)
    in_flight: dict[PageRequest, float] = field(default_factory=dict)
    last_traffic_at: float = 0.0

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
        target = vet(url, self.job.policy, exemption=self.job.exemption)
        self.proxy.announce(target.host, target.port)
        return target

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


async def render(job: Job) -> tuple[dict[str, Any], bytes, bytes]:
    """The page's facts, its HTML and its screenshot; raises `FetchError`."""
    ends_at = time.monotonic() + job.budget_s
    lookup = SystemLookup(8)
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
    async with proxy, async_playwright() as playwright:
        visit = Visit(job, proxy, ends_at)
        browser = await _started(visit, playwright)
        try:
            return await _read(visit, browser)
        except BrowserError as error:
            raise _fault(error, visit) from error
        finally:
            lookup.close()
            await browser.close()


async def _started(visit: Visit, playwright: Playwright) -> Browser:
    """The browser, started in the safest way that works here."""
    for launch in launches(visit.job.chromium, Path.cwd()):
        try:
            browser = await playwright.chromium.launch(
                executable_path=launch.executable,
                headless=True,
                chromium_sandbox=launch.sandbox,
                args=list(FLAGS),
                proxy={"server": f"http://127.0.0.1:{visit.proxy.port}"},
                timeout=visit.left_s() * 1000,
            )
        except BrowserError as error:
            sys.stderr.write(error.message)
            continue
        visit.remark = launch.remark
        return browser
    raise FetchError("The browser could not be started.", reason="renderer-failed", transient=True)


async def _read(visit: Visit, browser: Browser) -> tuple[dict[str, Any], bytes, bytes]:
    job = visit.job
    width, height = job.vantage.viewport
    context = await browser.new_context(
        service_workers="block",
        accept_downloads=False,
        locale=job.vantage.language.partition(",")[0].partition(";")[0].strip() or "en-US",
        timezone_id=job.vantage.time_zone,
        viewport={"width": width, "height": height},
        user_agent=job.vantage.user_agent or DEFAULT_USER_AGENT,
        extra_http_headers={"Accept-Language": job.vantage.language},
        reduced_motion="reduce",
    )
    await context.route("**/*", visit.routed)
    await context.route_web_socket("**/*", _no_socket)
    page = visit.page = await context.new_page()
    cdp = await context.new_cdp_session(page)
    await cdp.send("Network.enable")  # without it the browser keeps no certificates to ask for afterwards
    page.on("request", visit.requested)
    page.on("requestfinished", visit.ended)
    page.on("requestfailed", visit.ended)
    page.on("response", visit.answered)
    page.on("popup", lambda popup: asyncio.ensure_future(popup.close()))
    await page.goto(job.url, wait_until="domcontentloaded", timeout=visit.left_s(reserve=RESERVE_S) * 1000)
    _check_document(visit)
    await _settle(visit, page)
    html = await _serialised(visit, page, cdp)
    _check_document(visit)
    body = html.encode("utf-8", "replace")
    if len(body) > job.limits.max_bytes:
        raise TooLarge(f"The rendered page is larger than {job.limits.max_bytes} bytes.")
    shot = await _screenshot(visit, page, cdp) if job.spec.screenshot else b""
    return await _facts(visit, page, cdp), body, shot


def _check_document(visit: Visit) -> None:
    """Raise when the document that the browser shows is none that the site sent, or none that we read."""
    if visit.proxy.over_budget:
        raise TooLarge("The page loads more than is allowed.")
    document = visit.document
    if visit.page is None or document is None:
        raise FetchError("The site sent no document.", reason="protocol")
    ours = document.headers.get(MARK) == visit.proxy.token
    if ours or not visit.page.url.startswith(("http:", "https:")):
        _raise_trouble(visit)
        raise FetchError("The page led to where the browser may not go.", reason="redirect-refused")
    kind = media_type(document.headers.get("content-type", "")) or "text/html"
    if not (kind.startswith("text/") or kind.endswith(("xml", "json"))) or kind == "image/svg+xml":
        raise FetchError(f"The site answered with {kind}, which is no page to render.", reason="unsupported-type")


def _raise_trouble(visit: Visit) -> None:
    """Raise what the guard or the proxy had against the address that the page went to last."""
    if not visit.at:
        return
    try:
        target = vet(visit.at, visit.job.policy, exemption=visit.job.exemption)
        trouble = visit.proxy.trouble.get(f"{target.host}:{target.port}")
    except Refused as refused:
        trouble = refused
    if isinstance(trouble, Refused) and visit.hops:
        raise FetchError(
            f"The site redirects to an address that is not fetched. {trouble.sentence}", reason="redirect-refused"
        )
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
    ends_at = time.monotonic() + SETTLE_S
    while time.monotonic() < ends_at and visit.left_s(reserve=RESERVE_S) > POLL_S:
        if visit.is_quiet(spec.quiet_ms / 1000):
            return
        await asyncio.sleep(POLL_S)


async def _serialised(visit: Visit, page: Page, cdp: CDPSession) -> str:
    """The document as HTML; asked again when the page goes elsewhere in between."""
    for attempt in range(3):
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
            if attempt == 2:
                raise
        await page.wait_for_load_state("domcontentloaded", timeout=visit.left_s() * 1000)
    raise FetchError("The page could not be read.", reason="renderer-failed", transient=True)


async def _screenshot(visit: Visit, page: Page, cdp: CDPSession) -> bytes:
    """The page from the top, at most so high; empty when the browser cannot take it: the text is what counts."""
    try:
        metrics = await cdp.send("Page.getLayoutMetrics")
        width, viewport_height = visit.job.vantage.viewport
        height = min(max(int(metrics["cssContentSize"]["height"]), viewport_height), MAX_SCREENSHOT_HEIGHT)
        return await page.screenshot(
            clip={"x": 0, "y": 0, "width": width, "height": height},
            full_page=True,
            animations="disabled",
            caret="hide",
            timeout=visit.left_s() * 1000,
        )
    except BrowserError:
        return b""


async def _facts(visit: Visit, page: Page, cdp: CDPSession) -> dict[str, Any]:
    assert visit.document is not None  # noqa: S101 - checked by _check_document
    document = visit.document
    target = vet(page.url, visit.job.policy, exemption=visit.job.exemption)
    return {
        "remark": visit.remark,
        "final_url": target.url,
        "status": document.status,
        "headers": [[header["name"], printable(header["value"])] for header in await document.headers_array()],
        "content_type": media_type(document.headers.get("content-type", "")),
        "redirects": [asdict(hop) for hop in visit.hops],
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
        _raise_trouble(visit)
    except FetchError as trouble:
        return trouble
    text = error.message
    if isinstance(error, BrowserTimeout):
        return FetchError("The page did not load in time.", reason="timeout", transient=True)
    for marks, reason, sentence, transient in _FAULTS:
        if any(mark in text for mark in marks):
            return FetchError(sentence, reason=reason, transient=transient)
    return FetchError("The browser could not read the page.", reason="renderer-failed", transient=True)


_FAULTS = (
    (("ERR_CERT_",), "tls", "The site's certificate is not valid for it.", False),
    (("ERR_SSL_",), "tls", "No secure connection to the site could be made.", True),
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


def main() -> int:
    """Read the job, write the result. Any end without a result is reported by the parent."""
    _lift_memory_limit()
    job = Job.from_json(sys.stdin.read())
    html = shot = b""
    try:
        facts, html, shot = asyncio.run(render(job))
    except FetchError as error:
        facts = {"reason": error.reason, "message": error.sentence, "transient": error.transient}
    line = json.dumps(facts | {"html_bytes": len(html), "shot_bytes": len(shot)})
    sys.stdout.buffer.write(line.encode() + b"\n" + html + shot)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
