"""After an upgrade: stored captures judged again, and held against what was judged when they came.

Every change with two captures is judged once more with the limits of its time and what its monitor had shown until then;
audit samples too, which were noise. A change that newer captures were folded into has no judgement of its own pair and is
only counted. Nothing is written but the mark of how far it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path

from django.conf import settings
from django.db.models import Q, QuerySet

from monitoring import storage
from monitoring.detection.joint import same_region
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Kind
from monitoring.models import Change
from monitoring.services import memories
from monitoring.services.findings import DETECTOR
from monitoring.services.judge import reading_of, settings_of
from monitoring.services.rules import rules_of

CHUNK = 200
STEP = 0.02  # a score that moved by less is the same
NAMED = 200


@dataclass(slots=True)
class Replay:
    """How far a replay came and what it found; `monitor` and `change` are the last ones done."""

    detector: str = DETECTOR
    monitor: int = 0
    change: int = 0
    done: int = 0
    same: int = 0
    moved: int = 0  # another score or distance, the same kind
    lost: list[int] = field(default_factory=list)  # changes that would not be raised any more, the first `NAMED`
    lost_count: int = 0
    lost_approved: int = 0
    raised: int = 0  # noise that would be raised now
    folded: int = 0
    unreadable: int = 0


def mark_file() -> Path:
    """Where the replay of this detector version keeps how far it came."""
    return Path(settings.DATA_DIR) / f"replay-{DETECTOR.replace('/', '-')}.json"


def load() -> Replay:
    """The replay that was begun, or a new one."""
    try:
        return Replay(**json.loads(mark_file().read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return Replay()


def save(row: Replay) -> None:
    """Keep how far the replay came."""
    path = mark_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(json.dumps(asdict(row)), "utf-8")
    path.with_suffix(".new").replace(path)


def left(row: Replay) -> QuerySet[Change]:
    """The stored pairs that the replay has not come to."""
    pairs = Change.objects.filter(kind__in=[Change.Kind.CONTENT, Change.Kind.AUDIT], new__isnull=False)
    after = Q(monitor__gt=row.monitor) | Q(monitor=row.monitor, pk__gt=row.change)
    return pairs.filter(after, score__isnull=False).order_by("monitor_id", "pk")  # "monitor" would mean its name


def replay(row: Replay, *, most: int | None = None) -> Iterator[Replay]:
    """Go on with a replay; gives it after each portion, with how far it came saved."""
    goal = None if most is None else row.done + most
    while goal is None or row.done < goal:
        size = CHUNK if goal is None else min(CHUNK, goal - row.done)
        portion = list(
            left(row)
            .select_related("monitor__page_type", "prior__payload", "new__payload", "check_row")
            .defer("diff", "search_text", "say")[:size]
        )
        if not portion:
            return
        for _, group in groupby(portion, key=lambda change: change.monitor_id):
            _monitor(row, list(group))
        save(row)
        yield row


def _monitor(row: Replay, changes: list[Change]) -> None:
    """The pairs of one monitor."""
    monitor = changes[0].monitor
    rules = rules_of([monitor])[monitor.pk]
    before = memories.rebuild_each(monitor.pk, (change.check_row.check_no - 1 for change in changes))
    for change in changes:
        row.done += 1
        row.monitor, row.change = monitor.pk, change.pk
        if change.folded:
            row.folded += 1
            continue
        assert change.new is not None  # noqa: S101 - the query asks for it
        try:
            region = change.prior.region_path
            old = reading_of(change.prior, monitor, rules, region=region)
            new = reading_of(change.new, monitor, rules, region=region)
        except storage.PayloadDamageError:
            row.unreadable += 1
            continue
        memory = before[change.check_row.check_no - 1]
        memory = memories.with_quiet_slots(memory, bytes(change.check_row.quiet_slots))
        limits = settings_of(monitor, rules)
        limits = replace(
            limits,
            cut=limits.cut if change.cut is None else change.cut,
            threshold=limits.threshold if change.threshold is None else change.threshold,
        )
        old, new = same_region(old, new)
        found = judge(old, new, memory, settings=limits)
        _compare(row, change, content=found.kind is Kind.CONTENT, score=found.score, distance=found.distance)


def _compare(row: Replay, change: Change, *, content: bool, score: float, distance: int) -> None:
    was_content = change.kind == Change.Kind.CONTENT
    if was_content and not content:
        row.lost_count += 1
        row.lost_approved += change.state == Change.State.APPROVED
        if len(row.lost) < NAMED:
            row.lost.append(change.pk)
    elif content and not was_content:
        row.raised += 1
    elif abs(score - (change.score or 0.0)) > STEP or distance != change.distance:
        row.moved += 1
    else:
        row.same += 1
