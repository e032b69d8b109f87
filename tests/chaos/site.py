"""Pages on loopback that are edited all at once, served by a process of its own at as many addresses as there are hosts.

Run with the number of hosts and the milliseconds an answer takes; prints the port, and ends when its input does. `/page/N`
answers with the edition's clause and price under an ETag; `/edition/N` makes that the edition. `/long/N` is a longer page of which
only a token moves from visit to visit; `/hurry/S` tells how many of those came sooner than S seconds after another of their host.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLAUSES = (
    "is kept for twelve months after the last loan and is then destroyed by the archive",
    "goes to the regional office, which passes it on to insurers who ask for it in writing",
    "may be read by every branch in the county without any further consent of yours",
    "costs nothing for children, and nine euros a year for everybody who has turned eighteen",
    "ends without notice where a book comes back more than six weeks late or is damaged",
)


LONG = (
    b"<html><head><title>Terms</title><script>window.token='TOKEN'</script></head><body><main><h1>Terms</h1>"
    + b"".join(
        b"<p>Paragraph %d of our terms says what branch %d keeps, and for how long it does.</p>" % (n, n)
        for n in range(80)
    )
    + b"<input type=hidden name=csrf value=TOKEN></main></body></html>"
)


def page(number: int, edition: int) -> bytes:
    """What a page shows in an edition: a clause and a price that the one before did not have."""
    clause = CLAUSES[edition % len(CLAUSES)]
    return (
        f"<html><head><title>Notice {number}</title></head><body><main><h1>Notice {number}</h1>"
        f"<p>What you tell branch {number} of our library {clause}.</p><p>Fee: <b class=price>{20 + edition}.00 EUR</b></p>"
        "<p>You may ask for a copy of everything we hold about you by writing to the data office.</p>"
        "<p>This notice is looked after by the keeper of records and is read aloud on request.</p></main></body></html>"
    ).encode()


def addresses(hosts: int) -> list[str]:
    """An address of loopback for each host."""
    return [f"127.77.{1 + n // 250}.{1 + n % 250}" for n in range(hosts)]


class Site:
    """The pages as a test sees them."""

    def __init__(self, port: int, hosts: int) -> None:
        self.port = port
        self.addresses = addresses(hosts)
        self.allowed = ",".join(f"{address}:{port}" for address in self.addresses)
        self.edition = 0

    def urls(self, count: int) -> list[str]:
        """So many pages, dealt out over the hosts."""
        return [f"http://{self.addresses[n % len(self.addresses)]}:{self.port}/page/{n}" for n in range(count)]

    def edit(self) -> int:
        """Edit every page; the new edition."""
        self.edition += 1
        with socket.create_connection((self.addresses[0], self.port), timeout=10) as connection:
            connection.sendall(f"GET /edition/{self.edition} HTTP/1.1\r\n\r\n".encode())
            connection.recv(1000)
        return self.edition

    def hurried(self, gap_s: float) -> tuple[int, int]:
        """How many long pages were asked for sooner after another of their host than that, and of how many; forgets them."""
        with socket.create_connection((self.addresses[0], self.port), timeout=10) as connection:
            connection.sendall(f"GET /hurry/{gap_s} HTTP/1.1\r\n\r\n".encode())
            hurried, total = connection.recv(1000).rpartition(b"\r\n")[2].split()
        return int(hurried), int(total)


@contextlib.contextmanager
def serving(hosts: int = 1, *, delay_ms: int = 0) -> Iterator[Site]:
    """The pages, served until the block ends."""
    command = [sys.executable, "-m", "tests.chaos.site", str(hosts), str(delay_ms)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Site(int(process.stdout.readline()), hosts)
        finally:
            process.kill()


class _Server:
    def __init__(self, delay_s: float) -> None:
        self.edition = 0
        self._delay_s = delay_s
        self._asked: dict[str, list[float]] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                writer.write(self._response(head, writer.get_extra_info("sockname")[0]))
                await writer.drain()
        writer.close()

    def _response(self, head: str, local: str) -> bytes:
        path = head.split(" ", 2)[1]
        if path.startswith("/long/"):
            return self._long(local)
        if path.startswith("/hurry/"):
            return self._hurry(float(path.removeprefix("/hurry/")))
        if path.startswith("/edition/"):
            self.edition = int(path.removeprefix("/edition/"))
            return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        if not path.startswith("/page/"):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        tag = f'"{path.removeprefix("/page/")}-{self.edition}"'
        if f"if-none-match: {tag}" in head.lower():
            return f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode()
        body = page(int(path.removeprefix("/page/")), self.edition)
        return (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: {tag}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def _long(self, local: str) -> bytes:
        times = self._asked.setdefault(local, [])
        times.append(time.monotonic())
        body = LONG.replace(b"TOKEN", secrets.token_hex(16).encode())
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _hurry(self, gap_s: float) -> bytes:
        gaps = [b - a for times in self._asked.values() for a, b in itertools.pairwise(times)]
        body = f"{sum(gap < gap_s for gap in gaps)} {len(gaps)}".encode()
        self._asked.clear()
        return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _serve(hosts: int, delay_s: float) -> None:
    server = _Server(delay_s)
    first, *others = addresses(hosts)
    listening = await asyncio.start_server(server.answer, first, 0)
    port = listening.sockets[0].getsockname()[1]
    if others:
        await asyncio.start_server(server.answer, others, port)
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]) / 1000))
