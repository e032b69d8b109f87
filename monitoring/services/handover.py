"""Pages on their way from the fetch loop to whoever takes them: the loop has a thread of its own, the queue is short."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator

from django.conf import settings

from monitoring.fetching.capture import Capture, FetchRequest, Outcome
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.http import Fetcher as PageFetcher
from monitoring.services import tallies

# What waits to be taken, in bytes: a dozen usual pages, and answers without a page by the dozens.
HANDOVER_BYTES = 4_000_000
LEAST_WEIGHT = 100_000


class Fetcher:
    """Fetches in an event loop of its own thread; outcomes come out in the thread that asks for them.

    Pages may be added while others are under way. `pending` is how many have not come out yet. Neither side wakes the
    other more often than it has to: a wake-up costs about as much as taking in an answer of 304.
    """

    def __init__(self, policy: AddressPolicy, *, left_s: float) -> None:
        self._policy, self._left_s = policy, left_s
        self._handover: queue.SimpleQueue[tuple[Outcome | BaseException | int | None, int]] = queue.SimpleQueue()
        self._weighing = threading.Lock()
        self._weight = 0  # bytes in the hand-over
        self._is_full = False  # the loop waits for room in it
        self._room = asyncio.Event()
        self._over = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name="fetch", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pages: PageFetcher | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: deque[tuple[FetchRequest, float]] = deque()
        self._is_woken = False  # the loop is about to look at what was asked for
        self._has_ended = False
        self._error: BaseException | None = None
        self._dropped: set[int] = set()
        self.pending = 0
        self.cpu_s = 0.0  # processor time of the loop's thread, once it has ended

    def __enter__(self) -> Fetcher:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._over.set)
        self._thread.join(timeout=10)
        tallies.count("cpu", "fetch", by=self.cpu_s)

    def add(self, request: FetchRequest, delay_s: float) -> None:
        """Ask for a page so many seconds from now; nothing is asked once the budget is used up."""
        self._dropped.discard(request.key)
        if self._has_ended:
            if self._error is not None:
                raise self._error
            return
        self._asked.append((request, delay_s))
        if not self._is_woken:
            self._is_woken = True
            if not self._call(self._begin):
                return
        self.pending += 1

    def drop(self, keys: Collection[int]) -> None:
        """Ask no more for these pages; what is under way still comes."""
        self._dropped.update(keys)

    def outcomes(self, *, on_wait: Callable[[], None], patience: Callable[[], float]) -> Iterator[Outcome]:
        """Outcomes as they arrive until none is pending; `on_wait` is called when none came for `patience()` seconds."""
        while self.pending:
            try:
                item, weight = self._handover.get(timeout=patience())
            except queue.Empty:
                on_wait()
                continue
            self._taken(weight)
            if item is None:  # the budget is used up
                self.pending = 0
                return
            if isinstance(item, BaseException):
                self.pending = 0
                raise item
            self.pending -= 1
            if not isinstance(item, int):
                yield item

    def _taken(self, weight: int) -> None:
        with self._weighing:
            self._weight -= weight
            has_room = self._is_full and self._weight <= HANDOVER_BYTES // 2
            if has_room:
                self._is_full = False
        if has_room:
            self._call(self._room.set)

    def _call(self, callback: Callable[[], None]) -> bool:
        """Have the loop call something; False when it has ended."""
        if self._loop is None:
            return False
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            return False
        return True

    # -- in the loop's thread --------------------------------------------------------------

    def _work(self) -> None:
        try:
            asyncio.run(self._all())
        except Exception as error:  # noqa: BLE001 - the top of the thread: raised again where outcomes are taken
            self._error = error
        self.cpu_s = time.thread_time()
        self._has_ended = True  # before the last word: who asks later knows that nobody answers
        self._handover.put((self._error, 0))
        self._ready.set()

    async def _all(self) -> None:
        self._loop = asyncio.get_running_loop()
        width, per_host = settings.FETCH_CONCURRENCY, settings.FETCH_PER_HOST
        async with PageFetcher(self._policy, concurrency=width, per_host=per_host) as self._pages:
            self._ready.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(self._left_s, 0.0)):
                    await self._over.wait()
            self._over.set()
            for task in self._tasks:  # nobody takes outcomes any more
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._error is not None:
            raise self._error

    def _begin(self) -> None:
        """Begin with what was asked for."""
        self._is_woken = False  # what is asked for from here on wakes the loop again
        while self._asked and not self._over.is_set():
            task = asyncio.ensure_future(self._one(*self._asked.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
            self._over.set()

    async def _one(self, request: FetchRequest, delay_s: float) -> None:
        assert self._pages is not None  # noqa: S101 - set before anything can be asked for
        if delay_s > 0:
            await asyncio.sleep(delay_s)
        async with self._pages.page(request, wanted=lambda: request.key not in self._dropped) as outcome:
            await self._hand_over(request.key if outcome is None else outcome)

    async def _hand_over(self, item: Outcome | int) -> None:
        """Put an outcome, or the key of a page that was dropped, where it is taken from, once there is room."""
        weight = LEAST_WEIGHT
        if isinstance(item, Capture):
            weight += len(item.body) + len(item.html)
        while not self._has_room(weight):
            await self._room.wait()
        self._handover.put((item, weight))

    def _has_room(self, weight: int) -> bool:
        """Whether the hand-over takes something more, which is counted in then."""
        with self._weighing:
            if self._weight < HANDOVER_BYTES:
                self._weight += weight
                return True
            self._is_full = True
        self._room.clear()
        return False
