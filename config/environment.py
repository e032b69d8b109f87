"""Typed reading of environment variables; a wrong value stops the start and names the variable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit

from config import logs
from monitoring.fetching.guard import is_private


class EnvironmentProblem(SystemExit):
    """An environment variable holds something that can't be used."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"Configuration: {name} {problem}")


def text(name: str, default: str = "") -> str:
    """The variable's value, or the content of the file that NAME_FILE points to."""
    if path := os.environ.get(f"{name}_FILE"):
        _files[f"{name}_FILE"] = Path(path)
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise EnvironmentProblem(f"{name}_FILE", f"cannot be read: {error.strerror}") from error
    return os.environ.get(name, default)


_files: dict[str, Path] = {}


def files_read() -> dict[str, Path]:
    """The files that values were asked of so far, by the variable that named them."""
    return dict(_files)


def flag(name: str, *, default: bool) -> bool:
    """A yes/no variable: 1, 0, true, false, yes, no, on, off."""
    value = text(name, "1" if default else "0").strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off", ""}:
        return False
    raise EnvironmentProblem(name, f"is {value!r}; expected 1 or 0")


def number(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number within bounds."""
    value = text(name, str(default))
    try:
        found = int(value)
    except ValueError:
        raise EnvironmentProblem(name, f"is {value!r}; expected a whole number") from None
    if not low <= found <= high:
        raise EnvironmentProblem(name, f"is {found}; expected {low} to {high}")
    return found


def numbers(name: str, *, low: int, high: int) -> list[int]:
    """A comma-separated list of whole numbers within bounds."""
    found = []
    for word in words(name):
        if not word.isdigit() or not low <= int(word) <= high:
            raise EnvironmentProblem(name, f"contains {word!r}; expected whole numbers from {low} to {high}")
        found.append(int(word))
    return found


def places(name: str) -> list[str]:
    """A comma-separated list of HOST:PORT, lower-case; IPv6 addresses stand in brackets and come back without."""
    found = []
    for word in words(name):
        try:
            parts = urlsplit(f"//{word}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or not port or "@" in word or parts.path or parts.query or parts.fragment:
            raise EnvironmentProblem(name, f"contains {word!r}; expected HOST:PORT such as proxy.internal:3128")
        found.append(f"{host}:{port}")
    return found


def networks(name: str) -> list[str]:
    """A comma-separated list of private networks in CIDR notation; anything public, local or multicast is refused."""
    found = []
    for word in words(name):
        try:
            network = ip_network(word)
        except ValueError:
            raise EnvironmentProblem(
                name, f"contains {word!r}; expected a network such as 10.20.0.0/16 without host bits"
            ) from None
        if not is_private(network):
            raise EnvironmentProblem(
                name,
                f"contains {word}; only parts of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 and fc00::/7 can be opened",
            )
        found.append(str(network))
    return found


def any_networks(name: str) -> list[str]:
    """A comma-separated list of networks or addresses."""
    found = []
    for word in words(name):
        try:
            found.append(str(ip_network(word)))
        except ValueError:
            raise EnvironmentProblem(
                name, f"contains {word!r}; expected a network such as 10.20.0.0/16 without host bits, or an address"
            ) from None
    return found


def contact(name: str) -> str:
    """A mail address or an http(s) address at which a site's owner reaches whoever runs this; may be empty."""
    value = text(name).strip()
    is_url = value.startswith(("https://", "http://")) and bool(urlsplit(value).hostname)
    is_mail = value.count("@") == 1 and all(value.split("@")) and "/" not in value
    fit = value.isascii() and value.isprintable() and not set(value) & set(' ;()<>"') and len(value) <= 200
    if value and not (fit and (is_url or is_mail)):
        raise EnvironmentProblem(
            name, f"is {value!r}; expected a mail address, or a page such as https://example.org/monitoring"
        )
    return value


def choice(name: str, default: str, known: Sequence[str]) -> str:
    """One of a few words."""
    value = text(name, default).strip().lower()
    if value not in known:
        raise EnvironmentProblem(name, f"is {value!r}; expected {' or '.join(known)}")
    return value


def passwords(*names: str) -> list[str]:
    """The passwords in addresses, as written and as meant."""
    found = []
    for name in names:
        secret = urlsplit(text(name)).password or ""
        found += [secret, unquote(secret)]
    return found


def words(name: str, default: str = "") -> list[str]:
    """A comma-separated list."""
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


class Secrets:
    """Secrets that settings of sites and monitors refer to by name; read when asked for, and never printed.

    NAME is looked for as the variable PREFIX_NAME, in the file that PREFIX_NAME_FILE points to, and as a line
    `NAME=value` of the secrets file. `KEY` is none of them: it is the product's own signing key. PREFIX_NAME_HOSTS, where
    set, names the only hosts that the secret may be given to.
    """

    RESERVED = frozenset({"KEY"})

    def __init__(self, prefix: str, file: str = "") -> None:
        self._prefix = prefix
        self.file = file

    def __repr__(self) -> str:
        return f"<secrets {self._prefix}*>"

    def get(self, name: str) -> str | None:
        """The secret's value, or None where there is none of that name; raises OSError for a file that can't be read."""
        if self.is_reserved(name):
            return None
        try:
            value = text(f"{self._prefix}{name}") or self._lines().get(name)
        except EnvironmentProblem as problem:  # ends a start, and must not end a worker
            raise OSError(str(problem)) from problem
        if value:
            logs.hide(value)
        return value

    def is_reserved(self, name: str) -> bool:
        """Whether this can be no secret's name."""
        return name in self.RESERVED or name.endswith(("_FILE", "_HOSTS"))

    def hosts(self, name: str) -> list[str]:
        """The only hosts that this secret may be given to; empty: any."""
        return [host.lower() for host in words(f"{self._prefix}{name}_HOSTS")]

    def _lines(self) -> dict[str, str]:
        if not self.file:
            return {}
        lines = Path(self.file).read_text(encoding="utf-8").splitlines()
        pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
        return {name.strip(): value.strip() for name, _, value in pairs}
