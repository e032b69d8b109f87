"""A small service that speaks S3 on loopback, and misbehaves on purpose: PUT, GET, HEAD, DELETE, LIST of one bucket."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

PAGE = 7  # keys a list answers with at a time, so that every test of more than a few pages through them

type Fault = Callable[[str, str], str]


class S3Server(http.server.ThreadingHTTPServer):
    """What was put, and `fault(method, key)`: how the next request goes wrong, "" for not at all.

    Faults: "500", "507", "silent" (no answer while the server runs), "cut" (half of the body), "wrong" (another byte in the
    answer), "garbled" (another byte is kept than was put, and the checksum echoed), "forgotten" (nothing is kept).
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, tuple[bytes, datetime]] = {}
        self.requests: list[tuple[str, str]] = []
        self.fault: Fault = lambda method, key: ""
        self.ends = threading.Event()
        self.now: datetime | None = None

    @property
    def url(self) -> str:
        """The address of a store in its bucket."""
        return f"s3://key:s%2Fcret@127.0.0.1:{self.server_address[1]}/pages/tide/line?tls=0"

    def keep(self, key: str, data: bytes) -> None:
        """Keep an object as a PUT would."""
        self.objects[key] = data, self.now or datetime.now(UTC)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is a client's matter."""


@contextmanager
def serving() -> Iterator[S3Server]:
    """A server of its own, gone afterwards."""
    server = S3Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.ends.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    server: S3Server

    def log_message(self, *args: object) -> None:
        pass

    def do_PUT(self) -> None:
        key, fault = self._begin()
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self._failed(fault):
            return
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        if self.headers.get("x-amz-checksum-sha256", digest) != digest:
            self._error(400, "BadDigest")
            return
        if fault != "forgotten":
            self.server.keep(key, _altered(data) if fault == "garbled" else data)
        etag = hashlib.md5(data, usedforsecurity=False).hexdigest()
        self._answer(200, b"", ETag=f'"{etag}"', x_amz_checksum_sha256=digest)

    def do_GET(self) -> None:
        key, fault = self._begin()
        if self._failed(fault):
            return
        if not key:
            self._answer(200, self._list(), Content_Type="application/xml")
            return
        if key not in self.server.objects:
            self._error(404, "NoSuchKey")
            return
        data = self.server.objects[key][0]
        self._answer(200, _altered(data) if fault == "wrong" else data, cut=fault == "cut")

    def do_HEAD(self) -> None:
        key, fault = self._begin()
        if not self._failed(fault):
            self._answer(200 if key in self.server.objects else 404, b"")

    def do_DELETE(self) -> None:
        key, fault = self._begin()
        if not self._failed(fault):
            self.server.objects.pop(key, None)
            self._answer(204, b"")

    def _begin(self) -> tuple[str, str]:
        key = unquote(urlsplit(self.path).path).removeprefix("/pages").removeprefix("/")
        self.server.requests.append((self.command, key))
        return key, self.server.fault(self.command, key)

    def _failed(self, fault: str) -> bool:
        if fault == "silent":
            self.server.ends.wait()
            self.close_connection = True
        elif fault.isdigit():
            self._error(int(fault), "InternalError" if fault == "500" else "InsufficientStorage")
        return fault == "silent" or fault.isdigit()

    def _list(self) -> bytes:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        after = asked.get("marker", "")
        keys = sorted(key for key in self.server.objects if key.startswith(asked.get("prefix", "")) and key > after)
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{self.server.objects[key][1]:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            f"<Size>{len(self.server.objects[key][0])}</Size></Contents>"
            for key in keys[:PAGE]
        )
        more = "true" if len(keys) > PAGE else "false"
        return (
            f"<ListBucketResult><Name>pages</Name><IsTruncated>{more}</IsTruncated>{rows}</ListBucketResult>".encode()
        )

    def _error(self, status: int, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code></Error>".encode(), Content_Type="application/xml")

    def _answer(self, status: int, body: bytes, *, cut: bool = False, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True


def _altered(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1]) if data else b"x"
