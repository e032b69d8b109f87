"""Making and removing the sample workspace."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Min

from monitoring.models import Change, Check, FieldChange, FieldRule, Monitor, PageType, Site, Snapshot, Team, Vantage
from monitoring.sample.pages import PAGES

FIRST_MINUTES = timedelta(minutes=4)
FAST_S, SLOW_S = 12, 120


def started_at() -> datetime | None:
    """When the workspace was made; None where there is none."""
    found: datetime | None = Monitor.objects.filter(is_sample=True).aggregate(first=Min("created_at"))["first"]
    return found


@transaction.atomic
def make(now: datetime) -> int:
    """Monitors for every sample page, due at once; returns how many were made. Makes nothing twice."""
    if started_at() is not None:
        return 0
    team = Team.objects.order_by("pk").first() or Team.objects.create(name="Compliance")
    vantage = Vantage.objects.order_by("pk").first() or Vantage.objects.create(name="default")
    for page in PAGES:
        site, _ = Site.objects.get_or_create(
            host=f"{page.slug.split('/')[0]}.sample", defaults={"name": page.site, "gap_s": 0.0}
        )
        page_type = PageType.objects.filter(slug=page.page_type).first() or PageType.objects.create(
            slug=page.page_type, name=page.page_type.replace("-", " ").capitalize()
        )
        monitor = Monitor.objects.create(
            name=page.title,
            url=f"{settings.SAMPLE_ORIGIN}/sample/{page.slug}/",
            site=site,
            team=team,
            page_type=page_type,
            vantage=vantage,
            is_sample=True,
            interval_s=FAST_S,
            min_interval_s=5,
            next_check_at=now,
        )
        if page.page_type == "certificate-list":
            FieldRule.objects.create(
                monitor=monitor, name="certificates", source=FieldRule.Source.CSS, selector="table.certs tbody tr",
                type=FieldRule.Type.LIST, important=True,
            )  # fmt: skip
        if page.kind == "product":
            _mail_price(monitor)
    return len(PAGES)


def _mail_price(monitor: Monitor) -> None:
    FieldRule.objects.create(
        monitor=monitor,
        name="price",
        source=FieldRule.Source.JSONLD,
        selector="offers.price",
        type=FieldRule.Type.PRICE,
        important=True,
    )


def settle(*, now: datetime) -> int:
    """After the first minutes the sample pages are visited less often; returns how many monitors changed pace."""
    return Monitor.objects.filter(is_sample=True, interval_s=FAST_S, created_at__lte=now - FIRST_MINUTES).update(
        interval_s=SLOW_S
    )


def is_fresh(*, now: datetime) -> bool:
    """Whether `settle` has work; cheap."""
    return Monitor.objects.filter(is_sample=True, interval_s=FAST_S, created_at__lte=now - FIRST_MINUTES).exists()


@transaction.atomic
def remove() -> int:
    """Everything the workspace brought, and what was decided on it; returns the number of monitors removed.

    This is the one place where verdicts go: they are about pages that never existed.
    """
    from django.apps import apps

    monitors = list(Monitor.objects.filter(is_sample=True).values_list("pk", "site_id"))
    ids = [pk for pk, _ in monitors]
    changes = Change.objects.filter(monitor__in=ids)
    verdicts = apps.get_model("review", "Verdict").objects.filter(change__in=changes)
    verdicts.filter(undoes__isnull=False).delete()
    verdicts.delete()
    FieldChange.objects.filter(monitor__in=ids).delete()
    changes.delete()
    Monitor.objects.filter(pk__in=ids).update(baseline=None)
    Check.objects.filter(monitor__in=ids).delete()
    Snapshot.objects.filter(monitor__in=ids).delete()
    Monitor.objects.filter(pk__in=ids).delete()
    Site.objects.filter(pk__in={site for _, site in monitors}, monitors__isnull=True).delete()
    return len(ids)
