"""The visible price beside the price field is one change, not two."""

from __future__ import annotations

import pytest

from monitoring.detection.echoes import is_echo
from monitoring.detection.fields import FieldSpec, compare_fields, extract_fields


def page(price: str, stock: str) -> str:
    return f'<script type="application/ld+json">{{"@type":"Product","offers":{{"price":"{price}","availability":"https://schema.org/{stock}"}}}}</script>'


SPECS = (
    FieldSpec("price", "jsonld", "offers.price", type="price"),
    FieldSpec("stock", "jsonld", "offers.availability", type="availability"),
)
PRICE, STOCK = compare_fields(
    extract_fields(page("1299.00", "InStock"), SPECS), extract_fields(page("1199.00", "OutOfStock"), SPECS), SPECS
)


@pytest.mark.parametrize(
    ("old", "new", "echo"),
    [
        ("€ 1,299.00", "€ 1,199.00", True),
        ("1.299,00 € inkl. MwSt.", "1.199,00 € inkl. MwSt.", True),
        ("1299", "1199", True),
        ("€ 1,299.00", "€ 1,199.00 while stocks last", False),
        ("€ 1,299.00", "€ 1,099.00", False),
        ("Delivery takes 3 days", "Delivery takes 5 days", False),
        ("was 1399 now 1299", "was 1299 now 1199", False),
    ],
)
def test_a_price_is_an_echo_when_nothing_else_moved(old: str, new: str, echo: bool) -> None:
    assert is_echo(old, new, PRICE) is echo


@pytest.mark.parametrize(
    ("old", "new", "echo"),
    [
        ("In stock", "Sold out", True),
        ("In stock", "In stock again", False),
        ("In stock", "This lamp is out of stock because the factory burnt down and will not be rebuilt", False),
    ],
)
def test_availability_is_an_echo_in_its_own_words(old: str, new: str, echo: bool) -> None:
    assert is_echo(old, new, STOCK) is echo
