"""Reading all stored evidence again, and naming what is no longer what it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monitoring import storage
from monitoring.models import Payload, Snapshot

_CHUNK = 200
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """A payload that is not whole."""

    payload: Payload
    problem: str
    resting: int
    """How many deltas rest on it, and can't be read either."""

    @property
    def line(self) -> str:
        """The fault in a line: which payload, whose evidence, what is wrong, what else is lost with it."""
        snapshots = Snapshot.objects.filter(payload=self.payload).order_by("pk").values_list("pk", "monitor_id")
        whose = ", ".join(f"snapshot {pk} of monitor {monitor}" for pk, monitor in snapshots[:_NAMED])
        lost = f"; {self.resting} other payloads rest on it" if self.resting else ""
        return f"number {self.payload.pk} ({whose or 'no snapshot'}): {self.problem}{lost}"


def inspect(*, after: int = 0) -> Iterator[tuple[Payload, Fault | None]]:
    """Every payload in the order of its number, with what is wrong with it.

    Holds a few hundred rows and at most one group's bytes. Raises `StorageUnavailableError`, which says nothing of what is stored.
    """
    while True:
        chunk = list(Payload.objects.filter(pk__gt=after).select_related("keyframe").order_by("pk")[:_CHUNK])
        if not chunk:
            return
        storage.forget()  # what is held in memory proves nothing about what is stored
        for payload in chunk:
            yield payload, _fault(payload)
        after = chunk[-1].pk


def _fault(payload: Payload) -> Fault | None:
    try:
        storage.get(payload)
    except storage.PayloadDamageError as error:
        resting = Payload.objects.filter(keyframe=payload).count()
        return Fault(payload, str(error), resting)
    if payload.keyframe is not None and payload.keyframe.keyframe_id is not None:
        return Fault(payload, f"payload {payload.sha256}: rests on a payload that is no keyframe", 0)
    return None
