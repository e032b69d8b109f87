"""How a change changes state: compare-and-set on (state, version), nothing else."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F

from monitoring.models import Change, Monitor

UNDECIDED = (Change.State.OPEN, Change.State.SNOOZED)
DECIDED = (Change.State.APPROVED, Change.State.DISMISSED)


def close_change(pk: int, *, version: int, state: str, now: datetime) -> bool:
    """Whether the change was still undecided at this version and is now `state` (approved or dismissed).

    False when somebody was faster: another verdict, or a newer capture that folded in.
    """
    if state not in DECIDED:
        raise ValueError(f"a change is closed as approved or dismissed, not as {state!r}")
    closed = Change.objects.filter(pk=pk, version=version, state__in=UNDECIDED).update(
        state=state, version=F("version") + 1, closed_at=now, snoozed_until=None
    )
    if closed:
        _mind_the_rate(pk)
    return bool(closed)


def _mind_the_rate(pk: int) -> None:
    """Ask for the rate of the change's monitor to be folded anew: a verdict may turn what a visit was counted as."""
    Monitor.objects.filter(pk__in=Change.objects.filter(pk=pk).values("monitor")).update(rate_stale=True)


def reopen_change(pk: int, *, version: int, state: str, snoozed_until: datetime | None, now: datetime) -> bool:
    """Whether the change is back in the undecided `state` it had before, waking time included.

    Works from every state, so that a snooze can be undone too. False when the change has moved on since, or when another
    change of the same monitor waits by now (one open change per monitor). A time to wake that has passed gives an open
    change, never one asleep in the past.
    """
    if state not in UNDECIDED:
        raise ValueError(f"a change is reopened as open or snoozed, not as {state!r}")
    if state == Change.State.SNOOZED and snoozed_until is not None and snoozed_until <= now:
        state, snoozed_until = Change.State.OPEN, None
    try:
        with transaction.atomic():
            reopened = Change.objects.filter(pk=pk, version=version).update(
                state=state, version=F("version") + 1, closed_at=None, snoozed_until=snoozed_until
            )
            if reopened:
                _mind_the_rate(pk)
            return bool(reopened)
    except IntegrityError:
        return False


def snooze_change(pk: int, *, version: int, until: datetime | None, now: datetime) -> bool:
    """Whether the change was undecided at this version and now sleeps until a moment, or (None) until the page changes.

    Raises ValueError for a moment that has passed.
    """
    if until is not None and until <= now:
        raise ValueError(f"a change can't sleep until {until:%Y-%m-%d %H:%M}, which has passed")
    return bool(
        Change.objects.filter(pk=pk, version=version, state__in=UNDECIDED).update(
            state=Change.State.SNOOZED, version=F("version") + 1, snoozed_until=until
        )
    )


def wake_snoozed(*, now: datetime) -> int:
    """Number of changes whose time to wake has come and that wait again."""
    return Change.objects.filter(state=Change.State.SNOOZED, snoozed_until__lte=now).update(
        state=Change.State.OPEN, version=F("version") + 1, snoozed_until=None
    )
