"""Ignore rules are tried on stored captures before they are saved: what would they have hidden?

A trial judges the two sides of every stored change once more, without and with the proposed rules. A rule that
would have hidden a change which a person approved is saved only by who may say so, with a reason on record.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import re2
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from monitoring import storage
from monitoring.detection.blocks import Block, Reading
from monitoring.detection.diff import diff
from monitoring.detection.joint import same_region
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Judgement, Kind
from monitoring.detection.memory import Memory
from monitoring.models import Change, Check, IgnoreRule, Monitor, Outcome, PageType, Snapshot
from monitoring.services import memories, monitors
from monitoring.services.judge import reading_of, settings_of
from monitoring.services.rules import Rules, pattern_of, rules_without_and_with

MOST_PAIRS = 50
MOST_CPU_S = 5.0
MOST_PAGES = 10  # baselines of a page type's monitors that are looked at
MOST_WORDS = 160  # characters of what was hidden, on either side
MAY_OVERRIDE = ("lead", "admin")

type Owner = Monitor | PageType
type Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much work a trial may be: pairs of captures, seconds of CPU, baselines."""

    pairs: int = MOST_PAIRS
    cpu_s: float = MOST_CPU_S
    pages: int = MOST_PAGES


BOUNDS = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A stored change that the proposed rules would have hidden, or a part of it.

    before, after: its kind without and with the rules. removed, added: a few words of what is hidden, on either side.
    """

    change: Change
    before: Kind
    after: Kind
    removed: str
    added: str

    @property
    def whole(self) -> bool:
        """Whether nothing of the change would have been left."""
        return self.after is not Kind.CONTENT

    @property
    def before_label(self) -> str:
        """`before` as people read it."""
        return str(Outcome(self.before).label)

    @property
    def after_label(self) -> str:
        """`after` as people read it."""
        return str(Outcome(self.after).label)

    @property
    def approved(self) -> bool:
        """Whether a person approved it."""
        return self.change.state == Change.State.APPROVED


@dataclass(frozen=True, slots=True)
class Touch:
    """How many blocks of the current baselines one rule touches."""

    kind: str
    value: str
    blocks: int
    pages: int

    @property
    def kind_label(self) -> str:
        """The rule's kind as people read it."""
        return str(IgnoreRule.Kind(self.kind).label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What some ignore rules would have hidden.

    rules: the (kind, value) of each. hidden: of changes that the viewer may see; hidden_elsewhere and
    approved_elsewhere count those of other teams, all and approved. pairs: stored changes judged again;
    left: how many more there are, `stopped` says what ended the trial before them ("pairs", "time" or "").
    unreadable: pairs and baselines whose stored bytes are damaged. pages: baselines looked at.
    """

    owner: tuple[str, int | None]
    rules: tuple[tuple[str, str], ...]
    hidden: tuple[Hidden, ...] = ()
    hidden_elsewhere: int = 0
    approved_elsewhere: int = 0
    touches: tuple[Touch, ...] = ()
    pages: int = 0
    pairs: int = 0
    left: int = 0
    stopped: str = ""
    unreadable: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to try the rules on."""
        return not (self.pairs or self.left or self.pages or self.unreadable)

    @property
    def approved(self) -> tuple[Hidden, ...]:
        """The changes that a person approved and that would not have been seen."""
        return tuple(row for row in self.hidden if row.approved and row.whole)

    @property
    def refused(self) -> bool:
        """Whether the rules are saved only against a reason."""
        return bool(self.approved or self.approved_elsewhere)

    @property
    def unmatched(self) -> tuple[Touch, ...]:
        """The rules that match nothing on the current pages."""
        return tuple(touch for touch in self.touches if not touch.blocks) if self.pages else ()


class RuleRefusedError(ValidationError):
    """The rule would have hidden what a person approved; `trial` has the changes."""

    def __init__(self, message: str, trial: Trial) -> None:
        super().__init__(message, code="hides-approved")
        self.trial = trial


def reads_like(rule: IgnoreRule) -> tuple[str, str]:
    """The part of an ignore rule that decides what is left out."""
    return (str(rule.kind), rule.value)


def try_rules(
    owner: Owner,
    proposed: Sequence[IgnoreRule],
    *,
    viewer: User | AnonymousUser,
    instead_of: Iterable[int] = (),
    bounds: Bounds = BOUNDS,
    clock: Clock = time.thread_time,
) -> Trial:
    """What these unsaved ignore rules of a monitor or page type would have hidden; writes nothing.

    instead_of: ids of saved rules that they replace. All changes count, but only those that the viewer may see are
    named. Newest changes come first; the work is bounded by `bounds`, and the trial says when it ended early.
    """
    rules = tuple(dict.fromkeys(reads_like(rule) for rule in proposed))
    if owner._state.adding:
        return Trial(owner=_key(owner), rules=rules)
    return _Replay(owner, proposed, rules, set(instead_of), bounds, clock).trial(viewer)


def save_rule(
    rule: IgnoreRule,
    *,
    trial: Trial | None,
    actor: User | AnonymousUser,
    override: str = "",
    new_baseline: bool = True,
) -> IgnoreRule:
    """The rule, saved and on record. `trial` is one that had this rule in it; None only where it reads as before.

    new_baseline: whether the owner's monitors are compared from their next good capture on.
    Raises `RuleRefusedError` where the trial hides approved changes, unless a lead or an admin gives a reason in
    `override`, which then stands in the record of settings.
    """
    stored = IgnoreRule.objects.filter(pk=rule.pk).first() if rule.pk else None
    if stored is not None and reads_like(stored) == reads_like(rule):
        rule.save()
        return rule
    owner = rule.monitor or rule.page_type
    if trial is None or owner is None or not _covers(trial, rule, owner):
        raise ValueError("an ignore rule is tried before it is saved")
    override = override.strip()
    if trial.refused:
        check_override(trial, actor=actor, override=override)
    if stored is None:
        rule.created_by = monitors.person_of(actor)
    with transaction.atomic():
        rule.save()
        monitors.log_rule(
            "ignore",
            rule_text(stored) if stored else "",
            rule_text(rule) + _although(trial),
            actor=actor,
            monitor=rule.monitor,
            page_type=rule.page_type,
            reads_differently=new_baseline,
            reason=override if trial.refused else rule.note,
        )
    return rule


def check_override(trial: Trial, *, actor: User | AnonymousUser, override: str) -> None:
    """Raise `RuleRefusedError` unless this person may save the rules of a refused trial and says why."""
    if not may_override(actor):
        raise RuleRefusedError(_("This rule would have hidden a change that was approved."), trial)
    if not override.strip():
        raise RuleRefusedError(
            _("This rule would have hidden a change that was approved. To save it all the same, give a reason."), trial
        )


def may_override(user: User | AnonymousUser) -> bool:
    """Whether the user may save a rule that hides what was approved."""
    if not user.is_authenticated or not user.is_active:
        return False
    if user.is_superuser:
        return True
    roles = set(user.groups.values_list("name", flat=True))
    return "auditor" not in roles and not roles.isdisjoint(MAY_OVERRIDE)


def rule_text(rule: IgnoreRule) -> str:
    """A rule in one line, as the record of settings has it."""
    return f"{rule.kind}: {rule.value}"


def _although(trial: Trial) -> str:
    if not trial.refused:
        return ""
    ids = ", ".join(str(row.change.pk) for row in trial.approved)
    return f" (hides approved changes: {ids or trial.approved_elsewhere})"


def _key(owner: Owner) -> tuple[str, int | None]:
    return ("monitor" if isinstance(owner, Monitor) else "page-type", owner.pk)


def _covers(trial: Trial, rule: IgnoreRule, owner: Owner) -> bool:
    kind, pk = trial.owner
    return reads_like(rule) in trial.rules and kind == _key(owner)[0] and pk in (None, owner.pk)


# -- the replay --------------------------------------------------------------------------


class _Replay:
    """Stored changes judged again. Readings are kept while they may be used again: a new side is often the next prior one."""

    def __init__(
        self,
        owner: Owner,
        proposed: Sequence[IgnoreRule],
        rules: tuple[tuple[str, str], ...],
        instead_of: set[int],
        bounds: Bounds,
        clock: Clock,
    ) -> None:
        self.owner, self.rules, self.bounds, self.clock = owner, rules, bounds, clock
        # Unsaved rows of an inline form know their owner only once they are saved.
        mine = {"monitor": owner} if isinstance(owner, Monitor) else {"page_type": owner}
        self.proposed = [IgnoreRule(kind=rule.kind, value=rule.value, **mine) for rule in proposed]
        self.instead_of = instead_of
        self.ends = clock() + bounds.cpu_s
        self.unreadable = 0
        self._rules: dict[int, tuple[Rules, Rules]] = {}
        self._readings: dict[tuple[object, ...], Reading] = {}
        self._memories: dict[int, Memory] = {}
        self.changes: list[Change] = []

    def trial(self, viewer: User | AnonymousUser) -> Trial:
        changes = self._changes()
        total = changes.count()
        found: list[Hidden] = []
        pairs, stopped = 0, ""
        self.changes = list(
            changes.select_related("monitor__page_type", "prior__payload", "new__payload", "check_row").defer(
                "diff", "search_text", "check_row__delta", "check_row__fields"
            )[: self.bounds.pairs]
        )
        tried = Change.objects.filter(pk__in=[change.pk for change in self.changes])
        visible = set(tried.visible_to(viewer).values_list("pk", flat=True))
        for change in self.changes:
            if self.clock() >= self.ends:
                stopped = "time"
                break
            pairs += 1
            found += self._hidden(change)
        left = total - pairs
        touches, pages = self._touched()
        shown = tuple(row for row in found if row.change.pk in visible)
        others = [row for row in found if row.change.pk not in visible]
        return Trial(
            owner=_key(self.owner),
            rules=self.rules,
            hidden=shown,
            hidden_elsewhere=len(others),
            approved_elsewhere=sum(row.approved and row.whole for row in others),
            touches=touches,
            pages=pages,
            pairs=pairs,
            left=left,
            stopped=stopped or ("pairs" if left else ""),
            unreadable=self.unreadable,
        )

    def _monitors(self) -> QuerySet[Monitor]:
        if isinstance(self.owner, Monitor):
            return Monitor.objects.filter(pk=self.owner.pk)
        return Monitor.objects.filter(page_type=self.owner)

    def _changes(self) -> QuerySet[Change]:
        """Changes with two sides to compare, newest first; fields are read whatever a rule leaves out of the text."""
        return Change.objects.filter(
            monitor__in=self._monitors(), kind=Change.Kind.CONTENT, new__isnull=False
        ).order_by("-opened_at", "-pk")

    def _rules_of(self, monitor: Monitor) -> tuple[Rules, Rules]:
        if monitor.pk not in self._rules:
            self._rules |= rules_without_and_with([monitor], proposed=self.proposed, instead_of=self.instead_of)
        return self._rules[monitor.pk]

    def _hidden(self, change: Change) -> Iterator[Hidden]:
        """The change, if the rules hide it or a part of it."""
        assert change.new is not None  # noqa: S101 - the query asks for it
        monitor = change.monitor
        memory = self._memory_before(change)
        seen: list[tuple[Judgement, Reading, Reading]] = []
        for rules in self._rules_of(monitor):
            try:
                old = self._reading(change.prior, monitor, rules, change.prior.region_path)
                new = self._reading(change.new, monitor, rules, change.prior.region_path)
            except storage.StorageError:
                self.unreadable += 1
                return
            old, new = same_region(old, new)
            seen.append((judge(old, new, memory, settings=settings_of(monitor, rules)), old, new))
        before, after = seen[0][0], seen[1][0]
        if before.kind is not Kind.CONTENT:
            return  # not seen without the rules either
        gone = Counter(_open(*seen[0])) - Counter(_open(*seen[1]))
        if after.kind is Kind.CONTENT and not gone:
            return
        removed, added = _words(gone, seen[0][1])
        yield Hidden(change=change, before=before.kind, after=after.kind, removed=removed, added=added)

    def _memory_before(self, change: Change) -> Memory:
        """What the monitor had shown when the change was opened."""
        if change.pk not in self._memories:
            until = {c.pk: _opening(c) - 1 for c in self.changes if c.monitor_id == change.monitor_id}
            built = memories.rebuild_each(change.monitor_id, until.values())
            self._memories |= {pk: built[number] for pk, number in until.items()}
        return self._memories[change.pk]

    def _reading(self, snapshot: Snapshot, monitor: Monitor, rules: Rules, region: str) -> Reading:
        key = (snapshot.pk, region, rules.ignore_selectors, rules.field_selectors)
        if key not in self._readings:
            if len(self._readings) >= 8:
                self._readings.clear()
            self._readings[key] = reading_of(snapshot, monitor, rules, region=region)
        return self._readings[key]

    def _touched(self) -> tuple[tuple[Touch, ...], int]:
        """Per rule how much of the current baselines it touches, and how many of these were looked at."""
        blocks: Counter[tuple[str, str]] = Counter()
        pages: Counter[tuple[str, str]] = Counter()
        looked = 0
        watched = self._monitors().filter(baseline__isnull=False).select_related("page_type", "baseline__payload")
        for monitor in watched.order_by("-last_checked_at", "pk")[: self.bounds.pages]:
            if looked and self.clock() >= self.ends:
                break
            assert monitor.baseline is not None  # noqa: S101 - the query asks for it
            without, _with = self._rules_of(monitor)
            try:
                page = reading_of(monitor.baseline, monitor, without, region=monitor.region_path)
                counts = {reads_like(rule): _matches(rule, page, monitor, without) for rule in self.proposed}
            except storage.StorageError:
                self.unreadable += 1
                continue
            looked += 1
            blocks.update(counts)
            pages.update(key for key, count in counts.items() if count)
        return tuple(Touch(*rule, blocks[rule], pages[rule]) for rule in self.rules), looked


def _opening(change: Change) -> int:
    """The number of the check that opened a change; newer captures may have been folded into it since."""
    after_prior = Check.objects.filter(monitor=change.monitor_id, started_at__gt=change.prior.taken_at)
    opening = (
        after_prior.filter(outcome=Outcome.CONTENT).order_by("check_no").values_list("check_no", flat=True).first()
    )
    return opening if opening is not None else change.check_row.check_no


def _open(judgement: Judgement, old: Reading, new: Reading) -> Iterator[tuple[Block | None, Block | None]]:
    """The blocks of every edit that nothing explains, without their place on the page."""
    for edit in judgement.edits:
        if not edit.explained:
            sides = (old.blocks[edit.old] if edit.old >= 0 else None, new.blocks[edit.new] if edit.new >= 0 else None)
            yield sides[0] and _bare(sides[0]), sides[1] and _bare(sides[1])


def _bare(block: Block) -> Block:
    return Block(text=block.text, tag=block.tag, path="", slot="")


def _words(gone: Iterable[tuple[Block | None, Block | None]], page: Reading) -> tuple[str, str]:
    """A few words of hidden edits: what was taken away and what came."""
    removed: list[str] = []
    added: list[str] = []
    for before, after in gone:
        old, new = (
            Reading(blocks=(block,) if block else (), lang=page.lang, direction=page.direction)
            for block in (before, after)
        )
        for segment in (diff(old, new)["say"] or {"segments": []})["segments"]:
            if segment[0] == "-":
                removed.append(segment[1].strip())
            elif segment[0] == "+":
                added.append(segment[1].strip())
    return _short(removed), _short(added)


def _short(words: list[str]) -> str:
    text = " … ".join(word for word in words if word)
    return text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1].rstrip() + "…"


def _matches(rule: IgnoreRule, page: Reading, monitor: Monitor, rules: Rules) -> int:
    """How many blocks of the page the rule touches."""
    if rule.kind == IgnoreRule.Kind.PLACE:
        return sum(block.slot == rule.value for block in page.blocks)
    if rule.kind != IgnoreRule.Kind.SELECTOR:
        pattern = re2.compile(pattern_of(rule))
        return sum(pattern.search(block.text) is not None for block in page.blocks)
    assert monitor.baseline is not None  # noqa: S101 - the caller read it
    alone = Rules(field_selectors=rules.field_selectors, ignore_selectors=(*rules.ignore_selectors, rule.value))
    rest = reading_of(monitor.baseline, monitor, alone, region=monitor.region_path)
    return (Counter(block.text for block in page.blocks) - Counter(block.text for block in rest.blocks)).total()
