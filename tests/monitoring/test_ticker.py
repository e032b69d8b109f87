"""The ticker hands due work and due jobs to the workers, and nothing twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django_q.models import OrmQ

from monitoring import queueing, tasks
from monitoring.models import Monitor, OutboxMessage, PeriodicJob, Site
from monitoring.services import capture, schedule, ticker
from tests.factories import NOW, make_monitor

pytestmark = pytest.mark.django_db


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, queueing.Periodic]:
    """An empty registry of periodic jobs."""
    jobs: dict[str, queueing.Periodic] = {}
    monkeypatch.setattr(queueing, "_registry", jobs)
    return jobs


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was handed to the broker: function and arguments."""
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(queueing, "async_task", lambda func, *args, **_: sent.append((func, *args)))
    return sent


def test_a_batch_travels_as_ids_and_a_token_only(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    monitor = make_monitor()

    turn = ticker.turn(now=NOW)

    monitor.refresh_from_db()
    assert (turn.monitors, turn.batches) == (1, 1)
    assert queued == [("monitoring.tasks.run_batch", [monitor.pk], monitor.lease_token)]


def test_a_batch_that_has_to_wait_for_its_turns_at_a_site_is_told_so(
    registry: Any, queued: list[tuple[Any, ...]]
) -> None:
    monitor = make_monitor()
    Site.objects.update(gap_s=1, next_free_at=NOW + timedelta(seconds=4))

    ticker.turn(now=NOW)

    assert queued[0][-2:] == ("http", {monitor.site_id: (NOW + timedelta(seconds=4)).timestamp()})


def test_two_tickers_hand_out_each_monitor_once(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    make_monitor()

    ticker.turn(now=NOW)
    ticker.turn(now=NOW)

    assert len(queued) == 1


def test_the_broker_is_not_filled_beyond_what_workers_can_take(
    registry: Any, queued: list[tuple[Any, ...]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WORKERS = 1
    monkeypatch.setattr(schedule, "BATCH_MOST", 5)
    monkeypatch.setattr(schedule, "BATCH_LEAST", 5)
    site = Site.objects.create(name="One", host="one.example", gap_s=0)
    for _ in range(40):
        make_monitor(site=site)

    ticker.turn(now=NOW)
    ticker.turn(now=NOW)

    assert [len(ids) for _, ids, _ in queued] == [5]


def test_work_is_given_back_when_the_broker_is_away(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = make_monitor()

    def away(*_: Any, **__: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(queueing, "async_task", away)

    with pytest.raises(ConnectionError):
        ticker.turn(now=NOW)

    monitor.refresh_from_db()
    assert monitor.lease_until is None


def test_losing_every_message_loses_no_work(registry: Any, queued: list[tuple[Any, ...]], settings: Any) -> None:
    site = Site.objects.create(name="One", host="one.example", gap_s=0)
    ids = {make_monitor(site=site).pk for _ in range(60)}
    ticker.turn(now=NOW)
    queued.clear()

    ticker.turn(now=NOW + timedelta(seconds=settings.LEASE_S))

    assert {pk for _, batch, _ in queued for pk in batch} == ids


def test_a_real_message_can_be_put_and_holds_plain_values(registry: Any) -> None:
    make_monitor()

    ticker.turn(now=NOW)

    task = OrmQ.objects.get().task
    assert task["func"] == "monitoring.tasks.run_batch"
    assert [type(a) for a in task["args"]] == [list, str]


# -- periodic jobs -----------------------------------------------------------------------


def test_a_job_runs_at_once_and_then_every_period(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    queueing.periodic("tidy", 60, "tests.monitoring.test_ticker.tidy")

    assert queueing.start_due_jobs(now=NOW) == ["tidy"]
    assert queueing.start_due_jobs(now=NOW + timedelta(seconds=59)) == []
    assert queueing.start_due_jobs(now=NOW + timedelta(seconds=60)) == ["tidy"]
    assert queued == [("monitoring.tasks.run_periodic", "tidy")] * 2


def test_missed_periods_are_made_up_for_once(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    queueing.periodic("tidy", 60, "tests.monitoring.test_ticker.tidy")
    queueing.start_due_jobs(now=NOW)

    queueing.start_due_jobs(now=NOW + timedelta(days=3))
    queueing.start_due_jobs(now=NOW + timedelta(days=3, seconds=1))

    assert len(queued) == 2


def test_a_job_planned_by_a_clock_that_ran_ahead_runs_again(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    queueing.periodic("tidy", 60, "tests.monitoring.test_ticker.tidy")
    queueing.start_due_jobs(now=NOW + timedelta(days=3650))

    assert queueing.start_due_jobs(now=NOW) == ["tidy"]


def test_a_ticker_that_began_a_moment_before_another_does_not_start_its_job_again(
    registry: Any, queued: list[tuple[Any, ...]]
) -> None:
    queueing.periodic("tidy", 60, "tests.monitoring.test_ticker.tidy")
    queueing.start_due_jobs(now=NOW)

    assert queueing.start_due_jobs(now=NOW - timedelta(seconds=1)) == []


def test_another_ticker_that_was_faster_leaves_nothing_to_start(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    queueing.periodic("tidy", 60, "tests.monitoring.test_ticker.tidy")
    job = registry["tidy"]
    queueing.start_due_jobs(now=NOW)
    PeriodicJob.objects.update(next_at=NOW + timedelta(seconds=90))

    assert not queueing._take(job, NOW + timedelta(seconds=60), NOW + timedelta(seconds=60))
    assert not queueing._take(job, None, NOW)


def test_a_job_with_nothing_to_do_is_not_queued(registry: Any, queued: list[tuple[Any, ...]]) -> None:
    queueing.periodic("mail", 5, "tests.monitoring.test_ticker.tidy", when="monitoring.queueing.mail_waits")
    assert queueing.start_due_jobs(now=NOW) == []
    OutboxMessage.objects.create(
        key="k", kind="alert", recipient="a@example.test", subject="s", text="t", message_id="m", next_attempt_at=NOW
    )

    assert queueing.start_due_jobs(now=NOW) == ["mail"]


def test_a_job_is_tried_again_soon_when_the_broker_is_away(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queueing.periodic("tidy", 86_400, "tests.monitoring.test_ticker.tidy")

    def away(*_: Any, **__: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(queueing, "async_task", away)

    with pytest.raises(ConnectionError):
        queueing.start_due_jobs(now=NOW)

    assert PeriodicJob.objects.get().next_at == NOW + queueing.RETRY_AFTER_TROUBLE


def tidy(*, now: Any) -> str:
    """A job for these tests."""
    return f"tidied in {now:%Y}"


def test_the_task_calls_the_registered_function(registry: Any) -> None:
    queueing.periodic("tidy", 60, "tests.monitoring.test_ticker.tidy")

    assert tasks.run_periodic("tidy").startswith("tidied in 20")
    assert tasks.run_periodic("of-another-release") == "unknown job"


def test_every_registered_job_can_be_imported_and_run() -> None:
    for job in queueing.jobs():
        assert tasks.run_periodic(job.name) != "unknown job"


def test_the_batch_task_says_shortly_what_came_of_it() -> None:
    assert tasks.run_batch([1, 2], "gone") == "nothing held"


def test_a_worker_that_is_done_hands_out_the_next_batch(
    registry: Any, queued: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = make_monitor()
    monkeypatch.setattr(capture, "run_batch", lambda ids, token, **_: {"none": 1})

    assert tasks.run_batch([99], "token") == "none=1"

    assert [ids for _, ids, _ in queued] == [[monitor.pk]]


def test_one_turn_from_the_command_line(registry: Any, queued: list[tuple[Any, ...]], capsys: Any) -> None:
    from django.core.management import call_command

    Monitor.objects.all().delete()
    call_command("tick", "--once")

    assert "monitors=0" in capsys.readouterr().out
