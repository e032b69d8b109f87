"""The dataset: values over time as drawings, who is told, and a download that holds up nobody."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from monitoring.models import FieldChange, FieldRule, Monitor
from review import field_charts
from review.selectors import dataset, keyset
from tests.factories import make_check, make_monitor
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def price(amount: str, currency: str = "EUR") -> dict[str, Any]:
    """A stored price."""
    return {"type": "price", "value": amount, "currency": currency}


def field_change(monitor: Monitor, old: Any, new: Any, *, days: int = 1, name: str = "price") -> FieldChange:
    """A value that changed so many days ago."""
    return FieldChange.objects.create(
        monitor=monitor, check_row=make_check(monitor), name=name, type="price", state="changed", old=old, new=new,
        text=name, at=timezone.now() - timedelta(days=days),
    )  # fmt: skip


def series(monitor: Monitor, name: str = "") -> list[field_charts.Drawn]:
    """The monitor's fields over a year, drawn."""
    now = timezone.now()
    found, since = dataset.series_of(monitor, now=now, span=timedelta(days=365), name=name)
    return field_charts.drawn(found, now=now, since=since)


def test_a_price_is_a_line_of_steps_told_in_a_sentence() -> None:
    monitor = make_monitor(fields={"price": price("79.00")})
    field_change(monitor, price("99.00"), price("84.00"), days=60)
    field_change(monitor, price("84.00"), price("79.00"), days=3)

    (drawn,) = series(monitor)

    assert drawn.sentence == "price: changed 2 times, between 79.00 and 99.00, now 79.00 EUR."
    assert (len(drawn.chart.marks), [line.text for line in drawn.chart.grid]) == (2, ["79.00", "99.00"])
    assert float(drawn.chart.marks[0].y) < float(drawn.chart.marks[1].y)


def test_a_field_that_was_away_leaves_a_gap() -> None:
    monitor = make_monitor()
    field_change(monitor, price("99.00"), None, days=60)
    field_change(monitor, None, price("99.00"), days=3)

    (drawn,) = series(monitor)

    assert drawn.chart.cut_path.count("M") == 2


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (price("99.00"), price("99.00", "USD"), ["99.00 EUR", "99.00 USD"]),
        ({"type": "availability", "value": "in stock"}, {"type": "availability", "value": "sold out"}, ["in stock", "sold out"]),
        ({"type": "date", "value": "2026-11-30"}, {"type": "date", "value": "2026-12-31"}, ["11/30/2026", "12/31/2026"]),
        ({"type": "list", "value": ["a", "b"]}, {"type": "list", "value": ["a"]}, ["1", "2"]),
        ({"type": "number", "value": "no idea", "parsed": False}, {"type": "number", "value": "7"}, ["no idea", "7"]),
        ("89.00 EUR", "79.00 EUR", ["89.00 EUR", "79.00 EUR"]),
    ],
)  # fmt: skip
def test_each_type_has_words_on_its_axis(old: Any, new: Any, labels: list[str]) -> None:
    monitor = make_monitor()
    field_change(monitor, old, new)

    assert [line.text for line in series(monitor)[0].chart.grid] == labels


def test_a_field_that_never_changed_is_a_level_line() -> None:
    (drawn,) = series(make_monitor(fields={"price": price("79.00")}))

    assert drawn.sentence == "price: 79.00 EUR, the same all the time shown."
    assert drawn.chart.marks == []


def test_a_noisy_field_shortens_the_time_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "MOST_CHANGES", 2)
    monitor = make_monitor()
    field_change(monitor, price("1.00"), price("2.00"), days=90, name="quiet")
    newest = [field_change(monitor, price("1.00"), price("2.00"), days=days) for days in (9, 5)]

    found, since = dataset.series_of(monitor, now=timezone.now(), span=timedelta(days=365))

    assert ([one.name for one in found], since) == (["price"], newest[0].at)


def test_the_page_says_who_is_told(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(fields={"price": price("79.00")})
    address = reverse("fields") + f"?monitor={monitor.pk}"
    client = sign_in(analyst)

    assert b"No field here is marked important" in client.get(address).content
    FieldRule.objects.create(monitor=monitor, name="price", source="jsonld", selector="price", important=True)
    assert b"A change of price is mailed at once to ines." in client.get(address).content


@pytest.mark.parametrize("query", ["", "?monitor={pk}", "?monitor={pk}&name=price", "?monitor={pk}&span=30"])
def test_more_fields_and_changes_need_no_more_queries(analyst: User, sign_in: SignIn, query: str) -> None:
    monitor, client, counts = make_monitor(), sign_in(analyst), []
    for _batch in range(2):
        for days in range(4):
            field_change(monitor, price("99.00"), price("79.00"), days=days)
        with CaptureQueriesContext(connection) as queries:
            page = client.get(reverse("fields") + query.format(pk=monitor.pk))
        counts.append(len(queries))
        assert page.status_code == 200

    assert counts[0] == counts[1]


def test_a_foreign_page_is_not_drawn(outsider: User, sign_in: SignIn) -> None:
    monitor = make_monitor(name="Their secret", fields={"price": price("79.00")})
    field_change(monitor, price("99.00"), price("79.00"))

    page = sign_in(outsider).get(reverse("fields") + f"?monitor={monitor.pk}&name=price")

    assert (page.status_code, b"ecret" in page.content, b"79.00" in page.content) == (200, False, False)


def test_the_monitor_page_draws_its_fields(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(fields={"price": price("79.00")})

    page = BeautifulSoup(sign_in(analyst).get(monitor.get_absolute_url()).content, "html.parser")

    assert page.select_one('figure svg[role="img"][aria-label^="price: 79.00 EUR"]') is not None


def test_a_long_download_asks_again_and_again_by_key() -> None:
    monitor = make_monitor()
    wanted = [field_change(monitor, None, None, days=days).pk for days in (5, 4, 4, 4, 3, 2)]
    rows = FieldChange.objects.all()

    with CaptureQueriesContext(connection) as queries:
        found = [row.pk for row in keyset.walk(rows, dataset.NEWEST, most=100, size=2)]

    assert found == [row.pk for row in rows.order_by("-at", "-pk")]
    assert sorted(found) == sorted(wanted)
    assert all("LIMIT 2" in query["sql"] for query in queries)
    assert len(list(keyset.walk(rows, dataset.NEWEST, most=3, size=2))) == 3
