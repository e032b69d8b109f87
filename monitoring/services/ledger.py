"""Recording the visits of a batch: what a person may want to see at once by itself, routine ones a few at a time.

Most visits find nothing and write two rows, of which committing costs more than writing (docs/adr/0012). Such results
wait, at most `MOST` of them and `LONGEST_S` long, and are written in one transaction with statements for many rows. A
waiting result is on no disk: a worker that dies leaves the visits as not made, and they are made again once the lease
runs out, just as if it had died before the fetch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from monitoring.limits import is_cut_off
from monitoring.models import Check, Monitor, MonitorState, Outcome
from monitoring.services import hints, rows, tallies
from monitoring.services.findings import Finding
from monitoring.services.record import StaleLeaseError, check_values, log_visit, monitor_values, next_visit, record
from monitoring.services.rules import Rules

logger = logging.getLogger(__name__)

MOST = 25
LONGEST_S = 0.5
_ROUTINE = frozenset({Outcome.NONE, Outcome.NOISE})


@dataclass(frozen=True, slots=True)
class _Entry:
    """A routine result that waits: its row, what the monitor's row becomes, and what that row has to be until then."""

    monitor: Monitor
    check: dict[str, Any]
    values: dict[str, Any]


class Ledger:
    """Records the visits of one batch under its token.

    `written` gets the outcome of each visit once it is on disk; `lost` the monitor of one that was refused because its
    lease was lost; `crashed` that of one which could not be written, and why.
    """

    def __init__(
        self,
        token: str,
        *,
        written: Callable[[str], None],
        lost: Callable[[int], None],
        crashed: Callable[[int, Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._clock = token, clock
        self._written, self._lost, self._crashed = written, lost, crashed
        self._entries: dict[int, _Entry] = {}
        self._since = 0.0

    @property
    def due_s(self) -> float | None:
        """Seconds until what waits has to be written; None when nothing waits."""
        return max(0.0, self._since + LONGEST_S - self._clock()) if self._entries else None

    def add(self, finding: Finding, monitor: Monitor, *, rules: Rules, now: datetime) -> None:
        """Record the visit, now or with others soon. Raises what `record` raises."""
        before = tallies.stages.switch("record")
        try:
            self._add(finding, monitor, rules, now)
        finally:
            tallies.stages.switch(before)

    def _add(self, finding: Finding, monitor: Monitor, rules: Rules, now: datetime) -> None:
        if monitor.pk in self._entries:
            self.flush()  # two visits of one monitor are written one after the other
        if not is_routine(finding, monitor):
            check = record(finding, monitor, token=self._token, rules=rules, now=now)
            tallies.visit(check.__dict__, monitor)
            self._written(check.outcome)
            return
        if not self._entries:
            self._since = self._clock()
        self._entries[monitor.pk] = _entry(finding, monitor, now)
        if len(self._entries) >= MOST:
            self.flush()

    def flush_due(self) -> None:
        """Write what has waited long enough."""
        if self._entries and self._since + LONGEST_S <= self._clock():
            self.flush()

    def flush(self) -> None:
        """Write all that waits. Raises only where the database is away; what waited is lost then, and due again."""
        entries, self._entries = list(self._entries.values()), {}
        if not entries:
            return
        before = tallies.stages.switch("record")
        try:
            self._write_all(entries)
        finally:
            tallies.stages.switch(before)

    def _write_all(self, entries: Sequence[_Entry]) -> None:
        try:
            written = _write(entries, self._token, skip_locked=True)
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, StaleLeaseError) as error:
            if is_cut_off(error):
                raise
            # One row that the database refuses must not cost the others theirs.
            logger.exception("token=%s results=%d not written together", self._token, len(entries))
            written = set()
        for entry in entries:
            if entry.monitor.pk in written:
                self._tell(entry)
            else:
                self._alone(entry)

    def _alone(self, entry: _Entry) -> None:
        """Write by itself what did not go in with the others: its row was locked, refused, or is no longer ours."""
        pk = entry.monitor.pk
        try:
            if _write([entry], self._token, skip_locked=False):
                self._tell(entry)
            else:
                self._lost(pk)
        except (OperationalError, InterfaceError):
            raise
        except StaleLeaseError:
            self._lost(pk)
        except Exception as error:
            if is_cut_off(error):
                raise
            self._crashed(pk, error)

    def _tell(self, entry: _Entry) -> None:
        log_visit(entry.check)
        tallies.visit(entry.check, entry.monitor)
        self._written(entry.check["outcome"])


def is_routine(finding: Finding, monitor: Monitor) -> bool:
    """Whether the visit writes no more than its own row and the monitor's, and says what the visit before said."""
    return (
        finding.outcome in _ROUTINE
        and finding.keep is None
        and finding.opens is None
        and finding.memory is None
        and not finding.field_edits
        and not (finding.rebase or finding.forget_bytes)
        and not (finding.suspect or monitor.suspect)
        and not (finding.learned or finding.tried_browser)
        and monitor.state == MonitorState.OK
        and not monitor.stage
        and monitor.plan_reason != hints.SIGNAL
    )


def _entry(finding: Finding, monitor: Monitor, now: datetime) -> _Entry:
    number = monitor.check_no + 1
    visit = next_visit(finding, monitor, number, now)
    return _Entry(
        monitor=monitor,
        check=check_values(finding, monitor, number, None, visit),
        values=monitor_values(finding, monitor, number, None, visit, now),
    )


def _write(entries: Sequence[_Entry], token: str, *, skip_locked: bool) -> set[int]:
    """Ids of the monitors whose results were written, all in one transaction: those that the token still holds.

    Rows are locked before anything is written, so that a result whose lease was lost is left out and the others go
    in. Whoever locks several rows in another order could wait for us while we wait for them: where there is more than
    one, locked rows are left out too.
    """
    with transaction.atomic():
        held = dict(
            Monitor.objects.select_for_update(skip_locked=skip_locked)
            .filter(pk__in=[entry.monitor.pk for entry in entries], lease_token=token)
            .order_by("pk")
            .values_list("pk", "check_no")
        )
        ours = [entry for entry in entries if held.get(entry.monitor.pk) == entry.monitor.check_no]
        if not ours:
            return set()
        rows.insert_many(Check, [entry.check for entry in ours])
        fence = {"lease_token": token}
        changes = [
            (entry.values, fence | {"id": entry.monitor.pk, "check_no": entry.monitor.check_no}) for entry in ours
        ]
        if rows.update_many(Monitor, changes) != len(ours):
            raise StaleLeaseError(f"token {token}")  # never under these locks; nothing is written then
    return {entry.monitor.pk for entry in ours}
