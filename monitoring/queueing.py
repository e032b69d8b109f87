"""What goes through the broker, and what runs by the clock.

The broker only wakes workers; the truth about due work is in our own tables. Arguments are ids and plain values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.module_loading import import_string
from django_q.tasks import async_task

from monitoring.models import OutboxMessage, PeriodicJob, WorkerClass

logger = logging.getLogger(__name__)

RETRY_AFTER_TROUBLE = timedelta(seconds=15)
CLOCKS_APART = timedelta(minutes=2)  # at most, between two tickers


@dataclass(frozen=True, slots=True)
class Periodic:
    """A job of the ticker: a function `path(now=...)` that a worker calls every `every_s` seconds.

    `when`, if given, is a cheap `path(now=...) -> bool` that the ticker asks first, so that nothing is queued
    when there is nothing to do. `kind`: the class of workers that it is for.
    """

    name: str
    every_s: float
    path: str
    when: str = ""
    kind: WorkerClass = WorkerClass.HTTP


_registry: dict[str, Periodic] = {}


def periodic(
    name: str, every_s: float, func_path: str, *, when: str = "", kind: WorkerClass = WorkerClass.HTTP
) -> None:
    """Register a periodic job; call it from an app's `ready`. A second registration of a name replaces the first."""
    _registry[name] = Periodic(name, every_s, func_path, when, kind)


def jobs() -> list[Periodic]:
    """The registered jobs, by name."""
    return [_registry[name] for name in sorted(_registry)]


def run_job(name: str, *, now: datetime) -> object:
    """Call a registered job; KeyError for a name that is not registered."""
    job: Callable[..., object] = import_string(_registry[name].path)
    return job(now=now)


def enqueue_batch(
    ids: Sequence[int], token: str, kind: WorkerClass = WorkerClass.HTTP, starts: Mapping[int, float] | None = None
) -> None:
    """Hand a claimed batch to the workers of a class. Raises what the broker's client raises when it can't be reached.

    `starts`: from when on a site may be asked, in POSIX seconds, for those that may not be asked at once.
    """
    # Workers of the release before know no classes: what is in the first queue stays, where it can, as they know it.
    more: tuple[object, ...] = () if kind == WorkerClass.HTTP and not starts else (kind.value,)
    if starts:
        more += ({site_id: round(at, 3) for site_id, at in starts.items()},)
    _send("monitoring.tasks.run_batch", list(ids), token, *more, name=f"checks-{token[:8]}", kind=kind)


def enqueue_job(name: str) -> None:
    """Hand a periodic job to the workers."""
    kind = _registry[name].kind if name in _registry else WorkerClass.HTTP
    _send("monitoring.tasks.run_periodic", name, name=f"job-{name}", kind=kind)


def _send(task: str, *arguments: object, name: str, kind: WorkerClass) -> None:
    async_task(task, *arguments, task_name=name[:100], save=False, cluster=settings.QUEUES[kind])


def start_due_jobs(*, now: datetime) -> list[str]:
    """Names of the jobs that this call handed to the workers; another ticker's share is not among them."""
    started = []
    known = dict(PeriodicJob.objects.values_list("name", "next_at"))
    for job in jobs():
        planned = known.get(job.name)
        # A time further away than one period was planned by a clock that was wrong, or by a ticker that began a moment later.
        if planned is not None and now < planned <= now + timedelta(seconds=job.every_s) + CLOCKS_APART:
            continue
        if job.when and not import_string(job.when)(now=now):
            continue
        if not _take(job, planned, now):
            continue
        try:
            enqueue_job(job.name)
        except Exception:
            PeriodicJob.objects.filter(name=job.name).update(next_at=now + RETRY_AFTER_TROUBLE)
            raise
        started.append(job.name)
    return started


def _take(job: Periodic, planned: datetime | None, now: datetime) -> bool:
    """Whether the job's turn is ours: one conditional write decides between several tickers."""
    later = now + timedelta(seconds=job.every_s)
    if planned is None:
        try:
            with transaction.atomic():
                PeriodicJob.objects.create(name=job.name, next_at=later, last_at=now)
        except IntegrityError:
            return False
        return True
    return PeriodicJob.objects.filter(name=job.name, next_at=planned).update(next_at=later, last_at=now) == 1


def mail_waits(*, now: datetime) -> bool:
    """Whether the outbox holds mail that may be sent now."""
    return OutboxMessage.objects.filter(state=OutboxMessage.State.WAITING, next_attempt_at__lte=now).exists()


periodic("wake-snoozed", 30, "monitoring.services.changes.wake_snoozed")
periodic("outbox", 5, "monitoring.services.outbox.send_due", when="monitoring.queueing.mail_waits")
periodic(
    "first-looks", 10, "monitoring.services.refetch.first_looks", when="monitoring.services.refetch.any_first_look"
)
periodic("quiet-refetches", 3_600, "monitoring.services.calibrate.schedule_quiet")
periodic(
    "first-looks-browser",
    10,
    "monitoring.services.refetch.browser_first_looks",
    when="monitoring.services.refetch.any_browser_first_look",
    kind=WorkerClass.BROWSER,
)
periodic("site-days", 300, "monitoring.services.watching.fold", when="monitoring.services.watching.anything_new")
periodic("brake", 60, "monitoring.services.brake.look", when="monitoring.services.brake.is_wanted")
periodic("canaries", 60, "monitoring.services.canaries.look", when="monitoring.services.canaries.is_wanted")
periodic("old-canaries", 86_400, "monitoring.services.canaries.forget")
periodic("site-alarms", 3_600, "monitoring.services.watching.look")
periodic("forget-site-days", 86_400, "monitoring.services.watching.forget")
periodic("lost-calibrations", 900, "monitoring.services.refetch.give_up")
periodic("lost-comparisons", 300, "monitoring.services.comparisons.give_up")
periodic("mend-plans", 3_600, "monitoring.services.schedule.mend_plans")
periodic("prices", 3_600, "monitoring.services.budget.reprice")
periodic("visits", 60, "monitoring.services.visits.tally")
periodic("promises", 60, "monitoring.services.promises.look")
periodic("old-promises", 86_400, "monitoring.services.promises.forget")
periodic("forecasts", 3_600, "monitoring.services.forecasts.tally")
periodic("turned-rates", 60, "monitoring.services.rates.refold", when="monitoring.services.rates.any_stale")
periodic("priors", 30 * 86_400, "monitoring.services.priors.fit")
periodic("hints", 300, "monitoring.services.hints.poll", when="monitoring.services.hints.any_due")
periodic("census", 60, "monitoring.services.census.take", when="monitoring.services.census.is_due")
periodic("retention", 86_400, "monitoring.services.retention.sweep")


def enqueue_comparison(comparison_id: int, kind: WorkerClass = WorkerClass.HTTP) -> None:
    """Hand a comparison of vantages to the workers of a class."""
    _send("monitoring.tasks.run_comparison", comparison_id, name=f"comparison-{comparison_id}", kind=kind)


def enqueue_calibration(run_id: int, kind: WorkerClass = WorkerClass.HTTP) -> None:
    """Hand a calibration run to the workers of a class."""
    _send("monitoring.tasks.run_calibration", run_id, name=f"calibration-{run_id}", kind=kind)


periodic("settle-sample", 60, "monitoring.sample.workspace.settle")
