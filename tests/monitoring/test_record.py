"""One transaction per visit: fenced, all or nothing, and evidence before the row that names it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from monitoring import storage
from monitoring.models import Change, Check, FieldChange, FieldRule, Monitor, MonitorMemory, Payload, Snapshot
from monitoring.services import capture, ledger, memories, record, retention, schedule
from monitoring.services.judge import judge_capture
from monitoring.services.moulds import RESTLESS
from review import visits
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


def state() -> dict[str, Any]:
    """Everything a visit may write, but for bytes on disk."""
    return {
        "monitors": list(Monitor.objects.order_by("pk").values()),
        "checks": list(Check.objects.order_by("pk").values()),
        "snapshots": list(Snapshot.objects.order_by("pk").values()),
        "changes": list(Change.objects.order_by("pk").values()),
        "fields": list(FieldChange.objects.order_by("pk").values()),
        "memory": list(MonitorMemory.objects.order_by("pk").values()),
    }


def claimed(monitor: Monitor) -> schedule.Claim:
    """The monitor, claimed and due now."""
    now = timezone.now()
    Monitor.objects.filter(pk=monitor.pk).update(next_check_at=now, lease_until=None, lease_token="", stage="")
    (batch,) = schedule.claim_due(now=now, limit=1, lease_s=60)
    return batch


def test_a_worker_that_lost_its_lease_writes_nothing(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    batch = claimed(monitor)
    judge = judge_capture
    seen: list[dict[str, Any]] = []

    def judge_slowly(*args: Any, **more: Any) -> Any:
        finding = judge(*args, **more)
        Monitor.objects.filter(pk=monitor.pk).update(lease_token="theirs")
        seen.append(state())
        return finding

    monkeypatch.setattr(capture, "judge_capture", judge_slowly)

    counts = capture.run_batch(batch.ids, batch.token)

    assert counts == {"lost": 1}
    assert state() == seen[0]


def test_a_worker_overtaken_by_another_writes_nothing(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    batch = claimed(monitor)
    judge = judge_capture
    seen: list[dict[str, Any]] = []

    def overtaken(*args: Any, **more: Any) -> Any:
        finding = judge(*args, **more)
        monkeypatch.setattr(capture, "judge_capture", judge)
        visit(monitor)
        seen.append(state())
        return finding

    monkeypatch.setattr(capture, "judge_capture", overtaken)

    counts = capture.run_batch(batch.ids, batch.token)

    assert counts == {"lost": 1}
    assert state() == seen[0]
    assert Change.objects.get().folded == 0


class FailNth:
    """Fails the n-th write to the database, counting from 1."""

    def __init__(self, nth: int) -> None:
        self.nth, self.count = nth, 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self.count += 1
            if self.count == self.nth:
                raise DatabaseError("the n-th write fails")
        return execute(sql, params, many, context)


@contextmanager
def failing(nth: int) -> Iterator[FailNth]:
    """The n-th write within the block fails."""
    fail = FailNth(nth)
    with connection.execute_wrapper(fail):
        yield fail


def test_whichever_write_fails_the_visit_is_written_whole_or_not_at_all(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", page(extra="<b class=price>89.00 EUR</b>"))
    FieldRule.objects.create(monitor=monitor, name="price", source="css", selector="b.price", type="price")
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:], extra="<b class=price>79.00 EUR</b>"))
    write = record.record
    tried = 0

    for nth in range(1, 50):
        batch = claimed(monitor)
        before, fail = state(), FailNth(nth)

        def record_failing(*args: Any, fail: FailNth = fail, **more: Any) -> Check:
            with connection.execute_wrapper(fail):
                return write(*args, **more)

        monkeypatch.setattr(ledger, "record", record_failing)
        counts = capture.run_batch(batch.ids, batch.token)
        if fail.count < nth:
            assert counts == {"content": 1}
            break
        tried += 1
        assert counts == {"crashed": 1}, nth
        after = state()
        for what in ("checks", "snapshots", "changes", "fields", "memory"):
            assert after[what] == before[what], (nth, what)
        assert after["monitors"][0]["check_no"] == 1
        assert after["monitors"][0]["baseline_id"] == before["monitors"][0]["baseline_id"]
        Monitor.objects.update(quarantined_at=None, stage_failures=0)

    assert tried >= 6
    assert Change.objects.count() == Snapshot.objects.count() - 1 == FieldChange.objects.count() == 1
    assert all(storage.get(payload) for payload in Payload.objects.all())


def test_bytes_of_a_visit_that_was_undone_are_swept(watch: Watch, site: LocalSite, settings: Any) -> None:
    monitor = watch("/a", page())
    batch = claimed(monitor)
    with failing(6) as fail:
        capture.run_batch(batch.ids, batch.token)
    assert fail.count >= 6
    assert not Check.objects.exists()
    assert len(list(storage.store().objects())) == 1

    later = timezone.now() + timedelta(days=2)
    assert retention.sweep(now=timezone.now()) == {"snapshots": 0, "checks": 0, "payloads": 0, "files": 0}
    counts = retention.sweep(now=later)

    assert counts["payloads"] + counts["files"] == 1
    assert list(storage.store().objects()) == []


def test_a_full_disk_is_an_error_and_the_change_is_found_next_time(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))

    def full(file: Any, *args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        check = visit(monitor)
    assert (check.outcome, check.reason) == ("error", "storage")
    assert check.reasons[0]["code"] == "storage-full"
    assert "no space" in visits.visit_words(check)
    assert not Change.objects.exists()

    assert visit(monitor).outcome == "content"


def test_our_own_bug_at_one_monitor_does_not_stop_the_others(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = watch("/good", page()), watch("/bad", page())
    judge = judge_capture

    def judge_badly(monitor: Monitor, *args: Any, **more: Any) -> Any:
        if monitor.pk == bad.pk:
            raise ZeroDivisionError
        return judge(monitor, *args, **more)

    monkeypatch.setattr(capture, "judge_capture", judge_badly)

    for _ in range(schedule.MAX_STAGE_FAILURES):
        visit(good, bad)

    assert good.check_no == schedule.MAX_STAGE_FAILURES
    assert bad.check_no == 0
    assert bad.quarantined_at is not None
    assert f"monitor={bad.pk} crashed" in caplog.text


def test_unreached_monitors_are_given_back_when_the_budget_ends(watch: Watch) -> None:
    monitor = watch("/a", page())
    batch = claimed(monitor)

    assert capture.run_batch(batch.ids, batch.token, budget_s=0) == {}

    monitor.refresh_from_db()
    assert (monitor.lease_until, monitor.check_no) == (None, 0)


def test_settings_changed_during_a_visit_win_over_it(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    from monitoring.services import monitors

    monitor = watch("/a", page())
    batch = claimed(monitor)
    judge = judge_capture

    def changed_meanwhile(*args: Any, **more: Any) -> Any:
        monitors.ask_for_baseline([monitor.pk], "address changed")
        return judge(*args, **more)

    monkeypatch.setattr(capture, "judge_capture", changed_meanwhile)

    assert capture.run_batch(batch.ids, batch.token) == {"lost": 1}
    monitor.refresh_from_db()
    assert (monitor.baseline, monitor.rebaseline) == (None, "address changed")


def test_routine_visits_cost_few_queries_together(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(ledger, "LONGEST_S", 60.0)
    monitors = [watch(f"/{n}", page()) for n in range(10)]
    visit(*monitors)
    for n in range(10):
        site.put(f"/{n}", page(head="<script>1</script>"))
    Monitor.objects.update(next_check_at=timezone.now(), mould=RESTLESS)
    (batch,) = schedule.claim_due(now=timezone.now(), limit=10, lease_s=60)

    # per group: savepoint, lock, checks, monitors, release; per batch: take over, load, site, team, page type, vantage,
    # baselines, two for the rules, one for robots.txt, two to give back
    with django_assert_max_num_queries(5 + 12):
        counts = capture.run_batch(batch.ids, batch.token)

    assert counts == {"noise": 10}


def test_text_that_no_database_takes_is_replaced() -> None:
    assert record.scrubbed({"a\0": ["\ud800x", ("ok", 1, None)]}) == {"a\ufffd": ["\ufffdx", ("ok", 1, None)]}


def test_a_damaged_memory_is_built_again(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(extra="<p>Updated 3 minutes ago</p>"))
    visit(monitor)
    site.put("/a", page(extra="<p>Updated 4 minutes ago</p>"))
    visit(monitor)
    whole = memories.load(monitor)
    MonitorMemory.objects.update(data=b"damaged")

    assert memories.load(monitor) == whole
