"""Rows of unchanged visits say no more than they must, and what they leave out is still known."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from monitoring.fetching.capture import Capture
from monitoring.models import Check, Monitor, Outcome
from monitoring.models.check import MARKUP_ONLY, SAID
from monitoring.services.findings import DETECTOR, Finding
from monitoring.services.record import record
from monitoring.services.rules import Rules
from tests.factories import NOW, make_check, make_monitor, make_user

pytestmark = pytest.mark.django_db
FIELDS = {"price": {"value": "1"}}
BASE: dict[str, Any] = {"raw_sha256": "ab" * 32, "text_hash": "cd" * 16, "fingerprint": "ef" * 8}


def read_monitor(**extra: Any) -> Monitor:
    """A monitor whose first check set the baseline."""
    monitor = make_monitor(
        state="ok", lease_token="t", lease_until=NOW, check_no=1, last_ok_at=NOW - timedelta(days=1), fields=FIELDS,
        baseline_raw_sha256=BASE["raw_sha256"], baseline_text_hash=BASE["text_hash"],
        baseline_fingerprint=BASE["fingerprint"], **extra,
    )  # fmt: skip
    make_check(
        monitor, check_no=1, outcome="none", reason="first-capture", rebased=True, detector_version="9.9", fields=FIELDS,
        vantage=monitor.vantage, started_at=NOW - timedelta(days=1), **BASE,
    )  # fmt: skip
    return monitor


def visited(monitor: Monitor, **extra: Any) -> Check:
    """The row of a visit that met the baseline's text."""
    capture = Capture(
        key=1, url=monitor.url, final_url=monitor.url, status=200, headers=(), body=b"abc", html="abc", charset="utf-8",
        charset_source="header", content_type="text/html", redirects=(), peer_address="", certificate_sha256="",
        started_at=NOW, duration_ms=3,
    )  # fmt: skip
    found: dict[str, Any] = {"outcome": Outcome.NONE, "reason": "same-bytes", "started_at": NOW, "capture": capture}
    finding = Finding(**{**found, "final_url": monitor.url, "duration_ms": 3, **BASE, **extra})
    return record(finding, monitor, token="t", rules=Rules(), now=NOW)


def test_an_unchanged_visit_repeats_nothing_and_all_of_it_can_be_looked_up() -> None:
    monitor = read_monitor()
    check = visited(monitor)
    check.refresh_from_db()

    assert (check.raw_sha256, check.text_hash, check.fingerprint, check.detector_version) == ("", "", "", "")
    assert (check.fields, check.vantage_id, check.plan_reason, check.reasons) == ({}, None, "", [])
    assert {name: check.as_then(name) for name in BASE} == BASE
    assert check.as_then("fields") == FIELDS
    assert check.as_then("detector_version") == "9.9"
    assert check.as_then("vantage_id") == monitor.vantage_id
    assert check.planned_because == "fixed-interval"


def test_other_markup_leaves_out_its_sentence_and_not_what_was_noticed_besides() -> None:
    said = SAID[MARKUP_ONLY]
    plain = visited(
        read_monitor(), outcome=Outcome.NOISE, reason=MARKUP_ONLY, reasons=(said,), fields=FIELDS, raw_sha256="99" * 32
    )
    others = {"price": {"value": "2"}}
    more = ({"code": "robots-warned", "text": "", "data": {}}, said)
    told = visited(read_monitor(), outcome=Outcome.NOISE, reason=MARKUP_ONLY, reasons=more, fields=others)

    assert (plain.reasons, plain.told, plain.fields) == ([], [said], {})
    assert plain.as_then("raw_sha256") == ""  # those bytes were other ones than the baseline's, and nobody kept them
    assert told.reasons == told.told == list(more)
    assert told.fields == told.as_then("fields") == others


@pytest.mark.parametrize(
    "extra",
    [
        {"text_hash": "11" * 16},
        {"reason": "clock", "outcome": Outcome.NOISE},
        {"reason": "timeout", "outcome": Outcome.ERROR},
    ],
)
def test_whatever_is_not_the_baselines_text_keeps_all_it_has(extra: dict[str, Any]) -> None:
    check = visited(read_monitor(), **extra)

    assert (check.raw_sha256, check.text_hash) == (BASE["raw_sha256"], extra.get("text_hash", BASE["text_hash"]))
    assert (check.detector_version, check.vantage_id) == (DETECTOR, check.monitor.vantage_id)
    assert check.plan_reason


def test_what_is_looked_up_is_of_the_time_and_never_of_later_visits() -> None:
    monitor = read_monitor()
    old = make_check(monitor, check_no=2, outcome="none", reason="same-bytes", detector_version="")
    make_check(monitor, check_no=3, rebased=True, text_hash="77" * 16, detector_version="10.0")
    new = make_check(monitor, check_no=4, outcome="none", reason="same-bytes", detector_version="")
    failed = make_check(monitor, check_no=5, outcome="error", reason="timeout", detector_version="")

    assert (old.as_then("text_hash"), old.as_then("detector_version")) == (BASE["text_hash"], "9.9")
    assert (new.as_then("text_hash"), new.as_then("detector_version")) == ("77" * 16, "10.0")
    assert (failed.as_then("text_hash"), failed.as_then("detector_version")) == ("", "")


def test_the_admin_shows_what_the_row_leaves_out(client: Any) -> None:
    check = visited(read_monitor())
    client.force_login(make_user("boss", role="admin", is_superuser=True))
    page = client.get(f"/admin/monitoring/check/{check.pk}/change/").content.decode()

    for shown in (*BASE.values(), "9.9", "fixed-interval", "price", str(check.monitor.vantage)):
        assert shown in page, shown


def test_a_routine_row_pays_for_two_trees_and_no_more() -> None:
    """Key and (monitor, number); where rows are by the million each further tree is ten percent of the table."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, "monitoring_check")
    trees = {
        tuple(facts["columns"])
        for name, facts in found.items()
        if (facts["index"] or facts["unique"]) and name not in ("check_noise", "check_snapshot", "check_started")
    }
    assert trees <= {("id",), ("monitor_id", "check_no")}
    assert found["check_started"]["type"] == ("brin" if connection.vendor == "postgresql" else "idx")
