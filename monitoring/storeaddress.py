"""Addresses of stores: `file:///folder`, `s3://KEY:SECRET@host:port/bucket/prefix?region=..&tls=0`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

_OPTIONS = frozenset({"region", "tls", "verify"})


class StoreAddressError(ValueError):
    """The address names no store; the text says why."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A folder."""

    folder: Path

    @property
    def where(self) -> str:
        """The address, to be shown."""
        return self.folder.as_uri()


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket of a service. Without an endpoint the service is Amazon's; without a key boto3 looks for one."""

    endpoint: str | None
    bucket: str
    prefix: str
    region: str
    key: str = field(repr=False)
    secret: str = field(repr=False)
    verify: bool = True

    @property
    def root(self) -> str:
        """What the key of every object begins with."""
        return f"{self.prefix}/" if self.prefix else ""

    @property
    def where(self) -> str:
        """The address without credentials, to be shown."""
        host = (self.endpoint or "https://amazonaws.com").partition("://")[2]
        return f"s3://{host}/{self.bucket}{'/' if self.prefix else ''}{self.prefix}"


type Place = FilePlace | S3Place


def read_address(url: str, *, key: str = "", secret: str = "") -> Place:
    """The store of an address; `key` and `secret` stand in where it names none. Raises `StoreAddressError`.

    The host `amazonaws.com` means Amazon's own service, in the region named.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise StoreAddressError("is no address") from error  # what urllib says may hold a part of the secret
    if parts.scheme == "file":
        folder = unquote(parts.path)
        if parts.netloc or not folder.startswith("/") or parts.query:
            raise StoreAddressError("names no folder; expected file:///var/lib/tideline/payloads")
        return FilePlace(Path(folder))
    if parts.scheme != "s3":
        raise StoreAddressError(f"has the scheme {parts.scheme!r}; expected file or s3")
    bucket, _, prefix = unquote(parts.path).strip("/").partition("/")
    if not parts.hostname or not bucket:
        raise StoreAddressError("names no bucket; expected s3://KEY:SECRET@host:port/bucket/prefix")
    options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    if unknown := sorted(set(options) - _OPTIONS):
        raise StoreAddressError(f"has the option {unknown[0]!r}; expected region, tls or verify")
    if wrong := [name for name in ("tls", "verify") if options.get(name, "1") not in {"0", "1"}]:
        raise StoreAddressError(f"has {wrong[0]}={options[wrong[0]]}; expected 1 or 0")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    scheme = "http" if options.get("tls") == "0" else "https"
    return S3Place(
        endpoint=None if parts.hostname == "amazonaws.com" else f"{scheme}://{host}{f':{port}' if port else ''}",
        bucket=bucket,
        prefix=prefix.strip("/"),
        region=options.get("region", "us-east-1"),
        key=unquote(parts.username or "") or key,
        secret=unquote(parts.password or "") or secret,
        verify=options.get("verify", "1") == "1",
    )
