"""What a new installation starts with."""

from __future__ import annotations

import pytest

from monitoring.models import PageType, Team, Vantage
from monitoring.services.defaults import AUDIT_SHARE, KINDS, Kind, ensure_defaults
from monitoring.services.vetting import check_field

pytestmark = pytest.mark.django_db


def test_a_new_installation_gets_team_vantage_and_page_types() -> None:
    ensure_defaults()

    assert Team.objects.count() == 1
    assert Vantage.objects.count() == 1
    assert set(PageType.objects.values_list("slug", flat=True)) == {kind.slug for kind in KINDS}


def test_shipped_page_types_sample_their_noise_and_a_share_that_is_set_stays() -> None:
    ensure_defaults()
    PageType.objects.filter(slug="terms").update(audit_share=0.0)

    ensure_defaults()

    assert PageType.objects.get(slug="terms").audit_share == 0.0
    assert set(PageType.objects.exclude(slug="terms").values_list("audit_share", flat=True)) == {AUDIT_SHARE}


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
def test_each_shipped_page_type_passes_its_own_validation(kind: Kind) -> None:
    ensure_defaults()

    page_type = PageType.objects.get(slug=kind.slug)
    page_type.full_clean()
    for rule in page_type.field_rules.all():
        rule.full_clean()
        check_field(
            name=rule.name, source=rule.source, selector=rule.selector, attribute=rule.attribute, type=rule.type
        )


def test_a_certificate_list_has_its_list_as_a_field_that_opens_a_change() -> None:
    ensure_defaults()

    rule = PageType.objects.get(slug="certificate-list").field_rules.get(name="certificates")

    assert rule.opens_change
    assert rule.important


def test_a_field_that_a_person_removed_stays_removed() -> None:
    ensure_defaults()
    PageType.objects.get(slug="product-page").field_rules.all().delete()

    ensure_defaults()

    assert not PageType.objects.get(slug="product-page").field_rules.exists()


def test_a_stamp_of_the_last_save_opens_no_change_by_itself() -> None:
    ensure_defaults()

    rules = PageType.objects.get(slug="privacy-policy").field_rules.all()

    assert {rule.name: rule.opens_change for rule in rules} == {
        "title": True,
        "modified": False,
        "date-modified": False,
    }
