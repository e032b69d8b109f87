"""The dataset: the values of a page's fields over time, and the names that fields have."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from monitoring.models import FieldChange, Monitor
from monitoring.models.monitor import of_visible
from review.selectors.keyset import Order

if TYPE_CHECKING:
    from django.contrib.auth.models import User

NEWEST = Order(("-at", "-pk"))
NAMES = 100
MOST_CHANGES = 400  # that are drawn of one page
MOST_FIELDS = 24


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one field within a span: each holds from its moment until the next one's.

    steps: (since, stored value), the first at the start of the span; a value of None where the page had none.
    """

    name: str
    steps: list[tuple[datetime, Any]]

    @property
    def value(self) -> Any:
        """The value in force now."""
        return self.steps[-1][1]

    @property
    def changes(self) -> int:
        """How often the value changed within the span."""
        return len(self.steps) - 1


def names(user: User) -> list[str]:
    """The names of fields that changed: from each the next one, by the index; a DISTINCT would read every row."""
    rows = of_visible(FieldChange.objects.all(), user).order_by("name").values_list("name", flat=True)
    found: list[str] = []
    while len(found) < NAMES and (name := rows.filter(name__gt=found[-1] if found else "").first()) is not None:
        found.append(name)
    return found


def series_of(monitor: Monitor, *, now: datetime, span: timedelta, name: str = "") -> tuple[list[Series], datetime]:
    """What the page's fields, or the one of that name, were over a span, by name; and since when that is known.

    One query, of the newest MOST_CHANGES changes: where there were more within the span, it begins later.
    """
    start = now - span
    rows = monitor.field_changes.filter(at__gte=start)
    if name:
        rows = rows.filter(name=name)
    found = list(rows.order_by(*NEWEST.columns)[:MOST_CHANGES])
    if len(found) == MOST_CHANGES:
        start = found[-1].at
    by_name: dict[str, list[FieldChange]] = defaultdict(list)
    for row in reversed(found):
        by_name[row.name].append(row)
    current = monitor.fields if isinstance(monitor.fields, dict) else {}
    shown = [one for one in sorted({*current, *by_name}) if not name or one == name][:MOST_FIELDS]
    return [Series(one, _steps(by_name[one], current.get(one), start)) for one in shown], start


def _steps(changes: list[FieldChange], current: Any, start: datetime) -> list[tuple[datetime, Any]]:
    if not changes:
        return [(start, current)]
    return [(start, changes[0].old), *((row.at, row.new) for row in changes)]
