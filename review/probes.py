"""What machines ask: `/health/live`, `/health/ready` and `/metrics`.

Answered in front of everything else, so that neither host names, redirects to https, sessions nor a database that is
away stand between a probe and its answer. Strangers learn which part is in what state and nothing more; sentences and
metrics are for who brings the token or comes from a network that the deployment named.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from monitoring.services import health, metrics
from monitoring.services.exposition import CONTENT_TYPE
from review.visitor import address_of

TIMEOUT_S = 3.0
FRESH_S = 2.0


class Shared[T]:
    """An answer that many ask for at once: found by one thread at a time, kept a moment, waited for only so long."""

    def __init__(
        self,
        work: Callable[[], T],
        *,
        timeout_s: float = TIMEOUT_S,
        fresh_s: float = FRESH_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._work, self._timeout_s, self._fresh_s, self._clock = work, timeout_s, fresh_s, clock
        self._lock = threading.Lock()
        self._asking: threading.Event | None = None
        self._found: tuple[T, float] | None = None
        self._error: Exception | None = None

    def get(self) -> T | None:
        """The answer; None when it does not come in time. Raises what finding it raised."""
        with self._lock:
            if self._found is not None and self._clock() - self._found[1] < self._fresh_s:
                return self._found[0]
            if self._asking is None:
                self._asking = threading.Event()
                threading.Thread(target=self._ask, args=(self._asking,), name="probe", daemon=True).start()
            asking = self._asking
        if not asking.wait(self._timeout_s):
            return None
        with self._lock:
            if self._error is not None:
                raise self._error
            return self._found[0] if self._found else None

    def _ask(self, asking: threading.Event) -> None:
        try:
            self._found, self._error = (self._work(), self._clock()), None
        except Exception as error:  # noqa: BLE001 - the top of the thread: raised again where it is asked for
            self._found, self._error = None, error
        finally:
            connections.close_all()
            with self._lock:
                self._asking = None
            asking.set()


def _collect() -> health.Health:
    return health.collect(now=timezone.now())


def _metrics() -> str:
    return metrics.text(now=timezone.now())


class Probes:
    """Answers probes; everything else goes on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.health = Shared(_collect)
        self.metrics = Shared(_metrics)
        self._answers = {"/health/live": self._live, "/health/ready": self._ready, "/metrics": self._measured}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer by path."""
        answer = self._answers.get(request.path_info)
        if answer is None:
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            response = _plain("Only GET.\n", 405)
            response["Allow"] = "GET, HEAD"
        else:
            response = answer(request)
        response._has_been_logged = True  # type: ignore[attr-defined]  # not an error of ours each time somebody asks
        response["Cache-Control"] = "no-store"
        response["X-Content-Type-Options"] = "nosniff"
        return response

    def _live(self, request: HttpRequest) -> HttpResponse:
        return _plain("ok\n")

    def _ready(self, request: HttpRequest) -> HttpResponse:
        now = timezone.now()
        found = self.health.get() or health.away(f"no answer within {TIMEOUT_S:.0f} s", now=now)
        only = health.WEB if request.GET.get("only") == "web" else None
        ready = found.is_ready(only)
        trusted = may_see(request)
        shown = [row for row in found.findings if only is None or row.name in only]
        if _wants_text(request):
            lines = ["ready" if ready else "not ready"]
            lines += [f"{row.state:<8} {row.name}{f': {row.said}' if trusted else ''}" for row in shown]
            return _plain("\n".join(lines) + "\n", 200 if ready else 503)
        body = {
            "ready": ready,
            "at": _iso(found.at),
            "checks": [
                {"name": row.name, "state": str(row.state), **({"said": row.said} if trusted else {})} for row in shown
            ],
        }
        if trusted:
            body["version"] = settings.VERSION
        return HttpResponse(
            json.dumps(body, ensure_ascii=False) + "\n",
            status=200 if ready else 503,
            content_type="application/json",
        )

    def _measured(self, request: HttpRequest) -> HttpResponse:
        if not settings.METRICS_TOKEN and not settings.METRICS_NETWORKS:
            return _plain("Not found.\n", 404)
        if not may_see(request):
            response = _plain("This needs the token of TIDELINE_METRICS_TOKEN.\n", 401)
            response["WWW-Authenticate"] = 'Bearer realm="tideline metrics"'
            return response
        try:
            text = self.metrics.get()
        except (DatabaseError, InterfaceError):
            text = None
        if text is None:
            return _plain("The database does not answer.\n", 503)
        return HttpResponse(text, content_type=CONTENT_TYPE)


def may_see(request: HttpRequest) -> bool:
    """Whether the request brings the token, or comes from a network that may see everything.

    Without a stated number of proxies a forwarded request has the proxy's address, which says nothing about who asks.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if settings.METRICS_TOKEN and scheme.lower() == "bearer":
        return hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    if not settings.METRICS_NETWORKS or (not settings.PROXY_COUNT and "X-Forwarded-For" in request.headers):
        return False
    try:
        address = ip_address(address_of(request))
    except ValueError:
        return False
    return any(address in ip_network(network) for network in settings.METRICS_NETWORKS)


def _wants_text(request: HttpRequest) -> bool:
    if name := request.GET.get("format"):
        return name == "text"
    accept = request.headers.get("Accept", "")
    return accept.startswith("text/plain") and "json" not in accept


def _plain(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
