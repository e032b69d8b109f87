"""What a new installation starts with."""

from __future__ import annotations

import pytest

from monitoring.models import PageType, Team, Vantage
from monitoring.services.defaults import KINDS, ensure_defaults

pytestmark = pytest.mark.django_db


def test_a_new_installation_gets_team_vantage_and_page_types() -> None:
    ensure_defaults()

    assert Team.objects.count() == 1
    assert Vantage.objects.count() == 1
    assert set(PageType.objects.values_list("slug", flat=True)) == {kind.slug for kind in KINDS}


def test_a_second_run_makes_nothing() -> None:
    ensure_defaults()

    assert ensure_defaults() == []


def test_what_a_person_changed_stays_changed() -> None:
    ensure_defaults()
    PageType.objects.filter(slug="terms").update(threshold=9, name="Contracts")

    ensure_defaults()

    terms = PageType.objects.get(slug="terms")
    assert (terms.threshold, terms.name) == (9, "Contracts")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.slug)
def test_each_shipped_page_type_passes_its_own_validation(kind: object) -> None:
    ensure_defaults()

    PageType.objects.get(slug=kind.slug).full_clean()  # type: ignore[attr-defined]
