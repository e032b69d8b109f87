"""A monitor's memory: a fold over the deltas of its checks, caught up with only when a judgement needs it.

Visits that find nothing write no memory; the next judgement folds them in from their check rows. So the stored
bytes are always the fold of the checks up to `folded_check_no`, and can be thrown away and built again.
"""

from __future__ import annotations

import logging
import struct
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.db.models import QuerySet

from monitoring.detection.memory import Memory, MemoryFormatError, SlotPast
from monitoring.models import CalibrationRun, Check, Monitor, MonitorMemory, Outcome

logger = logging.getLogger(__name__)

FIRST_CAPTURE = "first-capture"
OUR_CHANGE = "our-change"
RESTARTS = (FIRST_CAPTURE, OUR_CHANGE)
MOST_QUIET_SLOTS = 300
MOST_TEXTS = 1_000  # of the memory's own bound; a fold drops the oldest above that
_MOST_MOVES = 0xFFFF
_GOOD = (Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD)


def load(monitor: Monitor) -> Memory:
    """The memory of all visits until now."""
    row = MonitorMemory.objects.filter(monitor=monitor).first()
    if row is None or not row.data:
        return rebuild(monitor.pk)
    try:
        memory = Memory.from_bytes(bytes(row.data))
    except MemoryFormatError as error:
        logger.warning("monitor=%d memory rebuilt: %s", monitor.pk, error)
        return rebuild(monitor.pk)
    return _folded(memory, _checks(monitor.pk).filter(check_no__gt=row.folded_check_no))


def stored(monitor: Monitor) -> Memory | None:
    """The memory as it was last written down, which the newest visits may be missing from; None where there is none. Cheap."""
    data = MonitorMemory.objects.filter(monitor=monitor).values_list("data", flat=True).first()
    try:
        return Memory.from_bytes(bytes(data)) if data else None
    except MemoryFormatError:
        return None


def forget(monitor_id: int | None) -> None:
    """Throw the stored fold away, so that the next judgement builds it anew; the base that stands for checks let go stays."""
    rows = MonitorMemory.objects.filter(monitor=monitor_id)
    rows.filter(base_check_no=0).delete()
    rows.update(data=b"", folded_check_no=0)


def settle(monitor_id: int, *, through: int) -> None:
    """Keep the fold of the checks up to this number, so that those that only it needs can be let go."""
    base = _base_of(monitor_id)
    last = (
        _checks(monitor_id)
        .filter(check_no__lte=through)
        .order_by("-check_no")
        .values_list("check_no", "started_at")
        .first()
    )
    if last is None or (base is not None and base.number >= last[0]):
        return
    memory = rebuild(monitor_id, until=last[0], settled=True)
    values = {"base": memory.to_bytes(), "base_check_no": last[0], "base_at": last[1]}
    if not MonitorMemory.objects.filter(monitor=monitor_id).update(**values):
        MonitorMemory.objects.create(monitor_id=monitor_id, **values)


@dataclass(frozen=True, slots=True)
class _Base:
    number: int
    at: datetime
    memory: Memory


def _base_of(monitor_id: int) -> _Base | None:
    row = MonitorMemory.objects.filter(monitor=monitor_id, base_check_no__gt=0).first()
    if row is None or row.base_at is None:
        return None
    return _Base(row.base_check_no, row.base_at, Memory.from_bytes(bytes(row.base)))


def rebuild(monitor_id: int, *, until: int | None = None, settled: bool = False) -> Memory:
    """The memory from the check rows alone, up to check number `until` if given: what `load` gives, byte for byte.

    Where the oldest rows were let go it begins with what was settled then; before that number it can't be had any more.
    `settled` leaves out quiet fetches that no check has come after.
    """
    checks = _checks(monitor_id)
    if until is not None:
        checks = checks.filter(check_no__lte=until)
    start = checks.filter(reason__in=RESTARTS).order_by("-check_no").values_list("check_no", "started_at").first()
    base = _base_of(monitor_id)
    if base is not None and (until is None or until >= base.number) and (start is None or base.number >= start[0]):
        begin, number, at = base.memory, base.number, base.at
        quiet = [row for row in _quiet(monitor_id, since=at) if row[1] > at]
    elif start is not None:
        begin, number, at = Memory.start(start[1]), *start
        quiet = _quiet(monitor_id, since=at)
    else:
        return Memory()
    after = checks.filter(check_no__gt=number)
    if settled:
        newest = after.order_by("-check_no").values_list("started_at", flat=True).first() or at
        quiet = [row for row in quiet if row[1] <= newest]
    return _folded(begin, after, quiet)


def rebuild_each(monitor_id: int, numbers: Iterable[int]) -> dict[int, Memory]:
    """For each of some check numbers what `rebuild` gives until then, in one pass over the checks."""
    wanted = sorted(set(numbers))
    if not wanted:
        return {}
    starts = list(
        _checks(monitor_id)
        .filter(reason__in=RESTARTS, check_no__lte=wanted[-1])
        .order_by("check_no")
        .values_list("check_no", "started_at")
    )
    found = {number: Memory() for number in wanted}
    for place, (first, at) in enumerate(starts):
        end = starts[place + 1][0] if place + 1 < len(starts) else wanted[-1] + 1
        mine = [number for number in wanted if first <= number < end]
        if mine:
            checks = _checks(monitor_id).filter(check_no__gt=first, check_no__lte=mine[-1])
            found |= _folded_until(mine, Memory.start(at), checks, _quiet(monitor_id, since=at))
    return found


def pack_slots(slots: Iterable[int]) -> bytes:
    """Slot hashes as they are stored with a check: at most `MOST_QUIET_SLOTS`, in one order."""
    kept = sorted(set(slots))[:MOST_QUIET_SLOTS]
    return struct.pack(f"<{len(kept)}I", *kept)


def with_quiet_slots(memory: Memory, packed: bytes) -> Memory:
    """The memory once these slots were seen to differ between two captures taken right after each other.

    Only that they move is learned, not what they showed: a text that both captures have is not known by this.
    """
    if not packed:
        return memory
    slots = dict(memory.slots)
    for slot in struct.unpack(f"<{len(packed) // 4}I", packed):
        past = slots.get(slot) or SlotPast(first_visit=memory.visits)
        slots[slot] = replace(
            past,
            moves=min(past.moves + 1, _MOST_MOVES),
            quiet_moves=min(past.quiet_moves + 1, _MOST_MOVES),
            last_visit=memory.visits,
        )
    return replace(memory, slots=slots)


def _after_quiet(memory: Memory, delta: bytes, at: datetime) -> Memory:
    """The memory once two quiet fetches differed by `delta`: these slots move, these texts were shown.

    Not a fold: the delta is between two fetches and not against the baseline, so a slot that it does not name has
    not gone back to the baseline's text.
    """
    seen = Memory.start(at).fold(delta, at, rebased=False, quiet=True)
    memory = with_quiet_slots(memory, pack_slots(seen.slots))
    return replace(memory, texts={**seen.texts, **memory.texts}) if len(memory.texts) < MOST_TEXTS else memory


def _checks(monitor_id: int) -> QuerySet[Check]:
    return Check.objects.filter(monitor_id=monitor_id, outcome__in=_GOOD)


def _quiet(monitor_id: int, *, since: datetime) -> list[tuple[bytes, datetime]]:
    """Deltas of calibration re-fetches since the memory began, in order. A finished run throws the stored memory away."""
    runs = CalibrationRun.objects.filter(monitor_id=monitor_id, finished_at__gte=since).order_by("finished_at")
    rows = [row for statistics in runs.values_list("statistics", flat=True) for row in statistics.get("quiet", [])]
    return [(bytes.fromhex(delta), datetime.fromtimestamp(at_s, UTC)) for at_s, delta in rows]


def _folded(memory: Memory, checks: QuerySet[Check], quiet: Sequence[tuple[bytes, datetime]] = ()) -> Memory:
    """Checks in their order; each quiet fetch goes before the first check that started after it."""
    return _folded_until([_LAST], memory, checks, quiet)[_LAST]


def _folded_until(
    numbers: Sequence[int], memory: Memory, checks: QuerySet[Check], quiet: Sequence[tuple[bytes, datetime]]
) -> dict[int, Memory]:
    """The memory as it was after each of some check numbers, which rise."""
    found: dict[int, Memory] = {}
    due = deque(numbers)
    waiting = deque(quiet)

    def reached() -> Memory:
        """The memory with the quiet fetches that no check has come after."""
        after = memory
        for seen, at in waiting:
            after = _after_quiet(after, seen, at)
        return after

    rows = checks.order_by("check_no").values_list("check_no", "delta", "started_at", "rebased", "quiet_slots")
    for number, delta, at, rebased, quiet_slots in rows.iterator(chunk_size=500):
        while due and due[0] < number:
            found[due.popleft()] = reached()
        while waiting and waiting[0][1] <= at:
            memory = _after_quiet(memory, *waiting.popleft())
        memory = with_quiet_slots(memory, bytes(quiet_slots)).fold(bytes(delta), at, rebased=rebased)
    return found | dict.fromkeys(due, reached())


_LAST = 2**63 - 1
