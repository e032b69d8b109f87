"""What an installation starts with: one team, one vantage, eight page types. Nothing a person changed is put back."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db import transaction

from monitoring.models import PageType, Team, Vantage

TEAM = "Everyone"
VANTAGE = "Default"
HOUR = 3600
DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A page type as shipped. `threshold` in bits, `cut` a score, `every_s` seconds."""

    slug: str
    name: str
    threshold: int = 3
    cut: float = 0.5
    order_matters: bool = False
    case_matters: bool = False
    weight: float = 1.0
    every_s: int = DAY
    audit_share: float = 0.01
    fields: tuple[dict[str, object], ...] = field(default=())


# Legal texts: one word can matter and capitals mark defined terms. Lists of goods and news: order is editing, and only
# much new text is worth a look. The fingerprint's threshold only grades how much; calibration sets it per page type.
KINDS = (
    Kind(slug="privacy-policy", name="Privacy policy", case_matters=True, order_matters=True, weight=2.0),
    Kind(slug="terms", name="Terms and conditions", case_matters=True, order_matters=True, weight=2.0),
    Kind(slug="certificate-list", name="Certificate list", weight=3.0, every_s=12 * HOUR, audit_share=0.02),
    Kind(slug="sustainability-statement", name="Sustainability statement", weight=1.5),
    Kind(slug="regulator-page", name="Regulator page", weight=2.0, every_s=6 * HOUR),
    Kind(slug="product-page", name="Product page", every_s=6 * HOUR),
    Kind(slug="news-home-page", name="News home page", threshold=6, cut=0.7, weight=0.5, every_s=2 * HOUR),
    Kind(slug="price-list", name="Price list", order_matters=False, weight=1.5, every_s=12 * HOUR),
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
    _page_type, made = PageType.objects.get_or_create(
        slug=kind.slug,
        defaults={
            "name": kind.name,
            "threshold": kind.threshold,
            "cut": kind.cut,
            "order_matters": kind.order_matters,
            "case_matters": kind.case_matters,
            "weight": kind.weight,
            "default_interval_s": kind.every_s,
            "audit_share": kind.audit_share,
        },
    )
    return made
