"""Pages over HTTP: many at once, each within its budget, each connection to an address that was judged.

aiohttp does the protocol. Ours are: the guard before every hop, the resolver that answers with judged addresses only,
the whole-fetch deadline, the bounds on bytes (on the wire, headers included, and decoded), and the reading of charsets.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import re
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import quote_from_bytes, urljoin

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from monitoring.fetching import faults
from monitoring.fetching.capture import Capture, Failure, FetchRequest, Hop, Limits, Outcome, VantageSpec
from monitoring.fetching.charset import decode_page
from monitoring.fetching.decode import ACCEPT_ENCODING, codings, decompress
from monitoring.fetching.errors import BrokenAnswer, FetchError, LookupFailed, Refused, TooLarge
from monitoring.fetching.guard import AddressPolicy, Target, parse, vet, without_userinfo
from monitoring.fetching.resolver import Lookup, NameBook, SystemLookup, VettedResolver, policy_beyond
from monitoring.fetching.sniff import media_type as media_type  # the browser takes it from here
from monitoring.fetching.sniff import sniffed

logger = logging.getLogger(__name__)

DEFAULT_USER_AGENT = "Mozilla/5.0 (compatible; Tideline/0.1; page change monitor)"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Real Content-Security-Policy and Set-Cookie headers pass aiohttp's default of 8,190 bytes.
_MAX_FIELD_BYTES = 64 * 1024
_MAX_HEADERS = 256
# Besides the body: interim answers, headers, chunk framing and trailers of one answer.
_WIRE_ALLOWANCE = 1024 * 1024
# A page is held as wire bytes, decoded bytes and text at once, up to six times its size: large ones go few at a time.
_LARGE_BYTES = 1024 * 1024
_LARGE_AT_ONCE = 3
_MAX_COOKIES = 50
_MAX_COOKIE_BYTES = 4096
_MAX_VALIDATOR_BYTES = 1024

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# As the standard has it, and with the suffix that some compressing proxies put behind the quotes: sent back as it came.
# What aiohttp says where a limit on the head is met.
_HEAD_TOO_LARGE = re.compile(
    r"Got more than \d+ bytes|Too many (?:headers|trailers)|Header name too long", re.IGNORECASE
)
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"(?:[-;]{1,2}[A-Za-z]{2,8})?')


type Tell = Callable[[int, str, str], None]
"""Hears what happens in a fetch: milliseconds since it began, a stage or `peer`, `sizes`, and a detail."""


@dataclass(slots=True)
class _Visit:
    """What the connection tells about the request that is under way, and how many more bytes it may bring."""

    wire_left: int = 0
    over_budget: bool = False
    peer: str = ""
    certificate: str = ""
    stage: str = faults.LOOKUP
    is_secure: bool = False
    began: float = field(default_factory=time.monotonic)
    tell: Tell | None = None

    def enter(self, stage: str, detail: str = "") -> None:
        """Note that a stage of the fetch begins; `tell` hears of it, and when (milliseconds since the fetch began)."""
        self.stage = stage
        self.say(stage, detail)

    def say(self, what: str, detail: str) -> None:
        """Let `tell` hear of something."""
        if self.tell is not None:
            self.tell(_since_ms(self.began), what, detail)


_visit: ContextVar[_Visit] = ContextVar("visit")


class _Protocol(ResponseHandler):
    """aiohttp's protocol with a count of the bytes of one answer.

    Body limits do not see interim responses, chunk extensions or trailers, and a server may send these for ever.
    """

    _current: _Visit | None = None

    def __init__(self, *args: Any, **options: Any) -> None:  # Any: passed through as aiohttp gives them
        super().__init__(*args, **options)
        if _visit.get().is_secure:
            _visit.get().enter(faults.TLS)  # asyncio makes the protocol between the connection and the handshake

    def set_response_params(self, **options: Any) -> None:  # Any: passed through as aiohttp gives them
        self._current = _visit.get()
        self._current.wire_left = _WIRE_ALLOWANCE
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        visit = self._current
        if visit is not None:
            visit.wire_left -= len(data)
            if visit.wire_left < 0:
                visit.over_budget = True
                if self.transport is not None:
                    self.transport.abort()
                return
        super().data_received(data)


class _Connector(aiohttp.TCPConnector):
    """aiohttp's connector that notes who answered; the response may have let go of its connection by the time we ask."""

    def __init__(self, *, resolver: VettedResolver, tls: ssl.SSLContext) -> None:
        super().__init__(resolver=resolver, use_dns_cache=False, limit=0, ssl=tls, keepalive_timeout=15)
        protocol: type[ResponseHandler] = _Protocol
        self._factory = functools.partial(protocol, loop=self._loop)

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[aiohttp.tracing.Trace], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        visit = _visit.get()
        visit.enter(faults.CONNECT)
        connection = await super().connect(req, traces, timeout)
        visit.enter(faults.HEAD)
        transport = connection.transport
        if transport is not None:
            peer = transport.get_extra_info("peername")
            visit.peer = str(peer[0]) if peer and not req.proxy else ""
            secure = transport.get_extra_info("ssl_object")
            certificate = secure.getpeercert(binary_form=True) if secure is not None else None
            visit.certificate = hashlib.sha256(certificate).hexdigest() if certificate else ""
            if visit.tell is not None:
                told = "the vantage's proxy" if req.proxy else visit.peer
                visit.say("peer", f"{told}, {secure.version()}" if secure is not None else told)
        return connection


def utc_now() -> datetime:
    """The time of the machine, aware."""
    return datetime.now(UTC)


@functools.cache
def default_tls() -> ssl.SSLContext:
    """The system's certificate authorities; loading them takes some 20 ms, so once per process."""
    return ssl.create_default_context()


async def fetch_many(
    requests: Iterable[FetchRequest],
    *,
    policy: AddressPolicy,
    concurrency: int = 20,
    per_host: int = 2,
    lookup: Lookup | None = None,
    tls: ssl.SSLContext | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> AsyncGenerator[Outcome]:
    """Outcomes as they arrive, in no particular order; a site's fault is a `Failure`, never an exception.

    At most `concurrency` pages are under way and at most `per_host` of one host; of pages beyond 1 MB, three at a time,
    those included that the caller has not taken yet. A caller who is slow to take outcomes slows the fetching down: no
    more than `concurrency` of them wait. A caller who stops early should close the iterator (`contextlib.aclosing`).
    `lookup` and `tls` replace the system's name resolution and certificate authorities.
    """
    waiting = list(requests)
    outcomes: asyncio.Queue[tuple[Outcome, bool]] = asyncio.Queue(maxsize=concurrency)
    slots = asyncio.Semaphore(concurrency)
    hosts: dict[str, asyncio.Semaphore] = {}

    async with _Run(policy, width=concurrency, lookup=lookup, tls=tls, clock=clock) as run:

        async def one(request: FetchRequest) -> None:
            host = hosts.setdefault(_host_of(request.url), asyncio.Semaphore(per_host))
            async with host, slots:
                await outcomes.put(await run.fetch(request))

        tasks = [asyncio.create_task(one(request)) for request in waiting]
        try:
            for _ in tasks:
                outcome, is_large = await outcomes.get()
                yield outcome
                del outcome
                if is_large:
                    run.large.release()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class Fetcher:
    """Pages under limits that they share, asked for one by one: for a caller whose list of pages grows on the way.

    At most `concurrency` pages are under way and at most `per_host` of one host; of large ones, three at a time. Use as
    an async context manager.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        concurrency: int = 20,
        per_host: int = 2,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._run = _Run(policy, width=concurrency, lookup=lookup, tls=tls, clock=clock)
        self._slots = asyncio.Semaphore(concurrency)
        self._per_host = per_host
        self._hosts: dict[str, asyncio.Semaphore] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._run.__aexit__()

    @asynccontextmanager
    async def page(self, request: FetchRequest, *, wanted: Callable[[], bool]) -> AsyncGenerator[Outcome | None]:
        """One page's outcome; None when it was no longer `wanted` once its turn came.

        Until the block ends the page keeps its place, so that a slow taker slows the fetching down.
        """
        host = self._hosts.setdefault(_host_of(request.url), asyncio.Semaphore(self._per_host))
        async with host, self._slots:
            if not wanted():
                yield None
                return
            outcome, is_large = await self._run.fetch(request)
            try:
                yield outcome
            finally:
                del outcome
                if is_large:
                    self._run.large.release()


async def fetch(
    request: FetchRequest,
    *,
    policy: AddressPolicy,
    lookup: Lookup | None = None,
    tls: ssl.SSLContext | None = None,
    clock: Callable[[], datetime] = utc_now,
    tell: Tell | None = None,
) -> Outcome:
    """One page; a site's fault is a `Failure`, never an exception. `tell` hears what happens on the way."""
    async with _Run(policy, width=2, lookup=lookup, tls=tls, clock=clock) as run:
        run.tell = tell
        outcome, _ = await run.fetch(request)
        return outcome


def _host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].lower()


@dataclass(slots=True)
class _Walk:
    """One fetch on its way along redirects: what has to outlive a hop."""

    request: FetchRequest
    visit: _Visit
    url: str
    large: asyncio.Semaphore
    policy: AddressPolicy
    is_large: bool = False
    deadline: asyncio.Timeout | None = None
    hops: list[Hop] = field(default_factory=list)
    cookies: dict[str, dict[str, str]] = field(default_factory=dict)

    async def become_large(self) -> None:
        """Wait until there is room for a large page; the wait does not count against the page's deadline."""
        if self.is_large or self.deadline is None:
            return
        loop = asyncio.get_running_loop()
        ends_at, began = self.deadline.when(), loop.time()
        self.deadline.reschedule(None)
        await self.large.acquire()
        self.is_large = True
        if ends_at is not None:
            self.deadline.reschedule(ends_at + loop.time() - began)


class _Run:
    """The sessions and name answers that one batch shares. Cookies are never among them."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        width: int,
        lookup: Lookup | None,
        tls: ssl.SSLContext | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._policy = policy
        self._system: SystemLookup | None = None
        if lookup is None:
            lookup = self._system = SystemLookup(width)
        self._names = NameBook(lookup)
        self._tls = tls or default_tls()
        self._clock = clock
        self._sessions: dict[tuple[str, str, AddressPolicy], aiohttp.ClientSession] = {}
        self.large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.tell: Tell | None = None

    async def __aenter__(self) -> _Run:
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self._sessions.values():
            await session.close()
        await self._names.close()
        if self._system is not None:
            self._system.close()

    async def fetch(self, request: FetchRequest) -> tuple[Outcome, bool]:
        """One page within its deadline, and whether it holds a place in `large` that the taker has to give back."""
        started_at, start = self._clock(), time.monotonic()
        walk = _Walk(request, _Visit(tell=self.tell), without_userinfo(request.url), self.large, self._policy)
        _visit.set(walk.visit)
        try:
            async with asyncio.timeout(request.limits.total_s) as walk.deadline:
                return await self._walk(walk, started_at, start), walk.is_large
        except Exception as error:  # noqa: BLE001 - the top of one page's task: nothing a page does may end the batch
            fault = await self._fault(error, walk)
        if walk.is_large:
            self.large.release()
        failure = Failure(
            key=request.key,
            url=without_userinfo(request.url),
            reason=fault.reason,
            message=fault.sentence,
            transient=fault.transient,
            started_at=started_at,
            duration_ms=_since_ms(start),
            final_url=walk.url,
            redirects=tuple(walk.hops),
            cause=fault.cause,
            data=fault.data,
        )
        return failure, False

    async def _fault(self, error: Exception, walk: _Walk) -> FetchError:
        """What went wrong; for a certificate past its day also which day that was, where nobody stands between."""
        if not isinstance(error, aiohttp.ClientConnectorCertificateError) or not faults.is_expiry(error):
            return _fault(error, walk)
        day = None
        if not walk.request.vantage.proxy_url and error.port:
            with contextlib.suppress(FetchError):  # the addresses were judged before, and are remembered
                addresses = await VettedResolver(walk.policy, self._names).addresses(error.host, error.port)
                day = await faults.expiry_of(addresses[0], error.port, error.host)
        return faults.of_certificate(error, expired_on=day)

    async def _walk(self, walk: _Walk, started_at: datetime, start: float) -> Outcome:
        request = walk.request
        policy = self._policy
        if request.linked_from:
            policy = await policy_beyond(parse(request.linked_from), policy, self._names)
        target = vet(request.url, policy, exemption=request.exemption)
        walk.cookies[target.origin] = dict(request.cookies)
        validators_url = request.validators_url or target.url
        while True:
            walk.url, walk.policy, walk.visit.is_secure = target.url, policy, target.scheme == "https"
            conditional = _validators(request) if target.url == validators_url else {}
            walk.visit.enter(faults.LOOKUP, target.host)
            session, proxy = await self._way(target, request.vantage, policy)
            headers = _headers(request.vantage) | conditional | _cookie_header(walk, target)
            async with await self._answer(session, target, headers, proxy, request.limits) as response:
                walk.visit.enter(faults.BODY, str(response.status))
                if response.status not in _REDIRECTS:
                    return await _capture(response, walk, started_at, start, conditional=bool(conditional))
                _keep_cookies(walk, target, response)
                policy = await policy_beyond(target, policy, self._names)
                target = self._next(response, walk, target, policy)

    async def _answer(
        self,
        session: aiohttp.ClientSession,
        target: Target,
        headers: dict[str, str],
        proxy: URL | None,
        limits: Limits,
    ) -> aiohttp.ClientResponse:
        """The site's answer as far as its head, within the limits for connecting and for the head."""
        request = session.get(
            URL(target.url, encoded=True),
            headers=headers,
            proxy=proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_s),
        )
        async with asyncio.timeout(limits.connect_s + limits.head_s):
            return await request

    def _next(self, response: aiohttp.ClientResponse, walk: _Walk, target: Target, policy: AddressPolicy) -> Target:
        """Where a redirect leads, judged like the first URL but without any exemption."""
        location = _location(response)
        if not location:
            raise BrokenAnswer(f"The site redirects ({response.status}) without saying where to.")
        walk.hops.append(Hop(status=response.status, url=target.url, location=without_userinfo(location)[:8192]))
        if len(walk.hops) > walk.request.limits.max_redirects:
            limit = walk.request.limits.max_redirects
            raise BrokenAnswer(f"The site redirects more than {limit} times.", reason="too-many-redirects")
        try:
            return vet(urljoin(target.url, location), policy)
        except (Refused, ValueError) as error:
            sentence = error.sentence if isinstance(error, Refused) else "It cannot be read."
            raise FetchError(
                f"The site redirects to an address that is not fetched. {sentence}", reason="redirect-refused"
            ) from error

    async def _way(
        self, target: Target, vantage: VantageSpec, policy: AddressPolicy
    ) -> tuple[aiohttp.ClientSession, URL | None]:
        """The session for a target, and the proxy to go through.

        Behind a proxy the name is resolved there; it is looked up here too, to refuse private targets. The product's
        own pages are never asked for through a proxy, and share no connection with other targets.
        """
        if target.exempt:
            own = f"{target.host}:{target.port}"
            return self._session(("", own, policy), frozenset({own})), None
        if vantage.proxy_fault:
            raise Refused("proxy", vantage.proxy_fault)
        if target.address is None:
            await VettedResolver(policy, self._names).addresses(target.host, target.port)
        if not vantage.proxy_url:
            return self._session(("", "", policy), frozenset()), None
        proxy = self._proxy(vantage.proxy_url)
        return self._session((vantage.proxy_url, "", policy), self._policy.trusted_proxies), proxy

    def _proxy(self, proxy_url: str) -> URL:
        try:
            proxy = URL(proxy_url)
            host, port = proxy.host or "", proxy.port or 0
        except ValueError:
            host, port = "", 0
        if not host or not port or proxy.scheme not in ("http", "https"):
            raise Refused(
                "proxy", "The vantage's proxy address cannot be read; http://user:password@host:port is expected."
            )
        try:
            why = self._policy.objection(ip_address(host), port)
        except ValueError:
            return proxy  # a name: judged when it is looked up
        if why and f"{host}:{port}" not in self._policy.trusted_proxies:
            raise Refused("proxy", f"The vantage's proxy has an address that is {why}; the deployment must name it.")
        return proxy

    def _session(self, key: tuple[str, str, AddressPolicy], trusted: frozenset[str]) -> aiohttp.ClientSession:
        session = self._sessions.get(key)
        if session is None:
            # Of the proxy itself the deployment's policy holds, wherever the page leads.
            resolver = VettedResolver(self._policy if key[0] else key[2], self._names, trusted=trusted)
            session = self._sessions[key] = aiohttp.ClientSession(
                connector=_Connector(resolver=resolver, tls=self._tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                trust_env=False,
                auto_decompress=False,
                max_line_size=_MAX_FIELD_BYTES,
                max_field_size=_MAX_FIELD_BYTES,
                max_headers=_MAX_HEADERS,
            )
        return session


async def _capture(
    response: aiohttp.ClientResponse, walk: _Walk, started_at: datetime, start: float, *, conditional: bool
) -> Capture:
    """The final answer as a capture; raises when it is not a whole page."""
    request, status = walk.request, response.status
    if status == 304 and not conditional:
        raise BrokenAnswer("The site answered 304 (not modified) to a request that did not ask for that.")
    if status == 206:
        raise BrokenAnswer("The site answered with a part of the page (206) where the whole was asked for.")
    if not 200 <= status <= 599:
        raise BrokenAnswer(f"The site answered with the status {status}, which is not that of a page.")
    header = response.headers.get("Content-Type", "")
    content_type = media_type(header)
    if content_type.startswith(("multipart/", "audio/", "video/")):
        raise FetchError(f"The site answered with {content_type}, which is no page.", reason="unsupported-type")
    body = b"" if status == 304 else await _body(response, walk, request.limits.max_bytes)
    content_type, is_text = sniffed(body, content_type)
    text = (
        decode_page(body, content_type=header, hint=request.charset_hint, override=request.charset)
        if is_text and body
        else None
    )
    return Capture(
        key=request.key,
        url=without_userinfo(request.url),
        final_url=walk.url,
        status=status,
        headers=_header_pairs(response, signed_in=bool(walk.request.cookies)),
        body=body,
        html=text.text if text else "",
        charset=text.charset if text else "",
        charset_source=text.source if text else "",
        content_type=content_type,
        redirects=tuple(walk.hops),
        peer_address=walk.visit.peer,
        certificate_sha256=walk.visit.certificate,
        started_at=started_at,
        duration_ms=_since_ms(start),
        not_modified=status == 304,
        is_text=is_text,
    )


async def _body(response: aiohttp.ClientResponse, walk: _Walk, max_bytes: int) -> bytes:
    names = codings(",".join(response.headers.getall("Content-Encoding", [])))
    too_large = f"The page is larger than {max_bytes} bytes."
    if (response.content_length or 0) > max_bytes:
        raise TooLarge(too_large)
    walk.visit.wire_left += max_bytes
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > max_bytes:
            raise TooLarge(too_large)
        pieces.append(piece)
        if size > _LARGE_BYTES:
            await walk.become_large()
    if walk.visit.over_budget:
        raise TooLarge(too_large)
    raw = b"".join(pieces)
    pieces.clear()
    walk.visit.say("sizes", f"{len(raw)} bytes sent{' as ' + ', '.join(names) if names else ''}")
    if not names:
        return raw
    try:
        return decompress(raw, names, max_bytes=max_bytes if walk.is_large else min(_LARGE_BYTES, max_bytes))
    except TooLarge:
        if walk.is_large or max_bytes <= _LARGE_BYTES:
            raise
    await walk.become_large()
    return decompress(raw, names, max_bytes=max_bytes)


def _header_pairs(response: aiohttp.ClientResponse, *, signed_in: bool) -> tuple[tuple[str, str], ...]:
    """Names and values; where somebody is signed in, the cookies that come back are as good as a password."""
    pairs = tuple(
        (name.decode("latin-1"), printable(value.decode("utf-8", "replace"))) for name, value in response.raw_headers
    )
    return tuple((name, "(secret)" if signed_in and name.lower() == "set-cookie" else value) for name, value in pairs)


def printable(value: str) -> str:
    """A header's value with what cannot be printed replaced, fit for databases and logs."""
    if value.isprintable():
        return value
    return "".join(character if character.isprintable() or character == " " else "\ufffd" for character in value)


def _location(response: aiohttp.ClientResponse) -> str:
    """The Location header as an ASCII reference: raw bytes beyond ASCII and inner spaces percent-encoded, as browsers do."""
    raw = next((value for name, value in response.raw_headers if name.lower() == b"location"), b"")
    return quote_from_bytes(raw.strip(b" \t"), safe="".join(chr(c) for c in range(0x80) if c != 0x20))


def _headers(vantage: VantageSpec) -> dict[str, str]:
    return {
        "User-Agent": vantage.user_agent or DEFAULT_USER_AGENT,
        "Accept": ACCEPT,
        "Accept-Language": vantage.language,
        "Accept-Encoding": ACCEPT_ENCODING,
    }


def _validators(request: FetchRequest) -> dict[str, str]:
    """Conditional request headers; a validator that is not well formed is never sent back."""
    headers: dict[str, str] = {}
    if len(request.etag) <= _MAX_VALIDATOR_BYTES and _ETAG.fullmatch(request.etag):
        headers["If-None-Match"] = request.etag
    if request.last_modified and request.last_modified.isascii() and request.last_modified.isprintable():
        try:
            parsedate_to_datetime(request.last_modified)
        except ValueError:
            return headers
        headers["If-Modified-Since"] = request.last_modified
    return headers


def _keep_cookies(walk: _Walk, target: Target, response: aiohttp.ClientResponse) -> None:
    """Remember the cookies of a redirect for this fetch and this very origin; some sites loop without them."""
    jar = walk.cookies.setdefault(target.origin, {})
    for line in response.headers.getall("Set-Cookie", []):
        name, equals, value = line.partition(";")[0].partition("=")
        name, value = name.strip(), value.strip()
        sound = equals and _TOKEN.fullmatch(name) and value.isascii() and value.isprintable()
        if sound and len(name) + len(value) <= _MAX_COOKIE_BYTES and (name in jar or len(jar) < _MAX_COOKIES):
            jar[name] = value


def _cookie_header(walk: _Walk, target: Target) -> dict[str, str]:
    jar = walk.cookies.get(target.origin)
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}


def _since_ms(start: float) -> int:
    return round((time.monotonic() - start) * 1000)


def _fault(error: Exception, walk: _Walk) -> FetchError:
    """What went wrong, in our own words: a site's text or a library's message is never passed on."""
    if walk.visit.over_budget:
        return TooLarge("The answer is larger than allowed, headers and framing included.")
    if isinstance(error, FetchError):
        if isinstance(error, Refused) and walk.hops:
            return FetchError(
                f"The site redirects to an address that is not fetched. {error.sentence}", reason="redirect-refused"
            )
        return faults.of_lookup(error) if isinstance(error, LookupFailed) else error
    if isinstance(error, MemoryError):
        return TooLarge("The page needs more memory than a worker may use.")
    if isinstance(error, TimeoutError):
        waited = time.monotonic() - walk.visit.began + 0.05
        return faults.timed_out(walk.visit.stage, walk.request.limits, waited_s=waited)
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.ClientPayloadError) and _HEAD_TOO_LARGE.search(
        f"{error} {error.__cause__}"
    ):
        return TooLarge("The head of the answer is larger than allowed: 256 fields of 64 KiB at most.")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return faults.of_certificate(error)
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, _TOLD_APART):
        return faults.of_connection(error)
    for kinds, reason, sentence, transient, cause in _FAULTS:
        if isinstance(error, kinds):
            return FetchError(sentence, reason=reason, transient=transient, cause=cause)
    if isinstance(error, OSError):
        return faults.of_connection(error)
    logger.error("fetch crashed monitor=%s", walk.request.key, exc_info=error)
    return BrokenAnswer("The answer could not be processed.")


# In this order: a refused proxy is also a refused connection, and so on. Other connection errors are told by `faults`.
_FAULTS: tuple[tuple[tuple[type[Exception], ...], str, str, bool, str], ...] = (
    ((aiohttp.ClientSSLError, ssl.SSLError), "tls", "No secure connection to the site could be made.", True, "tls-handshake"),
    ((aiohttp.ClientHttpProxyError,), "connect", "The vantage's proxy refused the connection.", True, "proxy-refused"),
    ((aiohttp.ClientProxyConnectionError,), "connect", "The vantage's proxy could not be reached.", True, "proxy-unreached"),
    ((aiohttp.ClientConnectorDNSError,), "dns", "The name could not be resolved.", True, ""),
    ((aiohttp.ClientPayloadError,), "protocol", "The answer ended before it was complete.", True, "truncated"),
    ((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError), "protocol", "The site closed the connection.", True, "disconnected"),
    (
        (aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError),
        "protocol",
        "The answer is not valid HTTP.",
        False,
        "",
    ),
)  # fmt: skip
_TOLD_APART = (aiohttp.ClientSSLError, aiohttp.ClientProxyConnectionError, aiohttp.ClientConnectorDNSError)
