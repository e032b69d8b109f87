"""The queue: which changes wait, in which order, and how many in each view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from monitoring.models import Change, Check, Outcome
from monitoring.models.monitor import of_visible
from monitoring.services import searching
from review.models import Verdict
from review.selectors import routing
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
SCORES: dict[str, tuple[_StrPromise, float, float]] = {
    "high": (_("0.8 and above"), 0.8, 2.0),
    "middle": (_("0.6 to 0.8"), 0.6, 0.8),
    "low": (_("under 0.6"), -1.0, 0.6),
}
# By what stands in a change's reasons or flags: the words of the filter.
WHY: dict[str, tuple[_StrPromise, tuple[str, ...]]] = {
    "hidden": (_("hidden text"), ("hidden-text", "embedded-text", "style-text")),
    "alternative": (_("alternative text"), ("attribute-text",)),
    "links": (_("link targets"), ("link-target",)),
    "lookalike": (_("look-alike characters"), ("look-alike",)),
    "returns": (_("back to an earlier text"), ("return", "returned", "flapping")),
    "field": (_("a field"), ("field",)),
    "contradiction": (_("data contradicts the text"), ("contradiction",)),
    "blocked": (_("blocked before this check"), ("blocked-before",)),
}
LANGUAGES: dict[str, str] = {
    "en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "it": "Italiano", "nl": "Nederlands",
    "pt": "Português", "pl": "Polski", "sv": "Svenska", "ja": "日本語", "zh": "中文", "ko": "한국어", "ar": "العربية",
}  # fmt: skip
_HASH = re.compile(r"[0-9a-f]{32}")
NUMBERS = ("site", "type", "team", "priority", "assignee")
SEVERAL = (*NUMBERS, "kind", "why", "lang")  # parts of which a change has to fit one value of several
MOST_VALUES = 20  # of one part
NAMES = (
    "view", "site", "type", "team", "kind", "why", "lang", "age", "score", "priority", "assignee", "q", "same", "sort",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list is narrowed to; the default is everything that waits."""

    view: str = ""
    site: tuple[int, ...] = ()
    type: tuple[int, ...] = ()
    team: tuple[int, ...] = ()
    kind: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    age: str = ""
    score: str = ""
    priority: tuple[int, ...] = ()
    assignee: tuple[int, ...] = ()
    q: str = ""
    same: str = ""
    sort: str = ""

    @classmethod
    def read(cls, values: MultiValueDict[str, str]) -> Filter:
        """The filter in an address's parameters, some of them given several times; what makes no sense is left out."""

        def numbers(name: str) -> tuple[int, ...]:
            texts = values.getlist(name)[:MOST_VALUES]
            return tuple(dict.fromkeys(int(t) for t in texts if t.isascii() and t.isdigit() and len(t) < 16))

        def some_of(name: str, allowed: Mapping[str, object]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(text for text in values.getlist(name)[:MOST_VALUES] if text in allowed))

        def one_of(name: str, allowed: Mapping[str, object]) -> str:
            text = values.get(name) or ""
            return text if text in allowed else ""

        return cls(
            view=one_of("view", VIEWS),
            site=numbers("site"),
            type=numbers("type"),
            team=numbers("team"),
            kind=some_of("kind", dict(Change.Kind.choices)),
            why=some_of("why", WHY),
            lang=some_of("lang", LANGUAGES),
            age=one_of("age", AGES),
            score=one_of("score", SCORES),
            priority=tuple(value for value in numbers("priority") if value in PRIORITIES),
            assignee=numbers("assignee"),
            q=(values.get("q") or "").replace("\x00", "").strip()[:200],
            same=found[0] if (found := _HASH.fullmatch(values.get("same") or "")) else "",
            sort=one_of("sort", ORDERS),
        )

    @classmethod
    def read_query(cls, text: str) -> Filter:
        """The filter in an encoded query string, as links to a change carry it."""
        values = MultiValueDict[str, str]()
        for name, value in parse_qsl(text[:2000]):
            values.appendlist(name, value)
        return cls.read(values)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The filter as names and values, a name once for each of its values."""
        found = []
        for name in NAMES:
            value = getattr(self, name)
            found += [(name, str(one)) for one in (value if isinstance(value, tuple) else (value,)) if one != ""]
        return found

    def query(self) -> str:
        """The filter as an encoded query string; empty for the plain queue."""
        return urlencode(self.pairs)

    def without(self, name: str) -> Filter:
        """The filter with one part taken out."""
        plain: dict[str, Any] = {name: "" if isinstance(getattr(self, name), str) else ()}
        return replace(self, **plain)

    @property
    def parts(self) -> list[str]:
        """The names of what narrows the list, the view and the order aside."""
        return [name for name in NAMES if name not in ("view", "sort") and getattr(self, name)]

    @property
    def narrows(self) -> bool:
        """Whether anything but the view is set."""
        return bool(self.parts)


def _in_view(view: str, *, user: User, now: datetime) -> Q:
    if view == "snoozed":
        return Q(state=Change.State.SNOOZED)
    waits = Q(state=Change.State.OPEN, hold__isnull=True)
    match view:
        case "mine":
            theirs = routing.covers_for(user, now).covered_by(user)
            return waits & Q(assignment__assignee__in=[user.pk, *theirs])
        case "unassigned":
            return waits & Q(assignment__isnull=True)
        case "high":
            return waits & Q(priority__gte=HIGH)
        case "late":
            return waits & Q(opened_at__lt=now - LATE_AFTER)
        case "audit":
            return waits & Q(kind=Change.Kind.AUDIT)
    return waits


def _coded(codes: Sequence[str]) -> Q:
    """Changes with one of the codes among their reasons or flags; both databases show JSON with `"code": "x"`."""
    found = Q()
    for code in codes:
        found |= Q(flags__icontains=f'"{code}"') | Q(reasons__icontains=f'"code": "{code}"')
    return found


_PARTS: dict[str, Callable[[Any, datetime], Q]] = {
    "site": lambda value, now: Q(monitor__site__in=value),
    "type": lambda value, now: Q(monitor__page_type__in=value),
    "team": lambda value, now: Q(monitor__team__in=value),
    "kind": lambda value, now: Q(kind__in=value),
    "why": lambda value, now: _coded([code for one in value for code in WHY[one][1]]),
    "lang": lambda value, now: reduce(or_, (Q(prior__language__startswith=one) for one in value)),
    "age": lambda value, now: Q(**{f"opened_at__{'lt' if AGES[value][2] else 'gte'}": now - AGES[value][1]}),
    "score": lambda value, now: Q(score__gte=SCORES[value][1], score__lt=SCORES[value][2]),
    "priority": lambda value, now: Q(priority__in=value),
    "assignee": lambda value, now: Q(assignment__assignee__in=value),
    "q": lambda value, now: searching.matching(value),
    "same": lambda value, now: Q(edit_hash=value),
}


def condition(wanted: Filter, *, user: User, now: datetime) -> Q:
    """What a filter lets through, as a condition on changes; the user's teams are a matter of their own."""
    found = _in_view(wanted.view, user=user, now=now)
    for name in wanted.parts:
        found &= _PARTS[name](getattr(wanted, name), now)
    return found


def changes_in(wanted: Filter, *, user: User, now: datetime) -> QuerySet[Change]:
    """The changes a filter lets through, of the user's teams, unordered and without their diffs."""
    changes: QuerySet[Change] = Change.objects.visible_to(user).filter(condition(wanted, user=user, now=now))
    if wanted.sort == "size":
        changes = changes.annotate(size=F("added") + F("removed"))
    elif wanted.sort == "score":
        changes = changes.annotate(strength=Coalesce("score", Value(0.0)))
    return changes


def one_of_each(changes: QuerySet[Change], wanted: Filter, *, user: User, now: datetime) -> QuerySet[Change]:
    """Of the changes that a filter lets through one for each that is the same on several pages: the first by priority.

    Asked at every row with one look into an index, so a page of the list costs the same whatever waits. Within one such
    change (`same`), and of what sleeps, all are there.
    """
    if wanted.same or wanted.view == "snoozed":
        return changes
    alike = Change.objects.visible_to(user).filter(
        condition(wanted, user=user, now=now), edit_hash=OuterRef("edit_hash"), edit_hash__isnull=False
    )
    first = alike.order_by("-priority", "pk").values("pk")[:1]
    return changes.filter(Q(edit_hash__isnull=True) | Q(pk=Subquery(first)))


def alike_counts(shown: Iterable[Change], wanted: Filter, *, user: User, now: datetime) -> dict[str, int]:
    """By hash on how many pages a row's change is in the list, up to CAPPED; in one statement."""
    hashes = {change.edit_hash for change in shown if change.edit_hash}
    return counts_of({each: replace(wanted, same=each) for each in sorted(hashes)}, user=user, now=now)


MOST_ALIKE = 100


def alike(change: Change, *, user: User) -> list[Change]:
    """The other waiting changes that are the same as this one, by page; at most MOST_ALIKE."""
    if not change.edit_hash or change.state != Change.State.OPEN:
        return []
    others = Change.objects.visible_to(user).waiting().filter(edit_hash=change.edit_hash).exclude(pk=change.pk)
    return list(for_rows(others).order_by("-priority", "pk")[:MOST_ALIKE])


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
    listed = changes_in(wanted, user=user, now=now)
    changes = one_of_each(listed, wanted, user=user, now=now)
    size = change.added + change.removed
    change.size, change.strength = size, change.score or 0.0  # type: ignore[attr-defined]
    key = order.key(change)
    following = after(changes, order, key).values_list("pk", flat=True).first()
    before = after(changes, order.reversed, key).values_list("pk", flat=True)
    previous = before.first()
    total = changes[:CAPPED].count()
    inside = listed.filter(pk=change.pk).exists()
    place = before[:CAPPED].count() + 1 if inside else None
    return Position(place, total, previous, following)


def next_after(change: Change, wanted: Filter, *, user: User, now: datetime, decided: Iterable[int] = ()) -> int | None:
    """The change to show once this one (and those `decided` with it) is: the next in the list, else the first of it."""
    order = order_of(wanted)
    change.size, change.strength = change.added + change.removed, change.score or 0.0  # type: ignore[attr-defined]
    listed = changes_in(wanted, user=user, now=now).exclude(pk__in=[change.pk, *decided])
    changes = one_of_each(listed, wanted, user=user, now=now)
    found = after(changes, order, order.key(change)).values_list("pk", flat=True).first()
    return found or changes.order_by(*order.columns).values_list("pk", flat=True).first()


def counts_of(filters: Mapping[str, Filter], *, user: User, now: datetime) -> dict[str, int]:
    """How many changes each of several filters lets through, by name, up to CAPPED; one statement for all of them."""
    if not filters:
        return {}
    parts, parameters = [], []
    for index, wanted in enumerate(filters.values()):
        rows = changes_in(replace(wanted, sort=""), user=user, now=now).order_by().values("pk")[:CAPPED]
        try:
            sql, values = rows.query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        except EmptyResultSet:  # a search without a word in it
            parts.append("0")
            continue
        parts.append(f"(SELECT COUNT(*) FROM ({sql}) AS q{index})")  # noqa: S608 - written by the ORM
        parameters += values
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", parameters)
        found = cursor.fetchone()
    return dict(zip(filters, found, strict=True))


def view_counts(*, user: User, now: datetime) -> dict[str, int]:
    """How many changes each view holds, up to CAPPED."""
    return counts_of({view: Filter(view=view) for view in VIEWS}, user=user, now=now)


TYPES_LOOKED_AT = 1_000  # waiting changes that the counts by page type look at; with more they say "and more"


def type_counts(*, user: User) -> list[tuple[int, str, int]]:
    """(id, name, number waiting) of each page type among the first waiting changes, the most first."""
    first = Change.objects.visible_to(user).waiting().order_by("-priority", "opened_at", "pk")
    rows = (
        Change.objects.filter(pk__in=first.values("pk")[:TYPES_LOOKED_AT])
        .order_by()
        .values_list("monitor__page_type", "monitor__page_type__name")
        .annotate(n=Count("pk"))
        .order_by("-n", "monitor__page_type__name")
    )
    return [(pk, name, n) for pk, name, n in rows]


def decided_today(*, user: User, since: datetime) -> int:
    """How many verdicts of the user stand since a moment."""
    return Verdict.objects.filter(actor=user, at__gte=since, action__in=["approve", "dismiss"]).standing().count()


def held_back(*, user: User) -> QuerySet[Check]:
    """Noise checks of the user's teams: what was not shown, to be looked through."""
    return (
        of_visible(Check.objects.filter(outcome=Outcome.NOISE), user)
        .select_related("monitor__site", "monitor__page_type")
        .defer("delta", "fields")
    )


HELD_BACK_ORDER = Order(("-pk",))
