"""Opened private networks, limits by stage, and what an invalid certificate is told as."""

from __future__ import annotations

import ast
import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from monitoring.fetching.capture import Failure, FetchRequest, Limits, Outcome
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import REFUSED_ADDRESS, AddressPolicy, check_url, vet
from monitoring.fetching.http import fetch
from monitoring.fetching.resolver import NameBook, VettedResolver, policy_beyond
from tests.fetching.server import Request, redirect, response, serve

INSIDE = AddressPolicy(
    allow_networks=frozenset({"10.20.0.0/16", "fd00:1::/32"}), own_addresses=frozenset({"10.20.0.9"})
)
ROOT = Path(__file__).resolve().parents[2]


# --- opened networks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["http://10.20.3.4/", "http://[fd00:1::5]/", "http://wiki.internal/", "http://wiki/"])
def test_an_opened_network_and_its_names_may_be_watched(url: str) -> None:
    assert check_url(url, INSIDE) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://10.21.0.1/",
        "http://10.20.0.9/",  # one of our own
        "http://127.0.0.1/",
        "http://169.254.169.254/",
        "http://[::ffff:10.20.3.4]/",  # wrapped: only as itself
        "http://[fd00:2::5]/",
        "http://localhost/",
    ],
)
def test_opening_one_network_opens_nothing_else(url: str) -> None:
    with pytest.raises(Refused):
        check_url(url, INSIDE)


@pytest.mark.parametrize("network", ["0.0.0.0/0", "127.0.0.0/8", "169.254.0.0/16", "::/0", "10.0.0.0/7"])
def test_a_network_that_is_not_private_opens_nothing(network: str) -> None:
    policy = AddressPolicy(allow_networks=frozenset({network}))

    for url in ("http://127.0.0.1/", "http://169.254.169.254/", "http://10.0.0.1/", "http://[::1]/"):
        with pytest.raises(Refused):
            check_url(url, policy)


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "224.0.0.1", "10.20.0.9"])
def test_every_refused_address_is_told_alike(address: str) -> None:
    """Literal or behind a name, open port or closed: the answer says nothing about what is where."""

    async def lookup(host: str) -> list[str]:
        return [address]

    async def through_a_name() -> str:
        with pytest.raises(Refused) as refused:
            await VettedResolver(INSIDE, NameBook(lookup)).addresses("name.example", 80)
        return refused.value.sentence

    with pytest.raises(Refused) as refused:
        check_url(f"http://{address}/", INSIDE)

    assert refused.value.sentence == REFUSED_ADDRESS == asyncio.run(through_a_name())


def test_a_page_outside_does_not_lead_into_an_opened_network() -> None:
    names = {
        "shop.example": ["93.184.216.34"],
        "wiki.internal": ["10.20.3.4"],
        "both.example": ["93.184.216.34", "10.20.3.4"],
    }

    async def lookup(host: str) -> list[str]:
        return names[host]

    async def beyond(url: str) -> AddressPolicy:
        return await policy_beyond(vet(url, INSIDE), INSIDE, NameBook(lookup))

    assert asyncio.run(beyond("http://wiki.internal/")) is INSIDE
    assert asyncio.run(beyond("http://10.20.3.4/")) is INSIDE
    for url in ("http://shop.example/", "http://both.example/", "http://93.184.216.34/"):
        assert asyncio.run(beyond(url)).allow_networks == frozenset()


def test_a_redirect_from_outside_into_an_opened_network_is_refused_unconnected() -> None:
    async def run() -> Outcome:
        async with serve({"/": redirect("http://10.20.3.4/")}) as site:
            policy = AddressPolicy(allow=frozenset({("127.0.0.1", site.port)}), allow_networks=INSIDE.allow_networks)
            return await fetch(FetchRequest(key=1, url=site.url, limits=Limits(total_s=5.0)), policy=policy)

    got = asyncio.run(run())

    assert isinstance(got, Failure)
    assert (got.reason, REFUSED_ADDRESS in got.message) == ("redirect-refused", True)


def test_a_link_on_a_page_outside_does_not_lead_into_an_opened_network() -> None:
    async def lookup(host: str) -> list[str]:
        return {"wiki.internal": ["10.20.3.4"], "shop.example": ["93.184.216.34"]}[host]

    def reason(page: str, link: str) -> str:
        request = FetchRequest(key=1, url=link, linked_from=page, limits=Limits(total_s=5.0))
        got = asyncio.run(fetch(request, policy=INSIDE, lookup=lookup))
        assert isinstance(got, Failure)
        return got.reason

    for page in ("http://shop.example/", "http://93.184.216.34/"):
        assert reason(page, "http://10.20.3.4/a.pdf") == "refused-by-policy"
        assert reason(page, "http://wiki.internal/a.pdf") == "refused-by-policy"
    # From inside it may; the tests' own guard is what keeps it from being reached here.
    assert reason("http://wiki.internal/", "http://10.20.3.4:8081/a.pdf") == "refused-by-policy"  # the port
    assert reason("http://wiki.internal/", "http://10.20.3.4/a.pdf") != "refused-by-policy"


@pytest.mark.parametrize("address", ["100.100.100.200", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"])
def test_no_opened_network_opens_a_clouds_metadata(address: str) -> None:
    policy = AddressPolicy(allow_networks=frozenset({"100.64.0.0/10", "fc00::/7"}))

    assert policy.objection(address, 80)
    assert not policy.objection("fd00:1::1", 80)


# --- limits by stage --------------------------------------------------------------------------------------------


async def silent(_request: Request, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def half(_request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("behaviour", "limits", "said"),
    [
        (silent, Limits(total_s=20.0, connect_s=0.1, head_s=0.2), "did not answer within 0.3 s"),
        (silent, Limits(total_s=1.5), "did not answer within 1.5 s"),
        (half, Limits(total_s=1.5), "did not arrive whole within 1.5 s"),
    ],
)
def test_a_time_out_names_its_stage(behaviour: Callable[..., object], limits: Limits, said: str) -> None:
    async def run() -> Outcome:
        async with serve({"/": behaviour}) as site:  # type: ignore[dict-item]
            policy = AddressPolicy(allow=frozenset({("127.0.0.1", site.port)}))
            return await fetch(FetchRequest(key=1, url=site.url, limits=limits), policy=policy)

    got = asyncio.run(run())

    assert isinstance(got, Failure)
    assert (got.reason, got.transient) == ("timeout", True)
    assert said in got.message


def test_a_handshake_that_never_ends_is_cut_at_the_limit_for_connecting() -> None:
    async def run() -> Outcome:
        async def hold(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await done.wait()
            writer.transport.abort()

        done = asyncio.Event()
        server = await asyncio.start_server(hold, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        policy = AddressPolicy(allow=frozenset({("127.0.0.1", port)}))
        limits = Limits(total_s=20.0, connect_s=0.2)
        try:
            return await fetch(FetchRequest(key=1, url=f"https://127.0.0.1:{port}/", limits=limits), policy=policy)
        finally:
            done.set()
            server.close()
            await server.wait_closed()

    got = asyncio.run(run())

    assert isinstance(got, Failure)
    assert (got.reason, got.message) == ("timeout", "No secure connection to the site could be made within 0.2 s.")


def test_a_name_that_is_never_resolved_is_told_so() -> None:
    async def lookup(_host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    got = asyncio.run(
        fetch(
            FetchRequest(key=1, url="http://slow.example/", limits=Limits(total_s=0.2)),
            policy=AddressPolicy(),
            lookup=lookup,
        )
    )

    assert isinstance(got, Failure)
    assert (got.reason, got.message) == ("timeout", "The name of the site was not resolved within 0.2 s.")


# --- certificates -----------------------------------------------------------------------------------------------

AUTHORITY, STRANGER = trustme.CA(), trustme.CA()
DAY = timedelta(days=1)


def faulty(kind: str) -> trustme.LeafCert:
    today = datetime.now(UTC)
    match kind:
        case "expired":
            return AUTHORITY.issue_cert("127.0.0.1", not_before=today - 9 * DAY, not_after=today - DAY)
        case "not yet valid":
            return AUTHORITY.issue_cert("127.0.0.1", not_before=today + DAY, not_after=today + 9 * DAY)
        case "wrong address":
            return AUTHORITY.issue_cert("127.0.0.9")
        case "wrong name":
            return AUTHORITY.issue_cert("other.example")
        case _:
            return STRANGER.issue_cert("127.0.0.1")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("expired", "has expired"),
        ("not yet valid", "is not valid yet"),
        ("wrong address", "is for another"),
        ("wrong name", "is for another"),
        ("unknown authority", "authority that is not trusted here"),
    ],
)
def test_an_invalid_certificate_is_told_by_its_fault_and_never_passed_over(kind: str, said: str) -> None:
    async def run() -> tuple[Outcome, int]:
        server_tls, client_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
        faulty(kind).configure_cert(server_tls)
        AUTHORITY.configure_trust(client_tls)
        async with serve({"/": response()}, tls=server_tls) as site:
            policy = AddressPolicy(allow=frozenset({("127.0.0.1", site.port)}))
            request = FetchRequest(key=1, url=site.url, limits=Limits(total_s=10.0))
            return await fetch(request, policy=policy, tls=client_tls), len(site.requests)

    got, requests = asyncio.run(run())

    assert isinstance(got, Failure)
    assert (got.reason, got.transient, requests) == ("tls", False, 0)
    assert said in got.message


# --- one way out ------------------------------------------------------------------------------------------------

# Whoever opens a connection, by file: a new one has to go through the guard, and then be named here.
CONNECTS = {
    "monitoring/fetching/http.py": {"ClientSession"},
    "monitoring/fetching/egress.py": {"open_connection"},
    "monitoring/fetching/faults.py": {"open_connection"},  # once more to an address judged before, for a certificate
    "monitoring/fetching/resolver.py": {"getaddrinfo"},
    "monitoring/services/egress.py": {"getaddrinfo"},  # this machine's own name
    "monitoring/services/doctor/machine.py": {"getaddrinfo"},  # whether names are known; nothing is connected to
    "monitoring/services/doctor/outside.py": {"SMTP", "smtplib"},  # the mail server that the deployment names
    "monitoring/services/outbox.py": {"smtplib"},  # its errors; mail goes to the server that the deployment names
    "monitoring/storage/s3.py": {"boto3", "botocore"},  # the storage service that the deployment names
    "monitoring/management/commands/run.py": {"socket"},  # whether the web server's port is free
}
OPENERS = {
    "ClientSession", "open_connection", "create_connection", "getaddrinfo", "urlopen", "urlretrieve", "build_opener",
    "HTTPConnection", "HTTPSConnection", "create_datagram_endpoint", "SMTP", "SMTP_SSL", "AsyncClient", "sock_connect", "open_unix_connection",
}  # fmt: skip


CLIENTS = {"requests", "httpx", "urllib3", "smtplib", "ftplib", "imaplib", "poplib", "telnetlib", "boto3", "botocore"}


def imported(tree: ast.AST) -> set[str]:
    """The modules that a file imports, in either spelling."""
    whole = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return whole | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_nothing_else_in_the_product_opens_connections() -> None:
    found: dict[str, set[str]] = {}
    for package in ("monitoring", "review", "config"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
            names = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
            modules = {name.partition(".")[0] for name in imported(tree)} & CLIENTS
            opens = (names & OPENERS) | modules
            if "socket" in names:  # socket.socket(...)
                opens.add("socket")
            if opens:
                found[path.relative_to(ROOT).as_posix()] = opens

    assert found == CONNECTS
