"""The queue: the list, its live count, and what is done to several rows at once."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from monitoring.models import Change, Check, Monitor, MonitorState, PageType, Site
from review import context, roles, rows
from review.middleware import preferences_of
from review.models import Assignment, Verdict
from review.selectors import keyset, queue
from review.services import verdicts
from review.views import moments, parameters
from review.views.access import deciding

if TYPE_CHECKING:
    from django.contrib.auth.models import User

BULK_LIMIT = 100


def _choices(user: User) -> dict[str, list[tuple[str, str]]]:
    """What the filter form offers: only sites, types and people of the user's teams."""
    monitors = Monitor.objects.visible_to(user)
    sites = Site.objects.filter(monitors__in=monitors).distinct().values_list("pk", "name")
    types = PageType.objects.filter(monitors__in=monitors).distinct().values_list("pk", "name")
    people = user.__class__.objects.filter(teams__in=user.teams.all(), is_active=True).distinct()
    return {
        "site": [(str(pk), name) for pk, name in sites],
        "type": [(str(pk), name) for pk, name in types],
        "kind": [(str(value), str(label)) for value, label in Change.Kind.choices],
        "age": [(name, str(label)) for name, (label, _span, _older) in queue.AGES.items()],
        "priority": [(str(value), str(label)) for value, label in queue.PRIORITIES.items()],
        "assignee": [(str(person.pk), roles.display_name(person)) for person in people],
    }


def _labels() -> dict[str, str]:
    return {
        "type": _("Type"),
        "site": _("Site"),
        "kind": _("Kind"),
        "age": _("Age"),
        "priority": _("Priority"),
        "assignee": _("Assignee"),
    }


def _chips(wanted: queue.Filter, user: User) -> list[dict[str, Any]]:
    chips = []
    choices = _choices(user)
    for name, label in _labels().items():
        value = getattr(wanted, name)
        options = choices[name]
        chosen = next((text for key, text in options if key == str(value)), "")
        hidden = [
            (key, str(val))
            for key in ("view", "sort", "q", *_labels())
            if key != name and (val := getattr(wanted, key)) not in ("", None)
        ]
        chips.append(
            {
                "name": name,
                "label": label,
                "chosen": chosen,
                "value": str(value) if value not in ("", None) else "",
                "options": options,
                "hidden": hidden,
                "remove": _address(wanted.without(name)),
            }
        )
    return chips


def _address(wanted: queue.Filter, **extra: str) -> str:
    query = wanted.query()
    more = "&".join(f"{name}={value}" for name, value in extra.items() if value)
    joined = "&".join(part for part in (query, more) if part)
    return reverse("queue") + (f"?{joined}" if joined else "")


def _views(wanted: queue.Filter, user: User, now: datetime) -> list[dict[str, Any]]:
    counts = queue.view_counts(user=user, now=now)
    return [
        {
            "label": label,
            "count": counts[name],
            "address": _address(queue.Filter(view=name)),
            "current": wanted.view == name and not wanted.narrows,
        }
        for name, label in queue.VIEWS.items()
        if name != "audit" or counts["audit"] or wanted.view == "audit"
    ]


@require_GET
def queue_page(request: HttpRequest) -> HttpResponse:
    """What waits, in order."""
    user, now = cast("User", request.user), timezone.now()
    if request.GET.get("kind") == "noise":
        return _held_back(request, user)
    wanted = queue.Filter.read(request.GET.dict())
    changes = queue.changes_in(wanted, user=user, now=now)
    page = keyset.page(
        queue.for_rows(changes),
        queue.order_of(wanted),
        size=queue.PAGE_SIZE,
        after_cursor=request.GET.get("after", ""),
        before_cursor=request.GET.get("before", ""),
    )
    spoken = preferences_of(request).spoken_marks
    shown = [rows.row_of(change, now=now, spoken=spoken) for change in page.rows]
    total = changes[: context.CAPPED].count()
    if not shown and not wanted.narrows and not wanted.view:
        return _nothing_waits(request, user, now)
    return render(
        request,
        "review/queue.html",
        {
            "section": "queue",
            "search_text": wanted.q,
            "wanted": wanted,
            "title": queue.VIEWS[wanted.view],
            "rows": shown,
            "total": context.capped(total),
            "total_number": total,
            "order_words": queue.ORDER_WORDS[wanted.sort],
            "views": _views(wanted, user, now),
            "types": [
                {"label": name, "count": n, "address": _address(queue.Filter(type=pk)), "current": wanted.type == pk}
                for pk, name, n in queue.type_counts(user=user)
            ],
            "my_verdicts": queue.decided_today(user=user, since=moments.start_of_day(now)),
            "chips": _chips(wanted, user),
            "sorts": {name: _address(replace(wanted, sort=name)) for name in queue.ORDERS if name},
            "sorted_by": wanted.sort,
            "list_query": wanted.query(),
            "older": _address(wanted, after=page.older) if page.older else "",
            "newer": _address(wanted, before=page.newer) if page.newer else "",
            "newest": now.isoformat(),
            "clear": _address(queue.Filter(view=wanted.view)),
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
    visible = monitors.values("pk")
    day = Check.objects.filter(monitor__in=visible, started_at__gte=now - timedelta(hours=24))
    blocked = monitors.filter(state=MonitorState.BLOCKED, enabled=True).select_related("site")
    last = Verdict.objects.filter(actor=user, action__in=["approve", "dismiss"]).order_by("-pk").first()
    return render(
        request,
        "review/queue_empty.html",
        {
            "section": "queue",
            "monitors": monitors.count(),
            "decided": queue.decided_today(user=user, since=moments.start_of_day(now)),
            "last": last,
            "checks": day.count(),
            "answered": day.exclude(outcome__in=["blocked", "error"]).count(),
            "blocked": list(blocked[:3]),
            "blocked_count": blocked.count(),
            "snoozed": Change.objects.visible_to(user).filter(state=Change.State.SNOOZED).count(),
            "noise": day.filter(outcome="noise").count(),
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
    wanted = queue.Filter.read(request.GET.dict())
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


def _selected(values: list[str]) -> dict[int, int]:
    """The rows of a selection with the version that was on screen; a row's box carries both as "12-3"."""
    found = {}
    for value in values:
        pk_text, _sep, version_text = value.partition("-")
        pk = parameters.whole_number(pk_text)
        version = parameters.whole_number(version_text, most=parameters.MOST_COUNT)
        if pk is not None and version is not None:
            found[pk] = version
    return found


@require_POST
@deciding
def bulk(request: HttpRequest) -> HttpResponse:
    """Dismiss, assign or snooze the selected rows; each is decided apart, and those taken meanwhile are left alone."""
    user, now = cast("User", request.user), timezone.now()
    back = HttpResponseRedirect(_address(queue.Filter.read_query(request.POST.get("in", ""))))
    seen_versions = _selected(request.POST.getlist("id"))
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
        for change in found:
            Assignment.objects.update_or_create(change=change, defaults={"assignee": user, "assigned_by": user})
        messages.success(
            request, ngettext("%(n)s change is yours.", "%(n)s changes are yours.", len(found)) % {"n": len(found)}
        )
        return back
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
    batch = "".join(c for c in request.POST.get("batch", "") if c.isalnum())[:20]
    done = missed = 0
    if len(batch) >= 8:
        visible = Change.objects.visible_to(user)
        for verdict in Verdict.objects.filter(actor=user, change__in=visible, idempotency_key__startswith=f"{batch}:"):
            if verdict.action == Verdict.Action.UNDO:
                continue
            ok = verdicts.undo(verdict, actor=user, key=f"u{uuid.uuid4().hex}", now=now)
            done, missed = done + ok, missed + (not ok)
    words = ngettext("%(n)s change is back.", "%(n)s changes are back.", done) % {"n": done}
    if missed:
        words += " " + ngettext("%(n)s has moved on since.", "%(n)s have moved on since.", missed) % {"n": missed}
    messages.info(request, words)
    return HttpResponseRedirect(_address(queue.Filter.read_query(request.POST.get("in", ""))))
