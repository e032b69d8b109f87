"""What went wrong on the way to a page: the stage, the certificate's fault and its day, by code and in words."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from monitoring.fetching import faults
from monitoring.fetching.capture import Failure, FetchRequest, Limits, Outcome, VantageSpec
from monitoring.fetching.errors import LookupFailed
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.http import fetch
from tests.fetching.server import Request, response, serve

DAY = timedelta(days=1)


def failed(url: str, port: int, **changes: Any) -> Failure:
    policy = changes.pop("policy", AddressPolicy(allow=frozenset({("127.0.0.1", port)})))
    options = {name: changes.pop(name) for name in ("lookup", "tls") if name in changes}
    limits = changes.pop("limits", Limits(total_s=5.0))
    got = asyncio.run(fetch(FetchRequest(key=1, url=url, limits=limits, **changes), policy=policy, **options))
    assert isinstance(got, Failure)
    return got


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_refused_connection_is_told_as_one() -> None:
    port = closed_port()

    got = failed(f"http://127.0.0.1:{port}/", port)

    assert (got.reason, got.cause) == ("connect", "connect-refused")


@pytest.mark.parametrize(("number", "cause"), [(socket.EAI_NONAME, "dns-not-found"), (socket.EAI_AGAIN, "dns-timeout")])
def test_a_name_that_is_not_there_differs_from_one_nobody_answers_for(number: int, cause: str) -> None:
    async def lookup(_host: str) -> list[str]:
        raise socket.gaierror(number, "said by the system")

    got = failed("http://nowhere.example/", 80, lookup=lookup)

    assert (got.reason, got.cause) == ("dns", cause)
    assert "said by the system" not in got.message


def test_a_lookup_that_failed_otherwise_has_no_finer_cause() -> None:
    assert faults.of_lookup(LookupFailed("The name has no address.")).cause == ""


async def silent(_request: Request, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def half(_request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    await asyncio.Event().wait()


async def cut(_request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\nhalf")
    await writer.drain()


@pytest.mark.parametrize(
    ("behaviour", "seconds", "reason", "cause"),
    [
        (silent, 1.5, "timeout", "timeout-head"),
        (half, 1.5, "timeout", "timeout-body"),
        (cut, 30.0, "protocol", "truncated"),
    ],
)
def test_an_answer_that_does_not_come_whole_is_told_by_its_stage(
    behaviour: Callable[[Request, asyncio.StreamWriter], Awaitable[None]], seconds: float, reason: str, cause: str
) -> None:
    async def run() -> Outcome:
        async with serve({"/": behaviour}) as site:
            policy = AddressPolicy(allow=frozenset({("127.0.0.1", site.port)}))
            return await fetch(FetchRequest(key=1, url=site.url, limits=Limits(total_s=seconds)), policy=policy)

    got = asyncio.run(run())

    assert isinstance(got, Failure)
    assert (got.reason, got.cause) == (reason, cause)
    assert reason != "timeout" or got.data == {"seconds": "1.5"}


def test_a_handshake_without_end_is_no_lack_of_a_connection() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]

        got = failed(f"https://127.0.0.1:{port}/", port, limits=Limits(total_s=1.5))

    assert (got.reason, got.cause) == ("timeout", "timeout-tls")


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ECONNREFUSED, "connect-refused"),
        (errno.EHOSTUNREACH, "connect-unreachable"),
        (errno.ENETUNREACH, "connect-unreachable"),
        (errno.ECONNRESET, "connect-reset"),
        (errno.ETIMEDOUT, "timeout-connect"),
        (errno.EIO, ""),
    ],
)
def test_each_way_a_connection_fails_has_its_cause(number: int, cause: str) -> None:
    fault = faults.of_connection(OSError(number, "said by the system"))

    assert (fault.reason, fault.cause, fault.transient) == ("connect", cause, True)
    assert "said by the system" not in fault.sentence


def self_signed() -> tuple[bytes, bytes]:
    """A certificate that vouches for itself, and its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, now - DAY, now + DAY).sign(key, hashes.SHA256())
    encoding = serialization.Encoding.PEM
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return built.public_bytes(encoding), key.private_bytes(encoding, *plain)


def asked_over_tls(serving: ssl.SSLContext, asking: ssl.SSLContext) -> tuple[Failure, int]:
    async def run() -> tuple[Outcome, int]:
        async with serve({"/": response()}, tls=serving) as site:
            policy = AddressPolicy(allow=frozenset({("127.0.0.1", site.port)}))
            request = FetchRequest(key=1, url=site.url, limits=Limits(total_s=10.0))
            return await fetch(request, policy=policy, tls=asking), len(site.requests)

    got, requests = asyncio.run(run())
    assert isinstance(got, Failure)
    return got, requests


def test_an_expired_certificate_names_its_day() -> None:
    authority, ended = trustme.CA(), datetime(2026, 3, 5, 12, 0, tzinfo=UTC)
    serving, asking = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1", not_before=ended - DAY, not_after=ended).configure_cert(serving)
    authority.configure_trust(asking)

    got, requests = asked_over_tls(serving, asking)

    assert (got.reason, got.cause, got.data, requests) == ("tls", "tls-expired", {"on": "2026-03-05"}, 0)
    assert got.message == "The site's certificate has expired, on 2026-03-05."


def test_a_certificate_that_vouches_for_itself_is_told_apart_from_an_unknown_authority(tmp_path: Any) -> None:
    certificate, key = self_signed()
    (tmp_path / "pem").write_bytes(certificate + key)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(tmp_path / "pem")

    got, _ = asked_over_tls(serving, ssl.create_default_context())

    assert got.cause == "tls-self-signed"


@pytest.mark.parametrize(("issued_for", "known", "cause"), [
    ("127.0.0.9", True, "tls-wrong-name"), ("127.0.0.1", False, "tls-unknown-issuer"),
])  # fmt: skip
def test_a_certificates_fault_is_told_by_code(issued_for: str, known: bool, cause: str) -> None:
    authority = trustme.CA()
    serving, asking = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert(issued_for).configure_cert(serving)
    if known:
        authority.configure_trust(asking)

    assert asked_over_tls(serving, asking)[0].cause == cause


@pytest.mark.parametrize("year", [1999, 2031, 2049, 2050, 2150])
def test_the_end_of_a_certificate_is_read_in_both_its_notations(year: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    ends = datetime(year, 6, 1, 8, 30, tzinfo=UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 7, ends - DAY, ends).sign(key, hashes.SHA256())

    assert faults.not_after(built.public_bytes(serialization.Encoding.DER)) == ends


@pytest.mark.parametrize("noise", [b"", b"0", b"\x30\x82\xff\xff", bytes(100), b"\x30\x03\x02\x01\x01", b"\xff" * 300])
def test_bytes_that_are_no_certificate_have_no_end(noise: bytes) -> None:
    assert faults.not_after(noise) is None


def test_the_day_of_a_certificate_is_not_waited_for() -> None:
    async def run() -> datetime | None:
        return await faults.expiry_of("127.0.0.1", closed_port(), "shop.example")

    assert asyncio.run(run()) is None


def test_a_vantage_whose_proxy_cannot_be_filled_in_asks_nobody() -> None:
    async def run() -> tuple[Outcome, int]:
        async with serve({"/": response()}) as site:
            vantage = VantageSpec(proxy_fault="The secret GATE is not set.")
            policy = AddressPolicy(allow=frozenset({("127.0.0.1", site.port)}))
            return await fetch(FetchRequest(key=1, url=site.url, vantage=vantage), policy=policy), site.connections

    got, connections = asyncio.run(run())

    assert isinstance(got, Failure)
    assert (got.reason, got.message, connections) == ("refused-by-policy", "The secret GATE is not set.", 0)
