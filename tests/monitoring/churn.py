"""A sweeper beside workers that store, name and drop page bytes at random: `python -m tests.monitoring.churn ROUNDS`.

The settings say where; tables are made. Ends with 1 and says what was lost, if anything was.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the settings
from django.db import IntegrityError, connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from monitoring import storage  # noqa: E402
from monitoring.models import Monitor, Payload, Snapshot  # noqa: E402
from monitoring.services import retention  # noqa: E402
from tests.factories import make_monitor, make_snapshot  # noqa: E402

WORKERS = 3


class Churn:
    """One run; `faults` says what was lost."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.monitor = rounds, make_monitor()
        self.faults: list[str] = []
        self.named = self.refused = self.swept = 0
        self.done = Event()
        pages = [_words(random.Random(number), 300) for number in range(4)]
        self.bodies = [_edited(pages[number % 4], random.Random(number)) for number in range(40)]

    def run(self) -> None:
        workers = [Thread(target=self._guarded, args=(self._work, seed)) for seed in range(WORKERS)]
        sweeper = Thread(target=self._guarded, args=(self._sweep, 0))
        for thread in (*workers, sweeper):
            thread.start()
        for thread in workers:
            thread.join()
        self.done.set()
        sweeper.join()
        storage.forget()
        for payload in Payload.objects.select_related("keyframe"):
            try:
                storage.get(payload)
            except storage.StorageError as error:
                self.faults.append(str(error))

    def _guarded(self, work: Callable[[int], None], seed: int) -> None:
        try:
            work(seed)
        except Exception as error:  # noqa: BLE001 - the end of a thread, told by `main`
            self.faults.append(repr(error))
        finally:
            connection.close()

    def _work(self, seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(self.rounds):
            newest = Snapshot.objects.filter(monitor=self.monitor).select_related("payload__keyframe").order_by("-pk")
            like = next((row.payload for row in newest[:1]), None)
            body = rng.choice(self.bodies)
            payload = storage.put(body, like=like)
            try:
                snapshot = make_snapshot(self.monitor, payload=payload)
            except IntegrityError:
                self.refused += 1  # retention was faster: the database refused, and a visit would be made again
                continue
            self.named += 1
            if storage.get(Payload.objects.get(pk=payload.pk)) != body:
                self.faults.append(f"{payload} gives other bytes")
            if rng.random() < 0.8:
                snapshot.delete()
            # Time passes: what nobody was handed since is old enough to go.
            Payload.objects.filter(wanted_at=None).update(created_at=timezone.now() - timedelta(days=9))

    def _sweep(self, seed: int) -> None:
        while not self.done.is_set():
            self.swept += retention.sweep(now=timezone.now())["payloads"]


def _words(rng: random.Random, count: int) -> bytes:
    return b" ".join(b"%x" % rng.getrandbits(48) for _ in range(count))


def _edited(page: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(page))
    return page[:place] + _words(rng, 5) + page[place:]


def main() -> int:
    """Run, and print what came of it."""
    call_command("migrate", interactive=False, verbosity=0)
    churn = Churn(int(sys.argv[1]))
    churn.run()
    print(f"named {churn.named}, refused {churn.refused}, swept {churn.swept}, lost {len(churn.faults)}")
    print(*churn.faults[:5], sep="\n")
    Monitor.objects.filter(pk=churn.monitor.pk).delete()
    return 1 if churn.faults or not churn.swept or not churn.named else 0


if __name__ == "__main__":
    sys.exit(main())
