"""Verdicts: recorded and their change closed in one transaction; append-only, undo adds a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from django.core.exceptions import SuspiciousOperation
from django.db import IntegrityError, transaction

from monitoring.models import Change
from monitoring.models.monitor import of_visible
from monitoring.services import changes, lessons
from review.models import Verdict

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ALIKE = "+"  # in the keys of verdicts that one form gave on changes that are the same, between form and change
LEAST_SECONDS = 1.5  # a verdict faster than this is saved and not learned from: nobody has read anything by then

APPROVE_REASONS = (
    Verdict.Reason.OBLIGATION,
    Verdict.Reason.PARTY,
    Verdict.Reason.CERTIFICATE,
    Verdict.Reason.DATE_CHANGED,
    Verdict.Reason.OTHER,
)
DISMISS_REASONS = (
    Verdict.Reason.DATE,
    Verdict.Reason.FURNITURE,
    Verdict.Reason.FORMATTING,
    Verdict.Reason.ROTATING,
    Verdict.Reason.REORDERED,
    Verdict.Reason.BLOCK_PAGE,
    Verdict.Reason.NOT_RELEVANT,
)
REASONS = {Verdict.Action.APPROVE: APPROVE_REASONS, Verdict.Action.DISMISS: DISMISS_REASONS}
STATES = {Verdict.Action.APPROVE: Change.State.APPROVED, Verdict.Action.DISMISS: Change.State.DISMISSED}
# Neither says anything about the detector: the change was real, or the page was no page.
NOT_LEARNED = frozenset({Verdict.Reason.NOT_RELEVANT, Verdict.Reason.BLOCK_PAGE})


@dataclass(frozen=True, slots=True)
class Seen:
    """What the person had on screen: version and diff of the change, and for how long (seconds, None unknown)."""

    version: int
    diff_hash: str
    key: str  # one per shown form; a second click repeats it
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The verdict stands. `repeated` when the same form had been sent before."""

    verdict: Verdict
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """Somebody decided first; nothing was written."""

    winner: Verdict | None


@dataclass(frozen=True, slots=True)
class Stale:
    """The page changed again after it was shown; nothing was written."""

    version: int


@dataclass(frozen=True, slots=True)
class Together:
    """One verdict on a change and on others that are the same: what came of the first, and how many of the others it took.

    left: others that had been decided or had changed meanwhile, and were left alone.
    """

    first: Outcome
    done: int = 0
    left: int = 0


class KeyTakenError(SuspiciousOperation, ValueError):
    """A key came back for another change or from another person: no form of ours does that, the answer is 400."""


type Outcome = Recorded | Taken | Stale


def standing_verdict(change_id: int) -> Verdict | None:
    """The approval or dismissal in force for a change."""
    return (
        Verdict.objects.filter(change=change_id, action__in=STATES)
        .standing()
        .select_related("actor")
        .order_by("-pk")
        .first()
    )


def last_undoable(actor: User) -> Verdict | None:
    """What the person's undo would take back: their newest verdict or snooze that stands, in a team they are still in."""
    standing = Verdict.objects.filter(actor=actor, action__in=(*STATES, Verdict.Action.SNOOZE)).standing()
    return (
        of_visible(standing, actor, "change__monitor").select_related("change__monitor__site").order_by("-pk").first()
    )


def _learns(action: str, reason: str, seconds: float | None) -> bool:
    if action not in STATES or reason in NOT_LEARNED:
        return False
    return seconds is None or seconds >= LEAST_SECONDS


def _repeat_of(key: str, change_id: int, actor: User) -> Recorded | None:
    earlier = Verdict.objects.filter(idempotency_key=key).first()
    if earlier is None:
        return None
    if earlier.change_id != change_id or earlier.actor_id != actor.pk:
        raise KeyTakenError("an idempotency key belongs to one form of one person")
    return Recorded(earlier, repeated=True)


def _lost(change_id: int) -> Outcome:
    row = Change.objects.only("state", "version").get(pk=change_id)
    return Taken(standing_verdict(change_id)) if row.state in changes.DECIDED else Stale(row.version)


def decide(
    change_id: int,
    *,
    action: Verdict.Action,
    actor: User,
    seen: Seen,
    now: datetime,
    reason: str = "",
    until: datetime | None = None,
    counts: bool = True,
) -> Outcome:
    """What came of an approval, dismissal or snooze: recorded, taken by somebody else, or stale.

    The change closes and the verdict is written in one transaction, compare-and-set on the version and diff that were
    on screen. `until` is for a snooze: None sleeps until the page changes again. `counts`: whether it may calibrate. Raises ValueError for a reason that
    doesn't belong to the action.
    """
    if action not in (*STATES, Verdict.Action.SNOOZE):
        raise ValueError(f"{action!r} is not a verdict on a waiting change")
    if reason and reason not in REASONS.get(action, ()):
        raise ValueError(f"{reason!r} is no reason to {action}")
    if repeated := _repeat_of(seen.key, change_id, actor):
        return repeated
    try:
        with transaction.atomic():
            row = Change.objects.only("state", "version", "diff_hash", "snoozed_until", "score", "distance").get(
                pk=change_id
            )
            if row.version != seen.version or row.diff_hash != seen.diff_hash or row.state in changes.DECIDED:
                return _lost(change_id)
            if action in STATES:
                done = changes.close_change(change_id, version=seen.version, state=STATES[action], now=now)
            else:
                done = changes.snooze_change(change_id, version=seen.version, until=until, now=now)
            if not done:
                return _lost(change_id)
            verdict = Verdict.objects.create(
                change_id=change_id,
                actor=actor,
                action=action,
                reason=reason,
                state_before=row.state,
                snoozed_until_before=row.snoozed_until,
                version_seen=seen.version,
                diff_hash=seen.diff_hash,
                score=row.score,
                distance=row.distance,
                seconds_on_screen=seen.seconds,
                calibrates=counts and _learns(action, reason, seen.seconds),
                idempotency_key=seen.key,
                at=now,
            )
    except IntegrityError:
        # the same form sent twice at the same moment: the other request's row is the answer
        if repeated := _repeat_of(seen.key, change_id, actor):
            return repeated
        raise
    return Recorded(verdict)


def decide_alike(
    change_id: int,
    others: Mapping[int, int],
    *,
    action: Verdict.Action,
    actor: User,
    seen: Seen,
    now: datetime,
    reason: str = "",
    until: datetime | None = None,
) -> Together:
    """What came of one verdict on a change and on others of the actor's teams that are the same, each guarded by itself.

    others: id and version on screen. None of them is touched where the first is not recorded. A dismissal teaches once;
    an approval binds the cut on every page, whatever each one scored.
    """
    batch = seen.key[:20]
    first = decide(
        change_id,
        action=action,
        actor=actor,
        seen=replace(seen, key=f"{batch}{ALIKE}{change_id}"),
        now=now,
        reason=reason,
        until=until,
    )
    if not isinstance(first, Recorded):
        return Together(first)
    wanted = Change.objects.visible_to(actor).filter(pk__in=others, edit_hash=first.verdict.change.edit_hash)
    done = 0
    for pk, diff_hash in wanted.exclude(pk=change_id).values_list("pk", "diff_hash"):
        outcome = decide(
            pk,
            action=action,
            actor=actor,
            seen=Seen(others[pk], diff_hash, f"{batch}{ALIKE}{pk}", seen.seconds),
            now=now,
            reason=reason,
            until=until,
            counts=action == Verdict.Action.APPROVE,
        )
        done += isinstance(outcome, Recorded)
    return Together(first, done, len(others) - done)


def given_together(verdict: Verdict) -> list[Verdict]:
    """The verdicts that one form gave on changes that are the same, this one among them; the first is that of its page."""
    batch, sep, _pk = verdict.idempotency_key.partition(ALIKE)
    if not sep:
        return [verdict]
    same = Verdict.objects.filter(actor=verdict.actor_id, idempotency_key__startswith=f"{batch}{ALIKE}").standing()
    return list(same.select_related("change__monitor").order_by("pk"))


def undo_together(verdict: Verdict, *, actor: User, key: str, now: datetime) -> tuple[int, int]:
    """How many changes that were decided by one form are exactly as before, and how many have moved on since."""
    done = [
        undo(each, actor=actor, key=f"{key[:20]}{ALIKE}{each.change_id}", now=now) for each in given_together(verdict)
    ]
    return sum(done), len(done) - sum(done)


def second_opinion(
    change_id: int, *, opinion: str, actor: User, seen: Seen, now: datetime, reason: str = ""
) -> Recorded:
    """A differing or agreeing opinion, recorded beside the verdict that stands; the change stays as it is."""
    if opinion not in STATES:
        raise ValueError(f"an opinion is approve or dismiss, not {opinion!r}")
    if repeated := _repeat_of(seen.key, change_id, actor):
        return repeated
    row = Change.objects.only("state", "score", "distance").get(pk=change_id)
    return Recorded(
        Verdict.objects.create(
            change_id=change_id,
            actor=actor,
            action=Verdict.Action.SECOND,
            opinion=opinion,
            reason=reason if reason in REASONS[Verdict.Action(opinion)] else "",
            state_before=row.state,
            version_seen=seen.version,
            diff_hash=seen.diff_hash,
            score=row.score,
            distance=row.distance,
            seconds_on_screen=seen.seconds,
            calibrates=False,
            idempotency_key=seen.key,
            at=now,
        )
    )


def undo(verdict: Verdict, *, actor: User, key: str, now: datetime) -> bool:
    """Whether the verdict was taken back and its change is exactly as it was before; rules learned from it go too.

    Raises and refuses as `_undo` does.
    """
    with transaction.atomic():
        done = _undo(verdict, actor=actor, key=key, now=now)
        if done and verdict.action == Verdict.Action.DISMISS:
            rules = lessons.learned_from(verdict.change)
            lessons.let_go(rules, actor=actor, why=f"verdict {verdict.pk} taken back")
    return done


def _undo(verdict: Verdict, *, actor: User, key: str, now: datetime) -> bool:
    """Whether the verdict was taken back and its change is exactly as it was before.

    False when it had been taken back already, the change has moved on since, or a newer change of the same page
    waits. Only the person who gave a verdict takes it back; others raise PermissionError.
    """
    if verdict.actor_id != actor.pk:
        raise PermissionError("a verdict is taken back by the person who gave it")
    if verdict.action not in (*STATES, Verdict.Action.SNOOZE):
        raise ValueError(f"{verdict.action!r} can't be taken back")
    try:
        with transaction.atomic():
            if Verdict.objects.filter(undoes=verdict).exists():
                return False
            row = Change.objects.only("state", "version").get(pk=verdict.change_id)
            expected = STATES.get(Verdict.Action(verdict.action), Change.State.SNOOZED)
            newest = (
                Verdict.objects.filter(change=verdict.change_id)
                .standing()
                .exclude(action__in=[Verdict.Action.UNDO, Verdict.Action.SECOND])
                .order_by("-pk")
                .first()
            )
            if row.state != expected or newest is None or newest.pk != verdict.pk:
                return False
            if not changes.reopen_change(
                verdict.change_id,
                version=row.version,
                state=verdict.state_before,
                snoozed_until=verdict.snoozed_until_before,
                now=now,
            ):
                return False
            Verdict.objects.create(
                change_id=verdict.change_id,
                actor=actor,
                action=Verdict.Action.UNDO,
                undoes=verdict,
                state_before=row.state,
                version_seen=row.version,
                diff_hash=verdict.diff_hash,
                score=verdict.score,
                distance=verdict.distance,
                calibrates=False,
                idempotency_key=key,
                at=now,
            )
    except IntegrityError:  # two undos at once: the other one did it
        return False
    return True


def give_reason(verdict: Verdict, *, reason: str, actor: User, key: str, now: datetime) -> Verdict | None:
    """The verdict again with another reason, and so the others that its form gave: old rows undone, new ones added.

    None when the verdict no longer stands. Raises ValueError for a reason of the wrong kind.
    """
    found = None
    for index, each in enumerate(given_together(verdict)):
        alike = ALIKE in each.idempotency_key
        new_key = f"{key[:20]}{ALIKE}{each.change_id}" if alike else key
        counts = not index or each.action == Verdict.Action.APPROVE
        again = _give_reason(each, reason=reason, actor=actor, key=new_key, now=now, counts=counts)
        if each.pk == verdict.pk:
            found = again
    return found


def _give_reason(
    verdict: Verdict, *, reason: str, actor: User, key: str, now: datetime, counts: bool
) -> Verdict | None:
    """One verdict again with another reason, in one transaction."""
    action = Verdict.Action(verdict.action)
    if reason not in REASONS.get(action, ()):
        raise ValueError(f"{reason!r} is no reason to {verdict.action}")
    with transaction.atomic():
        if not _undo(verdict, actor=actor, key=f"{key[:36]}-un", now=now):
            return None
        row = Change.objects.only("version", "diff_hash").get(pk=verdict.change_id)
        outcome = decide(
            verdict.change_id,
            action=action,
            actor=actor,
            seen=Seen(row.version, row.diff_hash, key, verdict.seconds_on_screen),
            now=now,
            reason=reason,
            counts=counts,
        )
        if not isinstance(outcome, Recorded):
            transaction.set_rollback(True)
            return None
    return outcome.verdict
