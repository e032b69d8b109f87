"""The browser's only way out: a proxy on loopback that refuses by default.

A browser resolves names, follows redirects and starts requests of its own that no page asked for. So it gets no
network but this proxy, which lets a connection through only when the renderer announced its host (a request it saw the
page make), the guard accepts the URL, and every address of the name is public; it then connects to the checked address.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import ssl
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Self

from yarl import URL

from monitoring.fetching import faults
from monitoring.fetching.capture import Exemption, Limits
from monitoring.fetching.errors import FetchError, LookupFailed, Refused
from monitoring.fetching.guard import AddressPolicy, Target, vet
from monitoring.fetching.resolver import NameBook, VettedResolver

MARK = "x-egress"

_MAX_HEAD = 64 * 1024
_PIECE = 64 * 1024
_CONNECT_S = 10.0
_HEAD_S = 10.0
# The page's request is reported to us beside the connection it causes; either may come first.
_ANNOUNCEMENT_S = 2.0
_MAX_CONNECTIONS = 64
_MAX_INTERIM = 20
_CONNECTION_HEADERS = frozenset({b"connection", b"keep-alive", b"proxy-connection"})
_HOP_HEADERS = frozenset(
    {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade"}
)


@dataclass(frozen=True, slots=True)
class Upstream:
    """The vantage's own proxy, through which this one asks when the vantage has one."""

    host: str
    port: int
    authorization: str
    secure: bool

    @classmethod
    def of(cls, proxy_url: str) -> Upstream | None:
        """Taken from a URL with credentials; None for the empty string; raises `Refused` when it cannot be read."""
        if not proxy_url:
            return None
        try:
            url = URL(proxy_url)
            host, port = url.host or "", url.port or 0
        except ValueError:
            host, port = "", 0
        if not host or not port or url.scheme not in ("http", "https"):
            raise Refused("proxy", "The vantage's proxy address cannot be read.")
        secret = f"{url.user or ''}:{url.password or ''}" if url.user else ""
        token = base64.b64encode(secret.encode()).decode("ascii") if secret else ""
        return cls(host, port, f"Basic {token}" if token else "", url.scheme == "https")


@dataclass(frozen=True, slots=True)
class _Head:
    """A request as the browser sent it."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def length(self) -> int:
        """Bytes of body that follow; browsers send no chunked bodies over HTTP/1.1."""
        value = next((value for name, value in self.headers if name.lower() == "content-length"), "0")
        return int(value) if value.isascii() and value.isdigit() else 0


class EgressProxy:
    """An HTTP proxy for one render. Use as an async context manager; `port` is where it listens on 127.0.0.1.

    Answers of its own carry `token` in the header `MARK`. `trouble` tells per "host:port" why nothing came from there, `peers` which address was connected to, and
    `over_budget` that more than `max_bytes` went through, both ways together, and everything was cut off.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        names: NameBook,
        *,
        exemption: Exemption | None = None,
        upstream: Upstream | None = None,
        max_bytes: int,
    ) -> None:
        self._policy = policy
        self._resolver = VettedResolver(policy, names)
        self._proxy_resolver = VettedResolver(policy, names, trusted=policy.trusted_proxies)
        self._names = names
        self._exemption = exemption
        self._upstream = upstream
        self._left = max_bytes
        self._server: asyncio.Server | None = None
        self._announced: dict[str, asyncio.Event] = {}
        self._writers: set[asyncio.StreamWriter] = set()
        self._slots = asyncio.Semaphore(_MAX_CONNECTIONS)
        # Marks the answers that are the proxy's own; a page cannot guess it.
        self.token = secrets.token_hex(16)
        self.port = 0
        self.over_budget = False
        self.trouble: dict[str, FetchError] = {}
        self.peers: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MAX_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            self._cut_all()
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await self._server.wait_closed()

    def announce(self, host: str, port: int) -> None:
        """Say that the page asked for this host; without it the proxy lets nothing through to it."""
        self._event(host, port).set()

    def _event(self, host: str, port: int) -> asyncio.Event:
        return self._announced.setdefault(f"{host}:{port}", asyncio.Event())

    def _cut_all(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with self._slots:
                await self._handle(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # either side went away or sent nothing usable: the browser reports it on its request
        finally:
            self._writers.discard(writer)
            with suppress(OSError):
                writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_S):
            head = _parsed(await reader.readuntil(b"\r\n\r\n"))
        if head is None:
            return await self._answer(writer, 400)
        tunnel = head.method == "CONNECT"
        try:
            target = vet(
                f"https://{head.target}/" if tunnel else head.target,
                self._policy,
                exemption=None if tunnel else self._exemption,
            )
        except Refused:
            return await self._answer(writer, 403)
        place = f"{target.host}:{target.port}"
        try:
            async with asyncio.timeout(_ANNOUNCEMENT_S):
                await self._event(target.host, target.port).wait()
        except TimeoutError:
            return await self._answer(writer, 403)
        try:
            far_reader, far_writer = await self._connect(target, tunnel=tunnel)
        except FetchError as error:
            self.trouble[place] = error
            return await self._answer(writer, 403 if isinstance(error, Refused) else 502)
        self._writers.add(far_writer)
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._relay_both(reader, writer, far_reader, far_writer)
            else:
                far_writer.write(self._rewritten(head, target))
                await self._copy(reader, far_writer, head.length())
                # One request per connection: what the browser sends next may be for another host.
                await self._copy_head(far_reader, writer)
                await self._copy(far_reader, writer)
        finally:
            self._writers.discard(far_writer)
            far_writer.close()
        return None

    async def _answer(self, writer: asyncio.StreamWriter, status: int) -> None:
        reason = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}[status]
        lines = (f"HTTP/1.1 {status} {reason}", "Content-Length: 0", "Connection: close", f"{MARK}: {self.token}")
        writer.write("\r\n".join((*lines, "", "")).encode("ascii"))
        await writer.drain()

    async def _connect(self, target: Target, *, tunnel: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a judged address of the target, or to the vantage's proxy with the target judged as well."""
        if target.exempt:
            addresses = [target.host] if target.address is not None else await self._names.addresses(target.host)
        elif target.address is not None:
            addresses = [target.host]
        else:
            addresses = await self._resolver.addresses(target.host, target.port)
        if self._upstream is None or target.exempt:
            reader, writer, peer = await _open(addresses, target.port, None, "")
            self.peers[f"{target.host}:{target.port}"] = peer
            return reader, writer
        reader, writer = await self._open_upstream(self._upstream)
        if tunnel:
            await self._tunnel_upstream(self._upstream, target, reader, writer)
        return reader, writer

    async def _open_upstream(self, upstream: Upstream) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            ip_address(upstream.host)
        except ValueError:
            addresses = await self._proxy_resolver.addresses(upstream.host, upstream.port)
        else:
            addresses = [upstream.host]
            why = self._policy.objection(upstream.host, upstream.port)
            if why and f"{upstream.host}:{upstream.port}" not in self._policy.trusted_proxies:
                raise Refused("proxy", f"The vantage's proxy has an address that is {why}.")
        tls = ssl.create_default_context() if upstream.secure else None
        try:
            reader, writer, _ = await _open(addresses, upstream.port, tls, upstream.host)
        except FetchError as error:
            told = "The vantage's proxy could not be reached."
            raise FetchError(told, reason="connect", transient=True, cause="proxy-unreached") from error
        return reader, writer

    async def _tunnel_upstream(
        self, upstream: Upstream, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        place = target.origin.partition("://")[2]
        place = place if place.endswith(f":{target.port}") else f"{place}:{target.port}"
        auth = f"Proxy-Authorization: {upstream.authorization}\r\n" if upstream.authorization else ""
        writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{auth}\r\n".encode("latin-1"))
        try:
            async with asyncio.timeout(_CONNECT_S):
                answer = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            writer.close()
            told = "The vantage's proxy gave no answer."
            raise FetchError(told, reason="connect", transient=True, cause="proxy-unreached") from error
        if answer.split(b" ", 2)[1:2] != [b"200"]:
            writer.close()
            told = "The vantage's proxy refused the connection."
            raise FetchError(told, reason="connect", transient=True, cause="proxy-refused")

    def _rewritten(self, head: _Head, target: Target) -> bytes:
        """The request for the next station: origin form for a site, absolute form for a proxy, one per connection."""
        chained = self._upstream is not None and not target.exempt
        where = f"{target.origin}{target.path}{target.query}" if chained else f"{target.path}{target.query}"
        lines = [f"{head.method} {where} HTTP/1.1", f"Host: {target.origin.partition('://')[2]}", "Connection: close"]
        lines += [
            f"{name}: {value}"
            for name, value in head.headers
            if name.lower() not in _HOP_HEADERS and name.lower() != "host"
        ]
        if chained and self._upstream is not None and self._upstream.authorization:
            lines.append(f"Proxy-Authorization: {self._upstream.authorization}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None = None
    ) -> None:
        """Copy so many bytes, or all there are, within the budget of the render; beyond it everything is cut off."""
        left = length
        while left is None or left > 0:
            piece = await reader.read(_PIECE if left is None else min(_PIECE, left))
            if not piece:
                return
            self._left -= len(piece)
            if self._left < 0:
                self.over_budget = True
                self._cut_all()
                return
            writer.write(piece)
            await writer.drain()
            left = None if left is None else left - len(piece)

    async def _copy_head(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The answer's head, made to say that the connection ends, whether or not the site ends it.

        A head that is none is left to the browser, which is strict about it.
        """
        for _ in range(_MAX_INTERIM):
            try:
                raw = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                writer.write(error.partial)
                return
            self._left -= len(raw)
            lines = raw[:-4].split(b"\r\n")
            kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _CONNECTION_HEADERS]
            writer.write(b"\r\n".join([*kept, b"Connection: close", b"", b""]))
            await writer.drain()
            if not lines[0].split(b" ")[1:2] or not lines[0].split(b" ")[1].startswith(b"1"):
                return

    async def _relay_both(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
    ) -> None:
        upward = asyncio.create_task(self._copy(reader, far_writer))
        try:
            await self._copy(far_reader, writer)
        finally:
            upward.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await upward


async def _open(
    addresses: list[str], port: int, tls: ssl.SSLContext | None, server_name: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """The first of the addresses that answers, and which one it was."""
    problem: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_S):
                reader, writer = await asyncio.open_connection(
                    address, port, ssl=tls, server_hostname=server_name if tls else None, limit=4 * _MAX_HEAD
                )
        except OSError as error:  # a timeout is one
            problem = error
            continue
        return reader, writer, address
    if problem is None:
        raise LookupFailed("The name has no address.")
    if isinstance(problem, TimeoutError) and problem.errno is None:
        raise faults.timed_out(faults.CONNECT, Limits(connect_s=_CONNECT_S), waited_s=0.0)
    raise faults.of_connection(problem)


def _parsed(raw: bytes) -> _Head | None:
    lines = raw.decode("latin-1").split("\r\n")
    first = lines[0].split(" ")
    if len(first) != 3 or not first[0].isalpha() or any("\n" in line or "\r" in line for line in lines):
        return None
    headers = tuple(
        (name, value.strip()) for name, colon, value in (line.partition(":") for line in lines[1:]) if colon
    )
    return _Head(first[0].upper(), first[1], headers)
