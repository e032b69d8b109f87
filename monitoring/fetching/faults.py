"""What went wrong on the way to a page, in our own words: a site's text or a library's message is never passed on."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from datetime import UTC, datetime

import aiohttp

from monitoring.fetching.capture import Limits
from monitoring.fetching.errors import FetchError, LookupFailed

LOOKUP, CONNECT, TLS, HEAD, BODY = "lookup", "connect", "tls", "head", "body"

_NOT_WITHIN = {
    LOOKUP: "The name of the site was not resolved within {} s.",
    CONNECT: "No connection to the site could be made within {} s.",
    TLS: "No secure connection to the site could be made within {} s.",
    HEAD: "The site took the request and did not answer within {} s.",
    BODY: "The page did not arrive whole within {} s.",
}
# OpenSSL's verification results (X509_V_ERR_*), of which Python names none.
_CERTIFICATE = {
    9: ("tls-not-yet-valid", "is not valid yet"),
    10: ("tls-expired", "has expired"),
    18: ("tls-self-signed", "is signed by itself and by no authority that is trusted here"),
    19: ("tls-unknown-issuer", "leads to an authority that is not trusted here"),
    20: ("tls-unknown-issuer", "is signed by an authority that is not trusted here, or its chain is incomplete"),
    21: ("tls-unknown-issuer", "could not be traced to an authority: its chain is incomplete"),
    23: ("tls-revoked", "was revoked"),
    62: ("tls-wrong-name", "is for another host name"),
    64: ("tls-wrong-name", "is for another address"),
    66: ("tls-weak", "has a key that is too weak"),
    67: ("tls-weak", "is signed by an authority whose key is too weak"),
    68: ("tls-weak", "is signed with a method that is too weak"),
}
_PROBE_S = 1.5


def timed_out(stage: str, limits: Limits, *, waited_s: float) -> FetchError:
    """The failure of a page that took too long, by the stage it was at and the limit that was met there."""
    limit = limits.total_s
    if waited_s < limits.total_s:
        limit = {CONNECT: limits.connect_s, TLS: limits.connect_s, HEAD: limits.connect_s + limits.head_s}.get(
            stage, limit
        )
    seconds = f"{limit:g}"
    sentence = _NOT_WITHIN[stage].format(seconds)
    return FetchError(sentence, reason="timeout", transient=True, cause=f"timeout-{stage}", data={"seconds": seconds})


def of_lookup(error: LookupFailed) -> LookupFailed:
    """The same failure, with whether the name does not exist or nobody answered for it."""
    why = error.__cause__
    if isinstance(why, socket.gaierror) and why.errno == socket.EAI_AGAIN:
        error.cause = "dns-timeout"
    elif isinstance(why, socket.gaierror):
        error.cause = "dns-not-found"
    return error


def of_connection(error: OSError) -> FetchError:
    """A connection that did not come about: refused, unreachable, cut."""
    number = error.errno or getattr(getattr(error, "os_error", None), "errno", None)
    cause, sentence = {
        errno.ECONNREFUSED: ("connect-refused", "The site's machine refused the connection."),
        errno.EHOSTUNREACH: ("connect-unreachable", "There is no way to the site's machine from here."),
        errno.ENETUNREACH: ("connect-unreachable", "There is no way to the site's machine from here."),
        errno.ECONNRESET: ("connect-reset", "The site's machine cut the connection off."),
        errno.ETIMEDOUT: ("timeout-connect", "The site's machine did not answer."),
    }.get(number or 0, ("", "No connection to the site could be made."))
    return FetchError(sentence, reason="connect", transient=True, cause=cause)


def of_certificate(error: ssl.SSLError, *, expired_on: datetime | None = None) -> FetchError:
    """A certificate that can't be accepted, and what is wrong with it; with the day it expired, where that is known."""
    inner = getattr(error, "certificate_error", error)
    code = getattr(inner, "verify_code", 0)
    cause, fault = _CERTIFICATE.get(code, ("tls-invalid", "is not valid for it"))
    data = {}
    if expired_on is not None:
        data["on"] = expired_on.date().isoformat()
        fault += f", on {data['on']}"
    return FetchError(f"The site's certificate {fault}.", reason="tls", cause=cause, data=data)


def is_expiry(error: BaseException) -> bool:
    """Whether this is a certificate past its day, which can be asked for."""
    inner = getattr(error, "certificate_error", error)
    return isinstance(error, aiohttp.ClientConnectorCertificateError) and getattr(inner, "verify_code", None) == 10


async def expiry_of(address: str, port: int, host: str) -> datetime | None:
    """The day the certificate at a judged address ends; None when it can't be had within a few seconds.

    Connects once more without verifying and sends nothing: Python tells nothing of a certificate it refused.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(_PROBE_S):
            _, writer = await asyncio.open_connection(address, port, ssl=context, server_hostname=host)
    except OSError:  # a timeout is one
        return None
    secure = writer.get_extra_info("ssl_object")
    certificate = secure.getpeercert(binary_form=True) if secure is not None else None
    writer.transport.abort()
    return not_after(certificate) if certificate else None


def not_after(certificate: bytes) -> datetime | None:
    """The end of validity of an X.509 certificate in DER (RFC 5280, 4.1.2.5); None for bytes that are none."""
    try:
        _, outer = _element(certificate, 0)
        _, tbs = _element(certificate, outer[0])
        at = tbs[0]
        if certificate[at] == 0xA0:  # the version, which first versions leave out
            at = _element(certificate, at)[1][1]
        for _field in range(3):  # serial number, signature, issuer
            at = _element(certificate, at)[1][1]
        _, validity = _element(certificate, at)
        _, begins = _element(certificate, validity[0])
        tag, ends = _element(certificate, begins[1])
        text = certificate[ends[0] : ends[1]].decode("ascii")
        if tag == 0x17:  # UTCTime: two digits for the year, 50 to 99 are of the last century
            text = ("19" if text[:2] >= "50" else "20") + text
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (IndexError, ValueError):
        return None


def _element(data: bytes, at: int) -> tuple[int, tuple[int, int]]:
    """The tag of the DER element at a place, and where its content begins and ends."""
    tag, length = data[at], data[at + 1]
    start = at + 2
    if length & 0x80:
        width = length & 0x7F
        length = int.from_bytes(data[start : start + width], "big")
        start += width
    if start + length > len(data):
        raise ValueError("the element is longer than the certificate")
    return tag, (start, start + length)
