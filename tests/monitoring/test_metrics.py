"""Prometheus is told what is there: the right numbers, in its format, without a query that grows."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from monitoring.models import Change, Monitor, OutboxMessage, Process, Team
from monitoring.services import census, metrics, tallies
from monitoring.services.heartbeat import Heart
from tests.factories import make_change, make_monitor, make_payload
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.prometheus import Metric, parse

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test counts from nothing."""
    monkeypatch.setattr(tallies, "_counts", {})


def scrape() -> dict[str, Metric]:
    """What Prometheus would read now."""
    return parse(metrics.text(now=timezone.now()))


def make_mail(**extra: Any) -> OutboxMessage:
    """A mail that waits."""
    values = {"key": f"k{OutboxMessage.objects.count()}", "kind": "alert", "recipient": "a@b.example", "subject": "s"}
    return OutboxMessage.objects.create(
        **{**values, "text": "t", "message_id": "<m>", "next_attempt_at": timezone.now(), **extra}
    )


def test_visits_are_counted_by_class_and_outcome(site: LocalSite, watch: Callable[..., Monitor]) -> None:
    page = watch("/a", "<p>Fees are ten euros a month.</p>")
    visit(page)
    visit(page)
    visit(watch("/gone"))
    tallies.flush()
    found = scrape()

    assert found["tideline_checks_total"].value(class_="http", outcome="none") == 2
    assert found["tideline_checks_total"].value(class_="http", outcome="gone") == 1
    assert found["tideline_check_duration_seconds"].value("_count", class_="http") == 3
    assert found["tideline_check_lateness_seconds"].value("_count") == 3
    assert found["tideline_stage_cpu_seconds_total"].value(stage="fetch") > 0


def test_counters_do_not_fall_when_processes_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    tallies.count("mail", "sent", by=5)
    tallies.flush()
    before = scrape()["tideline_mails_total"].value(result="sent")
    monkeypatch.setattr(tallies, "_counts", {})  # another process, with another number
    monkeypatch.setattr("os.getpid", lambda: 4)
    tallies.count("mail", "sent")
    tallies.flush()

    assert (before, scrape()["tideline_mails_total"].value(result="sent")) == (5, 6)


def test_a_counter_without_labels_is_told_from_the_start() -> None:
    assert scrape()["tideline_leases_expired_total"].value() == 0


def test_due_work_leases_and_promises() -> None:
    now = timezone.now()
    resting = make_monitor(next_check_at=now - timedelta(hours=3))
    resting.site.rest_until = now + timedelta(hours=1)
    resting.site.save()
    make_monitor(next_check_at=now - timedelta(minutes=5), deadline_at=now - timedelta(hours=2))
    make_monitor(next_check_at=now, lease_until=now - timedelta(seconds=5), lease_token="a")
    make_monitor(next_check_at=now, lease_until=now + timedelta(seconds=50), lease_token="b")
    found = scrape()

    assert found["tideline_due"].value() == 2
    assert found["tideline_due_oldest_seconds"].value() == pytest.approx(300, abs=5)
    assert (found["tideline_leases"].value(state="held"), found["tideline_leases"].value(state="expired")) == (1, 1)
    assert found["tideline_batches"].value() == 1
    assert found["tideline_promises_broken"].value() == 1
    assert found["tideline_promises_broken_oldest_seconds"].value() == pytest.approx(7200, abs=5)


def test_what_waits_for_people_and_in_the_outbox() -> None:
    now = timezone.now()
    make_change(opened_at=now - timedelta(hours=1), priority=3)
    make_change(opened_at=now - timedelta(hours=5), priority=0)
    make_change(state=Change.State.SNOOZED, opened_at=now - timedelta(days=9))
    make_mail()
    make_mail(attempts=4)
    make_mail(state="sent")
    found = scrape()

    assert found["tideline_changes_waiting"].value(state="open") == 2
    assert found["tideline_changes_waiting"].value(state="snoozed") == 1
    assert found["tideline_changes_oldest_seconds"].value() == pytest.approx(18_000, abs=5)
    assert (found["tideline_outbox_waiting"].value(), found["tideline_outbox_failing"].value()) == (2, 1)


def test_budgets_of_teams_that_have_one() -> None:
    team = Team.objects.create(name="A", budget=500, planned_spend=480.5, measured_spend=470, least_spend=90)
    Team.objects.create(name="B")
    found = scrape()["tideline_team_budget_fetches"]

    assert {kind: found.value(team=str(team.pk), kind=kind) for kind in ("limit", "planned", "measured", "promised")} == {
        "limit": 500, "planned": 480.5, "measured": 470, "promised": 90,
    }  # fmt: skip
    assert len(found.samples) == 4


def test_processes_by_kind_and_class() -> None:
    for queue in ("http", "http", "browser"):
        Heart(Process.Kind.WORKER, queue=queue).beat()
    gone = Process.objects.filter(queue="browser")
    gone.update(seen_at=timezone.now() - timedelta(minutes=4), clock_off_s=-3.5)
    found = scrape()

    assert found["tideline_processes"].value(kind="worker", queue="http") == 2
    assert found["tideline_processes"].value(kind="worker", queue="browser") == 0
    assert found["tideline_process_seen_seconds"].value(kind="worker", queue="browser") == pytest.approx(240, abs=5)
    assert found["tideline_process_clock_offset_seconds"].value(kind="worker", queue="browser") == 3.5


def test_the_census_is_told_with_its_time() -> None:
    now = timezone.now()
    make_monitor(state="ok")
    make_monitor(state="ok", quarantined_at=now)
    make_monitor(enabled=False)
    make_payload(b"x" * 10)
    census.take(now=now)
    found = scrape()

    states = {dict(labels)["state"]: n for (_s, labels), n in found["tideline_monitors"].samples.items()}
    assert states == {"ok": 1, "quarantined": 1, "off": 1}
    assert found["tideline_census_stored_bytes"].value() == 10
    assert found["tideline_census_timestamp_seconds"].value() == pytest.approx(now.timestamp())


def test_no_census_yet_is_no_zero() -> None:
    assert "tideline_monitors" not in scrape()


def test_parts_are_told_as_health_has_them() -> None:
    found = scrape()

    assert found["tideline_part_state"].value(part="database") == 0
    assert found["tideline_part_state"].value(part="ticker") == 2
    assert found["tideline_ready"].value() == 0


def test_the_number_of_queries_does_not_grow() -> None:
    now = timezone.now()
    make_monitor(next_check_at=now)
    with CaptureQueriesContext(connection) as few:
        scrape()
    for _ in range(12):
        make_monitor(next_check_at=now)
        Heart(Process.Kind.WORKER).beat()
        make_change()
    with CaptureQueriesContext(connection) as more:
        scrape()

    assert len(more) <= len(few) + 1
    counts = [query["sql"] for query in more.captured_queries if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT" in sql or "lease_until" in sql for sql in counts)  # leases are bounded by the workers


def test_each_metric_is_documented_with_its_labels(site: LocalSite, watch: Callable[..., Monitor]) -> None:
    """All of them have a sample here; the page names each one, and names no other."""
    now = timezone.now()
    visit(watch("/a", "<p>Fees are ten euros a month.</p>"))
    for series in ("unwritten\tlost", "renders\tpage", "mail\tsent"):
        tallies.count(*series.split("\t"))
    tallies.flush()
    Team.objects.create(name="A", budget=5)
    make_change()
    Heart(Process.Kind.WORKER).beat()
    census.take(now=now)
    found = scrape()
    page = (Path(__file__).resolve().parents[2] / "docs/operations.md").read_text()
    documented = {
        name: set(re.findall(r"`(\w+)`", labels))
        for name, labels in re.findall(r"^\| `(tideline_\w+)` \|([^|]*)\|", page, re.M)
    }

    told = {
        name: {label for _suffix, labels in metric.samples for label, _text in labels} - {"le"}
        for name, metric in found.items()
    }
    assert told == documented


def test_each_metric_that_a_rule_asks_for_is_told() -> None:
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs/operations.md").read_text()
    documented = set(re.findall(r"^\| `(tideline_\w+)`", page, re.M))
    asked = set(re.findall(r"\btideline_\w+", (root / "docs/prometheus-rules.yml").read_text()))

    assert asked
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked} <= documented
