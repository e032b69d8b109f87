"""The short form of `make scale`: plans, counts of statements and counts of rows, on a few hundred monitors."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client

from monitoring.models import Check, HourTally, Monitor, TallyMark
from monitoring.services import visits
from tests.scale import claims, load, pages

pytestmark = pytest.mark.django_db
SMALL, LARGER = (load.Size(n, 8 * n, n, 30, 60) for n in (150, 450))
NOW = load.moment_now()


def fill(size: load.Size) -> None:
    load.fleet(size, NOW, lambda text: None)
    load.visits(size, NOW)
    load.checks(NOW, only_unchanged=False, say=lambda text: None)
    load.run("DROP TABLE scale_visit")
    load.evidence(size, NOW, lambda text: None)
    load.run("ANALYZE")
    if connection.vendor == "postgresql":
        load.run("SET LOCAL enable_seqscan = off")  # so few rows are read whole, whatever index there is


def asked(username: str = "lead") -> dict[str, list[str]]:
    """The statements of each page that this person may open."""
    client = Client()
    client.force_login(User.objects.get(username=username))
    found = {}
    for name, address in pages.addresses().items():
        if name in ("health", "metrics"):
            continue  # they look from a thread of their own
        if client.get(address).status_code == 200:
            found[name] = [sql for _ms, sql in pages.statements(client, address)]
    return found


@pytest.mark.parametrize("username", ["lead", "boss"])
def test_pages_need_no_more_statements_for_more_rows_and_count_nothing_from_end_to_end(username: str) -> None:
    with transaction.atomic():
        fill(SMALL)
        few = asked(username)
        transaction.set_rollback(True)
    fill(LARGER)
    many = asked(username)

    assert len(many) > (25 if username == "boss" else 15)
    # One or two belong to what a page happens to show, such as a change among the checks.
    more = {name: (len(found), len(few[name])) for name, found in many.items() if len(found) > len(few[name]) + 2}
    assert more == {}
    counted = {name: [table for sql in found for table in pages.uncapped_counts(sql)] for name, found in many.items()}
    assert {name: tables for name, tables in counted.items() if tables} == {}


def test_a_claim_reads_monitors_by_an_index() -> None:
    fill(SMALL)
    claims.overdue(NOW, 100)

    assert claims.scans(NOW) == []
    assert Monitor.objects.exclude(lease_until=None).exists()  # it did claim


@pytest.mark.parametrize(
    ("address", "index"),
    [
        ("/monitors/", "monitor_by_name"),
        ("/queue/?kind=noise", "check_noise"),
        ("/fields/?name=version", "field_change_named"),
        ("/verdicts/", "verdict_log"),
        ("/verdicts/?action=second", "verdict_log_of_action"),
        ("/", "monitor_troubled"),
        ("/queue/", "change_waiting"),
        ("/m/7/", "check_once"),
    ],
)
def test_lists_are_read_by_their_index(address: str, index: str) -> None:
    fill(SMALL)
    client = Client()
    client.force_login(User.objects.get(username="boss"))
    client.get(address)
    with claims.written_down() as seen:
        client.get(address)
    plans = "\n".join(claims.plan_of(sql, params) for sql, params in seen if sql.startswith("SELECT"))

    unnamed = {"check_once": "sqlite_autoindex_monitoring_check_1"} if connection.vendor == "sqlite" else {}
    assert unnamed.get(index, index) in plans


@pytest.fixture
def day() -> dict[str, int]:
    fill(SMALL)
    return visits.counts(now=NOW, teams=None)


def test_tallies_say_what_the_checks_say(day: dict[str, int]) -> None:
    assert sum(day.values()) == Check.objects.filter(started_at__gte=NOW - visits.DAY).count() > 0
    visits.tally(now=NOW)
    visits.tally(now=NOW)  # once more adds nothing
    mark = TallyMark.objects.get().until
    assert timedelta() <= NOW - visits.GRACE - mark < visits.STEP

    began = visits._hour_from(NOW - visits.DAY)
    for team in (None, 1):
        rows = Check.objects.filter(started_at__gte=began)
        teams = None if team is None else [Monitor.objects.order_by("team").values_list("team", flat=True)[0]]
        rows = rows if teams is None else rows.filter(monitor__team__in=teams)
        expected = {
            name: n for name in set(rows.values_list("outcome", flat=True)) if (n := rows.filter(outcome=name).count())
        }
        assert visits.counts(now=NOW, teams=teams) == expected


def test_figures_of_a_tallied_day_come_from_the_tallies(day: dict[str, int]) -> None:
    visits.tally(now=NOW)
    HourTally.objects.filter(outcome="none").update(n=0)
    told = visits.counts(now=NOW, teams=None)

    assert told["none"] == Check.objects.filter(started_at__gte=TallyMark.objects.get().until, outcome="none").count()


def test_a_mark_from_a_clock_that_was_wrong_is_taken_back() -> None:
    fill(SMALL)
    TallyMark.objects.create(pk=1, until=NOW + timedelta(days=3))
    visits.tally(now=NOW)

    assert TallyMark.objects.get().until <= NOW
