"""What pages show of a monitor's fields: their values over time, and who is told of those that matter."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from monitoring.models import Monitor
from monitoring.services.rules import rules_of
from review import field_charts, roles
from review.selectors.dataset import series_of
from review.services import alerts


def of_monitor(monitor: Monitor, *, now: datetime, span: timedelta, name: str = "", width: int = 264) -> dict[str, Any]:
    """For a template: the drawn fields (all, or the one of that name), which mail at once, and to whom.

    Any: a context. Queries are constant: the changes, the rules, the people.
    """
    series, since = series_of(monitor, now=now, span=span, name=name)
    big = len(series) == 1 and bool(name)
    rules = rules_of([monitor])[monitor.pk]
    important = sorted(one for one in rules.important if not name or one == name)
    return {
        "drawn_fields": field_charts.drawn(
            series, now=now, since=since, width=860 if big else width, height=220 if big else 110
        ),
        "big": big,
        "important_fields": important,
        "alerted": [roles.display_name(person) for person in alerts.recipients(monitor)] if important else [],
    }
