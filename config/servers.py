"""Addresses of the database and of Redis, read from URLs. An error names the variable and the fault, never the address:
it holds a password."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from config import sqlite
from config.environment import EnvironmentProblem, text
from monitoring.storeaddress import FilePlace, S3Place, StoreAddressError, read_address

POSTGRESQL = "postgresql://USER:PASSWORD@HOST:PORT/NAME"
# Options of libpq that may follow in the query; the others are not for a deployment to set here.
LIBPQ = frozenset(
    {
        "application_name", "channel_binding", "connect_timeout", "gssencmode", "keepalives", "keepalives_count",
        "keepalives_idle", "keepalives_interval", "passfile", "require_auth", "sslcert", "sslcrl", "sslkey", "sslmode",
        "sslpassword", "sslrootcert", "target_session_attrs", "tcp_user_timeout",
    }
)  # fmt: skip
_LIBPQ_NUMBERS = frozenset(
    {"connect_timeout", "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "tcp_user_timeout"}
)
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
CONNECT_TIMEOUT_S = 10
REDIS_OPTIONS = frozenset(
    {
        "db", "health_check_interval", "max_connections", "socket_connect_timeout", "socket_keepalive", "socket_timeout",
        "ssl_ca_certs", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile",
    }
)  # fmt: skip


def given(own: str, common: str) -> tuple[str, str]:
    """The variable that is set, and its value: our own name or the one that hosting services use; ("", "") for neither.

    Both set to different values is an error: one of them would be left unread.
    """
    mine, theirs = text(own).strip(), text(common).strip()
    if mine and theirs and mine != theirs:
        raise EnvironmentProblem(own, f"and {common} are both set and differ; keep one of them")
    return (own, mine) if mine or not theirs else (common, theirs)


def database(own: str, common: str, data: Path) -> dict[str, object]:
    """Django's database settings from a URL: `sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST:PORT/NAME?OPTIONS`.

    SQLite runs in WAL with IMMEDIATE transactions and synchronous FULL: a verdict that was
    acknowledged survives a power cut.
    """
    name, url = given(own, common)
    if not url:
        return _sqlite_file(str(data / "tideline.sqlite3"))
    parts = _split(name, url, example=POSTGRESQL)
    if parts.scheme == "sqlite":
        return _sqlite(name, parts)
    if parts.scheme in {"postgresql", "postgres"}:
        return _postgresql(name, parts)
    raise EnvironmentProblem(name, f"has the scheme {parts.scheme!r}; expected sqlite or postgresql")


def redis(own: str, common: str) -> str:
    """The address of Redis as its client takes it, or "": `redis://`, `rediss://` (TLS) or `unix://`."""
    name, url = given(own, common)
    if not url:
        return ""
    parts = _split(name, url, example="redis://HOST:PORT/NUMBER")
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise EnvironmentProblem(name, f"has the scheme {parts.scheme!r}; expected redis, rediss or unix")
    options = _options(name, parts, REDIS_OPTIONS)
    if parts.scheme == "unix":
        if not parts.path.strip("/") or parts.hostname:
            raise EnvironmentProblem(name, "names no socket; expected unix:///run/redis/redis.sock?db=0")
    else:
        if not parts.hostname:
            raise EnvironmentProblem(name, "names no host; expected redis://HOST:PORT/NUMBER")
        # The client takes a number it can't read for database 0, which may be somebody else's.
        if (number := parts.path.strip("/")) and not number.isdigit():
            raise EnvironmentProblem(
                name, f"names the database {number!r}; expected a number, as in redis://HOST:6379/0"
            )
    if not options.get("db", "0").isdigit():
        raise EnvironmentProblem(name, "has an option 'db' that is no number")
    for option in ("socket_timeout", "socket_connect_timeout", "health_check_interval", "max_connections"):
        if option in options and not options[option].replace(".", "", 1).isdigit():
            raise EnvironmentProblem(name, f"has an option {option!r} that is no number")
    if float(options.get("socket_timeout", "5")) < 2:
        raise EnvironmentProblem(name, "has a 'socket_timeout' below 2 seconds; workers wait for work for one second")
    return url


def storage(own: str, common: str, folder: Path, *, key: str, secret: str) -> tuple[Path, S3Place | None]:
    """Where page bytes are kept: a folder and None, or the default folder and a place in a service that speaks S3.

    `key` and `secret` stand in where the address holds no credentials.
    """
    name, url = given(own, common)
    if not url:
        return folder, None
    try:
        place = read_address(url, key=key, secret=secret)
    except StoreAddressError as error:
        raise EnvironmentProblem(name, str(error)) from error
    return (place.folder, None) if isinstance(place, FilePlace) else (folder, place)


def _split(name: str, url: str, *, example: str) -> SplitResult:
    """The parts of a URL that can be used; the usual mistake is a password with characters that mean something."""
    advice = f"expected {example}; in a password write @ as %40, : as %3A, / as %2F, # as %23, ? as %3F and % as %25"
    if "#" in url:
        raise EnvironmentProblem(name, f"holds a '#', which cuts the rest off; {advice}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise EnvironmentProblem(name, f"can't be read as an address; {advice}") from None
    if "@" in parts.path + parts.query or parts.netloc.count("@") > 1:
        raise EnvironmentProblem(name, f"holds an '@' too many; {advice}")
    if any(ord(letter) < 33 for letter in url):
        raise EnvironmentProblem(name, f"holds a blank or control character; {advice}")
    return parts


def _options(name: str, parts: SplitResult, known: frozenset[str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise EnvironmentProblem(name, "has options that can't be read; expected ?NAME=VALUE&NAME=VALUE") from None
    options = dict(pairs)
    if len(options) < len(pairs):
        raise EnvironmentProblem(name, "names an option twice")
    if unknown := sorted(option.lower() for option in options if option.lower() not in known):
        raise EnvironmentProblem(name, f"has an option {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return {option.lower(): value for option, value in options.items()}


def _sqlite(name: str, parts: SplitResult) -> dict[str, object]:
    if parts.netloc:
        raise EnvironmentProblem(name, "needs three slashes: sqlite:///PATH, or four before an absolute path")
    if parts.query:
        raise EnvironmentProblem(name, "has options; an sqlite address takes none")
    path = unquote(parts.path)
    if not path.strip("/"):
        raise EnvironmentProblem(name, "names no file; expected sqlite:///PATH")
    return _sqlite_file(path if path != "/:memory:" else ":memory:")


def _sqlite_file(path: str) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "timeout": sqlite.WAIT_S,
            "factory": sqlite.Connection,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
        },
        "CONN_MAX_AGE": None,
    }


def _postgresql(name: str, parts: SplitResult) -> dict[str, object]:
    own: Mapping[str, Callable[[str, str, str], object]] = {
        "conn_max_age": _age,
        "conn_health_checks": _switch,
        "disable_server_side_cursors": _switch,
    }
    options: dict[str, object] = dict(_options(name, parts, LIBPQ | own.keys() | {"host"}))
    if not parts.path.strip("/"):
        raise EnvironmentProblem(name, f"names no database; expected {POSTGRESQL}")
    found = {key.upper(): read(name, key, str(options.pop(key))) for key, read in own.items() if key in options}
    mode = options.get("sslmode", "prefer")
    if mode not in _SSL_MODES:
        raise EnvironmentProblem(name, f"has the sslmode {mode!r}; expected one of {', '.join(_SSL_MODES)}")
    for key in _LIBPQ_NUMBERS & options.keys():
        options[key] = _whole(name, key, str(options[key]))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": str(options.pop("host", "")) or _host(parts),
        "PORT": parts.port or "",
        "OPTIONS": {"connect_timeout": CONNECT_TIMEOUT_S, **options},
        "CONN_MAX_AGE": 300,
        "CONN_HEALTH_CHECKS": True,
        **found,
    }


def _host(parts: SplitResult) -> str:
    """The host, or the folder of a socket that was written percent-encoded in its place."""
    written = unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
    return written if written.startswith("/") else parts.hostname or ""


def _age(name: str, key: str, value: str) -> int | None:
    return None if value.lower() == "none" else _whole(name, key, value)


def _whole(name: str, key: str, value: str) -> int:
    if not value.isdigit():
        raise EnvironmentProblem(name, f"has an option {key!r} that is no whole number")
    return int(value)


def _switch(name: str, key: str, value: str) -> bool:
    if value.lower() not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise EnvironmentProblem(name, f"has an option {key!r} that is neither 1 nor 0")
    return value.lower() in {"1", "true", "yes", "on"}
