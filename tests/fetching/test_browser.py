"""Pages in a real Chromium, and what they may reach from there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trustme
from playwright.async_api import async_playwright

from monitoring.fetching.browser import Job, find_chromium, render
from monitoring.fetching.browser_worker import certificate_digest
from monitoring.fetching.capture import (
    Exemption,
    Failure,
    Limits,
    RenderSpec,
    VantageSpec,
)
from monitoring.fetching.guard import AddressPolicy, parse
from tests.fetching.rendering import (
    BUDGET,
    allowing,
    capture_of,
    failure_of,
    html,
    left_behind,
    make_request,
    needs_browser,
    running,
)
from tests.fetching.server import Request, redirect, response

# -- without a browser ---------------------------------------------------------------------------------------------


def test_a_refused_url_starts_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))

    got = failure_of(render(make_request("http://user:secret@127.0.0.1/"), policy=AddressPolicy()))

    assert got.reason == "refused-by-policy"
    assert "secret" not in repr(got)


def test_without_a_browser_rendering_fails_and_says_so(tmp_path: Path) -> None:
    got = failure_of(
        render(make_request("http://example.com/"), policy=AddressPolicy(), chromium_path=str(tmp_path / "none"))
    )

    assert (got.reason, got.transient) == ("renderer-failed", False)


def test_a_browser_that_crashes_is_a_failure(tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)

    got = failure_of(render(make_request("http://example.com/"), policy=AddressPolicy(), chromium_path=str(broken)))

    assert (got.reason, got.transient) == ("renderer-failed", True)


def test_a_job_survives_its_journey_to_the_worker() -> None:
    job = Job(
        url="http://example.com/",
        vantage=VantageSpec(proxy_url="http://a:b@c:1", viewport=(800, 600)),
        limits=BUDGET,
        spec=RenderSpec(wait_selector="#x"),
        policy=AddressPolicy(allow=frozenset({("127.0.0.1", 1), ("::1", 2)}), extra_ports=frozenset({8080})),
        exemption=Exemption(origin="http://127.0.0.1:1", path_prefix="/s/"),
        chromium="/usr/bin/chromium",
        budget_s=3.0,
    )

    assert Job.from_json(job.to_json()) == job
    assert json.loads(job.to_json())["policy"]["allow"] == [["127.0.0.1", 1], ["::1", 2]]


# -- with one ------------------------------------------------------------------------------------------------------


class TestPages:
    pytestmark = needs_browser

    def test_a_page_is_captured_after_its_scripts_ran(self, scratch: Path) -> None:
        page = html(
            """<p id=text>before</p><x-card></x-card><script>
            customElements.define("x-card", class extends HTMLElement {
              connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = "<p>in the shadow</p>"; }
            });
            fetch("/data").then(r => r.text()).then(t => { document.getElementById("text").textContent = t; });
            alert("stop");
            </script>"""
        )

        with running({"/": page, "/data": response("loaded by script")}) as site:
            vantage = VantageSpec(language="de-DE,de;q=0.7", user_agent="Reader/1", time_zone="Europe/Berlin")
            got = capture_of(render(make_request(site.url, vantage=vantage), policy=allowing(site)))
            asked = site.requests[0]

        assert '<p id="text">loaded by script</p>' in got.html
        assert '<div data-shadow-root="open"><p>in the shadow</p></div>' in got.html
        assert got.html.startswith("<!DOCTYPE html>")
        assert got.body == got.html.encode()
        assert (got.status, got.rendered, got.content_type, got.peer_address) == (200, True, "text/html", "127.0.0.1")
        assert (got.screenshot or b"").startswith(b"\x89PNG")
        assert (asked.headers["user-agent"], asked.headers["accept-language"]) == ("Reader/1", "de-DE,de;q=0.7")
        assert left_behind(scratch) == []

    def test_the_browser_runs_without_privileges(self, scratch: Path) -> None:
        owners: set[int] = set()

        async def look(request: Request, writer: asyncio.StreamWriter) -> None:
            for entry in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    line = (entry / "cmdline").read_bytes()
                    if str(scratch).encode() in line and b"--type=renderer" in line:
                        owners.add(entry.stat().st_uid)
            writer.write(response("seen"))
            await writer.drain()

        with running({"/": html("<script src=/look></script>"), "/look": look}) as site:
            capture_of(render(make_request(site.url), policy=allowing(site)))

        assert owners
        assert 0 not in owners

    def test_a_page_cannot_hide_text_by_naming_its_elements_like_properties(self) -> None:
        names = ("documentElement", "implementation", "doctype", "body", "createElement", "importNode")
        inner = ("firstChild", "nextSibling", "childNodes", "nodeType", "shadowRoot", "appendChild", "outerHTML")
        page = "".join(f"<img name={name}>" for name in names)
        page += (
            "<form name=documentElement>" + "".join(f"<input name={name}>" for name in inner) + "<p>inside</p></form>"
        )
        page += "<template><p>stored</p></template><p>after</p>"

        with running({"/": html(page)}) as site:
            got = capture_of(render(make_request(site.url), policy=allowing(site)))

        assert got.html.startswith("<!DOCTYPE html>\n<html>")
        for text in ("inside", "stored", "after"):
            assert f"<p>{text}</p>" in got.html

    def test_frames_of_the_same_origin_are_part_of_the_page(self) -> None:
        page = "<iframe src=/terms></iframe><iframe srcdoc='<p>inline</p>'></iframe><p>after</p>"

        with running({"/": html(page), "/terms": html("<p>framed terms</p>")}) as site:
            got = capture_of(render(make_request(site.url), policy=allowing(site)))

        assert '</iframe><div data-frame="open"><p>framed terms</p></div>' in got.html
        assert '<div data-frame="open"><p>inline</p></div><p>after</p>' in got.html

    def test_a_selector_is_waited_for(self) -> None:
        later = html("<script>setTimeout(() => { document.body.innerHTML = '<b id=ready>there</b>' }, 700)</script>")

        with running({"/": later}) as site:
            spec = RenderSpec(wait_selector="#ready", screenshot=False)
            got = capture_of(render(make_request(site.url, render=spec), policy=allowing(site)))

        assert "there" in got.html
        assert got.screenshot is None

    def test_a_refusal_without_a_body_keeps_its_status(self) -> None:
        """The browser shows a page of its own then, which is none of the site's."""
        answers = {f"/{status}": response(b"", status=f"{status} No") for status in (403, 404, 500)}
        with running(answers) as site:
            got = [render(make_request(f"{site.url}/{status}"), policy=allowing(site)) for status in (403, 404, 500)]

        pages = [capture_of(outcome) for outcome in got]
        assert [page.status for page in pages] == [403, 404, 500]
        assert [(page.html, page.final_url) for page in pages] == [("", page.url) for page in pages]

    def test_redirects_by_the_server_and_by_script_are_recorded(self) -> None:
        answers = {
            "/": redirect("/b"),
            "/b": html("<script>location.replace('/c')</script>"),
            "/c": html("<p>end</p>", "X-Mark: 1"),
        }

        with running(answers) as site:
            got = capture_of(render(make_request(site.url), policy=allowing(site)))

        assert "end" in got.html
        assert got.final_url == site.url + "/c"
        assert [hop.status for hop in got.redirects] == [302, 0]
        assert got.header("x-mark") == "1"

    def test_a_page_that_hangs_is_killed_at_its_deadline(self, scratch: Path) -> None:
        with running({"/": html("<p>x<script>while (true);</script>")}) as site:
            got = failure_of(render(make_request(site.url, limits=Limits(total_s=12)), policy=allowing(site)))

        assert (got.reason, got.transient) == ("timeout", True)
        assert got.duration_ms < 20_000
        assert left_behind(scratch) == []

    def test_a_worker_that_does_not_stop_is_killed_with_its_browser(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("monitoring.fetching.browser._GRACE_S", -36.0)  # of the 40 s: in the middle of its work

        with running({"/": html("<script>setInterval(() => fetch('/x'), 50)</script>"), "*": response()}) as site:
            got = failure_of(render(make_request(site.url, render=RenderSpec(quiet_ms=5000)), policy=allowing(site)))

        assert (got.reason, got.transient) == ("timeout", True)
        assert 4_000 <= got.duration_ms < 10_000
        assert left_behind(scratch) == []

    def test_a_page_that_eats_memory_is_killed(self, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("monitoring.fetching.browser._MAX_MEMORY_BYTES", 900_000_000)
        hog = html("<script>const kept = []; setInterval(() => kept.push(new Uint8Array(2e7).fill(1)), 20)</script>")

        with running({"/": hog}) as site:
            spec = RenderSpec(wait_selector="#never", screenshot=False)
            got = failure_of(render(make_request(site.url, render=spec), policy=allowing(site)))

        assert (got.reason, got.transient) == ("too-large", False)
        assert left_behind(scratch) == []

    def test_the_products_own_page_is_rendered_and_no_other(self) -> None:
        answers = {"/sample/a": html("<img src='/admin/x'><p>sample</p>"), "*": response()}

        with running(answers) as site:
            exemption = Exemption(origin=site.url, path_prefix="/sample/")
            request = make_request(site.url + "/sample/a", exemption=exemption)
            got = capture_of(render(request, policy=AddressPolicy()))
            paths = site.paths()

        assert "sample" in got.html
        assert paths == ["/sample/a"]

    def test_a_part_that_fails_does_not_fail_the_page(self) -> None:
        async def slam(request: Request, writer: asyncio.StreamWriter) -> None:
            writer.transport.abort()

        page = html("<img src='/slam'><img src='http://127.0.0.1:1/x'><script src='//10.0.0.1/'></script><p>text</p>")

        with running({"/": page, "/slam": slam}) as site:
            got = capture_of(render(make_request(site.url), policy=allowing(site)))

        assert "text" in got.html

    def test_the_certificate_that_the_browser_saw_is_kept(self) -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        issued = trustme.CA().issue_cert("127.0.0.1")
        issued.configure_cert(tls)

        async def run(url: str) -> str:
            async with async_playwright() as playwright:
                chromium = await playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=False)
                context = await chromium.new_context(ignore_https_errors=True)
                page = await context.new_page()
                cdp = await context.new_cdp_session(page)
                await cdp.send("Network.enable")
                await page.goto(url)
                digest = await certificate_digest(cdp, parse(url))
                await chromium.close()
                return digest

        with running({"/": html("x")}, tls=tls) as site:
            digest = asyncio.run(run(site.url))

        sent = ssl.PEM_cert_to_DER_cert(issued.cert_chain_pems[0].bytes().decode())
        assert digest == hashlib.sha256(sent).hexdigest()

    def test_a_certificate_that_is_not_trusted_is_a_lasting_failure(self) -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)

        with running({"/": html("x")}, tls=tls) as site:
            got = failure_of(render(make_request(site.url), policy=allowing(site)))

        assert (got.reason, got.cause, got.transient) == ("tls", "tls-unknown-issuer", False)

    def test_what_went_wrong_is_told_as_finely_as_without_a_browser(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            closed = probe.getsockname()[1]
        policy = AddressPolicy(allow=frozenset({("127.0.0.1", closed)}))
        missing = VantageSpec(proxy_fault="The vantage's proxy can't be used.")

        got = [
            failure_of(render(request, policy=policy))
            for request in (
                make_request(f"http://127.0.0.1:{closed}/"),
                make_request("http://no-such-name.example/"),
                make_request(f"http://127.0.0.1:{closed}/", vantage=missing),
            )
        ]

        assert [failure.cause for failure in got] == ["connect-refused", "dns-not-found", "proxy-unusable"]

    def test_a_page_larger_than_its_limit_is_a_failure(self) -> None:
        with running({"/": html("<p>" + "a " * 100_000)}) as site:
            limits = Limits(total_s=40, max_bytes=50_000)
            got = failure_of(render(make_request(site.url, limits=limits), policy=allowing(site)))

        assert got.reason == "too-large"

    def test_a_file_is_no_page(self) -> None:
        with running({"/": response(b"\0\1", content_type="application/octet-stream")}) as site:
            got = failure_of(render(make_request(site.url), policy=allowing(site)))

        assert got.reason == "unsupported-type"


KINDS = """
<link rel=stylesheet href="{c}/css"><link rel=prefetch href="{c}/prefetch"><link rel=preconnect href="{c}">
<link rel=dns-prefetch href="//localhost:{p}"><link rel=preload as=font crossorigin href="{c}/font">
<img src="{c}/img"><iframe src="{c}/frame"></iframe><object data="{c}/object"></object><embed src="{c}/embed">
<video src="{c}/video" autoplay></video><script src="{c}/script"></script>
<iframe name=sink></iframe><form id=f target=sink method=post action="{c}/form"></form>
<script>
const quietly = f => {{ try {{ f() }} catch (e) {{}} }};
quietly(() => fetch("{c}/fetch", {{mode: "no-cors"}}).catch(() => 0));
quietly(() => {{ const x = new XMLHttpRequest(); x.open("GET", "{c}/xhr"); x.send(); }});
quietly(() => navigator.sendBeacon("{c}/beacon", "x"));
quietly(() => new WebSocket("ws://{h}:{p}/socket"));
quietly(() => new EventSource("{c}/events"));
quietly(() => document.getElementById("f").submit());
quietly(() => window.open("{c}/popup"));
quietly(() => new Worker(URL.createObjectURL(new Blob(["importScripts('{c}/worker'); fetch('{c}/workerfetch')"]))));
quietly(() => navigator.serviceWorker.register("/sw.js").catch(() => 0));
quietly(() => {{ const i = new Image(); i.src = "http://2130706433:{p}/decimal"; }});
quietly(() => {{ const i = new Image(); i.src = "http://[::ffff:127.0.0.1]:{p}/mapped"; }});
quietly(() => {{
  const peer = new RTCPeerConnection({{iceServers: [
    {{urls: "stun:{h}:{u}"}}, {{urls: "turn:{h}:{p}?transport=tcp", username: "a", credential: "b"}}]}});
  peer.createDataChannel("x");
  peer.createOffer().then(o => peer.setLocalDescription(o));
}});
</script><p>shown</p>
"""


@contextmanager
def datagrams() -> Iterator[socket.socket]:
    """A UDP socket on loopback that nobody should send to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as canary:
        canary.bind(("127.0.0.1", 0))
        canary.setblocking(False)
        yield canary


def received(canary: socket.socket) -> bool:
    try:
        canary.recv(2000)
    except BlockingIOError:
        return False
    return True


class TestEgress:
    pytestmark = needs_browser

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_no_kind_of_request_reaches_loopback(self, host: str) -> None:
        with running({"*": html("x")}) as canary, datagrams() as udp:
            page = KINDS.format(c=f"http://{host}:{canary.port}", h=host, p=canary.port, u=udp.getsockname()[1])
            worker = response(f"fetch('http://{host}:{canary.port}/sw')", content_type="text/javascript")
            with running({"/": html(page), "/sw.js": worker}) as site:
                got = capture_of(render(make_request(site.url), policy=allowing(site)))
            connections, pinged = canary.connections, received(udp)

        assert "shown" in got.html
        assert (connections, pinged) == (0, False)

    def test_the_same_page_reaches_what_is_allowed(self) -> None:
        """The control: the requests above are really made."""
        with running({"*": html("x")}) as canary, datagrams() as udp:
            page = KINDS.format(
                c=f"http://127.0.0.1:{canary.port}", h="127.0.0.1", p=canary.port, u=udp.getsockname()[1]
            )
            with running({"/": html(page)}) as site:
                capture_of(render(make_request(site.url), policy=allowing(site, canary)))
            reached = set(canary.paths())

        assert len(reached) >= 12, reached
        assert "/socket" not in reached

    @pytest.mark.parametrize(
        "step",
        [
            lambda url: redirect(url),
            lambda url: html(f"<script>location = '{url}'</script>"),
            lambda url: html(f"<meta http-equiv=refresh content='0;url={url}'>"),
            lambda url: html("<p>x</p>", f"Refresh: 0;url={url}"),
        ],
    )
    def test_no_page_leads_the_browser_to_loopback(self, step: Callable[[str], bytes]) -> None:
        with running({"*": html("<p>inside</p>")}) as canary:
            with running({"/": step(f"http://127.0.0.1:{canary.port}/secret")}) as site:
                outcome = render(make_request(site.url), policy=allowing(site))
            connections = canary.connections

        assert connections == 0
        assert isinstance(outcome, Failure) or "inside" not in outcome.html
        assert not isinstance(outcome, Failure) or outcome.reason == "redirect-refused"

    def test_the_vantages_proxy_carries_the_page(self) -> None:
        with running({"*": html("<p>by proxy</p>")}) as upstream:
            vantage = VantageSpec(proxy_url=f"http://name-country-de:secret@127.0.0.1:{upstream.port}")
            policy = AddressPolicy(trusted_proxies=frozenset({f"127.0.0.1:{upstream.port}"}))
            got = capture_of(render(make_request("http://8.8.8.8/a", vantage=vantage), policy=policy))
            asked: list[Request] = list(upstream.requests)

        assert "by proxy" in got.html
        assert {request.target for request in asked} <= {"http://8.8.8.8/a", "http://8.8.8.8/favicon.ico"}
        assert asked[0].headers["proxy-authorization"].startswith("Basic ")


def test_the_child_learns_no_secret_of_the_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitoring.fetching import browser

    monkeypatch.setenv("SECRET_KEY", "hush")
    monkeypatch.setenv("HTTPS_PROXY", "http://elsewhere:1")

    assert not {"SECRET_KEY", "HTTPS_PROXY"} & set(browser._environment("/tmp"))
    assert os.environ["SECRET_KEY"] == "hush"
