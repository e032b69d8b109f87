"""A name for each request, so that its lines can be found in the log and a visitor can tell which one went wrong."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from config.logs import request_id

HEADER = "X-Request-ID"
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIds:
    """Takes the name that a proxy in front gave, where that is well-formed, else makes one; the answer carries it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Name the request while it is answered."""
        given = request.headers.get(HEADER, "")
        name = given if _WELL_FORMED.fullmatch(given) else secrets.token_hex(8)
        token = request_id.set(name)
        try:
            response = self.get_response(request)
        finally:
            request_id.reset(token)
        response[HEADER] = name
        return response
