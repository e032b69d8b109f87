"""A site on loopback that answers each path with given bytes or behaviour, and counts who came."""

from __future__ import annotations

import asyncio
import ssl
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

type Behaviour = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]
type Answer = bytes | Behaviour


@dataclass(frozen=True, slots=True)
class Request:
    """What arrived: the request target as sent, and the headers by lower-case name."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclass(slots=True)
class Site:
    """A running site; `connections` counts accepts, whether or not anything was asked."""

    port: int = 0
    scheme: str = "http"
    connections: int = 0
    requests: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


def response(
    body: bytes | str = b"<p>hello</p>",
    *,
    status: str = "200 OK",
    content_type: str = "text/html; charset=utf-8",
    headers: tuple[str, ...] = (),
) -> bytes:
    """A whole HTTP answer."""
    raw = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(raw)}", *headers]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + raw


def redirect(location: str, *, status: int = 302, headers: tuple[str, ...] = ()) -> bytes:
    """An answer that sends elsewhere."""
    return response(b"", status=f"{status} Moved", headers=(f"Location: {location}", *headers))


@asynccontextmanager
async def serve(
    answers: Mapping[str, Answer] | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Site]:
    """A site for the time of the block. Paths that are not in `answers` are 404; "*" stands for all of them."""
    site = Site(scheme="https" if tls else "http")
    known = dict(answers or {})
    transports: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()  # open ones; closed ones go by themselves

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.connections += 1
        transports.add(writer.transport)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while (request := await _read(reader)) is not None:
                site.requests.append(request)
                answer = known.get(request.path, known.get("*", response(b"", status="404 Not Found")))
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                    if request.headers.get("connection", "").lower() == "close":
                        break
                    continue
                await answer(request, writer)
                break
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for transport in list(transports):
            transport.abort()
        await asyncio.sleep(0)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return Request(method, target, headers)
