"""What a monitor's page says beside its charts: limits and who set them, learned places, robots.txt, who hears about it."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import Monitor, RobotsPolicy, SettingChange
from monitoring.services import memories, robots
from review import roles, site_words
from review.models import DigestSubscription

LATEST = 200  # visits whose duration is looked at


def of_monitor(monitor: Monitor, *, now: datetime) -> dict[str, Any]:
    """For a template: sentences, empty where there is nothing to say. Any: a context. Constant queries."""
    return {
        "cut_origin": _("from the page type") if monitor.cut is None else _("the monitor's own"),
        "cut_set": _last_set(monitor),
        "usual_time": _usual_time(monitor),
        "moved_places": _moved_places(monitor),
        "robots": _robots(monitor, now),
        "digest_readers": _digest_readers(monitor),
    }


def _last_set(monitor: Monitor) -> SettingChange | None:
    """Who set cut or threshold last, where they are in force: on the monitor or on its page type."""
    own = Q(monitor=monitor) if monitor.cut is not None or monitor.threshold is not None else Q(pk__in=[])
    shared = Q(page_type=monitor.page_type_id) if monitor.cut is None or monitor.threshold is None else Q(pk__in=[])
    return SettingChange.objects.filter(own | shared, name__in=["cut", "threshold"]).select_related("actor").first()


def _usual_time(monitor: Monitor) -> str:
    found = monitor.checks.order_by("-check_no").values_list("duration_ms", flat=True)[:LATEST]
    return site_words.milliseconds(median(found)) if found else ""


def _moved_places(monitor: Monitor) -> str:
    memory = memories.stored(monitor)
    if memory is None or not memory.visits:
        return ""
    moved = sum(past.moves > 0 for past in memory.slots.values())
    return ngettext(
        "%(n)s has moved by itself in %(visits)s visits; all others stood still",
        "%(n)s have moved by themselves in %(visits)s visits; all others stood still",
        moved,
    ) % {"n": moved, "visits": memory.visits}


def _robots(monitor: Monitor, now: datetime) -> str:
    site = monitor.site
    if site.robots_policy == RobotsPolicy.IGNORE:
        return site_words.robots_words(site, None)
    decision = robots.Book([site]).decide(site, monitor.url, now=now)
    if decision.allowed:
        return _("asks us not to, fetched all the same") if decision.sentence else _("allows this page")
    return _("asks us not to fetch this page")


def _digest_readers(monitor: Monitor) -> list[str]:
    """Who of the team gets what waits by mail, by name."""
    reading = DigestSubscription.objects.exclude(rhythm=DigestSubscription.Rhythm.OFF)
    people = monitor.team.members.filter(is_active=True, digest_subscription__in=reading).exclude(email="")
    return [roles.display_name(person) for person in people.order_by("pk")]
