"""Vantages as the fetcher takes them: the proxy's template filled in, its secrets only in memory and only for the fetch."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from django.conf import settings

from monitoring.fetching.capture import VantageSpec
from monitoring.models import Vantage
from monitoring.services import secrets

_PLACE = re.compile(r"\{([^{}]*)\}")
COUNTRY = "country"


def spec_of(vantage: Vantage) -> VantageSpec:
    """A vantage as the fetcher takes it. A proxy that can't be filled in is a fault of the spec: nothing is asked then."""
    proxy, fault = "", ""
    try:
        proxy = filled(vantage.proxy_url, country=vantage.country)
    except secrets.SecretError as error:
        fault = f"The vantage's proxy can't be used. {error.sentence}"
    return VantageSpec(
        name=vantage.name,
        country=vantage.country,
        proxy_url=proxy,
        proxy_fault=fault,
        language=vantage.language,
        locale=vantage.locale,
        user_agent=vantage.user_agent or settings.USER_AGENT,
        time_zone=vantage.time_zone,
        viewport=(vantage.viewport_width, vantage.viewport_height),
    )


def facts_of(vantage: Vantage) -> dict[str, Any]:
    """Who asked and from where, as a snapshot keeps it; the proxy is none of it."""
    return {
        "id": vantage.pk,
        "name": vantage.name,
        "country": vantage.country,
        "language": vantage.language,
        "locale": vantage.locale,
        "user_agent": vantage.user_agent or settings.USER_AGENT,
        "time_zone": vantage.time_zone,
        "viewport": [vantage.viewport_width, vantage.viewport_height],
    }


def filled(template: str, *, country: str) -> str:
    """A proxy's address from its template.

    `http://halden-{country}:{secret:GATE}@gate.example:7777` becomes `http://halden-de:hunter2@gate.example:7777`.
    Raises `SecretError` where the deployment holds no such secret, or not for the proxy's host.
    """
    host = template.replace(f"{{{COUNTRY}}}", country.lower()).rpartition("@")[2].rpartition(":")[0].lower()

    def value(found: re.Match[str]) -> str:
        if found[1] == COUNTRY:
            return country.lower()
        return quote(secrets.resolve(found[1], host=host), safe="") if secrets.is_reference(found[1]) else found[0]

    return _PLACE.sub(value, template)


def places_of(template: str) -> list[str]:
    """What stands in braces in a template, in order: `country`, `secret:GATE`."""
    return _PLACE.findall(template)


def is_only_a_secret(text: str) -> bool:
    """Whether this part of a template is one reference and nothing else."""
    found = _PLACE.fullmatch(text)
    return found is not None and secrets.is_reference(found[1])
