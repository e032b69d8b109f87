"""Making canaries and putting them away: our own follow the settings, others are named by an admin."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import transaction

from monitoring.canaries.pages import BY_KEY, PLANS, Plan
from monitoring.models import Alarm, Canary, FieldRule, Monitor, Outcome, PageType, Planting, Site, Team, Vantage
from monitoring.services import monitors
from monitoring.services.egress import CANARY_PREFIX

TEAM = PAGE_TYPE = "Canaries"
SLUG = "canary"
VISITS = 4  # between two plantings


def ensure(*, now: datetime) -> int:
    """Make our own canaries where they are missing, and keep them to the settings; how many were made."""
    known = set(Canary.objects.filter(key__in=BY_KEY).values_list("key", flat=True))
    for plan in PLANS:
        if plan.key not in known:
            _make(plan, now)
    Canary.objects.filter(key__in=BY_KEY).exclude(every_s=settings.CANARY_S).update(
        every_s=settings.CANARY_S, begins_at=now
    )
    ours = Monitor.objects.filter(canary__key__in=BY_KEY)
    ours.exclude(interval_s=_interval_s(settings.CANARY_S)).update(interval_s=_interval_s(settings.CANARY_S))
    for key, pk, url in ours.values_list("canary__key", "pk", "url"):
        if url != _url(key):
            Monitor.objects.filter(pk=pk).update(url=_url(key), next_check_at=now)
    Monitor.objects.filter(is_canary=True, enabled=False).update(enabled=True, next_check_at=now)
    return len(BY_KEY) - len(known)


def put_away(*, now: datetime) -> int:
    """Stop visiting canaries, since they are switched off; how many were. What they showed stays."""
    Alarm.objects.filter(kind=Alarm.Kind.CANARY, cleared_at__isnull=True).update(cleared_at=now)
    Planting.objects.filter(state=Planting.State.WAITING).update(state=Planting.State.VOID)
    return Monitor.objects.filter(is_canary=True, enabled=True).update(enabled=False)


def name_external(url: str, *, key: str, expected: str, every_s: int, phase_s: int = 0, now: datetime) -> Canary:
    """A canary on somebody else's page, of which it is known when it changes. Raises ValidationError for what can't be watched.

    At every multiple of `every_s` seconds after the epoch, `phase_s` later, a visit until the next one must have `expected`.
    """
    canary = Canary(key=key, expected=expected, every_s=every_s, phase_s=phase_s, begins_at=now)
    canary.full_clean(exclude=["monitor"])
    url = monitors.canonical_url(url)
    with transaction.atomic():
        canary.monitor = _monitor(key, url, monitors.site_for(url), every_s=every_s, now=now)
        canary.save()
    return canary


def remove(key: str) -> bool:
    """Give up a canary on somebody else's page; False where there is none of that name. What it found stays recorded."""
    found = Canary.objects.filter(key=key).exclude(key__in=BY_KEY).select_related("monitor").first()
    if found is None:
        return False
    with transaction.atomic():
        Alarm.objects.filter(site=found.monitor.site_id, kind=Alarm.Kind.CANARY, cleared_at__isnull=True).delete()
        Monitor.objects.filter(pk=found.monitor_id).update(enabled=False)
        found.delete()
    return True


def _make(plan: Plan, now: datetime) -> None:
    with transaction.atomic():
        host = f"{plan.key}.{SLUG}"  # each has its own, and so its own alarm
        site, _ = Site.objects.get_or_create(host=host, defaults={"name": plan.title, "gap_s": 0.0})
        monitor = _monitor(plan.title, _url(plan.key), site, every_s=settings.CANARY_S, now=now)
        Canary.objects.create(
            monitor=monitor, key=plan.key, expected=plan.expected, every_s=settings.CANARY_S, begins_at=now
        )
        if plan.expected == Outcome.FIELD:
            FieldRule.objects.create(
                monitor=monitor, name="price", source=FieldRule.Source.JSONLD, selector="offers.price",
                type=FieldRule.Type.PRICE, important=True,
            )  # fmt: skip


def _monitor(name: str, url: str, site: Site, *, every_s: int, now: datetime) -> Monitor:
    team, _ = Team.objects.get_or_create(name=TEAM)  # of nobody: nobody's queue, digest or budget
    page_type, _ = PageType.objects.get_or_create(
        slug=SLUG, defaults={"name": PAGE_TYPE, "keep_days": 7, "keep_checks_days": 30}
    )
    vantage = Vantage.objects.order_by("pk").first() or Vantage.objects.create(name="Default")
    return Monitor.objects.create(
        name=name, url=url, site=site, team=team, page_type=page_type, vantage=vantage, is_canary=True,
        interval_s=_interval_s(every_s), min_interval_s=min(60, every_s), next_check_at=now,
    )  # fmt: skip


def _url(key: str) -> str:
    return f"{settings.SAMPLE_ORIGIN}{CANARY_PREFIX}{key}/"


def _interval_s(every_s: int) -> int:
    return max(60, every_s // VISITS)
