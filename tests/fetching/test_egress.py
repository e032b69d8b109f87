"""The browser's only way out, asked directly."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from monitoring.fetching.capture import Exemption
from monitoring.fetching.egress import EgressProxy, Upstream
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.resolver import NameBook
from tests.fetching.server import Behaviour, Request, Site, response, serve


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitoring.fetching.egress._ANNOUNCEMENT_S", 0.05)


async def to_loopback(host: str) -> list[str]:
    return ["127.0.0.1"]


def allowing(*sites: Site, **more: Any) -> AddressPolicy:
    return AddressPolicy(allow=frozenset(("127.0.0.1", site.port) for site in sites), **more)


@asynccontextmanager
async def proxy_for(policy: AddressPolicy, **options: Any) -> AsyncIterator[EgressProxy]:
    async with EgressProxy(policy, NameBook(to_loopback), **{"max_bytes": 1 << 20} | options) as proxy:
        yield proxy


async def ask(proxy: EgressProxy, raw: str) -> bytes:
    """Everything that the proxy answers to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(raw.encode("latin-1"))
    try:
        async with asyncio.timeout(3):
            return await reader.read()
    finally:
        writer.close()


def get(url: str, *headers: str) -> str:
    return "\r\n".join([f"GET {url} HTTP/1.1", "Host: x", *headers, "", ""])


def test_an_announced_page_is_passed_on_in_origin_form() -> None:
    async def run() -> tuple[bytes, Request, dict[str, str]]:
        async with serve({"/a": response("<p>hi</p>")}) as site, proxy_for(allowing(site)) as proxy:
            proxy.announce("shop.example", site.port)
            raw = get(f"http://shop.example:{site.port}/a?b=1", "Proxy-Authorization: x", "Accept: text/html")
            answer = await ask(proxy, raw)
            return answer, site.requests[0], proxy.peers | {"port": str(site.port)}

    answer, request, peers = asyncio.run(run())

    assert answer.endswith(b"<p>hi</p>")
    assert request.target == "/a?b=1"
    assert request.headers["host"] == f"shop.example:{peers['port']}"
    assert request.headers["connection"] == "close"
    assert "proxy-authorization" not in request.headers
    assert peers[f"shop.example:{peers['port']}"] == "127.0.0.1"


def test_a_host_that_nobody_announced_is_refused() -> None:
    async def run() -> tuple[bytes, bytes, int]:
        async with serve({"*": response()}) as site, proxy_for(allowing(site)) as proxy:
            plain = await ask(proxy, get(f"http://shop.example:{site.port}/"))
            tunnel = await ask(proxy, f"CONNECT shop.example:{site.port} HTTP/1.1\r\n\r\n")
            return plain, tunnel, site.connections

    plain, tunnel, connections = asyncio.run(run())

    assert plain.startswith(b"HTTP/1.1 403")
    assert tunnel.startswith(b"HTTP/1.1 403")
    assert connections == 0


@pytest.mark.parametrize(
    "raw",
    [
        "GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n",
        "GET http://2130706433:{port}/ HTTP/1.1\r\n\r\n",
        "GET http://localhost:{port}/ HTTP/1.1\r\n\r\n",
        "GET http://inside.example:{port}/ HTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n",
        "CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1\r\n\r\n",
        "CONNECT inside.example:{port} HTTP/1.1\r\n\r\n",
        "CONNECT a@inside.example:{port} HTTP/1.1\r\n\r\n",
        "CONNECT inside.example:{port}/../x HTTP/1.1\r\n\r\n",
        "GET /relative HTTP/1.1\r\n\r\n",
        "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
    ],
)
def test_nothing_private_is_reached_even_when_announced(raw: str) -> None:
    async def run() -> tuple[bytes, int]:
        async with serve({"*": response()}) as canary:
            policy = AddressPolicy(extra_ports=frozenset({canary.port}))
            async with proxy_for(policy) as proxy:
                for host in ("127.0.0.1", "localhost", "inside.example", "::ffff:127.0.0.1", "::ffff:7f00:1"):
                    proxy.announce(host, canary.port)
                return await ask(proxy, raw.format(port=canary.port)), canary.connections

    answer, connections = asyncio.run(run())

    assert answer.split(b" ")[1] in (b"400", b"403")
    assert connections == 0


def test_a_tunnel_carries_bytes_both_ways() -> None:
    async def run() -> bytes:
        async with serve({"/": response("<p>through</p>")}) as site, proxy_for(allowing(site)) as proxy:
            proxy.announce("shop.example", site.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(f"CONNECT shop.example:{site.port} HTTP/1.1\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = await reader.readuntil(b"</p>")
            writer.close()
            return answer

    assert asyncio.run(run()).endswith(b"<p>through</p>")


def test_a_second_request_on_the_connection_goes_nowhere() -> None:
    async def run() -> list[str]:
        async with serve({"*": response()}) as site, proxy_for(allowing(site)) as proxy:
            proxy.announce("one.example", site.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write((get(f"http://one.example:{site.port}/1") + get(f"http://two.example:{site.port}/2")).encode())
            await reader.readuntil(b"</p>")
            writer.close()
            return site.paths()

    assert asyncio.run(run()) == ["/1"]


def test_the_browser_is_told_that_the_connection_ends() -> None:
    async def stays_open(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        writer.write(response("<p>hi</p>", headers=("Connection: keep-alive", "Keep-Alive: timeout=60")))
        await writer.drain()
        await asyncio.Event().wait()

    async def run() -> bytes:
        async with serve({"*": stays_open}) as site, proxy_for(allowing(site)) as proxy:
            proxy.announce("shop.example", site.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(get(f"http://shop.example:{site.port}/").encode())
            answer = await reader.readuntil(b"</p>")
            writer.close()
            return answer

    interim, final = asyncio.run(run()).split(b"HTTP/1.1 200", 1)

    assert interim.startswith(b"HTTP/1.1 103")
    assert b"\r\nConnection: close\r\n\r\n<p>hi</p>" in final
    assert b"keep-alive" not in final.lower()


@pytest.mark.parametrize("raw", [b"<html>no head", b"HTTP/1.1\r\n\r\n", b"", b"\r\n\r\n"])
def test_an_answer_without_a_head_ends_the_connection(raw: bytes) -> None:
    async def run() -> bytes:
        async with serve({"*": answer_and_close(raw)}) as site, proxy_for(allowing(site)) as proxy:
            proxy.announce("shop.example", site.port)
            return await ask(proxy, get(f"http://shop.example:{site.port}/"))

    assert asyncio.run(run()).startswith(raw.removesuffix(b"\r\n\r\n"))


def answer_and_close(raw: bytes) -> Behaviour:
    async def behave(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return behave


def test_all_is_cut_off_when_too_much_comes_in() -> None:
    async def endless(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    async def run() -> tuple[int, bool]:
        async with serve({"*": endless}) as site, proxy_for(allowing(site), max_bytes=200_000) as proxy:
            proxy.announce("big.example", site.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(get(f"http://big.example:{site.port}/").encode())
            got = 0
            try:
                while piece := await reader.read(65536):
                    got += len(piece)
            except ConnectionError:
                pass
            writer.close()
            return got, proxy.over_budget

    got, over = asyncio.run(run())

    assert over
    assert got <= 200_000


def test_a_page_cannot_send_without_end_either() -> None:
    async def swallow(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def run() -> bool:
        async with serve({"*": swallow}) as site, proxy_for(allowing(site), max_bytes=100_000) as proxy:
            proxy.announce("big.example", site.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(get(f"http://big.example:{site.port}/", "Content-Length: 9000000").encode())
            writer.write(b"x" * 200_000)
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
            return proxy.over_budget

    assert asyncio.run(run())


def test_the_vantages_proxy_is_asked_with_its_credentials() -> None:
    async def run() -> tuple[Request, Request]:
        tunnel = b"HTTP/1.1 200 OK\r\n\r\n"
        async with serve({"shop.example:443": tunnel, "*": response()}) as upstream:
            policy = AddressPolicy(trusted_proxies=frozenset({f"127.0.0.1:{upstream.port}"}))
            chain = Upstream.of(f"http://customer-NAME-country-de:s%40cret@127.0.0.1:{upstream.port}")
            async with EgressProxy(policy, NameBook(to_public), upstream=chain, max_bytes=1000) as proxy:
                proxy.announce("shop.example", 80)
                proxy.announce("shop.example", 443)
                for raw in (get("http://shop.example/a"), "CONNECT shop.example:443 HTTP/1.1\r\n\r\n"):
                    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
                    writer.write(raw.encode())
                    await reader.readuntil(b"\r\n\r\n")
                    writer.close()
            return upstream.requests[0], upstream.requests[1]

    plain, tunnel = asyncio.run(run())

    assert plain.target == "http://shop.example/a"
    assert (tunnel.method, tunnel.target) == ("CONNECT", "shop.example:443")
    for request in (plain, tunnel):
        token = request.headers["proxy-authorization"].removeprefix("Basic ")
        assert base64.b64decode(token) == b"customer-NAME-country-de:s@cret"


async def to_public(host: str) -> list[str]:
    return ["93.184.216.34"]


def test_a_private_proxy_has_to_be_named_by_the_deployment() -> None:
    async def run() -> tuple[bytes, int]:
        async with serve({"*": response()}) as upstream:
            chain = Upstream.of(f"http://127.0.0.1:{upstream.port}")
            async with EgressProxy(AddressPolicy(), NameBook(to_public), upstream=chain, max_bytes=1000) as proxy:
                proxy.announce("shop.example", 80)
                return await ask(proxy, get("http://shop.example/")), upstream.connections

    answer, connections = asyncio.run(run())

    assert answer.startswith(b"HTTP/1.1 403")
    assert connections == 0


@pytest.mark.parametrize("url", ["nonsense", "socks5://host:1", "http://host:99999", "http://"])
def test_a_proxy_address_that_cannot_be_read_is_refused(url: str) -> None:
    with pytest.raises(Refused):
        Upstream.of(url)


def test_the_products_own_pages_pass_by_path() -> None:
    async def run() -> tuple[bytes, list[str]]:
        async with serve({"*": response()}) as site:
            exemption = Exemption(origin=site.url, path_prefix="/sample/")
            async with proxy_for(AddressPolicy(), exemption=exemption) as proxy:
                proxy.announce("127.0.0.1", site.port)
                reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
                writer.write(get(f"{site.url}/sample/a").encode())
                await reader.readuntil(b"</p>")
                writer.close()
                refused = await ask(proxy, get(f"{site.url}/sample/../admin"))
                return refused, site.paths()

    refused, paths = asyncio.run(run())

    assert refused.startswith(b"HTTP/1.1 403")
    assert paths == ["/sample/a"]
