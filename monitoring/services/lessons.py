"""Learning from a single dismissal: an ignore rule of one monitor, drawn from one place of one change.

It is tried on the monitor's stored changes first, refused where it would have hidden what was approved, and ends by
itself unless a lead confirms it. No new baseline comes of it: such rules are about judging, so what a rule hid meanwhile
is found when it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from monitoring import storage
from monitoring.detection.blocks import Reading
from monitoring.detection.diff import rows_at, text_of
from monitoring.detection.generalise import pattern_for, shared_text
from monitoring.models import Change, IgnoreRule, Monitor
from monitoring.services import monitors, trials, vetting
from monitoring.services.judge import reading_of
from monitoring.services.rules import rules_of

KEPT = timedelta(days=30)
REMIND = timedelta(days=7)
MOST_CHARS = 500  # of a rule's value

_SIDES = (("old", ("added", "moved_to")), ("new", ("removed", "moved_from")))
_MOVES = frozenset({"moved_from", "moved_to"})


def proposals(change: Change, place: int) -> list[IgnoreRule]:
    """Unsaved rules that this place of a change suggests: the block, all that reads like it, whatever stands there.

    Empty for a place that is not there, that only moved, or that no rule can name.
    """
    rows = rows_at(change.diff if isinstance(change.diff, dict) else {}, place)
    if not rows or any(row["op"] in _MOVES for row in rows):
        return []
    texts = [tuple("" if row["op"] in absent else text_of(row, side) for side, absent in _SIDES) for row in rows]
    found = {IgnoreRule.Kind.PATTERN: pattern_for((old, new) for old, new in texts)}
    if len(texts) == 1:
        old, new = texts[0]
        found[IgnoreRule.Kind.BLOCK] = shared_text(old, new)
        found[IgnoreRule.Kind.PLACE] = _slot(change, old, new)
    return [
        IgnoreRule(monitor=change.monitor, kind=kind, value=found[kind], from_change=change)
        for kind in (IgnoreRule.Kind.BLOCK, IgnoreRule.Kind.PATTERN, IgnoreRule.Kind.PLACE)
        if kind in found and _is_sound(kind, found[kind])
    ]


def _is_sound(kind: IgnoreRule.Kind, value: str) -> bool:
    if not 0 < len(value) <= MOST_CHARS:
        return False
    try:
        vetting.check_ignore(kind=kind, value=value)
    except ValidationError:
        return False
    return True


def _slot(change: Change, old: str, new: str) -> str:
    """The slot in which a block stood and stands; empty where the two differ or a capture can't be read."""
    monitor = change.monitor
    rules = rules_of([monitor])[monitor.pk]
    slots = set()
    try:
        for snapshot, text in ((change.prior, old), (change.new, new)):
            if snapshot is not None and text:
                page = reading_of(snapshot, monitor, rules, region=change.prior.region_path)
                slots.add(_slot_in(page, text))
    except storage.StorageError:
        return ""
    return slots.pop() if len(slots) == 1 else ""


def _slot_in(page: Reading, text: str) -> str:
    return next((block.slot for block in page.blocks if block.text == text), "")


def against(trial: trials.Trial) -> tuple[trials.Hidden, ...]:
    """The approved changes that forbid a rule: those it would have hidden, be it in part."""
    return tuple(row for row in trial.hidden if row.approved)


def learn(rule: IgnoreRule, *, trial: trials.Trial, actor: User, why: str, now: datetime) -> IgnoreRule:
    """The rule in force for `KEPT` from now, on record with who and why. `trial` is of this rule.

    Learned a second time, it is the one that is there, with its time begun anew. Raises `trials.RuleRefusedError`
    where it would have hidden what was approved or a part of it, whoever asks.
    """
    if against(trial):
        raise trials.RuleRefusedError(_("This rule would have hidden a change that was approved."), trial)
    stored = IgnoreRule.objects.filter(monitor=rule.monitor, kind=rule.kind, value=rule.value).first()
    if stored is not None:
        IgnoreRule.objects.filter(pk=stored.pk, expires_at__isnull=False).update(expires_at=now + KEPT)
        stored.refresh_from_db()
        return stored
    rule.expires_at, rule.note = now + KEPT, why.strip()[:200]
    return trials.save_rule(rule, trial=trial, actor=actor, new_baseline=False)


def confirm(rule: IgnoreRule, *, actor: User) -> bool:
    """Whether the rule is in force for good now; False when it was already, or is gone."""
    with transaction.atomic():
        if not IgnoreRule.objects.filter(pk=rule.pk, expires_at__isnull=False).update(expires_at=None):
            return False
        assert rule.expires_at is not None  # noqa: S101 - the update found one that ends
        text = trials.rule_text(rule)
        _log(rule, f"{text} (until {rule.expires_at:%Y-%m-%d})", f"{text} (for good)", actor=actor)
    return True


def let_go(rules: Iterable[IgnoreRule], *, actor: User, why: str) -> int:
    """How many of these learned rules are gone now; what they hid is found at the next visit."""
    gone = 0
    for rule in rules:
        with transaction.atomic():
            if IgnoreRule.objects.filter(pk=rule.pk).delete()[0]:
                _log(rule, trials.rule_text(rule), "", actor=actor, why=why)
                gone += 1
    return gone


def _log(rule: IgnoreRule, old: str, new: str, *, actor: User, why: str = "") -> None:
    monitors.log_rule("ignore", old, new, actor=actor, monitor=rule.monitor, reads_differently=False, reason=why)


def learned_from(change: Change) -> QuerySet[IgnoreRule]:
    """The rules that a change gave, newest first."""
    return IgnoreRule.objects.filter(from_change=change).select_related("created_by", "monitor").order_by("-pk")


def to_confirm(watched: QuerySet[Monitor], *, now: datetime) -> QuerySet[IgnoreRule]:
    """Rules of these monitors that end within `REMIND`, or ended as long ago; the next to end first."""
    span = (now - REMIND, now + REMIND)
    return (
        IgnoreRule.objects.filter(expires_at__range=span, monitor__in=watched.values("pk"))
        .select_related("monitor__site", "created_by")
        .order_by("expires_at")
    )
