"""Where this deployment may fetch from: the address policy, made from the settings and this machine's interfaces."""

from __future__ import annotations

import contextlib
import itertools
import socket
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from monitoring.fetching.capture import Exemption
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import AddressPolicy, is_exempt, parse
from monitoring.models import Monitor

SAMPLE_PREFIX, CANARY_PREFIX = "/sample/", "/canary/"


def address_policy() -> AddressPolicy:
    """The policy for monitors and previews; cheap enough to ask for at every batch."""
    return AddressPolicy(
        allow=frozenset(_pair(text) for text in settings.TEST_ALLOWED_ADDRESSES),
        allow_networks=frozenset(settings.ALLOWED_NETWORKS),
        extra_ports=frozenset(settings.EXTRA_PORTS),
        own_addresses=_interface_addresses(),
        own_hosts=_own_hosts(),
        trusted_proxies=frozenset(settings.TRUSTED_PROXIES),
    )


def exemption_of(monitor: Monitor) -> Exemption | None:
    """The way past the address guard to the product's own pages, for the sample and for canaries; None for all others.

    It opens one origin and path prefix and no redirect. A canary on somebody else's page has no use for it.
    """
    if monitor.is_sample:
        return Exemption(origin=settings.SAMPLE_ORIGIN, path_prefix=SAMPLE_PREFIX)
    if monitor.is_canary:
        return Exemption(origin=settings.SAMPLE_ORIGIN, path_prefix=CANARY_PREFIX)
    return None


def is_our_page(monitor: Monitor) -> bool:
    """Whether the product serves the page itself: no robots.txt is asked for it."""
    exemption = exemption_of(monitor)
    try:
        return exemption is not None and is_exempt(parse(monitor.url), exemption)
    except Refused:
        return False


def _pair(text: str) -> tuple[str, int]:
    """`127.0.0.1:8080` or `[::1]:8080` as address and port."""
    host, _, port = text.rpartition(":")
    return str(ip_address(host.strip("[]"))), int(port)


def _own_hosts() -> frozenset[str]:
    """Names under which the product itself is served."""
    names = {urlsplit(settings.APP_ORIGIN).hostname, urlsplit(settings.FRAME_ORIGIN).hostname}
    names.update(host.strip("[].") for host in settings.ALLOWED_HOSTS if host != "*")
    return frozenset(name.lower() for name in names if name)


@lru_cache(maxsize=1)
def _interface_addresses() -> frozenset[str]:
    """Addresses of this machine's interfaces, public ones too: a monitor of ourselves would feed on itself.

    Linux lists them in /proc; elsewhere the host's own name is resolved, which may miss some. Private ones are
    refused anyway, so an incomplete list matters only for a machine with a public address of its own.
    """
    found: set[str] = set()
    with contextlib.suppress(OSError, UnicodeError):  # a machine that cannot resolve its own name is common
        found.update(str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None))
    found.update(_listed_ipv4(Path("/proc/net/fib_trie")))
    found.update(_listed_ipv6(Path("/proc/net/if_inet6")))
    return frozenset(str(ip_address(text.partition("%")[0])) for text in found)


def _listed_ipv4(path: Path) -> set[str]:
    """The local addresses in Linux's routing trie: the line before each `/32 host LOCAL`."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return set()
    return {
        before.split()[-1]
        for before, line in itertools.pairwise(lines)
        if line.strip() == "/32 host LOCAL" and before.strip().startswith("|--")
    }


def _listed_ipv6(path: Path) -> set[str]:
    """The first column of Linux's list: 32 hexadecimal digits."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return set()
    return {str(IPv6Address(int(line.split()[0], 16))) for line in lines if line.strip()}
