"""The queue: which changes wait, in which order, and how many in each view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from django.db.models import Count, F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from monitoring.models import Change, Check, Monitor, Outcome
from review.models import Verdict
from review.selectors.keyset import Order, after

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.utils.functional import _StrPromise

LATE_AFTER = timedelta(hours=24)
PAGE_SIZE = 25
CAPPED = 1000  # counting stops here and shows "999+": an exact large number costs more than it says
HIGH = 2

VIEWS: dict[str, _StrPromise] = {
    "": _("Queue"),
    "mine": _("Assigned to me"),
    "unassigned": _("Unassigned"),
    "high": _("High priority"),
    "late": _("Waiting over 24 h"),
    "audit": _("Audit sample"),
    "snoozed": _("Snoozed"),
}
ORDERS: dict[str, Order] = {
    "": Order(("-priority", "opened_at", "pk")),
    "page": Order(("monitor__name", "pk")),
    "size": Order(("-size", "pk")),
    "score": Order(("-strength", "pk")),
    "age": Order(("opened_at", "pk")),
}
ORDER_WORDS: dict[str, _StrPromise] = {
    "": _("by priority, then oldest first"),
    "page": _("by page"),
    "size": _("largest first"),
    "score": _("highest score first"),
    "age": _("oldest first"),
}
AGES: dict[str, tuple[_StrPromise, timedelta, bool]] = {
    "new": (_("under an hour"), timedelta(hours=1), False),
    "day": (_("under 24 hours"), timedelta(hours=24), False),
    "late": (_("over 24 hours"), timedelta(hours=24), True),
    "week": (_("over 7 days"), timedelta(days=7), True),
}
PRIORITIES: dict[int, _StrPromise] = {0: _("low"), 1: _("normal"), 2: _("high"), 3: _("urgent")}


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list is narrowed to; the default is everything that waits."""

    view: str = ""
    site: int | None = None
    type: int | None = None
    kind: str = ""
    age: str = ""
    priority: int | None = None
    assignee: int | None = None
    q: str = ""
    sort: str = ""

    @classmethod
    def read(cls, values: Mapping[str, str]) -> Filter:
        """The filter in an address's parameters; what makes no sense is left out."""

        def number(name: str) -> int | None:
            text = values.get(name, "")
            return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None

        def one_of(name: str, allowed: Mapping[str, object]) -> str:
            text = values.get(name, "")
            return text if text in allowed else ""

        priority = number("priority")
        return cls(
            view=one_of("view", VIEWS),
            site=number("site"),
            type=number("type"),
            kind=one_of("kind", dict(Change.Kind.choices)),
            age=one_of("age", AGES),
            priority=priority if priority in PRIORITIES else None,
            assignee=number("assignee"),
            q=values.get("q", "").replace("\x00", "").strip()[:200],
            sort=one_of("sort", ORDERS),
        )

    @classmethod
    def read_query(cls, text: str) -> Filter:
        """The filter in an encoded query string, as links to a change carry it."""
        return cls.read(dict(parse_qsl(text[:2000])))

    def query(self) -> str:
        """The filter as an encoded query string; empty for the plain queue."""
        names = ("view", "site", "type", "kind", "age", "priority", "assignee", "q", "sort")
        return urlencode([(name, value) for name in names if (value := getattr(self, name)) not in ("", None)])

    def without(self, name: str) -> Filter:
        """The filter with one part taken out."""
        plain: dict[str, Any] = {name: "" if isinstance(getattr(self, name), str) else None}
        return replace(self, **plain)

    @property
    def narrows(self) -> bool:
        """Whether anything but the view is set."""
        return replace(self, view="", sort="") != Filter()


def _in_view(changes: QuerySet[Change], view: str, *, user: User, now: datetime) -> QuerySet[Change]:
    if view == "snoozed":
        return changes.filter(state=Change.State.SNOOZED)
    changes = changes.filter(state=Change.State.OPEN)
    match view:
        case "mine":
            return changes.filter(assignment__assignee=user)
        case "unassigned":
            return changes.filter(assignment__isnull=True)
        case "high":
            return changes.filter(priority__gte=HIGH)
        case "late":
            return changes.filter(opened_at__lt=now - LATE_AFTER)
        case "audit":
            return changes.filter(kind=Change.Kind.AUDIT)
    return changes


def changes_in(wanted: Filter, *, user: User, now: datetime) -> QuerySet[Change]:
    """The changes a filter lets through, of the user's teams, unordered and without their diffs."""
    changes: QuerySet[Change] = _in_view(Change.objects.visible_to(user), wanted.view, user=user, now=now)
    if wanted.site is not None:
        changes = changes.filter(monitor__site=wanted.site)
    if wanted.type is not None:
        changes = changes.filter(monitor__page_type=wanted.type)
    if wanted.kind:
        changes = changes.filter(kind=wanted.kind)
    if wanted.age:
        _label, span, older = AGES[wanted.age]
        changes = changes.filter(**{f"opened_at__{'lt' if older else 'gte'}": now - span})
    if wanted.priority is not None:
        changes = changes.filter(priority=wanted.priority)
    if wanted.assignee is not None:
        changes = changes.filter(assignment__assignee=wanted.assignee)
    if wanted.q:
        changes = changes.filter(
            Q(monitor__name__icontains=wanted.q)
            | Q(monitor__url__icontains=wanted.q)
            | Q(monitor__site__name__icontains=wanted.q)
            | Q(search_text__icontains=wanted.q)
        )
    if wanted.sort == "size":
        changes = changes.annotate(size=F("added") + F("removed"))
    elif wanted.sort == "score":
        changes = changes.annotate(strength=Coalesce("score", Value(0.0)))
    return changes


def for_rows(changes: QuerySet[Change]) -> QuerySet[Change]:
    """The changes with what a row shows, and without the diff that it doesn't."""
    return changes.select_related("monitor__site", "monitor__page_type", "assignment__assignee", "prior").defer(
        "diff", "search_text"
    )


def order_of(wanted: Filter) -> Order:
    """The order a filter asks for."""
    return ORDERS[wanted.sort]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a change stands in its list: 1-based place (None when it isn't in it), length, and its neighbours.

    Place and length are counted up to CAPPED.
    """

    place: int | None
    total: int
    previous: int | None
    next: int | None

    @property
    def words(self) -> str:
        """ "3 of 9", with a plus where counting stopped; empty outside the list."""
        if self.place is None:
            return ""
        return gettext("%(place)s of %(total)s") % {"place": _capped(self.place), "total": _capped(self.total)}


def _capped(number: int) -> str:
    return str(number) if number < CAPPED else f"{CAPPED - 1}+"


def position(change: Change, wanted: Filter, *, user: User, now: datetime) -> Position:
    """Where a change stands in the list that a filter describes; cheap at any depth for its neighbours."""
    order = order_of(wanted)
    changes = changes_in(wanted, user=user, now=now)
    size = change.added + change.removed
    change.size, change.strength = size, change.score or 0.0  # type: ignore[attr-defined]
    key = order.key(change)
    following = after(changes, order, key).values_list("pk", flat=True).first()
    before = after(changes, order.reversed, key).values_list("pk", flat=True)
    previous = before.first()
    total = changes[:CAPPED].count()
    inside = changes.filter(pk=change.pk).exists()
    place = before[:CAPPED].count() + 1 if inside else None
    return Position(place, total, previous, following)


def next_after(change: Change, wanted: Filter, *, user: User, now: datetime) -> int | None:
    """The change to show once this one is decided: the next in the list, else the first of it."""
    order = order_of(wanted)
    change.size, change.strength = change.added + change.removed, change.score or 0.0  # type: ignore[attr-defined]
    changes = changes_in(wanted, user=user, now=now).exclude(pk=change.pk)
    found = after(changes, order, order.key(change)).values_list("pk", flat=True).first()
    return found or changes.order_by(*order.columns).values_list("pk", flat=True).first()


def view_counts(*, user: User, now: datetime) -> dict[str, int]:
    """How many changes each view holds, in one query over what waits."""
    waiting = Q(state=Change.State.OPEN)
    found = (
        Change.objects.visible_to(user)
        .filter(state__in=[Change.State.OPEN, Change.State.SNOOZED])
        .aggregate(
            all=Count("pk", filter=waiting),
            mine=Count("pk", filter=waiting & Q(assignment__assignee=user)),
            unassigned=Count("pk", filter=waiting & Q(assignment__isnull=True)),
            high=Count("pk", filter=waiting & Q(priority__gte=HIGH)),
            late=Count("pk", filter=waiting & Q(opened_at__lt=now - LATE_AFTER)),
            audit=Count("pk", filter=waiting & Q(kind=Change.Kind.AUDIT)),
            snoozed=Count("pk", filter=Q(state=Change.State.SNOOZED)),
        )
    )
    return {"": found.pop("all"), **found}


def type_counts(*, user: User) -> list[tuple[int, str, int]]:
    """(id, name, number waiting) of each page type with something waiting, the most first."""
    rows = (
        Change.objects.visible_to(user)
        .waiting()
        .values_list("monitor__page_type", "monitor__page_type__name")
        .annotate(n=Count("pk"))
        .order_by("-n", "monitor__page_type__name")
    )
    return [(pk, name, n) for pk, name, n in rows]


def decided_today(*, user: User, since: datetime) -> int:
    """How many verdicts of the user stand since a moment."""
    return Verdict.objects.filter(
        actor=user, at__gte=since, action__in=["approve", "dismiss"], undone_by__isnull=True
    ).count()


def held_back(*, user: User) -> QuerySet[Check]:
    """Noise checks of the user's teams: what was not shown, to be looked through."""
    monitors = Monitor.objects.visible_to(user).values("pk")
    return (
        Check.objects.filter(monitor__in=monitors, outcome=Outcome.NOISE)
        .select_related("monitor__site", "monitor__page_type")
        .defer("delta", "fields")
    )


HELD_BACK_ORDER = Order(("-started_at", "-pk"))
