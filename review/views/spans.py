"""Spans of time that pages offer to look back over."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlencode

from django.utils.translation import gettext as _

SPANS = {"30": timedelta(days=30), "90": timedelta(days=90), "365": timedelta(days=365)}
USUAL = "365"


def chosen(wanted: str) -> tuple[str, timedelta]:
    """The span of that name, or the usual one: its name and its length."""
    name = wanted if wanted in SPANS else USUAL
    return name, SPANS[name]


def choices(base: str, kept: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Every span as name, words and the address of the page at `base` that shows it and keeps its other parameters."""
    words = {"30": _("30 days"), "90": _("90 days"), "365": _("12 months")}
    return [(name, words[name], f"{base}?{urlencode({**kept, 'span': name})}") for name in SPANS]
