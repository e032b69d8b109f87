"""One request at a time, where the test database lives in memory and all threads share its one connection."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext

from django.db import connection
from django.http import HttpRequest, HttpResponse

_turn = threading.Lock()


class OneAtATime:
    """Lets requests in one by one: on a shared connection a second one would run inside the first one's transaction."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Wait for the turn; on a database that threads don't share, go at once."""
        shared = connection.vendor == "sqlite" and connection.is_in_memory_db()  # type: ignore[attr-defined]
        with _turn if shared else nullcontext():
            return self.get_response(request)
