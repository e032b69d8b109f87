"""The queue: the list, its live count, and what is done to several rows at once."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.core import signing
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from monitoring.models import Change, Monitor, MonitorState, PageType, Site
from review import context, roles, rows
from review.middleware import preferences_of
from review.models import Verdict
from review.selectors import keyset, queue, routing, watch
from review.services import assignments, saved_views, verdicts
from review.views import moments, parameters
from review.views.access import deciding

if TYPE_CHECKING:
    from django.contrib.auth.models import User

BULK_LIMIT = 100
MOST_SITES = 200  # that a filter offers; more are found by the search
ASSIGNED = "review.assigned"  # salt of what an undo of assigning carries


def _choices(user: User, people: list[User]) -> dict[str, list[tuple[str, str]]]:
    """What the filter form offers: only sites, types, teams and people of the user's teams."""
    monitors = Monitor.objects.visible_to(user)
    sites = Site.objects.filter(Exists(monitors.filter(site=OuterRef("pk")))).values_list("pk", "name")[:MOST_SITES]
    types = PageType.objects.filter(Exists(monitors.filter(page_type=OuterRef("pk")))).values_list("pk", "name")
    teams = saved_views.teams_of(user)
    return {
        "site": [(str(pk), name) for pk, name in sites],
        "type": [(str(pk), name) for pk, name in types],
        "team": [(str(team.pk), team.name) for team in teams] if len(teams) > 1 else [],
        "kind": [(str(value), str(label)) for value, label in Change.Kind.choices],
        "why": [(name, str(label)) for name, (label, _codes) in queue.WHY.items()],
        "lang": list(queue.LANGUAGES.items()),
        "age": [(name, str(label)) for name, (label, _span, _older) in queue.AGES.items()],
        "score": [(name, str(label)) for name, (label, _least, _below) in queue.SCORES.items()],
        "priority": [(str(value), str(label)) for value, label in queue.PRIORITIES.items()],
        "assignee": [(str(person.pk), roles.display_name(person)) for person in people],
    }


def _labels() -> dict[str, str]:
    return {
        "type": _("Type"),
        "site": _("Site"),
        "team": _("Team"),
        "kind": _("Kind"),
        "why": _("Reason"),
        "score": _("Score"),
        "age": _("Age"),
        "priority": _("Priority"),
        "lang": _("Language"),
        "assignee": _("Assignee"),
    }


def _chips(wanted: queue.Filter, user: User, people: list[User]) -> list[dict[str, Any]]:
    chips = []
    choices = _choices(user, people)
    for name, label in _labels().items():
        value = getattr(wanted, name)
        given = [str(one) for one in (value if isinstance(value, tuple) else (value,)) if one != ""]
        options = dict(choices[name])
        chips.append(
            {
                "name": name,
                "label": label,
                # A value that the form doesn't offer (a person who left, a site of another team) still narrows the list.
                "chosen": ", ".join(options.get(one, "?") for one in given),
                "given": given,
                "options": list(options.items()),
                "several": name in queue.SEVERAL,
                "hidden": wanted.without(name).pairs,
                "remove": _address(wanted.without(name)),
            }
        )
    return chips


def _address(wanted: queue.Filter, **extra: str) -> str:
    query = wanted.query()
    more = "&".join(f"{name}={value}" for name, value in extra.items() if value)
    joined = "&".join(part for part in (query, more) if part)
    return reverse("queue") + (f"?{joined}" if joined else "")


def _sidebar(wanted: queue.Filter, user: User, now: datetime) -> dict[str, Any]:
    """The views beside the list with their counts, all counted in one query."""
    kept = saved_views.seen_by(user)
    filters = {f"view:{name}": queue.Filter(view=name) for name in queue.VIEWS}
    filters |= {f"saved:{view.pk}": queue.Filter.read_query(view.query) for view in kept}
    counts = queue.counts_of(filters, user=user, now=now)
    views = [
        {
            "label": label,
            "count": context.capped(counts[f"view:{name}"]),
            "address": _address(queue.Filter(view=name)),
            "current": wanted.view == name and not wanted.narrows,
        }
        for name, label in queue.VIEWS.items()
        if name != "audit" or counts["view:audit"] or wanted.view == "audit"
    ]
    saved = [
        {
            "pk": view.pk,
            "label": view.name,
            "team": view.team.name if view.team else "",
            "count": context.capped(counts[f"saved:{view.pk}"]),
            "address": _address(filters[f"saved:{view.pk}"]),
            "current": bool(view.query) and wanted.query() == filters[f"saved:{view.pk}"].query(),
            "removable": saved_views.may_remove(user, view),
        }
        for view in kept
    ]
    current = next((view for view in saved if view["current"]), None)
    if current:
        views = [{**view, "current": False} for view in views]
    return {
        "views": views,
        "own_views": [view for view in saved if not view["team"]],
        "team_views": [view for view in saved if view["team"]],
        "current_view": current,
        "waiting_at_all": counts["view:"],
    }


def _wider(wanted: queue.Filter, chips: list[dict[str, Any]], user: User, now: datetime) -> list[dict[str, Any]]:
    """For a list that its filters left empty: each filter with what there would be without it."""
    names = {chip["name"]: f"{chip['label']}: {chip['chosen']}" for chip in chips if chip["chosen"]}
    if wanted.q:
        names["q"] = f"{_('Search')}: {wanted.q}"
    counts = queue.counts_of({name: wanted.without(name) for name in names}, user=user, now=now)
    return [
        {"words": words, "count": context.capped(counts[name]), "address": _address(wanted.without(name))}
        for name, words in names.items()
    ]


@require_GET
def queue_page(request: HttpRequest) -> HttpResponse:
    """What waits, in order."""
    user, now = cast("User", request.user), timezone.now()
    if request.GET.get("kind") == "noise":
        return _held_back(request, user)
    wanted = queue.Filter.read(request.GET)
    changes = queue.changes_in(wanted, user=user, now=now)
    page = keyset.page(
        queue.for_rows(queue.one_of_each(changes, wanted, user=user, now=now)),
        queue.order_of(wanted),
        size=queue.PAGE_SIZE,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    spoken = preferences_of(request).spoken_marks
    alike = {} if wanted.same else queue.alike_counts(page.rows, wanted, user=user, now=now)
    covers = routing.covers_for(user, now)
    shown = [
        rows.row_of(change, now=now, spoken=spoken, alike=alike.get(change.edit_hash or "", 0), covers=covers)
        for change in page.rows
    ]
    total = changes[: context.CAPPED].count()
    if not shown and not wanted.narrows and not wanted.view:
        return _nothing_waits(request, user, now)
    people = assignments.people_for(user)
    chips = _chips(wanted, user, people)
    sidebar = _sidebar(wanted, user, now)
    return render(
        request,
        "review/queue.html",
        {
            **sidebar,
            "section": "queue",
            "search_text": wanted.q,
            "wanted": wanted,
            "title": sidebar["current_view"]["label"] if sidebar["current_view"] else queue.VIEWS[wanted.view],
            "rows": shown,
            "wider": [] if shown or not wanted.narrows else _wider(wanted, chips, user, now),
            "total": context.capped(total),
            "shown_number": sum(row.alike or 1 for row in shown),
            "clear_same": _address(wanted.without("same")),
            "total_number": total,
            "order_words": queue.ORDER_WORDS[wanted.sort],
            "types": [
                {
                    "label": name,
                    "count": n,
                    "address": _address(queue.Filter(type=(pk,))),
                    "current": wanted.type == (pk,),
                }
                for pk, name, n in queue.type_counts(user=user)
            ],
            "my_verdicts": queue.decided_today(user=user, since=moments.start_of_day(now)),
            "chips": chips,
            "people": [(person.pk, roles.display_name(person)) for person in people if person.pk != user.pk],
            "share_with": saved_views.teams_of(user),
            "savable": bool(wanted.query()) and not sidebar["current_view"],
            "sorts": {name: _address(replace(wanted, sort=name)) for name in queue.ORDERS if name},
            "sorted_by": wanted.sort,
            "list_query": wanted.query(),
            "older": _address(wanted, after=page.older) if page.older else "",
            "newer": _address(wanted, before=page.newer) if page.newer else "",
            "newest": now.isoformat(),
            "clear": _address(queue.Filter(view=wanted.view)),
            "clear_search": _address(wanted.without("q")),
            "noise_address": reverse("queue") + "?kind=noise",
            "reasons": [(r.value, r.label) for r in verdicts.DISMISS_REASONS],
            "shared_reason": Verdict.Reason(rows.shared_reason(shown)) if shown else Verdict.Reason.NOT_RELEVANT,
            "bulk_key": uuid.uuid4().hex[:20],
            "snoozes": moments.snooze_choices(now),
        },
    )


def _nothing_waits(request: HttpRequest, user: User, now: datetime) -> HttpResponse:
    """The empty queue proves that the watch is awake."""
    monitors = Monitor.objects.visible_to(user)
    day = watch.figures(user=user, now=now)
    blocked = monitors.filter(state=MonitorState.BLOCKED, enabled=True).select_related("site")
    last = Verdict.objects.filter(actor=user, action__in=["approve", "dismiss"]).order_by("-pk").first()
    return render(
        request,
        "review/queue_empty.html",
        {
            "section": "queue",
            "monitors": monitors.order_by()[: watch.COUNTED].count(),
            "decided": queue.decided_today(user=user, since=moments.start_of_day(now)),
            "last": last,
            "checks": day.checks,
            "answered": day.answered,
            "blocked": list(blocked[:3]),
            "blocked_count": blocked.order_by()[: context.CAPPED].count(),
            "snoozed": Change.objects.visible_to(user).filter(state=Change.State.SNOOZED)[: context.CAPPED].count(),
            "noise": day.of("noise"),
            "noise_address": reverse("queue") + "?kind=noise",
            "snoozed_address": _address(queue.Filter(view="snoozed")),
            "newest": now.isoformat(),
        },
    )


def _held_back(request: HttpRequest, user: User) -> HttpResponse:
    """Noise that was held back: what nobody was shown, open to everybody."""
    page = keyset.page(
        queue.held_back(user=user),
        queue.HELD_BACK_ORDER,
        size=50,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    base = reverse("queue") + "?kind=noise"
    return render(
        request,
        "review/held_back.html",
        {
            "section": "queue",
            "checks": page.rows,
            "older": f"{base}&after={page.older}" if page.older else "",
            "newer": f"{base}&before={page.newer}" if page.newer else "",
        },
    )


@require_GET
def queue_count(request: HttpRequest) -> JsonResponse:
    """How many wait, and how many of this list came since a moment; asked every 30 seconds by an open page."""
    user, now = cast("User", request.user), timezone.now()
    wanted = queue.Filter.read(request.GET)
    changes = queue.changes_in(wanted, user=user, now=now)
    since = parameters.moment(request.GET.get("since", ""))
    new = 0
    if since is not None:
        new = changes.filter(updated_at__gt=since)[: context.CAPPED].count()
    text = ngettext("%(n)s new since you opened this.", "%(n)s new since you opened this.", new) % {"n": new}
    return JsonResponse(
        {
            "waiting": context.capped(context.waiting_count(request)),
            "new": new,
            "text": text if new else "",
            "link": _("Show them") if new else "",
        }
    )


@require_POST
@deciding
def bulk(request: HttpRequest) -> HttpResponse:
    """Dismiss, assign or snooze the selected rows; each is decided apart, and those taken meanwhile are left alone."""
    user, now = cast("User", request.user), timezone.now()
    back = HttpResponseRedirect(_address(queue.Filter.read_query(request.POST.get("in", ""))))
    seen_versions = parameters.versions(request.POST.getlist("id"))
    ids = list(seen_versions)
    action, _sep, detail = request.POST.get("do", "").partition(":")
    if action not in ("dismiss", "snooze", "assign"):
        return HttpResponseBadRequest(_("Approve, one at a time: an approval says that somebody has read it."))
    if not ids:
        messages.info(request, _("Select rows first."))
        return back
    if len(ids) > BULK_LIMIT:
        return HttpResponseBadRequest(_("At most %(n)s at a time.") % {"n": BULK_LIMIT})
    if action == "dismiss" and detail not in {str(r) for r in verdicts.DISMISS_REASONS}:
        return HttpResponseBadRequest(_("A dismissal has a reason."))
    found = list(queue.for_rows(Change.objects.visible_to(user).filter(pk__in=ids)))
    if action == "assign":
        return _assign_many(request, found, detail, back)
    batch = "".join(c for c in request.POST.get("key", "") if c.isalnum())[:20] or uuid.uuid4().hex[:20]
    done = 0
    for change in found:
        seen = verdicts.Seen(seen_versions[change.pk], change.diff_hash, f"{batch}:{change.pk}"[:40])
        outcome = verdicts.decide(
            change.pk,
            action=Verdict.Action.DISMISS if action == "dismiss" else Verdict.Action.SNOOZE,
            actor=user,
            seen=seen,
            now=now,
            reason=detail if action == "dismiss" else "",
            until=moments.wake_at(detail, now) if action == "snooze" else None,
        )
        done += isinstance(outcome, verdicts.Recorded)
    _tell(request, action, done, len(ids) - done, batch)
    return back


def _assign_many(request: HttpRequest, found: list[Change], detail: str, back: HttpResponseRedirect) -> HttpResponse:
    """Give the rows to oneself, to a person named by id, or to nobody; the undo carries who had them."""
    user = cast("User", request.user)
    to: User | None = user
    if detail == "nobody":
        to = None
    elif detail:
        to = next((p for p in assignments.people_for(user) if str(p.pk) == detail), None)
        if to is None:
            return HttpResponseBadRequest(_("Nobody of your teams is called that."))
    before = assignments.assign(found, to=to, by=user)
    n = len(before)
    if to is None:
        words = ngettext("%(n)s change is nobody's now.", "%(n)s changes are nobody's now.", n) % {"n": n}
    elif to.pk == user.pk:
        words = ngettext("%(n)s change is yours.", "%(n)s changes are yours.", n) % {"n": n}
    else:
        words = ngettext("%(n)s change is now with %(name)s.", "%(n)s changes are now with %(name)s.", n) % {
            "n": n, "name": roles.display_name(to),
        }  # fmt: skip
    undo = signing.dumps([to.pk if to else None, list(before.items())], salt=ASSIGNED) if before else ""
    messages.success(request, words, extra_tags=undo)
    return back


def _undo_assigning(request: HttpRequest, signed: str, user: User) -> str:
    """Who had the rows has them again, except where they went on to somebody else; in words."""
    try:
        to, pairs = signing.loads(signed, salt=ASSIGNED, max_age=86_400)
    except signing.BadSignature:
        return _("There is nothing to undo.")
    visible = set(
        Change.objects.visible_to(user).filter(pk__in=[pk for pk, _old in pairs]).values_list("pk", flat=True)
    )
    done, missed = assignments.restore({pk: old for pk, old in pairs if pk in visible}, now_with=to, by=user)
    return _undone(done, missed)


def _undone(done: int, missed: int) -> str:
    words = ngettext("%(n)s change is back.", "%(n)s changes are back.", done) % {"n": done}
    if missed:
        words += " " + ngettext("%(n)s has moved on since.", "%(n)s have moved on since.", missed) % {"n": missed}
    return words


def _tell(request: HttpRequest, action: str, done: int, left: int, batch: str) -> None:
    words = (
        ngettext("Dismissed %(n)s change.", "Dismissed %(n)s changes.", done)
        if action == "dismiss"
        else ngettext("Snoozed %(n)s change.", "Snoozed %(n)s changes.", done)
    ) % {"n": done}
    if left:
        words += " " + ngettext("%(n)s had been decided already.", "%(n)s had been decided already.", left) % {
            "n": left
        }
    if done:
        messages.success(request, words, extra_tags=batch)
    else:
        messages.warning(request, words)


@require_POST
@deciding
def undo_batch(request: HttpRequest) -> HttpResponse:
    """Take back exactly the rows that one bulk action touched."""
    user, now = cast("User", request.user), timezone.now()
    back = HttpResponseRedirect(_address(queue.Filter.read_query(request.POST.get("in", ""))))
    given = request.POST.get("batch", "")
    if ":" in given:
        messages.info(request, _undo_assigning(request, given, user))
        return back
    batch = "".join(c for c in given if c.isalnum())[:20]
    done = missed = 0
    if len(batch) >= 8:
        visible = Change.objects.visible_to(user)
        for verdict in Verdict.objects.filter(actor=user, change__in=visible, idempotency_key__startswith=f"{batch}:"):
            if verdict.action == Verdict.Action.UNDO:
                continue
            ok = verdicts.undo(verdict, actor=user, key=f"u{uuid.uuid4().hex}", now=now)
            done, missed = done + ok, missed + (not ok)
    messages.info(request, _undone(done, missed))
    return back


@require_POST
@deciding
def save_view(request: HttpRequest) -> HttpResponse:
    """The list as it is narrowed and sorted now, under a name; or a saved view taken away."""
    user = cast("User", request.user)
    wanted = queue.Filter.read_query(request.POST.get("in", ""))
    if (removed := parameters.whole_number(request.POST.get("remove", ""))) is not None:
        gone = saved_views.remove(user, removed)
        messages.info(
            request,
            _("The view “%(name)s” is gone.") % {"name": gone.name} if gone else _("There is no such view of yours."),
        )
        return HttpResponseRedirect(_address(wanted))
    team = parameters.whole_number(request.POST.get("team", ""))
    try:
        view = saved_views.save(user, name=request.POST.get("name", ""), query=wanted.query(), team_id=team)
    except ValidationError as error:
        messages.warning(request, " ".join(error.messages))
        return HttpResponseRedirect(_address(wanted))
    messages.success(request, _("Saved as “%(name)s”.") % {"name": view.name})
    return HttpResponseRedirect(_address(wanted))
