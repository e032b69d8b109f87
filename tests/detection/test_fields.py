"""Typed fields: found, read, compared, stored."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from monitoring.detection.blocks import Block, Reading
from monitoring.detection.field_values import parse_availability, parse_boolean, parse_date, parse_price
from monitoring.detection.fields import (
    DEFAULT_FIELDS,
    EditState,
    FieldSpec,
    FieldSpecError,
    FieldType,
    FieldValue,
    compare_fields,
    contradictions,
    extract_fields,
    validate_spec,
)


def make_page(*, data: object = None, body: str = "", head: str = "", lang: str = "en") -> str:
    script = "" if data is None else f'<script type="application/ld+json">{json.dumps(data)}</script>'
    return (
        f'<!doctype html><html lang="{lang}"><head><title>Kettle</title>{head}{script}</head><body>{body}</body></html>'
    )


def make_reading(*texts: str) -> Reading:
    return Reading(blocks=tuple(Block(text=t, tag="p", path="p", slot=str(i)) for i, t in enumerate(texts)))


def one(html: str, source: str, selector: str, kind: str = "text", attribute: str = "") -> FieldValue | None:
    return extract_fields(html, [FieldSpec("f", source, selector, attribute, type=kind)]).get("f")


def shown(value: FieldValue | None) -> str | list[str] | None:
    return None if value is None else value.value


OFFER = {"@type": "Offer", "price": "89.00", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}
PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "Kettle", "offers": OFFER}

GRAPHS = {
    "plain": PRODUCT,
    "array": [{"@type": "Organization", "name": "Shop"}, PRODUCT],
    "graph": {"@context": "https://schema.org", "@graph": [{"@type": "WebPage"}, PRODUCT]},
    "nested array of offers": PRODUCT | {"offers": [OFFER, OFFER | {"price": "99.00"}]},
    "aggregate": PRODUCT
    | {"offers": {"@type": "AggregateOffer", "priceCurrency": "EUR", "lowPrice": 89.0, "highPrice": 99}},
    "inside a page": {"@type": "WebPage", "mainEntity": PRODUCT},
    "several types": PRODUCT | {"@type": ["Thing", "Product"]},
    "full type": PRODUCT | {"@type": "https://schema.org/Product"},
    "by reference": {"@graph": [PRODUCT | {"offers": {"@id": "#o"}}, OFFER | {"@id": "#o"}]},
    "price specification": PRODUCT
    | {"offers": {"@type": "Offer", "priceSpecification": [{"price": "89.00", "priceCurrency": "EUR"}]}},
    "number": PRODUCT | {"offers": OFFER | {"price": 89.00}},
}


@pytest.mark.parametrize("data", GRAPHS.values(), ids=GRAPHS)
def test_a_product_is_read_from_every_shape_of_json_ld(data: object) -> None:
    found = extract_fields(make_page(data=data), DEFAULT_FIELDS["product"])

    assert found["title"].value == "Kettle"
    assert float(found["price"].canonical) == 89
    assert found["price"].currency == "EUR"


def test_a_path_without_a_type_and_with_an_index() -> None:
    html = make_page(data=PRODUCT | {"offers": [OFFER, OFFER | {"price": "99.00"}]})

    assert shown(one(html, "jsonld", "offers[1].price", "price")) == "99.00 EUR"
    assert shown(one(html, "jsonld", "nothing.here | offers.availability", "availability")) == "in stock"
    assert one(html, "jsonld", "nothing.here") is None


def test_the_other_sources() -> None:
    html = make_page(
        head='<meta name="author" content="A. Nyman"><meta property="og:title" content="Tea kettle">'
        '<meta property="product:price:amount" content="79.00"><meta property="product:price:currency" content="GBP">'
        '<meta property="article:modified_time" content="2024-05-17T23:10:00+02:00">',
        body='<div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Kettle</b><div itemprop="offers" itemscope>'
        '<span itemprop="price" content="79.00">79,-</span><meta itemprop="priceCurrency" content="EUR"></div></div>'
        '<h1>Big <i>kettle</i></h1><a class=doc href="/terms.pdf">Terms</a><input name=q value="7">',
    )

    assert shown(one(html, "meta", "author")) == "A. Nyman"
    assert shown(one(html, "meta", "missing | title")) == "Kettle"
    assert shown(one(html, "opengraph", "title")) == "Tea kettle"
    assert shown(one(html, "opengraph", "product:price:amount", "price")) == "79.00 GBP"
    assert shown(one(html, "meta", "article:modified_time", "date")) == "2024-05-17"
    assert shown(one(html, "microdata", "@type=Product/offers.price", "price")) == "79.00 EUR"
    assert shown(one(html, "css", "h1")) == "Big kettle"
    assert shown(one(html, "css", "a.doc", attribute="href")) == "/terms.pdf"
    assert shown(one(html, "css", "input", "number")) == "7"
    assert one(html, "css", ".missing") is None


def test_a_parsed_tree_is_accepted() -> None:
    html = make_page(data=PRODUCT)

    assert extract_fields(html, DEFAULT_FIELDS["product"], tree=LexborHTMLParser(html)) == extract_fields(
        html, DEFAULT_FIELDS["product"]
    )


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("1.234,56 €", ("1234.56", "EUR")),
        ("$1,234.50", ("1234.50", "USD")),
        ("1 234,56 zł", ("1234.56", "PLN")),
        ("1\u202f234,56\u00a0€", ("1234.56", "EUR")),
        ("¥1,200", ("1200", "JPY")),
        ("1,200円", ("1200", "JPY")),
        ("12万円", ("120000", "JPY")),
        ("1'234.50 CHF", ("1234.50", "CHF")),
        ("CHF 1’234.50", ("1234.50", "CHF")),
        ("89,-", ("89", "")),
        ("89,– €", ("89", "EUR")),
        ("£0.99", ("0.99", "GBP")),
        ("R$ 1.299,90", ("1299.90", "BRL")),
        ("1.200 €", ("1200", "EUR")),
        ("ab 12,50 EUR inkl. MwSt.", ("12.50", "EUR")),
        ("2 for 5 €", ("5", "EUR")),
        ("US$ 30.00", ("30.00", "USD")),
        ("12,000원", ("12000", "KRW")),
        ("€1,234,567.89", ("1234567.89", "EUR")),
        ("on request", (None, "")),
    ],
)
def test_prices_in_local_formats(text: str, price: tuple[str | None, str]) -> None:
    amount, currency = parse_price(text)

    assert (None if amount is None else f"{amount:f}", currency) == price


def test_metadata_uses_the_decimal_point() -> None:
    assert parse_price("1.234", machine=True)[0] == parse_price("1,234 thousandths".replace(",", "."), machine=True)[0]
    assert str(parse_price("1.234", machine=True)[0]) == "1.234"
    assert str(parse_price("1.234")[0]) == "1234"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-05-17", "2024-05-17"),
        ("2024-05-17T23:59:59+02:00", "2024-05-17"),
        ("20240517", "2024-05-17"),
        ("Stand: 17.05.2024", "2024-05-17"),
        ("17.5.24", "2024-05-17"),
        ("17. Mai 2024", "2024-05-17"),
        ("May 17, 2024", "2024-05-17"),
        ("17th of May 2024", "2024-05-17"),
        ("1er août 2024", "2024-08-01"),
        ("17 de mayo de 2024", "2024-05-17"),
        ("17 maggio 2024", "2024-05-17"),
        ("17 mei 2024", "2024-05-17"),
        ("3 de março de 2024", "2024-03-03"),
        ("17 maja 2024 r.", "2024-05-17"),
        ("2024年5月17日", "2024-05-17"),
        ("令和6年5月17日", "2024-05-17"),
        ("平成元年1月8日", "1989-01-08"),
        ("昭和64年1月7日", "1989-01-07"),
        ("2024년 5월 17일", "2024-05-17"),
        ("2024. 5. 17.", "2024-05-17"),
        ("May 2024", "2024-05"),
        ("2024年5月", "2024-05"),
        ("5/6/2024", "2024-06-05"),
        ("05/17/2024", "2024-05-17"),
        ("31.02.2024", ""),
        ("soon", ""),
    ],
)
def test_dates_in_local_formats(text: str, date: str) -> None:
    assert parse_date(text) == date


def test_american_english_puts_the_month_first() -> None:
    assert parse_date("5/6/2024", lang="en-US") == "2024-05-06"
    assert shown(one(make_page(body="<p>5/6/2024</p>", lang="en-US"), "css", "p", "date")) == "2024-05-06"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("http://schema.org/OutOfStock", "out of stock"),
        ("InStock", "in stock"),
        ("https://schema.org/PreOrder", "pre-order"),
        ("Not in stock", "out of stock"),
        ("In stock", "in stock"),
        ("nicht auf Lager", "out of stock"),
        ("Sofort lieferbar", "in stock"),
        ("Rupture de stock", "out of stock"),
        ("Agotado", "out of stock"),
        ("uitverkocht", "out of stock"),
        ("在庫あり", "in stock"),
        ("售罄", "out of stock"),
        ("품절", "out of stock"),
        ("no longer available", "discontinued"),
        ("Blue", ""),
    ],
)
def test_availability_vocabularies(text: str, state: str) -> None:
    assert parse_availability(text) == state


@pytest.mark.parametrize(
    ("text", "said"), [("Yes", "true"), ("はい", "true"), ("✓", "true"), ("nein", "false"), ("0", "false"), ("x", "")]
)
def test_yes_and_no(text: str, said: str) -> None:
    assert parse_boolean(text) == said


# -- comparison


def edits(old: str, new: str, *specs: FieldSpec) -> list[tuple[str, str, str]]:
    found = compare_fields(extract_fields(old, specs), extract_fields(new, specs), specs)
    return [(e.name, e.state, e.text) for e in found]


def test_a_changed_price_reads_as_old_to_new() -> None:
    old, new = make_page(data=PRODUCT), make_page(data=PRODUCT | {"offers": OFFER | {"price": "79.00"}})

    assert edits(old, new, *DEFAULT_FIELDS["product"]) == [("price", EditState.CHANGED, "price: 89.00 -> 79.00")]


def test_a_changed_currency_is_named() -> None:
    old, new = make_page(data=PRODUCT), make_page(data=PRODUCT | {"offers": OFFER | {"priceCurrency": "USD"}})

    assert ("price", "changed", "price: 89.00 EUR -> 89.00 USD") in edits(old, new, *DEFAULT_FIELDS["product"])


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("price", "89,00 €", "EUR 89.00"),
        ("price", "89 €", "89,00 €"),
        ("price", "89,00 €", "89,00"),
        ("number", "1.234,5", "1,234.50"),
        ("date", "17. Mai 2024", "2024-05-17"),
        ("availability", "In stock", "auf Lager"),
        ("text", "a  b", "a b"),
    ],
)
def test_another_notation_of_the_same_value_is_no_change(kind: str, old: str, new: str) -> None:
    spec = FieldSpec("f", "css", "p", type=kind)

    assert edits(make_page(body=f"<p>{old}</p>"), make_page(body=f"<p>{new}</p>"), spec) == []


def test_a_field_that_vanishes_or_appears_is_an_edit() -> None:
    spec = FieldSpec("price", "css", "p", type="price")
    there, gone = make_page(body="<p>89,00 €</p>"), make_page(body="<div>x</div>")

    assert edits(there, gone, spec) == [("price", "vanished", "price: 89.00 EUR -> no longer on the page")]
    assert edits(gone, there, spec) == [("price", "appeared", "price: not on the page -> 89.00 EUR")]
    assert edits(gone, gone, spec) == []


CERTIFICATES = "<ul class=certificates><li>ISO 9001:2015</li><li>ISO 14001:2015</li><li>ISO 45001:2018</li></ul>"


def test_an_entry_that_leaves_a_list_is_named_and_order_does_not_matter() -> None:
    spec = FieldSpec("certificates", "css", "ul.certificates", type="list")
    shuffled = "<ul class=certificates><li>ISO 45001:2018</li><li>ISO 9001:2015</li><li>ISO 14001:2015</li></ul>"
    shorter = CERTIFICATES.replace("<li>ISO 14001:2015</li>", "<li>ISO 50001:2018</li>")

    assert edits(make_page(body=CERTIFICATES), make_page(body=shuffled), spec) == []
    found = compare_fields(
        extract_fields(make_page(body=CERTIFICATES), [spec]), extract_fields(make_page(body=shorter), [spec]), [spec]
    )
    assert (found[0].removed, found[0].added) == (("ISO 14001:2015",), ("ISO 50001:2018",))
    assert found[0].text == "certificates: removed “ISO 14001:2015”, added “ISO 50001:2018”"


def test_a_list_that_empties_is_changed_and_not_vanished() -> None:
    spec = FieldSpec("certificates", "css", "ul.certificates li", type="list")
    whole = FieldSpec("certificates", "css", "ul.certificates", type="list")
    empty = make_page(body="<ul class=certificates></ul>")

    assert [e[1] for e in edits(make_page(body=CERTIFICATES), empty, spec)] == ["vanished"]
    assert [e[1] for e in edits(make_page(body=CERTIFICATES), empty, whole)] == ["changed"]


def test_table_rows_are_entries_without_the_heading_row() -> None:
    body = "<table><tr><th>No<th>Holder</tr><tr><td>17<td>Acme</tr><tr><td>18<td>Bolt</tr></table>"

    assert shown(one(make_page(body=body), "css", "table", "list")) == ["17 · Acme", "18 · Bolt"]


def test_a_value_that_cannot_be_read_is_kept_as_found() -> None:
    value = one(make_page(body="<p>on request</p>"), "css", "p", "price")

    assert value is not None
    assert (value.parsed, value.value) == (False, "on request")


JSON_TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)


@given(st.sampled_from(FieldType), JSON_TEXT, st.lists(JSON_TEXT, max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_value_survives_storage(kind: FieldType, text: str, items: list[str], parsed: bool) -> None:
    if kind is FieldType.LIST:
        value = FieldValue(kind, items=tuple(items), parsed=parsed)
    else:
        value = FieldValue(kind, text, currency="EUR" if parsed else "", raw=text, parsed=parsed)

    assert FieldValue.from_json(json.loads(json.dumps(value.to_json()))) == value


@pytest.mark.parametrize("data", [{}, {"type": "nonsense"}, {"type": None}, {"type": []}])
def test_a_stored_value_of_another_shape_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="known types"):
        FieldValue.from_json(data)


# -- rules


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (FieldSpec("a b", "css", "p"), "a b"),
        (FieldSpec("p", "xpath", "p"), "xpath"),
        (FieldSpec("p", "css", "p", type="money"), "money"),
        (FieldSpec("p", "css", " "), "where to look"),
        (FieldSpec("p", "css", "p["), "p\\["),
        (FieldSpec("p", "css", "//p"), "XPath"),
        (FieldSpec("p", "css", "p", "a b"), "a b"),
        (FieldSpec("p", "meta", "x", "content"), "CSS selector only"),
        (FieldSpec("p", "jsonld", "offers..price"), "offers..price"),
        (FieldSpec("p", "jsonld", "$.offers[*]"), "of the form"),
        (FieldSpec("p", "microdata", "@type=/x"), "of the form"),
        (FieldSpec("p", "meta", "a b"), "a b"),
    ],
)
def test_a_faulty_rule_is_refused_and_named(spec: FieldSpec, fault: str) -> None:
    with pytest.raises(FieldSpecError, match=fault) as caught:
        validate_spec(spec)

    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "spec", [s for specs in DEFAULT_FIELDS.values() for s in specs], ids=lambda s: f"{s.name}-{s.source}"
)
def test_the_default_fields_are_valid(spec: FieldSpec) -> None:
    validate_spec(spec)


def test_an_unusable_rule_gives_nothing() -> None:
    specs = [
        FieldSpec("a", "css", "p["),
        FieldSpec("b", "jsonld", ".."),
        FieldSpec("c", "css", "h1"),
        FieldSpec("d", "x", "h1"),
    ]

    assert list(extract_fields(make_page(body="<h1>T</h1>"), specs)) == ["c"]


# -- contradictions


def test_structured_data_that_the_page_denies_is_flagged() -> None:
    specs = DEFAULT_FIELDS["product"]
    values = extract_fields(make_page(data=PRODUCT), specs)

    found = contradictions(values, specs, make_reading("Kettle", "Now only 99,00 €", "Sold out"))

    assert [c.name for c in found] == ["price", "availability"]
    assert found[0].text == "price: structured data says 89.00 EUR, the page shows 99.00 EUR"


def test_structured_data_that_the_page_confirms_or_leaves_open_is_not() -> None:
    specs = DEFAULT_FIELDS["product"]
    values = extract_fields(make_page(data=PRODUCT), specs)

    assert contradictions(values, specs, make_reading("Was 99,00 €, now 89,00 €", "In stock")) == []
    assert contradictions(values, specs, make_reading("Kettle")) == []


# -- hostile input

DEEP = '{"a":' * 200_000
HOSTILE = {
    "deep object": DEEP,
    "deep array": "[" * 500_000,
    "deep and closed": "[" * 90 + "1" + "]" * 90,
    "nan": '{"@type":"Product","offers":{"price":NaN,"x":Infinity}}',
    "lone surrogate": '{"@type":"Product","name":"a\\ud800b","offers":{"price":"1.00"}}',
    "nul": '{"@type":"Product","name":"a\\u0000b\x00"}',
    "huge exponent": '{"@type":"Product","offers":{"price":1e999999999}}',
    "huge integer": '{"@type":"Product","offers":{"price":' + "9" * 100_000 + "}}",
    "not an object": '"just text"',
    "null": "null",
    "empty": "",
    "cut": '{"@type":"Product","name":"Ke',
    "self reference": '{"@id":"#a","@type":"Product","offers":{"@id":"#a"},"name":{"@id":"#a"}}',
    "wide": '{"@type":"Product","offers":[' + ",".join(['{"price":"1"}'] * 50_000) + "]}",
    "odd members": '{"@type":[1,null,{}],"@graph":{"@graph":[[[{"@type":"Product"}]]]},"offers":[[["x"]]]}',
    "script end": '{"@type":"Product","name":"<\\/script><script>x"}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_ld_survives_in_bounded_time(text: str) -> None:
    html = f'<html><head><script type="application/ld+json">{text}</script></head><body><h1>T</h1></body></html>'
    start = time.process_time()

    found = extract_fields(html, [*DEFAULT_FIELDS["product"], FieldSpec("h", "css", "h1")])

    assert time.process_time() - start < 10  # quadratic work takes minutes here
    assert found["h"].value == "T"
    for value in found.values():
        json.dumps(value.to_json()).encode()
        assert "\x00" not in str(value.value)
        str(value.value).encode()


@pytest.mark.parametrize(
    "wrapped",
    ["<!--{}-->", "//<![CDATA[\n{}\n//]]>", "<![CDATA[{}]]>", "{},", "\ufeff{}"],
    ids=["comment", "cdata", "bare", "comma", "bom"],
)
def test_sloppy_json_ld_is_forgiven(wrapped: str) -> None:
    text = wrapped.replace("{}", '{"@type":"Product","name":"Kettle","brand":["a",],}')
    html = f'<script type="application/ld+json">{text}</script>'

    value = one(html, "jsonld", "@type=Product/name")

    assert shown(value) == (None if wrapped == "{}," else "Kettle")


@pytest.mark.parametrize("unit", ["<div>", "<div><br/>", "<b><i><p>", "<div></p>", "<x-y >", "<DIV>", "<script><div>"])
def test_a_page_nested_beyond_reason_has_no_fields_and_costs_little(unit: str) -> None:
    start = time.process_time()

    assert extract_fields(unit * 200_000 + "<h1>T</h1>", [FieldSpec("h", "css", "h1")]) == {}
    assert time.process_time() - start < 10  # quadratic work takes minutes here


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["@type", "@id", "@graph", "offers", "price", "priceCurrency", "name", "x"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_json_ld_is_read_without_a_crash(data: object) -> None:
    html = make_page(data=data)

    found = extract_fields(html, [*DEFAULT_FIELDS["product"], FieldSpec("x", "jsonld", "x.name | price", type="list")])

    for value in found.values():
        assert FieldValue.from_json(json.loads(json.dumps(value.to_json()))) == value


def test_a_long_flat_page_has_fields() -> None:
    rows = "".join(f"<tr><td>{n}<td><img src=x><br><input name=a{n}></td></tr>" for n in range(8_000))

    assert shown(one(f"<table>{rows}</table><h1>T</h1>", "css", "h1")) == "T"


def test_a_page_with_much_script_has_fields() -> None:
    script = "<script>" + "for(i=0;i<n;i++)a<b;" * 5_000 + "</script>"

    assert shown(one(script + "<h1>T</h1>", "css", "h1")) == "T"
