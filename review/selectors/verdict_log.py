"""The verdict log: which verdicts, narrowed by period, page type, site, person and decision."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone

from monitoring.models import Monitor, PageType, Site
from monitoring.models.monitor import of_visible
from review import roles
from review.models import Note, Verdict
from review.selectors.keyset import Order

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ORDER = Order(("-at", "-pk"))
MOST_SITES = 200  # that a filter offers
NAMES = {"since": "from", "until": "to", "type": "type", "site": "site", "who": "who", "action": "action", "reason": "reason"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filter:
    """What the log is narrowed to; days are whole ones of the reader's time zone, both included."""

    since: date | None = None
    until: date | None = None
    type: int | None = None
    site: int | None = None
    who: int | None = None
    action: str = ""
    reason: str = ""

    @property
    def kept(self) -> dict[str, str]:
        """What is set, by the names that an address uses."""
        return {NAMES[name]: str(value) for name, value in asdict(self).items() if value not in ("", None)}

    def address(self, base: str) -> str:
        """The list at `base`, narrowed so."""
        return f"{base}?{urlencode(self.kept)}" if self.kept else base

    @property
    def narrows(self) -> bool:
        """Whether anything is set."""
        return self != Filter()


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))


def _condition(wanted: Filter) -> Q:
    found = Q()
    if wanted.since:
        found &= Q(at__gte=_midnight(wanted.since))
    if wanted.until:
        found &= Q(at__lt=_midnight(wanted.until + timedelta(days=1)))
    parts: dict[str, Any] = {
        "change__monitor__page_type": wanted.type,
        "change__monitor__site": wanted.site,
        "actor": wanted.who,
        "action": wanted.action,
        "reason": wanted.reason,
    }
    return found & Q(**{name: value for name, value in parts.items() if value not in ("", None)})


def verdicts(wanted: Filter, *, user: User) -> QuerySet[Verdict]:
    """The verdicts a filter lets through, of the user's teams, unordered, with what a line shows and no diff."""
    rows = Verdict.objects.filter(_condition(wanted)).select_related(
        "actor", "change__monitor__site", "change__monitor__page_type", "undone_by"
    )
    return of_visible(rows, user, "change__monitor").only(
        "change__kind", "change__say", "change__diff_hash", "change__monitor__name", "change__monitor__url",
        "change__monitor__site__name", "change__monitor__page_type__name", "actor__username", "actor__first_name",
        "actor__last_name", "undone_by__id", "undone_by__undoes", *(f.attname for f in Verdict._meta.concrete_fields),
    )  # fmt: skip


def approvals(wanted: Filter, *, user: User) -> QuerySet[Verdict]:
    """The approvals in force among those a filter lets through, with both captures, second opinions and notes."""
    standing = Verdict.objects.filter(_condition(wanted), action=Verdict.Action.APPROVE).standing()
    seconds = Verdict.objects.filter(action=Verdict.Action.SECOND).select_related("actor").order_by("pk")
    return (
        of_visible(standing, user, "change__monitor")
        .select_related(
            "actor", "change__monitor__site", "change__monitor__page_type", "change__monitor__team",
            "change__prior__payload", "change__new__payload",
        )
        .defer("change__search_text", "change__monitor__mould", "change__prior__headers", "change__new__headers")
        .prefetch_related(
            Prefetch("change__verdicts", seconds, to_attr="second_opinions"),
            Prefetch("change__notes", Note.objects.select_related("author")),
        )
    )  # fmt: skip


def choices(user: User) -> dict[str, list[tuple[int, str]]]:
    """What the form offers of page types, sites (the first MOST_SITES) and people: only those of the user's teams."""
    monitors = Monitor.objects.visible_to(user)
    types = PageType.objects.filter(Exists(monitors.filter(page_type=OuterRef("pk")))).values_list("pk", "name")
    sites = Site.objects.filter(Exists(monitors.filter(site=OuterRef("pk")))).values_list("pk", "name")[:MOST_SITES]
    people = get_user_model().objects.filter(Exists(Verdict.objects.filter(actor=OuterRef("pk"))))
    if not user.is_superuser:
        people = people.filter(Q(pk=user.pk) | Q(teams__in=user.teams.all())).distinct()
    named = sorted(((person.pk, roles.display_name(person)) for person in people), key=lambda one: one[1].casefold())
    return {"type": list(types), "site": list(sites), "who": named}
