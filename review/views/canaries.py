"""Canaries: would we have noticed?"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from monitoring.services import canaries
from review import canary_words

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@require_GET
def canary_page(request: HttpRequest) -> HttpResponse:
    """Each canary: what was planted last, what was expected and seen of it, and the last thirty."""
    now = timezone.now()
    found = canaries.standings(now=now) if settings.CANARY_S else []
    lines = [
        {
            "standing": one,
            "name": canary_words.name(one.canary),
            "seen": canary_words.seen(one.last) if one.last else "",
            "delay": one.delay,
            "cells": [canary_words.CELLS[row.state] for row in reversed(one.plantings)],
            "told": canary_words.told(one),
            "next_step": canary_words.next_step(one.last) if one.last and one.failed else "",
            "trace": f"{reverse('admin:monitoring_check_changelist')}?monitor__id__exact={one.canary.monitor_id}"
            if cast("User", request.user).is_superuser
            else "",
        }
        for one in found
    ]
    return render(
        request,
        "review/canaries.html",
        {"section": "sites", "lines": lines, "off": not settings.CANARY_S, "summary": canaries.summary(now=now)},
    )
