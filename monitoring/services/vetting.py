"""What people write to read a page by: selectors, patterns, fields, proxies; each tried out before it is kept."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import re2
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import check_url
from monitoring.services.egress import address_policy


def check_selector(text: str) -> None:
    """Raise ValidationError where a CSS selector does not parse."""
    try:
        LexborHTMLParser("<p></p>").css(text)
    except (SelectolaxError, ValueError) as error:
        raise ValidationError(
            _("“%(text)s” does not parse as a CSS selector.") % {"text": text}, code="selector"
        ) from error


def check_pattern(text: str) -> None:
    """Raise ValidationError where a pattern does not compile, or would take more than linear time or much memory."""
    try:
        re2.compile(text)
    except re2.error as error:
        raise ValidationError(
            _("“%(text)s” does not compile: %(why)s.") % {"text": text, "why": error}, code="pattern"
        ) from error


def check_ignore(*, kind: str, value: str) -> None:
    """Raise ValidationError where an ignore rule cannot work."""
    if kind == "selector":
        check_selector(value)
    elif kind == "pattern":
        check_pattern(value)


def check_field(*, name: str, source: str, selector: str, attribute: str, type: str) -> None:
    """Raise ValidationError where a field cannot be read by this source and selector."""
    if source == "css":
        check_selector(selector)


def check_proxy(text: str) -> str:
    """A proxy's address that may be used; raises ValidationError otherwise.

    A proxy is an egress like any other: it stands on a public address, or the deployment names it. Nothing is
    connected to here, so the answer tells nothing about what listens where.
    """
    example = "http://USER:PASSWORD@HOST:PORT"
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in text):
        raise ValidationError(_("The proxy holds white space or control characters."), code="proxy")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValidationError(
            _("The proxy cannot be read; expected %(example)s.") % {"example": example}, code="proxy"
        ) from None
    if parts.scheme not in {"http", "https"}:
        raise ValidationError(_("The proxy's scheme must be http or https."), code="proxy-scheme")
    if not parts.hostname or not port or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValidationError(
            _("Expected %(example)s and nothing behind the port.") % {"example": example}, code="proxy"
        )
    policy = address_policy()
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if f"{parts.hostname}:{port}" in policy.trusted_proxies:
        return text
    try:
        check_url(f"http://{host}:{port}/", replace(policy, extra_ports=policy.extra_ports | {port}))
    except Refused as error:
        raise ValidationError(error.sentence, code=error.code) from error
    return text
