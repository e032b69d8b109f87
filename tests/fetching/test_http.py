"""Pages over HTTP from a site on loopback that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import ssl
import zlib
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest
import trustme

from monitoring.fetching.capture import Capture, Exemption, Failure, FetchRequest, Limits, Outcome, VantageSpec
from monitoring.fetching.egress import EgressProxy
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.http import DEFAULT_USER_AGENT, fetch, fetch_many
from monitoring.fetching.resolver import NameBook
from tests.fetching.server import Answer, Request, Site, redirect, response, serve

# Roomy, since machines that run tests are busy; short where the deadline is what is tested.
ROOMY = Limits(total_s=20.0, max_bytes=100_000)
SHORT = Limits(total_s=0.5, max_bytes=100_000)


def allowing(*sites: Site, **more: Any) -> AddressPolicy:
    return AddressPolicy(allow=frozenset(("127.0.0.1", site.port) for site in sites), **more)


def make_request(url: str, **changes: Any) -> FetchRequest:
    fields: dict[str, Any] = {"key": 1, "url": url, "limits": ROOMY}
    return FetchRequest(**fields | changes)


def fetched(answers: Mapping[str, Answer], path: str = "/", **changes: Any) -> Outcome:
    """The outcome of one page of a site that answers so."""

    async def run() -> Outcome:
        async with serve(answers) as site:
            return await fetch(make_request(site.url + path, **changes), policy=allowing(site))

    return asyncio.run(run())


def capture_of(outcome: Outcome) -> Capture:
    assert isinstance(outcome, Capture), outcome
    return outcome


def failure_of(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure), outcome
    return outcome


async def no_names(host: str) -> list[str]:
    raise OSError(f"{host}: no such name in this test")


def test_a_page_becomes_a_capture() -> None:
    before = datetime.now(UTC)

    got = capture_of(fetched({"/": response("<p>prix €</p>", headers=('ETag: "a"', "X-Long: " + "v" * 20000))}))

    assert (got.key, got.status, got.html, got.body) == (1, 200, "<p>prix €</p>", "<p>prix €</p>".encode())
    assert (got.content_type, got.charset, got.charset_source) == ("text/html", "utf-8", "header")
    assert (got.header("etag"), len(got.header("X-Long"))) == ('"a"', 20000)
    assert (got.peer_address, got.certificate_sha256, got.redirects) == ("127.0.0.1", "", ())
    assert before <= got.started_at <= datetime.now(UTC)
    assert 0 <= got.duration_ms < 20_000


def test_the_request_says_who_asks_and_nothing_else() -> None:
    async def run() -> Request:
        async with serve({"/": response()}) as site:
            await fetch(make_request(site.url + "/?q=%C3%A9"), policy=allowing(site))
            return site.requests[0]

    got = asyncio.run(run())

    assert got.target == "/?q=%C3%A9"
    assert set(got.headers) == {"host", "user-agent", "accept", "accept-language", "accept-encoding"}
    assert got.headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert got.headers["user-agent"] == DEFAULT_USER_AGENT


def test_a_vantage_fixes_language_and_user_agent() -> None:
    async def run() -> Request:
        async with serve({"/": response()}) as site:
            vantage = VantageSpec(language="de-DE,de", user_agent="Reader/1")
            await fetch(make_request(site.url, vantage=vantage), policy=allowing(site))
            return site.requests[0]

    got = asyncio.run(run())

    assert (got.headers["accept-language"], got.headers["user-agent"]) == ("de-DE,de", "Reader/1")


def test_an_error_page_is_a_capture_with_its_status() -> None:
    got = capture_of(fetched({"/": response("<p>gone</p>", status="503 Down", headers=("Retry-After: 120",))}))

    assert (got.status, got.html, got.header("retry-after")) == (503, "<p>gone</p>", "120")


# -- conditional requests ------------------------------------------------------------------------------------------


async def by_validator(request: Request, writer: asyncio.StreamWriter) -> None:
    fresh = request.headers.get("if-none-match") == '"a"'
    writer.write(response(b"", status="304 Not Modified") if fresh else response("<p>whole</p>"))
    await writer.drain()


def test_a_304_is_taken_when_asked_for() -> None:
    got = capture_of(fetched({"/": by_validator}, etag='"a"'))

    assert (got.not_modified, got.status, got.body, got.html) == (True, 304, b"", "")


def test_a_304_that_nobody_asked_for_is_no_answer() -> None:
    got = failure_of(fetched({"/": response(b"", status="304 Not Modified")}))

    assert got.reason == "protocol"


@pytest.mark.parametrize("etag", ["a", '"a\r\nX: 1"', '"é"', '"' + "a" * 2000 + '"', '"a b"'])
def test_a_malformed_etag_is_never_sent_back(etag: str) -> None:
    async def run() -> Request:
        async with serve({"/": response()}) as site:
            request = make_request(site.url, etag=etag, last_modified="not a date")
            capture_of(await fetch(request, policy=allowing(site)))
            return site.requests[0]

    assert not {"if-none-match", "if-modified-since"} & set(asyncio.run(run()).headers)


def test_validators_go_only_to_the_address_they_came_from() -> None:
    async def run(validators: str) -> list[bool]:
        async with serve({"/": redirect("/final"), "/final": response()}) as site:
            request = make_request(site.url, etag='"a"', validators_url=site.url + validators if validators else "")
            capture_of(await fetch(request, policy=allowing(site)))
            return ["if-none-match" in got.headers for got in site.requests]

    assert asyncio.run(run("")) == [True, False]
    assert asyncio.run(run("/final")) == [False, True]


# -- redirects -----------------------------------------------------------------------------------------------------


def test_redirects_are_followed_and_recorded() -> None:
    answers = {"/": redirect("/b", status=301), "/b": redirect("c d?x=1", status=307), "/c%20d": response("<p>end</p>")}

    got = capture_of(fetched(answers))

    assert got.html == "<p>end</p>"
    assert got.final_url.endswith("/c%20d?x=1")
    assert [(hop.status, hop.location) for hop in got.redirects] == [(301, "/b"), (307, "c%20d?x=1")]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{canary}/",
        "//127.0.0.1:{canary}/",
        "http://2130706433:{canary}/",
        "http://[::ffff:127.0.0.1]:{canary}/",
        "http://0:{canary}/",
        "http://localhost:{canary}/",
        "http://user:secret@127.0.0.1:{canary}/",
        "http://127.0.0.1:{canary}\\@example.com/",
        "http://inside.example:{canary}/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://example.com:6379/",
        "http://[::1/",
    ],
)
def test_a_redirect_to_where_we_do_not_go_is_refused(location: str) -> None:
    async def lookup(host: str) -> list[str]:
        return {"inside.example": ["127.0.0.1"]}[host]

    async def run() -> tuple[Outcome, int]:
        async with serve({"*": response("<p>inside</p>")}) as canary:
            async with serve({"/": redirect(location.format(canary=canary.port))}) as site:
                policy = allowing(site, extra_ports=frozenset({canary.port}))
                outcome = await fetch(make_request(site.url), policy=policy, lookup=lookup)
            return outcome, canary.connections

    outcome, connections = asyncio.run(run())

    got = failure_of(outcome)
    assert (got.reason, got.transient, connections) == ("redirect-refused", False, 0)
    assert "secret" not in repr(got)


def test_redirects_end() -> None:
    assert failure_of(fetched({"/": redirect("/")})).reason == "too-many-redirects"


def test_a_redirect_to_nowhere_is_no_answer() -> None:
    assert failure_of(fetched({"/": response("x", status="302 Found")})).reason == "protocol"


def test_a_growing_redirect_is_refused_by_length() -> None:
    got = failure_of(fetched({"/": redirect("/?" + "a" * 9000)}))

    assert (got.reason, got.redirects[0].status) == ("redirect-refused", 302)


def test_cookies_stay_with_their_origin_and_their_fetch() -> None:
    async def run() -> tuple[list[str], list[str], list[str]]:
        async with serve({"*": response()}) as other:
            hop = redirect("/again", headers=("Set-Cookie: visit=1; Path=/", "Set-Cookie: bad name=x"))
            away = redirect(f"http://127.0.0.1:{other.port}/", headers=("Set-Cookie: two=2",))
            async with serve({"/": hop, "/again": away}) as site:
                for _ in range(2):
                    capture_of(await fetch(make_request(site.url), policy=allowing(site, other)))
                cookies = [request.headers.get("cookie", "") for request in site.requests]
                return cookies[:2], cookies[2:], [request.headers.get("cookie", "") for request in other.requests]

    first, second, elsewhere = asyncio.run(run())

    assert first == second == ["", "visit=1"]
    assert elsewhere == ["", ""]


# -- the product's own pages ---------------------------------------------------------------------------------------


def own_pages(answers: Mapping[str, Answer], path: str) -> tuple[Outcome, list[str]]:
    async def run() -> tuple[Outcome, list[str]]:
        async with serve(answers) as site:
            exemption = Exemption(origin=site.url, path_prefix="/sample/")
            outcome = await fetch(make_request(site.url + path, exemption=exemption), policy=AddressPolicy())
            return outcome, site.paths()

    return asyncio.run(run())


def test_the_products_own_page_is_fetched() -> None:
    outcome, paths = own_pages({"/sample/a": response("<p>sample</p>")}, "/sample/a")

    assert (capture_of(outcome).html, paths) == ("<p>sample</p>", ["/sample/a"])


def test_other_pages_of_the_product_are_not() -> None:
    outcome, paths = own_pages({"*": response()}, "/sample/../admin/")

    assert (failure_of(outcome).reason, paths) == ("refused-by-policy", [])


def test_an_own_page_may_not_redirect_even_to_another_own_page() -> None:
    outcome, paths = own_pages({"/sample/a": redirect("/sample/b"), "/sample/b": response()}, "/sample/a")

    assert (failure_of(outcome).reason, paths) == ("redirect-refused", ["/sample/a"])


# -- names ---------------------------------------------------------------------------------------------------------


def test_a_name_is_asked_once_and_the_checked_address_is_used() -> None:
    asked: list[str] = []

    async def rebinding(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    async def run() -> tuple[Outcome, Request]:
        async with serve({"/": redirect("/b", headers=("Connection: close",)), "/b": response()}) as site:
            url = f"http://rebind.example:{site.port}/"
            return await fetch(make_request(url), policy=allowing(site), lookup=rebinding), site.requests[0]

    outcome, first = asyncio.run(run())

    assert capture_of(outcome).final_url.endswith("/b")
    assert asked == ["rebind.example"]
    assert first.headers["host"].startswith("rebind.example:")


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1", "10.0.0.1"], ["fd00::1"], ["64:ff9b::7f00:1"], ["169.254.169.254"]]
)
def test_one_bad_address_refuses_the_name(addresses: list[str]) -> None:
    async def lookup(host: str) -> list[str]:
        return addresses

    async def run() -> tuple[Outcome, int]:
        async with serve({"*": response()}) as site:
            url = f"http://mixed.example:{site.port}/"
            return await fetch(make_request(url), policy=allowing(site), lookup=lookup), site.connections

    outcome, connections = asyncio.run(run())

    assert (failure_of(outcome).reason, connections) == ("refused-by-policy", 0)


def test_a_name_without_address_is_a_transient_failure() -> None:
    outcome = asyncio.run(fetch(make_request("http://nowhere.example/"), policy=AddressPolicy(), lookup=no_names))

    assert (failure_of(outcome).reason, failure_of(outcome).transient) == ("dns", True)


def test_the_systems_own_names_are_judged_too() -> None:
    async def run(allowed: tuple[str, ...]) -> Outcome:
        async with serve({"/": response("<p>local</p>")}) as site:
            policy = AddressPolicy(allow=frozenset((address, site.port) for address in allowed))
            return await fetch(make_request(f"http://localhost:{site.port}/"), policy=policy)

    assert capture_of(asyncio.run(run(("127.0.0.1", "::1")))).html == "<p>local</p>"
    assert failure_of(asyncio.run(run(()))).reason == "refused-by-policy"


def test_a_name_server_that_never_answers_costs_one_deadline() -> None:
    async def silent(host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    request = make_request("http://slow.example/", limits=SHORT)

    outcome = asyncio.run(fetch(request, policy=AddressPolicy(), lookup=silent))

    assert failure_of(outcome).reason == "timeout"
    assert failure_of(outcome).duration_ms < 2500


# -- misbehaviour on the wire --------------------------------------------------------------------------------------


def wire(*pieces: bytes, forever: bytes = b"", pause_s: float = 0.0) -> Answer:
    async def behave(request: Request, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
        while forever:
            writer.write(forever)
            await writer.drain()
            await asyncio.sleep(pause_s)
        await writer.drain()

    return behave


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (wire(HEAD + b"X-A: ", forever=b"a", pause_s=0.05), "timeout"),
        (wire(HEAD + b"Content-Length: 50000\r\n\r\n", forever=b"a", pause_s=0.05), "timeout"),
        (wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", forever=b"1000\r\n" + b"A" * 4096 + b"\r\n"), "too-large"),
        (wire(HEAD + b"Content-Length: 999999999999\r\n\r\nhello"), "too-large"),
        (wire(b"", forever=b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100), "too-large"),
        (wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;" + b"e" * 3_000_000 + b"\r\nhello\r\n0\r\n\r\n"), "too-large"),
        (wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", forever=b"X-T: t\r\n" * 100), "too-large"),
        (wire(HEAD, forever=b"X-B: y\r\n" * 100), "too-large"),
        (wire(HEAD + b"Set-Cookie: " + b"c" * 3_000_000 + b"\r\n\r\n"), "too-large"),
        (wire(b"<html>no status line</html>"), "protocol"),
        (wire(b"HTTP/1.1 099 Huh\r\nContent-Length: 2\r\n\r\nok"), "protocol"),
        (wire(HEAD + b"Content-Length: 500\r\n\r\n<p>only part"), "protocol"),
        (wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\n20\r\n<p>cut"), "protocol"),
        (wire(HEAD + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello"), "protocol"),
        (wire(HEAD + b"Content-Length: -1\r\n\r\nhello"), "protocol"),
        (wire(HEAD + b"X-A: a\0b\r\nContent-Length: 2\r\n\r\nok"), "protocol"),
        (wire(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 9\r\n\r\n<p>partia"), "protocol"),
        (wire(), "protocol"),
        (wire(b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n", forever=b"--b"), "unsupported-type"),
        (response(b"x" * 200_000), "too-large"),
        (response(b"<p>plain</p>", headers=("Content-Encoding: gzip",)), "encoding"),
        (response(b"uryyb", headers=("Content-Encoding: rot13",)), "encoding"),
    ],
)  # fmt: skip
def test_misbehaviour_ends_in_a_failure_within_the_deadline(answer: Answer, reason: str) -> None:
    got = failure_of(fetched({"/": answer}, limits=SHORT if reason == "timeout" else ROOMY))

    assert got.reason == reason
    assert got.duration_ms < (2500 if reason == "timeout" else 20_000)


def test_nothing_of_a_closed_port_is_told_but_that_it_is_closed() -> None:
    async def run() -> Outcome:
        async with serve({}) as site:
            pass
        return await fetch(make_request(site.url), policy=allowing(site))

    assert failure_of(asyncio.run(run())).reason == "connect"


@pytest.mark.parametrize(
    ("raw", "label", "found"),
    [
        (b"%PDF-1.7\n", "text/html", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "text/html; charset=utf-8", "image/png"),
        (b"<p>terms</p>", "application/octet-stream", "application/octet-stream"),
        (b"<svg/>", "image/svg+xml", "image/svg+xml"),
        (b"a\0b", "", "application/octet-stream"),
    ],
)
def test_what_is_no_text_keeps_its_bytes_and_has_no_html(raw: bytes, label: str, found: str) -> None:
    got = capture_of(fetched({"/": response(raw, content_type=label)}))

    assert (got.is_text, got.html, got.body, got.content_type) == (False, "", raw, found)


@pytest.mark.parametrize("label", ["text/plain", "application/xhtml+xml", "application/xml", "application/json", ""])
def test_other_kinds_of_text_are_read(label: str) -> None:
    got = capture_of(fetched({"/": response(b"<p>terms</p>", content_type=label)}))

    assert (got.is_text, got.html) == (True, "<p>terms</p>")


def garbled(rng: random.Random) -> bytes:
    """An answer of some kind with a few bytes changed, cut out or put in."""
    raw = "<meta charset=utf-8><p>text €</p>".encode()
    coding = rng.choice(["gzip", "deflate", ""])
    raw = {"gzip": gzip.compress(raw), "deflate": zlib.compress(raw), "": raw}[coding]
    kind = rng.choice(["text/html", "text/html; charset=shift_jis", "text/html; charset=x-user-defined", "image/png"])
    headers = [f"Content-Encoding: {coding}"] if coding else []
    if rng.random() < 0.3:
        headers.append("Location: " + rng.choice(["/x", "//[::1", "http://a:b@c/", "\\\\a", "http:///", "?", "http:x"]))
    status = rng.choice(["200 OK", "200 OK", "302 Found", "304 Not Modified", "100 Continue", "600 What"])
    answer = bytearray(response(raw, status=status, content_type=kind, headers=tuple(headers)))
    for _ in range(rng.choice([0, 1, 2, 5])):
        place = rng.randrange(len(answer))
        answer[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(answer)


def test_any_answer_at_all_becomes_a_clean_outcome(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(20261130)

    async def behave(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(garbled(rng))
        await writer.drain()

    async def run() -> list[Outcome]:
        async with serve({"*": behave}) as site:
            limits = Limits(total_s=2.0, max_bytes=10_000)
            requests = [make_request(f"{site.url}/{key}", key=key, limits=limits) for key in range(300)]
            return await collected(requests, policy=allowing(site), concurrency=30, per_host=30, lookup=no_names)

    outcomes = asyncio.run(run())

    assert len(outcomes) == 300
    assert not caplog.records
    for outcome in outcomes:
        for value in (*asdict(outcome).values(), *(text for pair in getattr(outcome, "headers", ()) for text in pair)):
            str(value).encode("utf-8")


# -- TLS -----------------------------------------------------------------------------------------------------------


def over_tls(
    host: str, *, issued_for: str, trusted: bool = True, not_after: datetime | None = None
) -> tuple[Outcome, str]:
    authority = trustme.CA()
    issued = authority.issue_cert(issued_for, not_after=not_after)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    issued.configure_cert(serving)
    asking = ssl.create_default_context()
    if trusted:
        authority.configure_trust(asking)
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(issued.cert_chain_pems[0].bytes().decode())).hexdigest()

    async def lookup(name: str) -> list[str]:
        return ["127.0.0.1"]

    async def run() -> Outcome:
        async with serve({"/": response()}, tls=serving) as site:
            request = make_request(f"https://{host}:{site.port}/")
            return await fetch(request, policy=allowing(site), lookup=lookup, tls=asking)

    return asyncio.run(run()), digest


def test_the_certificate_is_kept_as_evidence() -> None:
    outcome, digest = over_tls("safe.example", issued_for="safe.example")

    assert capture_of(outcome).certificate_sha256 == digest
    assert capture_of(outcome).peer_address == "127.0.0.1"


@pytest.mark.parametrize(
    "bad",
    [
        {"issued_for": "other.example"},
        {"issued_for": "safe.example", "trusted": False},
        {"issued_for": "safe.example", "not_after": datetime(2020, 1, 1, tzinfo=UTC)},
    ],
)
def test_a_certificate_that_is_not_valid_is_a_lasting_failure(bad: dict[str, Any]) -> None:
    outcome, _ = over_tls("safe.example", **bad)

    assert (failure_of(outcome).reason, failure_of(outcome).transient) == ("tls", False)


def test_plain_text_where_tls_is_expected_is_a_failure() -> None:
    async def run(answer: Answer) -> Outcome:
        async with serve({"*": answer}) as site:
            request = make_request(site.url.replace("http:", "https:"), limits=SHORT)
            return await fetch(request, policy=allowing(site))

    assert failure_of(asyncio.run(run(response()))).reason in ("tls", "timeout")


# -- proxies -------------------------------------------------------------------------------------------------------


def through_proxy(url: str, lookup_answer: list[str], **changes: Any) -> tuple[Outcome, Site]:
    async def lookup(host: str) -> list[str]:
        return lookup_answer

    async def run() -> tuple[Outcome, Site]:
        async with serve({"*": response("<p>by proxy</p>")}) as proxy:
            vantage = VantageSpec(proxy_url=f"http://customer-NAME-country-de:secret@127.0.0.1:{proxy.port}")
            policy = AddressPolicy(trusted_proxies=frozenset({f"127.0.0.1:{proxy.port}"}))
            policy = changes.get("policy", policy)
            return await fetch(make_request(url, vantage=vantage), policy=policy, lookup=lookup), proxy

    return asyncio.run(run())


def test_a_vantage_asks_through_its_proxy_with_its_credentials() -> None:
    outcome, proxy = through_proxy("http://shop.example/a", ["93.184.216.34"])

    assert (capture_of(outcome).html, capture_of(outcome).peer_address) == ("<p>by proxy</p>", "")
    assert proxy.requests[0].target == "http://shop.example/a"
    assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")


def test_tls_goes_through_the_proxy_to_the_site_itself() -> None:
    authority = trustme.CA()
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("safe.example").configure_cert(serving)
    asking = ssl.create_default_context()
    authority.configure_trust(asking)

    async def lookup(host: str) -> list[str]:
        return ["127.0.0.1"]

    async def run() -> Outcome:
        async with (
            serve({"/": response("<p>tunnelled</p>")}, tls=serving) as site,
            EgressProxy(allowing(site), NameBook(lookup), max_bytes=1 << 20) as proxy,
        ):
            proxy.announce("safe.example", site.port)
            trusted = frozenset({f"127.0.0.1:{proxy.port}"})
            vantage = VantageSpec(proxy_url=f"http://name:secret@127.0.0.1:{proxy.port}")
            request = make_request(f"https://safe.example:{site.port}/", vantage=vantage)
            policy = allowing(site, trusted_proxies=trusted)
            return await fetch(request, policy=policy, lookup=lookup, tls=asking)

    got = capture_of(asyncio.run(run()))

    assert got.html == "<p>tunnelled</p>"
    assert len(got.certificate_sha256) == 64


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("http://shop.example/", ["10.0.0.1"]),
        ("http://127.0.0.1/", []),
        ("http://169.254.169.254/", []),
        ("http://redis/", ["93.184.216.34"]),
    ],
)
def test_a_proxy_is_not_asked_for_private_targets(url: str, answer: list[str]) -> None:
    outcome, proxy = through_proxy(url, answer)

    assert (failure_of(outcome).reason, proxy.connections) == ("refused-by-policy", 0)


def test_a_proxy_on_a_private_address_has_to_be_named_by_the_deployment() -> None:
    outcome, proxy = through_proxy("http://shop.example/", ["93.184.216.34"], policy=AddressPolicy())

    assert (failure_of(outcome).reason, proxy.connections) == ("refused-by-policy", 0)
    assert "secret" not in repr(outcome)


# -- many ----------------------------------------------------------------------------------------------------------


async def collected(requests: Iterable[FetchRequest], **options: Any) -> list[Outcome]:
    return [outcome async for outcome in fetch_many(requests, **options)]


def test_a_hostile_page_does_not_delay_the_others() -> None:
    async def run() -> list[Outcome]:
        answers = {"/slow": wire(HEAD, forever=b"X-A: y\r\n", pause_s=0.02), "*": response()}
        async with serve(answers) as site:
            limits = Limits(total_s=2.0)
            paths = ["slow", "slow", *map(str, range(2, 12))]
            requests = [make_request(f"{site.url}/{path}", key=key, limits=limits) for key, path in enumerate(paths)]
            return await collected(requests, policy=allowing(site), concurrency=4, per_host=3)

    outcomes = asyncio.run(run())

    assert {outcome.key for outcome in outcomes[:10]} == set(range(2, 12))
    assert [failure_of(outcome).reason for outcome in outcomes[10:]] == ["timeout", "timeout"]


def test_one_host_gets_no_more_than_its_share() -> None:
    under_way = most = 0

    async def counting(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        writer.write(response())
        await writer.drain()

    async def run() -> list[Outcome]:
        async with serve({"*": counting}) as site:
            requests = [make_request(f"{site.url}/{key}", key=key) for key in range(8)]
            return await collected(requests, policy=allowing(site), concurrency=8, per_host=2)

    assert len(asyncio.run(run())) == 8
    assert most == 2


def test_large_pages_wait_for_room_without_losing_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitoring.fetching.http._LARGE_BYTES", 1000)
    monkeypatch.setattr("monitoring.fetching.http._LARGE_AT_ONCE", 1)
    packed = response(gzip.compress(b"<p>" + b"word " * 1000), headers=("Content-Encoding: gzip",))

    async def large(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(packed if request.path == "/0" else response(b"<p>" + b"word " * 1000))
        await writer.drain()

    async def run() -> list[Outcome]:
        async with serve({"*": large, "/small": response()}) as site:
            requests = [make_request(f"{site.url}/{key}", key=key, limits=Limits(total_s=0.8)) for key in range(4)]
            requests.append(make_request(f"{site.url}/small", key=4))
            outcomes = []
            async for outcome in fetch_many(requests, policy=allowing(site), per_host=5):
                outcomes.append(outcome)
                await asyncio.sleep(0.4)
            return outcomes

    outcomes = asyncio.run(run())

    assert sorted(outcome.key for outcome in outcomes) == [0, 1, 2, 3, 4]
    assert all(isinstance(outcome, Capture) for outcome in outcomes)
    assert outcomes.index(next(outcome for outcome in outcomes if outcome.key == 4)) <= 1


def test_a_large_page_that_fails_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitoring.fetching.http._LARGE_BYTES", 1000)
    monkeypatch.setattr("monitoring.fetching.http._LARGE_AT_ONCE", 1)
    cut = wire(HEAD + b"Content-Length: 50000\r\n\r\n" + b"x" * 5000)

    async def run() -> list[Outcome]:
        async with serve({"*": cut, "/3": response("x" * 5000)}) as site:
            requests = [make_request(f"{site.url}/{key}", key=key) for key in range(4)]
            return await collected(requests, policy=allowing(site))

    reasons = {outcome.key: getattr(outcome, "reason", "") for outcome in asyncio.run(run())}

    assert reasons == {0: "protocol", 1: "protocol", 2: "protocol", 3: ""}


def test_stopping_early_leaves_nothing_running() -> None:
    async def run() -> int:
        async with serve({"*": response()}) as site:
            requests = [make_request(f"{site.url}/{key}", key=key) for key in range(50)]
            async with aclosing(fetch_many(requests, policy=allowing(site), concurrency=2)) as outcomes:
                async for _ in outcomes:
                    break
            left = [task for task in asyncio.all_tasks() if "one" in repr(task.get_coro())]
            return len(left)

    assert asyncio.run(run()) == 0


def test_nothing_to_fetch_ends_at_once() -> None:
    assert asyncio.run(collected([], policy=AddressPolicy())) == []
