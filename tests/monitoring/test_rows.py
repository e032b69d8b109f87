"""Statements built once write the same as Django's own."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from monitoring.models import Check, Monitor, Outcome
from monitoring.services import rows
from tests.factories import NOW, make_monitor, make_snapshot

pytestmark = pytest.mark.django_db


def full_check(monitor: Monitor, number: int) -> Check:
    """A check with a value of every kind of column."""
    return Check(
        monitor=monitor, check_no=number, started_at=NOW, duration_ms=12, outcome=Outcome.NOISE, reason="clock",
        status=200, not_modified=True, size_bytes=7, score=0.25, cut=0.5, distance=3, threshold=3,
        reasons=[{"code": "a", "text": "ä”", "data": {"n": 1}}], delta=b"\x00\xff", fields={"price": {"value": "1"}},
        snapshot=make_snapshot(monitor), detector_version="1", next_check_at=NOW + timedelta(hours=6),
    )  # fmt: skip


def test_insert_writes_what_save_writes() -> None:
    monitor = make_monitor()
    ours = rows.insert(full_check(monitor, 1))
    theirs = full_check(monitor, 2)
    theirs.save()

    assert ours.pk is not None
    stored, expected = (Check.objects.values().get(pk=row.pk) for row in (ours, theirs))
    for values in (stored, expected):
        del values["id"], values["check_no"], values["snapshot_id"]
    assert stored == expected


def test_insert_many_writes_what_save_writes() -> None:
    monitor = make_monitor()
    full, bare = full_check(monitor, 1), Check(monitor=monitor, check_no=2, started_at=NOW, outcome="none")
    numbers = {field.attname: field for field in Check._meta.local_concrete_fields if not field.primary_key}
    rows.insert_many(Check, [{name: getattr(row, name) for name in numbers} for row in (full, bare)])

    for number, row in ((3, full), (4, bare)):
        ours = Check.objects.values().get(check_no=row.check_no)
        row.check_no = number
        row.save()
        theirs = Check.objects.values().get(check_no=number)
        for values in (ours, theirs):
            del values["id"], values["check_no"]
        assert ours == theirs


def test_update_many_writes_where_everything_fits_and_counts() -> None:
    monitors = [make_monitor(lease_token="t") for _ in range(3)]
    changes = [
        ({"fields": {"a": n}, "last_ok_at": NOW + timedelta(days=n)}, {"id": monitor.pk, "lease_token": token})
        for n, (monitor, token) in enumerate(zip(monitors, ("t", "other", "t"), strict=True))
    ]
    changes.append(({"etag": '"x"'}, {"id": monitors[0].pk, "lease_token": "t"}))

    assert rows.update_many(Monitor, changes) == 3

    found = list(Monitor.objects.order_by("pk").values_list("fields", "last_ok_at", "etag"))
    assert found == [({"a": 0}, NOW, '"x"'), ({}, None, ""), ({"a": 2}, NOW + timedelta(days=2), "")]


@pytest.mark.parametrize("value", [True, 2.5, "7"])
def test_a_value_of_another_type_is_converted_by_its_field(value: Any) -> None:
    monitor = make_monitor()

    rows.update(Monitor, {"cut": 0.5, "check_no": value, "etag": value}, id=monitor.pk)
    expected = make_monitor()
    Monitor.objects.filter(pk=expected.pk).update(check_no=value, etag=value)

    assert Monitor.objects.values_list("check_no", "etag").get(pk=monitor.pk) == Monitor.objects.values_list(
        "check_no", "etag"
    ).get(pk=expected.pk)


def test_update_writes_where_everything_fits_and_counts() -> None:
    monitor, snapshot = make_monitor(lease_token="t"), make_snapshot(make_monitor())
    values = {"baseline": snapshot, "fields": {"a": None}, "state": "ok", "lease_until": None, "last_ok_at": NOW}

    assert rows.update(Monitor, values, id=monitor.pk, lease_token="other") == 0
    assert rows.update(Monitor, values, id=monitor.pk, lease_token="t") == 1

    monitor.refresh_from_db()
    assert (monitor.baseline, monitor.fields, monitor.state) == (snapshot, {"a": None}, "ok")
    assert (monitor.lease_until, monitor.last_ok_at) == (None, NOW)


@pytest.mark.parametrize(
    ("vendor", "changes", "wanted"),
    [
        ("postgresql", [[1]], ["execute"]),  # one by itself leaves the server's clock alone
        ("postgresql", [[1], [2]], ["executemany", "execute"]),
        ("sqlite", [[1], [2]], ["executemany"]),
    ],
)
def test_postgresql_counts_idle_time_again_after_many_statements_at_once(
    monkeypatch: pytest.MonkeyPatch, vendor: str, changes: list[list[int]], wanted: list[str]
) -> None:
    ran: list[str] = []
    cursor: Any = SimpleNamespace(
        rowcount=len(changes),
        execute=lambda *_: ran.append("execute"),
        executemany=lambda *_: ran.append("executemany"),
    )
    monkeypatch.setattr(rows, "connection", SimpleNamespace(vendor=vendor))

    assert rows._run(cursor, "UPDATE", changes) == len(changes)
    assert ran == wanted
