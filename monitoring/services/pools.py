"""Which workers there are, by class: they give signs of life, and whoever hands out work counts them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count

from monitoring.models import Monitor, Process, WorkerClass
from monitoring.services.heartbeat import ALIVE

UNSERVED = timedelta(minutes=1)  # so long a page may be due before it is told that nobody renders it


def queue_of(kind: WorkerClass) -> str:
    """What the workers of a class call themselves in their signs of life."""
    return kind.value


def capacity(*, now: datetime) -> dict[WorkerClass, int]:
    """Number of workers of each class on all machines.

    Where no HTTP worker gives signs of life there may be some of an older release, which give none: then as many count as
    this machine is set to. Of browser workers only those count that are there: nobody else takes from their queue.
    """
    alive = Process.objects.filter(kind=Process.Kind.WORKER, seen_at__gt=now - ALIVE, seen_at__lt=now + ALIVE)
    found = dict(alive.values_list("queue").annotate(Count("key")))
    return {
        WorkerClass.HTTP: found.get(queue_of(WorkerClass.HTTP)) or settings.WORKERS,
        WorkerClass.BROWSER: found.get(queue_of(WorkerClass.BROWSER), 0),
    }


def somebody_renders(*, now: datetime) -> bool:
    """Whether a worker of the class browser is at work somewhere."""
    return capacity(now=now)[WorkerClass.BROWSER] > 0


def class_for(monitor: Monitor, *, now: datetime) -> WorkerClass:
    """Which workers a task about one monitor goes to; where nobody renders, one that says why it can't."""
    return WorkerClass.BROWSER if monitor.uses_browser and somebody_renders(now=now) else WorkerClass.HTTP


def waits_for_nobody(monitor: Monitor, *, now: datetime) -> bool:
    """Whether the page is due, needs a browser, and no worker renders pages."""
    return (
        monitor.by_browser
        and monitor.enabled
        and monitor.next_check_at is not None
        and monitor.next_check_at < now - UNSERVED
        and not somebody_renders(now=now)
    )
