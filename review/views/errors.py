"""What people see when something of ours breaks."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from config.logs import request_id

RETRY_AFTER_S = 30


def broken(request: HttpRequest) -> HttpResponse:
    """500, or 503 with a time to try again where the database can't be reached. Neither page asks the database."""
    problem = sys.exc_info()[1]
    if isinstance(problem, OperationalError | InterfaceError):
        response = HttpResponse(render_to_string("503.html"), status=503)
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
    return HttpResponse(render_to_string("500.html", {"request_name": request_id.get()}), status=500)
