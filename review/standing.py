"""How a monitor stands, in words: what its last visits found, since when, how often in a row, and when the next try is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import Check, Monitor
from review import visits, wording


@dataclass(frozen=True, slots=True)
class Standing:
    """A monitor's trouble ready to print. `since` is the first visit of the row that failed, `failures` their number."""

    monitor: Monitor
    label: str
    why: str
    evidence: str
    since: datetime | None
    failures: int
    next_try: str

    @property
    def count(self) -> str:
        """The number of visits in a row, in words; empty for none."""
        if not self.failures:
            return ""
        return ngettext("%(n)s visit in a row", "%(n)s visits in a row", self.failures) % {"n": self.failures}


def next_words(monitor: Monitor, now: datetime) -> str:
    """When the next visit is, in words."""
    if not monitor.enabled:
        return _("paused")
    if monitor.quarantined_at:
        return _("held until somebody looks: %(why)s") % {"why": monitor.quarantine_words}
    if monitor.next_check_at is None:
        return _("not planned")
    gap = monitor.next_check_at - now
    return _("due now") if gap.total_seconds() <= 0 else _("in %(span)s") % {"span": wording.span(gap)}


def standings(monitors: Iterable[Monitor], *, now: datetime) -> list[Standing]:
    """How these monitors stand; one query for all of them."""
    rows = list(monitors)
    if not rows:
        return []
    wanted = (Q(monitor=row, check_no__in={row.check_no, row.check_no - max(row.fail_no, 1) + 1}) for row in rows)
    checks = Check.objects.filter(reduce(or_, wanted)).only(
        "monitor_id", "check_no", "started_at", "outcome", "reason", "detail", "reasons", "status"
    )
    found = {(check.monitor_id, check.check_no): check for check in checks}
    return [_standing(row, found, now) for row in rows]


def _standing(monitor: Monitor, checks: dict[tuple[int, int], Check], now: datetime) -> Standing:
    last = checks.get((monitor.pk, monitor.check_no))
    first = checks.get((monitor.pk, monitor.check_no - monitor.fail_no + 1)) if monitor.fail_no else None
    held = monitor.quarantined_at is not None
    return Standing(
        monitor=monitor,
        label=_("held") if held else str(monitor.get_state_display()),
        why=capfirst(monitor.quarantine_words) + "." if held else visits.visit_words(last) if last is not None else "",
        evidence=visits.evidence_of(last) if last is not None else "",
        since=monitor.quarantined_at or (first.started_at if first else monitor.state_since),
        failures=monitor.fail_no,
        next_try=_("when somebody asks for it") if held else next_words(monitor, now),
    )
