"""Monitors: the list, and one page with its past."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from monitoring.models import CalibrationRun, Change, Monitor, MonitorState, PageType, Site
from monitoring.models.monitor import MonitorQuerySet
from monitoring.services import calibrate
from monitoring.services import monitors as service
from review import dataset, monitor_facts, promises, roles, standing, wording
from review.entries import line_of
from review.selectors import history, keyset, watch
from review.views import missed, parameters, spans
from review.views.access import calibrating, deciding, monitor_or_404

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ORDER = keyset.Order(("name", "pk"))
TABLED = 50  # checks of the chart that its table has
SITES_OFFERED = 500


@require_GET
def monitor_list(request: HttpRequest) -> HttpResponse:
    """Every monitor of the user's teams, by name."""
    user = cast("User", request.user)
    visible = Monitor.objects.visible_to(user)
    found = visible.select_related("site", "page_type")
    query = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    state, site, page_type = (request.GET.get(name, "") for name in ("state", "site", "type"))
    kept = {}
    if query:
        found = found.filter(Q(name__icontains=query) | Q(url__icontains=query) | Q(site__name__icontains=query))
        kept["q"] = query
    if state in MonitorState.values:
        found, kept["state"] = found.filter(state=state), state
    if (site_id := parameters.whole_number(site)) is not None:
        found, kept["site"] = found.filter(site=site_id), site
    if (type_id := parameters.whole_number(page_type)) is not None:
        found, kept["type"] = found.filter(page_type=type_id), page_type
    page = keyset.page(
        found, ORDER, size=50, after_cursor=request.GET.get("after", ""), before_cursor=request.GET.get("before", "")
    )
    now = timezone.now()
    return render(
        request,
        "review/monitors.html",
        {
            "section": "monitors",
            "now": now,
            "lines": lines_of(page.rows, now),
            "total": None if query else found.order_by()[: watch.COUNTED].count(),
            "query": query,
            "state": state,
            "states": MonitorState.choices,
            "site": site,
            "sites": _sites_offered(visible, site_id),
            "type": page_type,
            "types": PageType.objects.filter(Exists(visible.filter(page_type=OuterRef("pk")))).values_list(
                "pk", "name"
            ),
            **page.addresses(reverse("monitors"), kept),
            "filtered": bool(kept),
        },
    )


def lines_of(rows: list[Monitor], now: datetime) -> list[dict[str, Any]]:
    """Monitors for `_monitor_rows.html`, with when they are next and how many changes wait; one query. Any: a context."""
    waiting = dict(
        Change.objects.filter(monitor__in=[m.pk for m in rows], state=Change.State.OPEN)
        .values_list("monitor")
        .annotate(n=Count("pk"))
        .order_by()
    )
    return [{"monitor": m, "waiting": waiting.get(m.pk, 0), "next": standing.next_words(m, now)} for m in rows]


def _sites_offered(visible: MonitorQuerySet, chosen: int | None) -> list[tuple[int, str]]:
    """Sites for the filter: the first by name, and the one that is chosen; of ten thousand nobody picks from a list."""
    theirs = Site.objects.filter(Exists(visible.filter(site=OuterRef("pk")))).values_list("pk", "name")
    found = list(theirs.order_by("name", "pk")[:SITES_OFFERED])
    if chosen is not None and all(pk != chosen for pk, _name in found):
        found += theirs.filter(pk=chosen)
    return found


@require_GET
def monitor_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One monitor: next visit and why, checks by kind, scores over time, history."""
    now = timezone.now()
    monitor = monitor_or_404(request, pk)
    span_name, span = spans.chosen(request.GET.get("span", ""))
    kind = request.GET.get("kind", "") if request.GET.get("kind", "") in history.HISTORY_KINDS else ""
    entries, older = history.history(monitor, kind=kind, before=parameters.whole_number(request.GET.get("before", "")))
    counts = history.counts_by_outcome(monitor, since=now - history.YEAR)
    states = dict(monitor.changes.values_list("state").annotate(n=Count("pk")).order_by())
    last = monitor.checks.defer("delta").order_by("-check_no").first()
    total = sum(counts.values())
    failed = counts.get("blocked", 0) + counts.get("error", 0)
    rules = list(monitor.ignore_rules.select_related("created_by")) + list(monitor.page_type.ignore_rules.all())
    here = reverse("monitor", args=[pk])
    plotted = history.plotted(monitor, now=now, span=span)
    return render(
        request,
        "review/monitor.html",
        {
            "section": "monitors",
            "monitor": monitor,
            "now": now,
            "next_visit": standing.next_words(monitor, now),
            "distrusted": monitor.distrusted_until is not None and monitor.distrusted_until > now,
            "standing": standing.standings([monitor], now=now)[0],
            "interval": wording.long_span(timedelta(seconds=monitor.usual_interval_s)),
            "promised": wording.long_span(timedelta(seconds=monitor.effective_max_s)),
            "planned": promises.next_sentence(monitor, now),
            "chance": promises.chance_sentence(monitor),
            "rate": promises.rate_sentence(
                monitor,
                checks=sum(counts[name] for name in ("none", "noise", "content", "field")),
                changes=counts["content"] + counts["field"],
                over=min(now - monitor.created_at, history.YEAR),
            ),
            "broken": promises.broken_promise(monitor, now=now),
            "counts": counts,
            "total": total,
            "most": history.COUNTED if total == history.COUNTED else 0,
            "failed": failed,
            "answered": 100 * (total - failed) / total if total else None,
            "states": states,
            "decided": states.get("approved", 0) + states.get("dismissed", 0),
            "changes": sum(states.values()),
            "approved": states.get("approved", 0),
            "dismissed": states.get("dismissed", 0),
            "open_change": monitor.changes.filter(state__in=["open", "snoozed"]).only("pk", "state").first(),
            **monitor_facts.of_monitor(monitor, now=now),
            "chart": history.chart_of(monitor, now=now, span=span, width=860, height=250, rows=plotted),
            "plotted": plotted[: -TABLED - 1 : -1],
            "tabled": TABLED,
            "span": span_name,
            "spans": spans.choices(here, {"kind": kind}),
            "entries": [line_of(entry) for entry in entries],
            "older": f"{here}?{urlencode({'kind': kind, 'before': older})}" if older else "",
            "kind": kind,
            "kinds": [
                (name, label, f"{here}?{urlencode({'kind': name})}" if name else here)
                for name, label in (
                    ("", _("Everything")),
                    ("content", _("Changes")),
                    ("noise", _("Noise")),
                    ("failed", _("Failed")),
                )
            ],
            "last": last,
            "snapshots": history.kept_snapshots(monitor),
            **dataset.of_monitor(monitor, now=now, span=span),
            "calibration": _calibration_of(monitor),
            **missed.panel(monitor),
            "may_calibrate": roles.may_calibrate(request.user),
            "rules": [rule for rule in rules if not rule.is_learned],
            "learned": [rule for rule in rules if rule.is_learned],
        },
    )


@require_POST
@deciding
def check_now(request: HttpRequest, pk: int) -> HttpResponse:
    """Plan a visit at once."""
    monitor = monitor_or_404(request, pk)
    if service.check_now([monitor.pk], now=timezone.now()):
        messages.success(request, _("A visit is planned; its result appears here within a minute."))
    else:
        messages.warning(request, _("This monitor is paused or held; an administrator can resume it."))
    return HttpResponseRedirect(monitor.get_absolute_url())


def _calibration_of(monitor: Monitor) -> CalibrationRun | None:
    """The newest calibration that somebody asked for: under way, proposed, in force, taken back or failed."""
    return (
        monitor.calibration_runs.filter(basis=CalibrationRun.Basis.REFETCH)
        .select_related("applied_by")
        .order_by("-pk")
        .first()
    )


@require_POST
@calibrating
def calibrate_monitor(request: HttpRequest, pk: int) -> HttpResponse:
    """Start a calibration, put what it proposes in force, or take it back; the last two with a reason."""
    user, now = cast("User", request.user), timezone.now()
    monitor = monitor_or_404(request, pk)
    wanted = request.POST.get("do", "")
    reason = request.POST.get("reason", "").replace("\x00", "")[:300]
    try:
        if wanted == "start":
            calibrate.start_run(monitor, actor=user)
            messages.success(request, _("A worker fetches the page a few times; the proposal appears here."))
        elif wanted in ("apply", "revert"):
            run = _calibration_of(monitor)
            if run is None or run.pk != parameters.whole_number(request.POST.get("run", "")):
                raise ValidationError(_("A newer calibration of this monitor is there; look at it first."))
            if wanted == "apply":
                calibrate.apply_run(run, actor=user, reason=reason, now=now)
                messages.success(request, _("Applied. Past verdicts stay as they are."))
            else:
                calibrate.revert_run(run, actor=user, reason=reason, now=now)
                messages.success(request, _("Taken back: the earlier values are in force."))
        else:
            raise Http404("no such step")
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
    return HttpResponseRedirect(f"{monitor.get_absolute_url()}#calibration")
