"""Where a visitor comes from, as far as it can be believed."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """The address that lock-outs count, never one that the visitor could have made up.

    Each of our proxies appends the address it was called from to X-Forwarded-For, so behind N of them the N-th from
    the end is what the outermost one saw; what stands before it came with the request. Without proxies, or with a
    header that is shorter than it must be, it is the address that called us.
    """
    peer: str = request.META.get("REMOTE_ADDR", "")
    if not settings.PROXY_COUNT:
        return peer
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if len(hops) < settings.PROXY_COUNT:
        return peer
    try:
        return str(ip_address(hops[-settings.PROXY_COUNT].strip()))
    except ValueError:
        return peer
