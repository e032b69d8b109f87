"""Steps, sign-in, secrets and pictures in a real Chromium."""

from __future__ import annotations

import logging
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from monitoring.fetching.browser import Renderer
from monitoring.fetching.capture import Access, Capture, Failure, Limits, Outcome, RenderSpec, VantageSpec
from monitoring.fetching.steps import parse_steps
from tests.fetching.rendering import allowing, capture_of, failure_of, html, make_request, needs_browser, running
from tests.fetching.server import Answer, Site, redirect, response

pytestmark = needs_browser

USER, PASSWORD = "ada & co@example", "corréct/horse+1"
SECRETS = (("PASSWORD", PASSWORD), ("USER", USER))


def shown(answers: Mapping[str, Answer], steps: list[dict[str, Any]], **spec: Any) -> tuple[Outcome, Site]:
    """What a browser makes of the page "/" of a site with these steps."""
    with running(answers) as site, Renderer(policy=allowing(site)) as renderer:
        return renderer.render(make_request(site.url, render=_spec(steps, **spec))), site


def _spec(steps: list[dict[str, Any]], **spec: Any) -> RenderSpec:
    return RenderSpec(**{"quiet_ms": 100, "screenshot": False, "steps": parse_steps(steps), **spec})


FORM = html(
    """<p id=log></p>
    <button onclick="say('clicked')">Show <b>all</b></button><input id=free><select id=s><option value=a>First</option>
    <option value=b>Second one</option></select><ul></ul><div id=spinner>wait</div><div style="height:3000px"></div><p id=end>end</p>
    <script>
    const say = what => { document.getElementById("log").append(what + "; ") };
    free.addEventListener("input", () => say("typed " + free.value));
    free.addEventListener("keydown", event => say("pressed " + event.key));
    s.addEventListener("change", () => say("chose " + s.value));
    new IntersectionObserver(found => found.some(one => one.isIntersecting) && say("scrolled")).observe(document.getElementById("end"));
    setTimeout(() => { spinner.hidden = true; for (let i = 0; i < 3; i++) document.querySelector("ul").append(document.createElement("li")); }, 300);
    setTimeout(() => { history.replaceState({}, "", "/?step=2"); say("moved") }, 500);
    </script>"""
)


def test_every_kind_of_step_is_done_in_order() -> None:
    outcome, _ = shown(
        {"/": FORM},
        [
            {"do": "click", "text": "Show all"},
            {"do": "type", "selector": "#free", "value": "words"},
            {"do": "press", "selector": "#free", "key": "Enter"},
            {"do": "select", "selector": "#s", "value": "Second one"},
            {"do": "wait", "selector": "#spinner", "gone": True},
            {"do": "wait", "selector": "li", "count": 3},
            {"do": "wait", "url": "step=2"},
            {"do": "wait", "text": "moved"},
            {"do": "scroll", "to": "bottom"},
            {"do": "wait", "text": "scrolled"},
            {"do": "wait", "quiet_s": 0.3},
            {"do": "wait", "seconds": 0.1},
        ],
    )

    got = capture_of(outcome)
    log = got.html.partition('<p id="log">')[2].partition("</p>")[0]
    assert [part.strip() for part in log.split(";") if part.strip() != "moved"][:5] == [
        "clicked", "typed words", "pressed Enter", "chose b", "scrolled",
    ]  # fmt: skip
    assert got.final_url.endswith("/?step=2")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"do": "click", "selector": "#none"}, "Step 2 (click “#none”) failed: nothing on the page let it be done within 0.5 s."),
        ({"do": "select", "selector": "#s", "value": "Third"}, "Step 2 (select in “#s”) failed: there is no option “Third”."),
        ({"do": "wait", "text": "never"}, "Step 2 (wait for “never”) failed: it was not so within 0.5 s."),
        ({"do": "wait", "selector": "li", "count": 9}, "Step 2 (wait for “li”) failed: it was not so within 0.5 s."),
    ],
)  # fmt: skip
def test_a_step_that_fails_is_named_and_the_page_is_kept(step: dict[str, Any], said: str) -> None:
    outcome, _ = shown({"/": FORM}, [{"do": "consent"}, step | {"within_s": 0.5}], screenshot=True)

    got = failure_of(outcome)
    assert (got.reason, got.message, got.transient) == ("step-failed", said, False)
    assert got.evidence is not None
    assert 'id="spinner"' in got.evidence.html
    assert (got.evidence.screenshot or b"").startswith(b"\x89PNG")


NOTICE = """<main><p>Terms of use</p><p>I agree with nothing here. <button>OK</button></p></main>
<div id=notice style="position:fixed;bottom:0"><p>{words}</p>{buttons}</div><p id=said></p>
<script>for (const one of document.querySelectorAll("#notice button, #notice a")) one.onclick = event => {{
  event.preventDefault(); said.textContent = "chose " + one.textContent; notice.remove(); }}</script>"""


@pytest.mark.parametrize(
    ("words", "buttons", "chosen"),
    [
        ("We use cookies.", "<button>Accept all</button><button>Settings</button><button>Reject all</button>", "Reject all"),
        ("Diese Seite verwendet Cookies.", "<button>Alle akzeptieren</button><a href=#>Nur notwendige</a>", "Nur notwendige"),
        ("クッキーを使用します", "<button>同意する</button>", "同意する"),
        ("Buy our paper today", "<button>Accept all</button>", ""),
    ],
)  # fmt: skip
def test_a_cookie_notice_is_clicked_away_and_nothing_else(words: str, buttons: str, chosen: str) -> None:
    outcome, _ = shown({"/": html(NOTICE.format(words=words, buttons=buttons))}, [{"do": "consent"}])

    got = capture_of(outcome)
    assert f'<p id="said">{"chose " if chosen else ""}{chosen}</p>' in got.html
    assert ('id="notice"' in got.html) is (not chosen)


def test_a_notice_in_a_frame_of_another_site_or_a_shadow_root_is_found() -> None:
    inner = html("<p>We value your privacy</p><button onclick=\"parent.postMessage('gone', '*')\">Reject</button>")
    with running({"/frame": inner}) as vendor:
        page = html(
            f"""<iframe id=f src="http://localhost:{vendor.port}/frame"></iframe><x-n></x-n><script>
            onmessage = () => f.remove();
            customElements.define("x-n", class extends HTMLElement {{ connectedCallback() {{
              this.attachShadow({{mode: "open"}}).innerHTML = "<p>Cookies</p><button>Decline</button>";
              this.shadowRoot.querySelector("button").onclick = () => this.remove(); }} }});</script>"""
        )
        with running({"/": page}) as site, Renderer(policy=allowing(site, vendor)) as renderer:
            spec = _spec([{"do": "consent"}, {"do": "consent"}])
            got = capture_of(renderer.render(make_request(site.url, render=spec)))

    assert "<iframe" not in got.html
    assert "<x-n" not in got.html


# -- signing in ----------------------------------------------------------------------------------------------------

LOGIN = html(
    """<form action=/enter method=get><input id=u name=u><input id=p name=p type=password><button>Sign in</button></form>"""
)
STEPS = [
    {"do": "type", "selector": "#u", "value": "secret:USER"},
    {"do": "type", "selector": "#p", "value": "secret:PASSWORD"},
    {"do": "click", "text": "Sign in"},
    {"do": "wait", "text": "welcome"},
]


def _access(site: Site, **changes: Any) -> Access:
    fields: dict[str, Any] = {"realm": "shop", "login_url": f"{site.url}/login", "login_steps": parse_steps(STEPS)}
    return Access(**fields | changes)


def test_a_browser_signs_in_once_and_the_pages_that_follow_are_signed_in() -> None:
    entered = response("<p>welcome</p>", headers=("Set-Cookie: session=s3cr3t-value; Path=/",))
    answers = {"/login": LOGIN, "/enter": entered, "/a": html("a"), "/b": response("b", headers=("Set-Cookie: x=y",))}
    with running(answers) as site, Renderer(policy=allowing(site)) as renderer:
        spec = RenderSpec(quiet_ms=100, screenshot=False, access=_access(site), secrets=SECRETS)
        first = capture_of(renderer.render(make_request(f"{site.url}/a", render=spec)))
        second = capture_of(renderer.render(make_request(f"{site.url}/b", render=spec)))
        other = capture_of(renderer.render(make_request(f"{site.url}/b", render=RenderSpec(quiet_ms=100))))
        paths = site.paths()
        cookies = [(request.path, request.headers.get("cookie", "")) for request in site.requests]

    assert paths.count("/login") == 1
    assert [pair for pair in cookies if pair[0] in ("/a", "/b")] == [
        ("/a", "session=s3cr3t-value"),
        ("/b", "session=s3cr3t-value"),
        ("/b", ""),
    ]
    assert other.rendered
    assert renderer.started == 2  # who is signed in shares no browser with others
    assert second.header("set-cookie") == "(secret)"
    assert not [hop for hop in first.redirects if "login" in hop.url]


def test_each_vantage_has_a_session_of_its_own() -> None:
    entered = response("<p>welcome</p>", headers=("Set-Cookie: session=s3cr3t-value; Path=/",))
    with running({"/login": LOGIN, "/enter": entered, "/a": html("a")}) as site:
        spec = RenderSpec(quiet_ms=100, screenshot=False, access=_access(site), secrets=SECRETS)
        with Renderer(policy=allowing(site)) as renderer:
            for name in ("home", "abroad", "home"):
                request = make_request(f"{site.url}/a", render=spec, vantage=VantageSpec(name=name))
                capture_of(renderer.render(request))
        paths = site.paths()

    assert paths.count("/login") == 2


def test_what_is_typed_stands_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    echo = html(
        """<p id=t></p><input id=u><form><input id=p type=password></form><script>
        setInterval(() => { t.textContent = u.value + " / " + p.value; u.setAttribute("value", u.value);
          history.replaceState({}, "", "/?u=" + encodeURIComponent(u.value) + "&p=" + encodeURIComponent(p.value)) }, 30);
        </script>"""
    )
    steps: list[dict[str, Any]] = [
        *STEPS[:2],
        {"do": "wait", "url": "p=c"},
        {"do": "wait", "text": "never", "within_s": 0.3},
    ]
    with caplog.at_level(logging.DEBUG):
        outcome, _ = shown({"/": echo}, steps, secrets=SECRETS, screenshot=True)

    got = failure_of(outcome)
    assert got.evidence is not None
    assert "(secret)" in got.evidence.html
    assert "(secret)" in got.evidence.final_url
    told = f"{got!r} {got.evidence.html} {caplog.text}"
    assert not [part for part in (USER, PASSWORD, "ada", "horse") if part in told]


def test_a_secret_is_typed_on_its_own_host_only() -> None:
    with (
        running({"/trap": LOGIN}) as trap,
        running({"/": redirect(f"http://localhost:{trap.port}/trap")}) as site,
        Renderer(policy=allowing(site, trap)) as renderer,
    ):
        got = failure_of(renderer.render(make_request(site.url, render=_spec(STEPS[:2], secrets=SECRETS))))

    assert got.message == (
        "Step 1 (type into “#u”) failed: the page stands at localhost, and the secret belongs to 127.0.0.1."
    )


def test_a_password_is_never_typed_in_clear() -> None:
    outcome, _ = shown({"/": LOGIN}, [{"do": "type", "selector": "#p", "value": "in clear"}])

    assert "a password is typed by reference only" in failure_of(outcome).message


def test_signing_in_that_fails_says_so_and_the_page_is_not_fetched() -> None:
    with (
        running({"/login": html("nothing here"), "/a": html("a")}) as site,
        Renderer(policy=allowing(site)) as renderer,
    ):
        steps = parse_steps([STEPS[0] | {"within_s": 0.3}])
        spec = RenderSpec(quiet_ms=100, access=_access(site, login_steps=steps), secrets=SECRETS)
        got = failure_of(renderer.render(make_request(f"{site.url}/a", render=spec)))
        paths = site.paths()

    assert got.reason == "login-failed"
    assert got.message.startswith("Signing in failed. Step 1 (type into “#u”) failed")
    assert "/a" not in paths


def test_cookies_of_the_site_go_to_it_and_to_nobody_else() -> None:
    with running({"*": html("x")}) as third:
        page = html(f"<img src='http://localhost:{third.port}/i'><p>x</p>")
        with running({"/": page}) as site, Renderer(policy=allowing(site, third)) as renderer:
            access = Access(realm="shop", cookies=(("session", "s3cr3t-value"),))
            outcome = renderer.render(make_request(site.url, render=RenderSpec(quiet_ms=100, access=access)))
            asked, elsewhere = site.requests[0], list(third.requests)

    assert isinstance(outcome, Capture)
    assert asked.headers["cookie"] == "session=s3cr3t-value"
    assert elsewhere
    assert not any("cookie" in request.headers for request in elsewhere)


def test_cookies_of_the_site_do_not_reach_another_port_of_its_host() -> None:
    """A browser would send them there: it tells hosts apart and not ports."""
    with running({"*": html("<p>other</p>")}) as third:
        answers = {
            "/": html(f"<img src='{third.url}/i'><img src='/own'><p>x</p>"),
            "/away": redirect(f"{third.url}/page"),
        }
        with running({**answers, "*": html("x")}) as site, Renderer(policy=allowing(site, third)) as renderer:
            access = Access(realm="shop", cookies=(("session", "s3cr3t-value"),))
            spec = RenderSpec(quiet_ms=100, access=access)
            page = renderer.render(make_request(site.url, render=spec))
            away = renderer.render(make_request(f"{site.url}/away", render=spec))
            own = [request.headers.get("cookie") for request in site.requests]
            elsewhere = list(third.requests)

    assert isinstance(page, Capture)
    assert isinstance(away, Failure)
    assert away.reason == "redirect-refused"
    assert elsewhere == []
    assert set(own) == {"session=s3cr3t-value"}
    assert len(own) == 3


# -- pictures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("height", "kept"), [(300, 900), (20_000, 16_000)])
def test_the_picture_is_of_the_whole_page_and_says_what_it_lacks(height: int, kept: int) -> None:
    page = html(
        f"<style>body{{margin:0}}</style><div style='height:{height}px;background:linear-gradient(red,blue)'></div>"
    )

    outcome, _ = shown({"/": page}, [], screenshot=True)

    got = capture_of(outcome)
    assert got.picture is not None
    assert got.screenshot is not None
    width, tall = struct.unpack(">II", got.screenshot[16:24])
    assert (width, tall) == (got.picture.width, got.picture.height) == (1280, kept)
    assert got.picture.cut_px == max(height - 16_000, 0)
    assert got.thumbnail is not None
    assert got.thumbnail[:4] + got.thumbnail[8:12] == b"RIFFWEBP"
    assert len(got.thumbnail) < 40_000


def test_each_page_gets_a_context_of_its_own_in_one_browser() -> None:
    page = html(
        "<script>document.write(document.cookie, localStorage.n); document.cookie = 'a=1'; localStorage.n = 'kept'</script>"
    )
    with running({"*": page}) as site, Renderer(policy=allowing(site)) as renderer:
        spec = RenderSpec(quiet_ms=100, screenshot=False)
        pages = [capture_of(renderer.render(make_request(f"{site.url}/{n}", render=spec))) for n in range(3)]

    assert renderer.started == 1
    assert {body.html.partition("</script>")[2].partition("</body>")[0] for body in pages} == {"undefined"}


def test_a_failure_of_one_page_leaves_the_next_alone() -> None:
    answers = {"/bad": html("<script>while (true);</script>"), "/good": html("<p>fine</p>")}
    with running(answers) as site, Renderer(policy=allowing(site)) as renderer:
        spec = RenderSpec(quiet_ms=100, screenshot=False)
        bad = renderer.render(make_request(f"{site.url}/bad", render=spec, limits=Limits(total_s=6)))
        good = renderer.render(make_request(f"{site.url}/good", render=spec))

    assert isinstance(bad, Failure)
    assert "fine" in capture_of(good).html
    assert renderer.started == 2
