"""The diff between any two stored captures of one monitor, worked out when somebody asks; nothing is written."""

from __future__ import annotations

from typing import Any

from monitoring.detection.documents.reader import paired
from monitoring.detection.joint import same_region
from monitoring.detection.judge import judge
from monitoring.detection.memory import Memory
from monitoring.models import Monitor, Snapshot
from monitoring.services import documents
from monitoring.services.judge import settings_of
from monitoring.services.record import scrubbed
from monitoring.services.rules import rules_of
from monitoring.services.showing import document_of


class NotComparableError(Exception):
    """The two captures are of different types of document."""


def between(old: Snapshot, new: Snapshot, *, monitor: Monitor) -> dict[str, Any]:
    """The diff document of two captures, with the monitor's rules as they are now.

    Raises `NotComparableError` for different types of document, `DocumentFault` for one that can't be read, and
    `storage.StorageError` for bytes that are no longer there. Costs as much as judging one visit.
    """
    kinds = {documents.type_of_snapshot(snapshot) for snapshot in (old, new)}
    if len(kinds) > 1:
        raise NotComparableError(" / ".join(sorted(kinds)))
    rules = rules_of([monitor])[monitor.pk]
    before, after = (
        documents.reading_of(documents.stored_source(snapshot), monitor, rules, region=old.region_path)
        for snapshot in (old, new)
    )
    pair = same_region(paired(kinds.pop(), before, after), after)
    judgement = judge(*pair, Memory(), settings=settings_of(monitor, rules))
    return dict(scrubbed(document_of(judgement, pair, pair)))
