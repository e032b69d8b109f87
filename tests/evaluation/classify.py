"""The judge as the benchmark calls it: three earlier captures, the old one and the new one, and nothing else.

Each call builds the memory that the product would have had by then: every earlier capture is folded in as a
visit, compared with the one before. Nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from monitoring.detection.blocks import Reading
from monitoring.detection.joint import same_region
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Judgement, Kind, Settings
from monitoring.detection.memory import Memory
from monitoring.detection.quality import PageFacts, State, assess
from monitoring.detection.read import read

_START = datetime(2026, 1, 1, tzinfo=UTC)


def classify(history: Sequence[str], old: str, new: str) -> str:
    """One of "none", "noise", "content", "blocked"."""
    if old == new:
        return "none"
    good: list[Reading] = []
    for html in (*history, old):
        reading = read(html, remembered_region=good[-1].region_path if good else "")
        if is_good(html, reading, good[-1] if good else None):
            good.append(reading)
    now = read(new, remembered_region=good[-1].region_path if good else "")
    if not is_good(new, now, good[-1] if good else None):
        # good by itself and only unlike what came before, twice in a row: the page really is another one now
        stayed = is_good(old, reading, None) and is_good(new, now, None) and is_good(new, now, reading)
        if not stayed or good[-1] is reading:
            return "blocked"
        good.append(reading)
    if not good:
        return "noise"  # nothing good to compare with: the new capture would become the first baseline
    memory, at = remembered(good)
    before, now = same_region(good[-1], now)
    judgement = judge(before, now, memory, settings=Settings(), old_at=at, now=at + timedelta(days=1))
    if judgement.kind is Kind.NONE or is_flap(judgement):
        return str(Kind.NOISE)  # the bytes differ and no block does; or the page only left and came back
    return str(judgement.kind)


def is_flap(judgement: Judgement) -> bool:
    """Whether the page only left and came back: the product puts that on the open change and opens no new one."""
    return any(reason.code == "return" and reason.data.get("passing") for reason in judgement.reasons)


def remembered(visits: Sequence[Reading]) -> tuple[Memory, datetime]:
    """The memory after these visits, a day apart and each compared with the one before, and the time of the last."""
    at = _START
    memory = Memory.start(at)
    for previous, following in pairwise(visits):
        at += timedelta(days=1)
        judgement = judge(previous, following, memory, settings=Settings())
        memory = memory.fold(judgement.delta, at, rebased=True)
    return memory, at


def is_good(html: str, reading: Reading, baseline: Reading | None) -> bool:
    """Whether a capture shows the page itself and not a block page, an error or a shell."""
    facts = PageFacts(html=html)
    return assess(facts, reading, baseline).state is State.GOOD


__all__ = ["Kind", "classify", "is_flap", "remembered"]
