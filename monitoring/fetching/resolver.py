"""Names to addresses, each looked up once, judged, and then connected to: what was checked is what is used."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from aiohttp.abc import AbstractResolver, ResolveResult

from monitoring.fetching.errors import LookupFailed, Refused
from monitoring.fetching.guard import REFUSED_ADDRESS, AddressPolicy, Target

type Lookup = Callable[[str], Awaitable[list[str]]]
"""A host name to its addresses as text; raises OSError when it has none."""


class SystemLookup:
    """The operating system's resolver, each call in a thread of its own pool.

    `getaddrinfo` cannot be cancelled: a name server that never answers keeps its thread until the system gives up,
    so the pool is as wide as the fetches that run at once, and nobody waits for a thread beyond the fetch's deadline.
    """

    def __init__(self, width: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=width, thread_name_prefix="lookup")

    async def __call__(self, host: str) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, _getaddrinfo, host)
        return list(dict.fromkeys(found))

    def close(self) -> None:
        """Drop what has not started; running lookups end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _getaddrinfo(host: str) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


class NameBook:
    """Answers to names, each asked for once in this object's life.

    One lives as long as one batch of fetches, so a name that changes its answer (DNS rebinding) cannot be asked again
    between the check and the connection, nor between two hops.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._answers: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """All addresses of a name, unjudged; raises `LookupFailed`."""
        pending = self._answers.get(host)
        if pending is None:
            pending = asyncio.ensure_future(self._ask(host))
            pending.add_done_callback(_retrieve)
            self._answers[host] = pending
        # Shielded: one fetch that runs out of time must not take the answer away from the others.
        return await asyncio.shield(pending)

    async def _ask(self, host: str) -> list[str]:
        try:
            found = [str(ip_address(text)) for text in await self._lookup(host)]
        except (OSError, UnicodeError, ValueError) as error:
            raise LookupFailed(f"The name {host} could not be resolved.") from error
        if not found:
            raise LookupFailed(f"The name {host} has no address.")
        return found

    async def close(self) -> None:
        """Stop waiting for answers."""
        pending = [answer for answer in self._answers.values() if not answer.done()]
        for answer in pending:
            answer.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _retrieve(answer: asyncio.Future[list[str]]) -> None:
    """Look at the exception, so that an answer nobody waits for any more is not reported as unhandled."""
    if not answer.cancelled():
        answer.exception()


class VettedResolver(AbstractResolver):
    """A resolver for aiohttp that answers with judged addresses only; one bad address among good ones refuses the name.

    `trusted` holds "host:port" pairs whose addresses are not judged: the product's own origin, or a proxy that the
    deployment names.
    """

    def __init__(self, policy: AddressPolicy, names: NameBook, *, trusted: frozenset[str] = frozenset()) -> None:
        self._policy = policy
        self._names = names
        self._trusted = trusted

    async def addresses(self, host: str, port: int) -> list[str]:
        """Addresses of a name that may all be connected to on this port; raises `Refused` or `LookupFailed`."""
        found = await self._names.addresses(host)
        if f"{host}:{port}" in self._trusted:
            return found
        for text in found:
            if self._policy.objection(text, port):
                raise Refused("address", REFUSED_ADDRESS)
        return found

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """What aiohttp calls before it connects."""
        return [
            ResolveResult(
                hostname=host,
                host=text,
                port=port,
                family=socket.AF_INET6 if ":" in text else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for text in await self.addresses(host, port)
        ]

    async def close(self) -> None:
        """Nothing of its own to close: the `NameBook` is the batch's."""


async def policy_beyond(target: Target, policy: AddressPolicy, names: NameBook) -> AddressPolicy:
    """The policy for where a page leads (redirects, what it loads): into an opened network only from inside one.

    Without this, any page of the Internet could send the fetcher, or the browser, to the machines inside.
    """
    if not policy.allow_networks:
        return policy
    try:
        found = [str(target.address)] if target.address is not None else await names.addresses(target.host)
    except LookupFailed:
        return policy.public_only()
    return policy if all(policy.is_inside(text) for text in found) else policy.public_only()
