"""Fields and text are judged apart: what a visit makes of typed values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from monitoring.models import Change, FieldChange, FieldRule, IgnoreRule, Monitor
from monitoring.services.alerts import important_field_changed
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


def shop(
    *, price: str = "89.00", clauses: list[str] | None = None, certificates: tuple[str, ...] = (), clock: str = ""
) -> str:
    """A fictional product page."""
    data = {"@type": "Product", "name": "Lantern", "offers": {"@type": "Offer", "price": price, "priceCurrency": "EUR"}}
    rows = "".join(f"<li>{name}</li>" for name in certificates)
    paragraphs = "".join(f"<p>{clause}</p>" for clause in clauses or CLAUSES[:3])
    return (
        f"<html lang=en><head><title>Lantern</title><script type='application/ld+json'>{json.dumps(data)}</script></head>"
        f"<body><main><h1>Lantern</h1><p class=price>{price} EUR</p>{paragraphs}<ul class=certs>{rows}</ul></main>"
        f"<footer><p>{clock or 'Halden'}</p></footer></body></html>"
    )


@pytest.fixture
def told() -> Iterator[list[FieldChange]]:
    """The field changes that receivers of the alert heard of."""
    heard: list[FieldChange] = []

    def hear(field_change: FieldChange, **_: Any) -> None:
        heard.append(field_change)

    important_field_changed.connect(hear)
    yield heard
    important_field_changed.disconnect(hear)


def price_rule(monitor: Monitor, **extra: Any) -> FieldRule:
    """A price from JSON-LD, and the node that shows it left out of the text."""
    FieldRule.objects.create(
        monitor=monitor, name="shown", source="css", selector="p.price", type="price", review=False
    )
    return FieldRule.objects.create(
        **{
            "monitor": monitor,
            "name": "price",
            "source": "jsonld",
            "selector": "offers.price",
            "type": "price",
            **extra,
        }
    )


def test_a_changed_price_is_a_field_change_with_old_and_new(
    watch: Watch, site: LocalSite, told: list[FieldChange]
) -> None:
    monitor = watch("/p", shop())
    price_rule(monitor, important=True)
    visit(monitor)
    site.put("/p", shop(price="79.00"))

    check = visit(monitor)

    row = FieldChange.objects.get(name="price")
    assert check.outcome == "field"
    assert row.text == "price: 89.00 -> 79.00"
    assert told == [row]
    assert not Change.objects.exists()
    assert monitor.fields["price"]["value"] == "79.00"


def test_price_and_clause_changed_together_give_both(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop())
    price_rule(monitor)
    visit(monitor)
    site.put("/p", shop(price="79.00", clauses=[CLAUSES[0], CLAUSES[1].replace("do not sell", "sell"), CLAUSES[2]]))

    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "content"
    assert change.kind == Change.Kind.CONTENT
    assert set(FieldChange.objects.values_list("name", "change")) == {("price", change.pk), ("shown", change.pk)}


def test_a_removed_certificate_reaches_a_person(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop(certificates=("ISO 9001 until 2027", "ISO 14001 until 2028", "ISO 45001 until 2026")))
    FieldRule.objects.create(monitor=monitor, name="certificates", source="css", selector="ul.certs li", type="list")
    visit(monitor)
    site.put("/p", shop(certificates=("ISO 9001 until 2027", "ISO 45001 until 2026")))

    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "field"
    assert (change.kind, change.state) == (Change.Kind.FIELD, Change.State.OPEN)
    assert change.priority == 2
    assert "ISO 14001" in json.dumps(change.diff)
    assert "ISO 14001" in FieldChange.objects.get().text


def test_a_list_in_another_order_is_no_field_change(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop(certificates=("ISO 9001", "ISO 14001")))
    FieldRule.objects.create(monitor=monitor, name="certificates", source="css", selector="ul.certs li", type="list")
    visit(monitor)
    site.put("/p", shop(certificates=("ISO 14001", "ISO 9001")))

    check = visit(monitor)

    assert check.outcome == "noise"
    assert not FieldChange.objects.exists()


def test_a_field_that_no_reader_sees_gets_a_diff_of_its_values(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop())
    FieldRule.objects.create(monitor=monitor, name="name", source="jsonld", selector="name", type="text")
    visit(monitor)
    site.put("/p", shop().replace('"Lantern"', '"Storm lantern"'))

    visit(monitor)

    change = Change.objects.get()
    assert change.kind == Change.Kind.FIELD
    assert change.places == 1
    assert "Storm" in json.dumps(change.diff)


def test_a_vanished_field_is_named(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop())
    price_rule(monitor, review=True)
    visit(monitor)
    site.put("/p", shop().replace("application/ld+json", "text/plain"))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("field", "field-vanished")
    assert FieldChange.objects.get().state == FieldChange.State.VANISHED
    assert visit(monitor).outcome == "none"
    site.put("/p", shop())
    visit(monitor)
    assert FieldChange.objects.latest("pk").state == FieldChange.State.APPEARED


def test_a_price_back_at_its_first_value_is_not_missed(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop(clock="Updated 3 minutes ago"))
    price_rule(monitor)
    visit(monitor)
    site.put("/p", shop(price="79.00", clock="Updated 5 minutes ago"))
    assert visit(monitor).outcome == "field"
    site.put("/p", shop(clock="Updated 3 minutes ago"))

    check = visit(monitor)

    assert check.outcome == "field"
    assert FieldChange.objects.filter(name="price").count() == 2


def test_small_edits_do_not_ride_along_with_a_price(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop(clock="Updated 3 minutes ago"))
    price_rule(monitor)
    visit(monitor)
    before = monitor.baseline
    site.put("/p", shop(price="79.00", clock="Updated 5 minutes ago"))

    visit(monitor)

    assert monitor.baseline == before


def test_a_monitors_rule_replaces_its_page_types_of_the_same_name(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop())
    FieldRule.objects.create(page_type=monitor.page_type, name="a", source="jsonld", selector="name")
    FieldRule.objects.create(page_type=monitor.page_type, name="b", source="jsonld", selector="name")
    FieldRule.objects.create(monitor=monitor, name="a", source="jsonld", selector="offers.price", type="price")
    FieldRule.objects.create(monitor=monitor, name="b", source="jsonld", selector="name", enabled=False)

    visit(monitor)

    assert {name: value["value"] for name, value in monitor.fields.items()} == {"a": "89.00"}


def test_a_selector_that_does_not_parse_stops_nothing(watch: Watch) -> None:
    monitor = watch("/p", shop())
    FieldRule.objects.create(monitor=monitor, name="bad", source="css", selector="p[", type="text")
    IgnoreRule.objects.create(monitor=monitor, kind="selector", value="::::")

    assert visit(monitor).reason == "first-capture"


def test_ignore_rules_leave_text_out(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop(clauses=[*CLAUSES[:2], "Order number 1 of this lantern."]))
    IgnoreRule.objects.create(monitor=monitor, kind="block", value="order NUMBER")
    IgnoreRule.objects.create(page_type=monitor.page_type, kind="selector", value="footer")
    visit(monitor)
    site.put("/p", shop(clauses=[*CLAUSES[:2], "Order number 977 of this lantern, sold to a friend."], clock="Never"))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", "ignore-rule")


def test_a_failing_receiver_undoes_the_check(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/p", shop())
    price_rule(monitor, important=True)
    visit(monitor)
    site.put("/p", shop(price="79.00"))

    def fail(**_: Any) -> None:
        raise RuntimeError("the outbox is full")

    important_field_changed.connect(fail)
    try:
        visit(monitor)
    finally:
        important_field_changed.disconnect(fail)

    assert monitor.check_no == 1
    assert not FieldChange.objects.exists()
    assert monitor.fields["price"]["value"] == "89.00"
