"""A web site on loopback whose pages a test sets and changes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    """What one path answers."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class LocalSite:
    """Serves `pages` on a free port of 127.0.0.1; counts visits and remembers request headers by path."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        self.pages: dict[str, Page] = {}
        self.rows: dict[str, list[Page]] = {}
        self.visits: Counter[str] = Counter()
        self.asked: dict[str, dict[str, str]] = {}
        self.delay_s = delay_s
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if site.delay_s:
                    time.sleep(site.delay_s)
                site.visits[self.path] += 1
                site.asked[self.path] = {name.lower(): value for name, value in self.headers.items()}
                page = site.next_page(self.path) or Page(b"<p>not here</p>", status=404)
                tag = page.headers.get("ETag")
                if tag and self.headers.get("If-None-Match") == tag:
                    page = Page(b"", status=304, headers={"ETag": tag})
                self.send_response(page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                if "Content-Type" not in page.headers and page.status != 304:
                    self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page.body)))
                self.end_headers()
                self.wfile.write(page.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        """The address of a path."""
        return f"http://{self.address}{path}"

    def put(self, path: str, html: str, *, status: int = 200, **headers: str) -> str:
        """Set what a path answers; header names are written with underscores. Gives its address."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = Page(html.encode(), status=status, headers=named)
        return self.url(path)

    def next_page(self, path: str) -> Page | None:
        """What a path answers now; of several bodies each visit takes one, and the last one stays."""
        waiting = self.rows.get(path)
        if waiting:
            self.pages[path] = waiting.pop(0)
        return self.pages.get(path)

    def put_row(self, path: str, *htmls: str | None) -> str:
        """Set what the next visits of a path get, one after the other; None is a server error."""
        self.rows[path] = [Page(html.encode()) if html is not None else Page(b"oops", status=500) for html in htmls]
        return self.url(path)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
