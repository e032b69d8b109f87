"""What happened to a field, built from stored values in the reader's language."""

from __future__ import annotations

import pytest
from django.utils import translation

from monitoring.detection.field_values import FieldType, FieldValue
from monitoring.models import Check, FieldChange
from review import field_words, visits


def price(amount: str, currency: str = "EUR") -> dict[str, object]:
    return FieldValue(type=FieldType.PRICE, canonical=amount, currency=currency, raw=amount).to_json()


def entries(*texts: str) -> dict[str, object]:
    return FieldValue(type=FieldType.LIST, items=texts).to_json()


ROWS = {
    "changed": (price("89.00"), price("79.00"), "f: 89.00 → 79.00", "f: 89.00 → 79.00"),
    "currency": (price("89.00"), price("79.00", "USD"), "f: 89.00 EUR → 79.00 USD", "f: 89.00 EUR → 79.00 USD"),
    "vanished": (price("89.00"), None, "f: 89.00 EUR → no longer on the page", "f: 89.00 EUR → nicht mehr auf der Seite"),
    "appeared": (None, price("89.00"), "f: not on the page before → 89.00 EUR", "f: vorher nicht auf der Seite → 89.00 EUR"),
    "one entry": (entries("A-1"), None, "f: 1 entry → no longer on the page", "f: 1 Eintrag → nicht mehr auf der Seite"),
    "entries": (None, entries("A-1", "B-2"), "f: not on the page before → 2 entries", "f: vorher nicht auf der Seite → 2 Einträge"),
    "list": (entries("A-1", "B-2"), entries("B-2", "C-3"), "f: removed “A-1”, added “C-3”", "f: entfernt „A-1“, hinzugefügt „C-3“"),
    "long list": (entries(), entries(*"ABCDEFG"), "f: added “A”, added “B”, added “C”, added “D”, added “E” and 2 more", "f: hinzugefügt „A“, hinzugefügt „B“, hinzugefügt „C“, hinzugefügt „D“, hinzugefügt „E“ und 2 weitere"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "english", "german"), ROWS.values(), ids=ROWS)
def test_a_stored_row_is_told_in_the_readers_language(
    old: dict[str, object] | None, new: dict[str, object] | None, english: str, german: str
) -> None:
    row = FieldChange(name="f", state="changed", old=old, new=new, text="-")

    assert field_words.sentence(row) == english
    with translation.override("de"):
        assert field_words.sentence(row) == german


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("price: 89.00 -> 79.00", "price: 89.00 → 79.00"),
        ("price: 89.00 EUR -> no longer on the page", "price: 89.00 EUR → nicht mehr auf der Seite"),
    ],
)
def test_a_row_of_before_is_told_by_its_sentence(text: str, german: str) -> None:
    row = FieldChange(name="price", state="changed", old="89.00", new="79.00", text=text)

    with translation.override("de"):
        assert field_words.sentence(row) == german


def test_a_visit_that_found_fields_changed_tells_them_in_the_readers_language() -> None:
    facts = {"name": "price", "state": "vanished", "before": "89.00 EUR"}
    visit = Check(outcome="field", reason="field-vanished", detail="price: 89.00 EUR -> no longer on the page")
    visit.reasons = [{"code": "field", "text": visit.detail, "data": facts}, {"code": "score", "text": "", "data": {}}]

    with translation.override("de"):
        assert visits.visit_words(visit) == "price: 89.00 EUR → nicht mehr auf der Seite"


def test_a_value_that_holds_the_words_of_a_sentence_is_left_as_it_is() -> None:
    old, new = ({"type": "text", "value": text} for text in ("A -> B", "not on the page -> B"))

    assert field_words.sentence(FieldChange(name="f", old=old, new=new, text="-")) == "f: A -> B → not on the page -> B"
