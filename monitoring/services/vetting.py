"""What people write to read a page by: selectors, patterns, fields, proxies; each tried out before it is kept."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from monitoring.detection import ignore
from monitoring.detection.documents.jsonpath import JsonPathError, compile_path
from monitoring.detection.fields import FieldSpec, FieldSpecError, validate_spec
from monitoring.fetching.charset import registered
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import check_url
from monitoring.models import IgnoreRule
from monitoring.services import secrets, vantages
from monitoring.services.egress import address_policy


def check_selector(text: str) -> None:
    """Raise ValidationError where a CSS selector cannot be used to find a region or an element to wait for."""
    if fault := ignore.selector_fault(text):
        raise ValidationError(fault, code="selector")


def check_json_path(text: str) -> None:
    """Raise ValidationError where a path into JSON cannot be read."""
    try:
        compile_path(text)
    except JsonPathError as error:
        raise ValidationError(str(error), code="json-path") from error


def check_ignore(*, kind: str, value: str) -> None:
    """Raise ValidationError where an ignore rule cannot work, or would hide the whole page."""
    check = {
        IgnoreRule.Kind.SELECTOR: ignore.validate_selector,
        IgnoreRule.Kind.PATTERN: ignore.validate_pattern,
        IgnoreRule.Kind.BLOCK: ignore.validate_block,
        IgnoreRule.Kind.PLACE: ignore.validate_place,
    }[IgnoreRule.Kind(kind)]
    try:
        check(value)
    except ignore.IgnoreRuleError as error:
        raise ValidationError(str(error), code=kind) from error


def check_field(*, name: str, source: str, selector: str, attribute: str, type: str) -> None:
    """Raise ValidationError where a field cannot be read by this source and selector."""
    try:
        validate_spec(FieldSpec(name=name, source=source, selector=selector, attribute=attribute, type=type))
    except FieldSpecError as error:
        raise ValidationError(str(error), code="field") from error


def _check_places(text: str) -> None:
    """Raise ValidationError for what stands in braces and means nothing."""
    for place in vantages.places_of(text):
        if place == vantages.COUNTRY:
            continue
        try:
            if not secrets.is_reference(place):
                raise secrets.SecretError(_("In braces stands country or secret:NAME; found {%s}.") % place[:40])
            secrets.name_of(place)
        except secrets.SecretError as error:
            raise ValidationError(error.sentence, code="proxy-place") from error


def check_charset(text: str) -> str:
    """The registry's name for a character encoding; raises ValidationError for one that pages can't be in."""
    if not text.strip():
        return ""
    if found := registered(text):
        return found
    raise ValidationError(
        _("“%(text)s” is no character encoding of the web; expected a name such as utf-8, windows-1251 or shift_jis."),
        code="charset",
        params={"text": text.strip()[:40]},
    )


def check_proxy(text: str) -> str:
    """A proxy's address that may be used; raises ValidationError otherwise.

    A proxy is an egress like any other: it stands on a public address, or the deployment names it. Nothing is
    connected to here, so the answer tells nothing about what listens where. The address is a template; a password
    stands in it by reference only.
    """
    example = "http://USER:{secret:NAME}@HOST:PORT"
    _check_places(text)
    if "{secret:" in text.rpartition("@")[2]:
        raise ValidationError(_("A secret can stand for the user or the password only."), code="proxy-secret")
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
    if parts.password and not vantages.is_only_a_secret(parts.password):
        raise ValidationError(
            _("A password is not kept here. Write %(example)s, and set TIDELINE_SECRET_NAME where Tideline runs.")
            % {"example": example},
            code="proxy-password",
        )
    hostname = parts.hostname.replace("{country}", "de")
    policy = address_policy()
    host = f"[{hostname}]" if ":" in hostname else hostname
    if f"{hostname}:{port}" in policy.trusted_proxies:
        return text
    try:
        check_url(f"http://{host}:{port}/", replace(policy, extra_ports=policy.extra_ports | {port}))
    except Refused as error:
        raise ValidationError(error.sentence, code=error.code) from error
    return text
