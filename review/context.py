"""What every page of the interface needs: counts, preferences, names."""

from __future__ import annotations

from django.http import HttpRequest


def interface(request: HttpRequest) -> dict[str, object]:
    """Template variables for the frame around each page."""
    return {}
