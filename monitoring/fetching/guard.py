"""Where the fetcher may go: one parser for the check and the use of a URL, and one judgement of addresses.

`check_url` looks at the text of a URL alone and asks no name server, so that a form can call it. What a name resolves
to is judged by `AddressPolicy.objection` when it is looked up (`resolver`), and that very address is connected to.
Everything errs towards refusing: an address has to be known as public.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import quote, unquote

import idna

from monitoring.fetching.capture import Exemption
from monitoring.fetching.errors import Refused

type Address = IPv4Address | IPv6Address
type Network = IPv4Network | IPv6Network

MAX_URL_LENGTH = 8192
DEFAULT_PORTS = {"http": 80, "https": 443}

# Names that stand for this machine or for a private network wherever they are asked.
_LOCAL_SUFFIXES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "home.arpa",
    "onion",
)

_SPLIT = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(//([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]*))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
# Controls, white space of any script, backslash, lone surrogates: parsers strip, split at or rewrite these.
_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff]|\s")
_USERINFO = re.compile(r"//[^/?#]*@")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_DOT_SEGMENT = re.compile(r"(?i)^(?:\.|%2e){1,2}$")

# Characters that stay as they are in a path or query; the rest is percent-encoded.
_PATH_SAFE = "/:@!$&'()*+,;=-._~%|[]^"
_QUERY_SAFE = _PATH_SAFE + "?"

# Not public whatever `is_global` says: it has changed between Python releases, and it says yes to some of these.
_REFUSED_NETWORKS: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(text), why)
    for text, why in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade private"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("168.63.129.16/32", "a cloud platform's host agent"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "set aside for protocols"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "a tunnel relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "set aside for benchmarks"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::/96", "an IPv4 address in IPv6 clothes"),
        ("64:ff9b:1::/48", "a private translation prefix"),
        ("100::/64", "discard only"),
        ("2001::/23", "set aside for protocols"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "a 6to4 tunnel"),
        ("3fff::/20", "documentation"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
# Where cloud platforms tell a machine its credentials, inside networks that a deployment may open: never reached.
_METADATA = frozenset(map(ip_address, ("100.100.100.200", "fd00:ec2::23", "fd00:ec2::254", "fd20:ce::254")))
# What a deployment may open by naming a part of it: never loopback, link-local (cloud metadata) or multicast.
PRIVATE_NETWORKS: tuple[Network, ...] = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
# One sentence for every refused address, literal or behind a name: it tells nothing about what is where inside.
REFUSED_ADDRESS = (
    "This is no public address; only public addresses are fetched, and private ones that the deployment opens."
)


def is_private(network: Network) -> bool:
    """Whether a network is a part of those that a deployment may open."""
    return any(
        (isinstance(network, IPv4Network) and isinstance(private, IPv4Network) and network.subnet_of(private))
        or (isinstance(network, IPv6Network) and isinstance(private, IPv6Network) and network.subnet_of(private))
        for private in PRIVATE_NETWORKS
    )


@functools.lru_cache(maxsize=16)
def _networks(texts: frozenset[str]) -> tuple[Network, ...]:
    """The allowed networks; one that is not private is passed over, whoever wrote it there."""
    return tuple(network for network in map(ip_network, sorted(texts)) if is_private(network))


def _unmapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 address merely wraps (mapped, or behind NAT64), else the address itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPolicy:
    """Which addresses and names the fetcher may use. The default is the public Internet on ports 80 and 443.

    allow           (address, port) pairs that are let through although not public; for tests only
    extra_ports     ports besides 80 and 443
    allow_networks  private networks (CIDR) that the deployment opens; pages outside cannot lead into them
    own_addresses   addresses of our own interfaces, public ones included: we do not watch ourselves
    own_hosts       host names under which the product itself is served
    trusted_proxies "host:port" of vantage proxies that the deployment names; they may be on private addresses
    """

    allow: frozenset[tuple[str, int]] = frozenset()
    allow_networks: frozenset[str] = frozenset()
    extra_ports: frozenset[int] = frozenset()
    own_addresses: frozenset[str] = frozenset()
    own_hosts: frozenset[str] = frozenset()
    trusted_proxies: frozenset[str] = frozenset()

    def objection(self, address: Address | str, port: int) -> str:
        """Why this address must not be connected to, as a few words, or the empty string when it may be."""
        found = ip_address(address) if isinstance(address, str) else address
        if (str(found), port) in self.allow:
            return ""
        if isinstance(found, IPv6Address) and found.scope_id:
            return "link-local"
        inner = _unmapped(found)
        if str(inner) in self.own_addresses or str(found) in self.own_addresses:
            return "one of our own"
        if inner in _METADATA:
            return "a cloud platform's metadata"
        if self.is_inside(found):
            return ""
        for network, why in _REFUSED_NETWORKS:
            if inner in network:
                return why
        if not inner.is_global or inner.is_multicast or inner.is_reserved or inner.is_unspecified:
            return "not public"
        return ""

    def is_inside(self, address: Address | str) -> bool:
        """Whether an address lies in a private network that this deployment opened; written as itself, not wrapped."""
        found = ip_address(address) if isinstance(address, str) else address
        return any(found in network for network in _networks(self.allow_networks))

    def public_only(self) -> AddressPolicy:
        """The same without the opened private networks: for where a page outside leads."""
        return replace(self, allow_networks=frozenset()) if self.allow_networks else self

    def allows_port(self, port: int) -> bool:
        """Whether requests may go to this port at all."""
        return port in (80, 443) or port in self.extra_ports or any(port == allowed for _, allowed in self.allow)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart: every later step uses these parts and never parses again.

    `host` is a lower-case ASCII name, or an address without brackets; `address` is set when it is a literal.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str
    fragment: str
    address: Address | None
    exempt: bool = False

    @property
    def origin(self) -> str:
        """Scheme, host and port, the port left out when it is the scheme's own."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def url(self) -> str:
        """The canonical URL."""
        return f"{self.origin}{self.path}{self.query}{self.fragment}"


def check_url(url: str, policy: AddressPolicy, *, exemption: Exemption | None = None) -> str:
    """The canonical form of a URL that may be fetched; raises `Refused` with a code and a sentence otherwise.

    Codes: length, characters, scheme, userinfo, host, port, local-name, own-host, address.
    `HTTP://Example.COM:80/a/../b?q=é` becomes `http://example.com/b?q=%C3%A9`.
    """
    return vet(url, policy, exemption=exemption).url


def vet(url: str, policy: AddressPolicy, *, exemption: Exemption | None = None) -> Target:
    """`check_url`, taken apart."""
    target = parse(url)
    if exemption is not None and is_exempt(target, exemption):
        return Target(
            target.scheme,
            target.host,
            target.port,
            target.path,
            target.query,
            target.fragment,
            target.address,
            exempt=True,
        )
    if target.address is not None:
        if policy.objection(target.address, target.port):
            raise Refused("address", REFUSED_ADDRESS)
    else:
        _check_name(target.host, target.port, policy)
    if not policy.allows_port(target.port):
        more = "".join(f", {port}" for port in sorted(policy.extra_ports))
        raise Refused("port", f"Port {target.port} is not allowed; expected one of 80, 443{more}.")
    return target


def _check_name(host: str, port: int, policy: AddressPolicy) -> None:
    if host in policy.own_hosts:
        raise Refused("own-host", f"{host} is this product itself, which does not watch itself.")
    if host == "localhost" and (("127.0.0.1", port) in policy.allow or ("::1", port) in policy.allow):
        return
    if policy.allow_networks and host != "localhost" and not host.endswith((".localhost", ".onion")):
        return  # names inside an opened network are local ones; where they lead is judged when they are looked up
    if "." not in host or host.endswith(tuple("." + suffix for suffix in _LOCAL_SUFFIXES)):
        raise Refused("local-name", f"{host} is a name of a local network; only public host names are fetched.")


def is_exempt(target: Target, exemption: Exemption) -> bool:
    """Whether a URL is one of the product's own pages: same origin, and a path under the prefix however spelt."""
    own = parse(exemption.origin)
    if (own.scheme, own.host, own.port) != (target.scheme, target.host, target.port):
        return False
    path = _plain_path(target.path)
    prefix = exemption.path_prefix.rstrip("/")
    return path is not None and (path == prefix or path.startswith(prefix + "/"))


def _plain_path(path: str) -> str | None:
    """A path with escapes and dot segments resolved as any server might, or None when it is not plain."""
    for _ in range(4):
        decoded = unquote(path, errors="strict") if _is_utf8(path) else None
        if decoded is None or "\\" in decoded or "\0" in decoded:
            return None
        decoded = _without_dot_segments(decoded)
        if decoded == path:
            return decoded
        path = decoded
    return None


def _is_utf8(path: str) -> bool:
    try:
        unquote(path, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def without_userinfo(url: str) -> str:
    """A URL, however malformed, without a user name and password, fit for a record or a log."""
    return _USERINFO.sub("//", url, count=1)


def parse(url: str) -> Target:
    """A URL taken apart strictly; raises `Refused` where two programs could read it in two ways."""
    if len(url) > MAX_URL_LENGTH:
        raise Refused("length", f"The URL has {len(url)} characters; at most {MAX_URL_LENGTH} are allowed.")
    unfit = _UNFIT.search(url)
    if unfit is not None:
        raise Refused("characters", f"The URL holds U+{ord(unfit[0]):04X}, which must be written percent-encoded.")
    parts = _SPLIT.fullmatch(url)
    if parts is None:
        raise Refused("scheme", "The URL has no scheme; it must start with http:// or https://.")
    scheme = parts[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise Refused("scheme", f"The scheme {scheme[:40]}: is not fetched; only http and https are.")
    authority = parts[3] or ""
    if not authority:
        raise Refused("host", "The URL names no host.")
    if "@" in authority:
        raise Refused("userinfo", "The URL holds a user name or password; these are not sent.")
    host, port_text = _host_and_port(authority)
    port = _port(port_text, DEFAULT_PORTS[scheme])
    host, address = _normalised_host(host)
    path = _encoded(_without_dot_segments(parts[4] or "/"), _PATH_SAFE)
    query = "?" + _encoded(parts[5][1:], _QUERY_SAFE) if parts[5] else ""
    fragment = "#" + _encoded(parts[6][1:], _QUERY_SAFE) if parts[6] and len(parts[6]) > 1 else ""
    return Target(scheme, host, port, path, query, fragment, address)


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        bracketed = _BRACKETED.fullmatch(authority)
        if bracketed is None:
            raise Refused("host", "The URL's IPv6 address cannot be read; zones are not allowed.")
        return f"[{bracketed[1]}]", bracketed[2] or ""
    host, _, port_text = authority.partition(":")
    return host, port_text


def _port(text: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise Refused("port", "The URL's port is not a number from 1 to 65535.")
    return int(text)


def _normalised_host(host: str) -> tuple[str, Address | None]:
    """The host in one spelling, and the address when it is a literal in any notation that some client accepts."""
    if host.startswith("["):
        try:
            address = IPv6Address(host[1:-1])
        except ValueError:
            raise Refused("host", "The URL's IPv6 address cannot be read.") from None
        return str(address), address
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            # Compatibility forms of digits and dots (①, 。) are addresses to some clients and invalid names to idna.
            try:
                host = idna.uts46_remap(host, std3_rules=False, transitional=False)
            except (idna.IDNAError, UnicodeError):
                raise Refused("host", "The host name is not a valid internationalised name.") from None
            if not host.isascii():
                raise Refused("host", "The host name is not a valid internationalised name.") from None
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        four = _ipv4(labels)
        return str(four), four
    if len(host) > 253 or not all(_LABEL.fullmatch(label) and _is_sound(label) for label in labels):
        raise Refused("host", "The host name is not valid: labels of letters, digits and hyphens are expected.")
    return host, None


def _is_sound(label: str) -> bool:
    """Whether an `xn--` label is the punycode of something printable that needs it; other labels are sound."""
    if not label.startswith("xn--"):
        return True
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
        return not decoded.isascii() and decoded.isprintable() and decoded.encode("punycode").decode() == label[4:]
    except (UnicodeError, IndexError, ValueError, OverflowError):
        return False


def _ipv4(labels: list[str]) -> IPv4Address:
    """An IPv4 address in the loose notations of old C libraries: decimal, hex and octal, one to four parts."""
    numbers: list[int] = []
    for label in labels:
        if not _NUMBER.fullmatch(label):
            raise Refused("host", "The host ends in a number but is not an IPv4 address.")
        try:
            numbers.append(_loose_number(label))
        except ValueError:
            raise Refused("host", "The host ends in a number but is not an IPv4 address.") from None
    if len(numbers) > 4 or any(number > 255 for number in numbers[:-1]):
        raise Refused("host", "The host ends in a number but is not an IPv4 address.")
    value = numbers[-1]
    if value >= 256 ** (5 - len(numbers)):
        raise Refused("host", "The host ends in a number but is not an IPv4 address.")
    for position, number in enumerate(numbers[:-1]):
        value += number << (8 * (3 - position))
    return IPv4Address(value)


def _loose_number(label: str) -> int:
    if label[:2] in ("0x", "0X"):
        return int(label[2:] or "0", 16)
    if len(label) > 1 and label.startswith("0"):
        return int(label, 8)
    return int(label)


def _without_dot_segments(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for position, segment in enumerate(segments):
        if not _DOT_SEGMENT.match(segment):
            kept.append(segment)
            continue
        if len(segment.lower().replace("%2e", ".")) == 2 and len(kept) > 1:
            kept.pop()
        if position == len(segments) - 1:
            kept.append("")
    return "/".join(kept) or "/"


def _encoded(text: str, safe: str) -> str:
    """Text with everything percent-encoded that could be read differently; escapes already there stay as they are."""
    if "%" in text and len(_ESCAPE.findall(text)) != text.count("%"):
        text = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text)
    return quote(text, safe=safe)
