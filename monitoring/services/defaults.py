"""What an installation starts with: one team, one vantage, eight page types. Nothing a person changed is put back."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from monitoring.detection.fields import DEFAULT_FIELDS
from monitoring.models import FieldRule, PageType, Team, Vantage

TEAM = "Everyone"
VANTAGE = "Default"
HOUR = 3600
DAY = 86_400


# One noise in fifty comes to the queue on purpose: without it nobody knows what is missed. With 20 noisy visits a day that
# is three samples a week. A person sets another share, or 0; what is set stays.
AUDIT_SHARE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A page type as shipped. `threshold` in bits, `cut` a score, `every_s` seconds."""

    slug: str
    name: str
    threshold: int = 3
    cut: float = 0.5
    case_matters: bool = False
    weight: float = 1.0
    every_s: int = DAY
    audit_share: float = AUDIT_SHARE
    fields: str = ""  # a key of DEFAULT_FIELDS


# When a page was last saved goes to the dataset; alone it is nothing to read, and some sites renew it every night.
_STAMPS = frozenset({"modified", "date-modified"})

# Legal texts: capitals mark defined terms, so case matters. News: only much new text is worth a look, and little of it
# is anybody's duty. The threshold in bits only grades how much changed; calibration sets it per page type.
KINDS = (
    Kind(slug="privacy-policy", fields="policy", name="Privacy policy", case_matters=True, weight=2.0),
    Kind(slug="terms", fields="policy", name="Terms and conditions", case_matters=True, weight=2.0),
    Kind(
        slug="certificate-list",
        fields="certificate-list",
        name="Certificate list",
        weight=3.0,
        every_s=12 * HOUR,
    ),
    Kind(slug="sustainability-statement", fields="policy", name="Sustainability statement", weight=1.5),
    Kind(slug="regulator-page", name="Regulator page", weight=2.0, every_s=6 * HOUR),
    Kind(slug="product-page", fields="product", name="Product page", every_s=6 * HOUR),
    Kind(slug="news-home-page", name="News home page", threshold=6, cut=0.7, weight=0.5, every_s=2 * HOUR),
    Kind(slug="price-list", name="Price list", weight=1.5, every_s=12 * HOUR),
)


def ensure_defaults() -> list[str]:
    """Make what is missing and say what was made. A second run makes nothing.

    Page types are looked up by their short name: one that a person renamed, changed or gave other fields stays so.
    """
    made: list[str] = []
    with transaction.atomic():
        if not Team.objects.exists():
            made.append(f"team {Team.objects.create(name=TEAM)}")
        if not Vantage.objects.exists():
            made.append(f"vantage {Vantage.objects.create(name=VANTAGE)}")
        made += [f"page type {kind.name}" for kind in KINDS if _ensure(kind)]
    return made


def _ensure(kind: Kind) -> bool:
    page_type, made = PageType.objects.get_or_create(
        slug=kind.slug,
        defaults={
            "name": kind.name,
            "threshold": kind.threshold,
            "cut": kind.cut,
            "case_matters": kind.case_matters,
            "weight": kind.weight,
            "default_interval_s": kind.every_s,
            "audit_share": kind.audit_share,
        },
    )
    if made:
        FieldRule.objects.bulk_create(
            FieldRule(
                page_type=page_type,
                name=spec.name,
                source=str(spec.source),
                selector=spec.selector,
                attribute=spec.attribute,
                type=str(spec.type),
                important=spec.important,
                review=False if spec.name in _STAMPS else spec.review,
            )
            for spec in DEFAULT_FIELDS.get(kind.fields, ())
        )
    return made
