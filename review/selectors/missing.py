"""What is missed, as the audit sample tells: of everything that a person may see, and of each page type."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Count, Exists, OuterRef, QuerySet

from monitoring.calibrating.audit import Missed, Stratum, missed
from monitoring.models import Change, Monitor, PageType
from review.models import Verdict

if TYPE_CHECKING:
    from django.contrib.auth.models import User

DAYS = 90
MOST_FOUND = 4_000  # approved changes of the time that are counted, the newest; a rate errs to the high side beyond


@dataclass(frozen=True, slots=True)
class MissedEach:
    """What is missed at all, and by page type (its id, name and short name), in the order of names."""

    at_all: Missed
    by_type: list[tuple[PageType, Missed]]


def missed_by(user: User | None, *, now: datetime, page_type: PageType | None = None, days: int = DAYS) -> Missed:
    """How many changes were missed in the last days and what share of all that is, as the audit sample tells.

    user: of what this person may see; None for all. A page type is a population of its own; where its share was changed,
    each share is.
    """
    monitors = _monitors(user)
    if page_type is not None:
        monitors = monitors.filter(page_type=page_type)
    return _together(*_figures(monitors, now=now, days=days))


def missed_each(user: User, *, now: datetime, days: int = DAYS) -> MissedEach:
    """The same at all and for each page type that is sampled; as many statements however many there are."""
    strata, found = _figures(_monitors(user), now=now, days=days)
    types = PageType.objects.filter(pk__in=strata).only("name", "slug").order_by("name")
    return MissedEach(
        _together(strata, found),
        [(kind, missed(strata[kind.pk], found=found.get(kind.pk, 0))) for kind in types],
    )


def _monitors(user: User | None) -> QuerySet[Monitor]:
    monitors = Monitor.objects.all() if user is None else Monitor.objects.visible_to(user)
    return monitors.real()


def _together(strata: dict[int, list[Stratum]], found: Counter[int]) -> Missed:
    return missed([one for each in strata.values() for one in each], found=found.total())


def _figures(monitors: QuerySet[Monitor], *, now: datetime, days: int) -> tuple[dict[int, list[Stratum]], Counter[int]]:
    """The audit samples by page type's id and share, and the approved changes of the queue by page type's id."""
    # Asked of each row: a list of the monitors would be made first, of a million of them.
    of_theirs = Exists(monitors.filter(pk=OuterRef("monitor")))
    changes = Change.objects.filter(of_theirs, opened_at__gte=now - timedelta(days=days))
    audits = changes.filter(kind=Change.Kind.AUDIT, sample_share__gt=0)
    by = ("monitor__page_type", "sample_share")
    sampling = PageType.objects.filter(Exists(monitors.filter(page_type=OuterRef("pk"))), audit_share__gt=0)
    sampled = dict.fromkeys(sampling.values_list("pk", "audit_share"), 0)  # where nothing came yet too
    sampled |= {(kind, share): n for kind, share, n in audits.values_list(*by).annotate(n=Count("pk")).order_by()}
    standing = Verdict.objects.filter(calibrates=True, change__in=audits.values("pk")).standing()
    decided = standing.filter(action__in=["approve", "dismiss"]).order_by()
    counts: dict[tuple[int, float], dict[str, int]] = {}
    grouped = decided.values_list("change__monitor__page_type", "change__sample_share", "action")
    for kind, share, action, count in grouped.annotate(n=Count("change", distinct=True)):
        counts.setdefault((kind, share), {})[action] = count
    strata: dict[int, list[Stratum]] = {}
    for (kind, share), count in sampled.items():
        given = counts.get((kind, share), {})
        strata.setdefault(kind, []).append(
            Stratum(share=share, sampled=count, decided=sum(given.values()), approved=given.get("approve", 0))
        )
    approved = changes.filter(state=Change.State.APPROVED, kind=Change.Kind.CONTENT).order_by("-opened_at")
    return strata, Counter(approved.values_list("monitor__page_type", flat=True)[:MOST_FOUND])
