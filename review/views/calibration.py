"""Calibration: what verdicts say about the cut of a page type. Nothing changes until somebody applies it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from monitoring.calibrating.proposal import ENOUGH
from monitoring.models import CalibrationRun, Change, Monitor, PageType
from monitoring.services import calibrate
from review import calibration_words, charts, roles, wording
from review.models import Verdict
from review.selectors import agreement, learning, missing
from review.services import calibrating as calibrating_service
from review.views import parameters
from review.views.access import calibrating

if TYPE_CHECKING:
    from django.contrib.auth.models import User


MOST_NAMED = 20


def _types(user: User) -> list[PageType]:
    return list(PageType.objects.filter(monitors__in=Monitor.objects.visible_to(user)).distinct())


def _type_or_404(request: HttpRequest, slug: str) -> PageType:
    found = next((t for t in _types(cast("User", request.user)) if t.slug == slug), None)
    if found is None:
        raise Http404("no such page type in your teams")
    return found


@require_GET
def calibrations(request: HttpRequest) -> HttpResponse:
    """The first page type, or a word on why there is none yet."""
    types = _types(cast("User", request.user))
    if types:
        return HttpResponseRedirect(reverse("calibration", args=[types[0].slug]))
    return render(request, "review/calibration_empty.html", {"section": "calibration"})


def _run_of(page_type: PageType) -> CalibrationRun | None:
    return page_type.calibration_runs.filter(state=CalibrationRun.State.DONE).order_by("-pk").first()


def _row(found: learning.Learned, cut: float, threshold: int, words: str) -> dict[str, Any]:
    """A row of the what-if table; precision in percent."""
    effect = learning.effect(found, cut=cut, threshold=threshold)
    precision = None if effect.precision is None else round(100 * effect.precision)
    return {"words": words, "effect": effect, "precision": precision, "missed": effect.missed_keys[:MOST_NAMED]}


def _asked(run: CalibrationRun, user: User) -> list[Change]:
    """The changes whose approval waits for a second opinion and that the person may see."""
    keys = [key for note in run.statistics.get("notes", []) for key in note["data"].get("changes", [])]
    return list(Change.objects.visible_to(user).filter(pk__in=keys).select_related("monitor")[:MOST_NAMED])


def _quality(page_type: PageType, *, user: User, now: datetime) -> dict[str, Any]:
    """How sure verdicts are, in words; the changes on which two people differ."""
    found = agreement.quality(page_type, user=user, now=now)
    told = {str(Verdict.Action.APPROVE): _("approve"), str(Verdict.Action.DISMISS): _("dismiss")}
    return {
        "pace": calibration_words.pace(found),
        "agreed": calibration_words.agreement(found),
        "disagreements": [
            {"change": one.change, "at": one.at, "verdict": told[one.verdict], "opinion": told.get(one.opinion, "?")}
            for one in found.disagreements
        ],
    }


@require_GET
def calibration_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Three histograms of scores on one axis, the cut now and proposed, and what each cut would have done."""
    user, now = cast("User", request.user), timezone.now()
    page_type = _type_or_404(request, slug)
    found = learning.learned(page_type, user=user, now=now)
    run = _run_of(page_type)
    proposed = run.proposed_cut if run else None
    cuts = [_row(found, page_type.cut, page_type.threshold, _("now"))]
    if run is not None and proposed is not None:
        bits = page_type.threshold if run.proposed_threshold is None else run.proposed_threshold
        cuts.append(_row(found, proposed, bits, _("proposed")))
        cuts.append(_row(found, min(1.0, proposed * 1.25), bits, _("a quarter higher")))
    lines: list[dict[str, Any]] = [
        {"x": charts.score_x(page_type.cut), "words": f"{wording.decimal(page_type.cut, 2)} {_('now')}", "css": "thr"}
    ]
    if proposed is not None:
        lines.append(
            {"x": charts.score_x(proposed), "words": f"{wording.decimal(proposed, 2)} {_('proposed')}", "css": "prop"}
        )
    return render(
        request,
        "review/calibration.html",
        {
            "section": "calibration",
            "page_type": page_type,
            "types": _types(user),
            "strips": [
                (_("noise"), charts.histogram("noise", found.noise), 12),
                (_("dismissed"), charts.histogram("dism", found.dismissed), 122),
                (_("approved"), charts.histogram("appr", found.approved), 232),
            ],
            "axis": [(charts.score_x(value), wording.decimal(value, 1)) for value in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)],
            "lines": lines,
            "verdict_count": len(found.approved) + len(found.dismissed),
            "monitor_count": Monitor.objects.visible_to(user).filter(page_type=page_type).count(),
            "approved_count": len(found.approved),
            "dismissed_count": len(found.dismissed),
            "enough": ENOUGH,
            "can_propose": min(len(found.approved), len(found.dismissed)) >= ENOUGH,
            "smallest_approved": min(found.approved) if found.approved else None,
            "cuts": cuts,
            "run": run,
            "said": calibration_words.said(run) if run else [],
            "asked": _asked(run, user) if run else [],
            "missed": calibration_words.miss_rate(missing.missed_by(user, now=now, page_type=page_type)),
            **_quality(page_type, user=user, now=now),
            "missed_cases": list(learning.missed_cases(page_type, user=user, now=now)[:MOST_NAMED]),
            "applied": list(
                page_type.calibration_runs.filter(
                    state__in=[CalibrationRun.State.APPLIED, CalibrationRun.State.REVERTED]
                ).select_related("applied_by")[:10]
            ),
            "allowed": roles.may_calibrate(request.user),
        },
    )


@require_POST
@calibrating
def propose(request: HttpRequest, slug: str) -> HttpResponse:
    """A proposal from the verdicts on record; nothing changes yet."""
    user, now = cast("User", request.user), timezone.now()
    page_type = _type_or_404(request, slug)
    try:
        run = calibrating_service.propose(page_type, actor=user, now=now)
        if run.state == CalibrationRun.State.UNCHANGED:
            messages.info(request, " ".join([_("Nothing to change."), *calibration_words.said(run)]))
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
    return HttpResponseRedirect(reverse("calibration", args=[slug]))


@require_POST
@calibrating
def apply(request: HttpRequest, slug: str) -> HttpResponse:
    """Put a proposal in force or take it back, with a reason; both stand in the record."""
    user, now = cast("User", request.user), timezone.now()
    page_type = _type_or_404(request, slug)
    run_id = parameters.whole_number(request.POST.get("run", ""))
    run = page_type.calibration_runs.filter(pk=run_id).first() if run_id is not None else None
    if run is None:
        raise Http404("no such proposal")
    reason = request.POST.get("reason", "").replace("\x00", "")[:300]
    try:
        if request.POST.get("do") == "revert":
            calibrate.revert_run(run, actor=user, reason=reason, now=now)
            messages.success(request, _("Taken back: the earlier values are in force."))
        else:
            calibrate.apply_run(run, actor=user, reason=reason, now=now)
            messages.success(request, _("Applied. Past verdicts stay as they are."))
    except ValidationError as problem:
        messages.warning(request, " ".join(problem.messages))
    return HttpResponseRedirect(reverse("calibration", args=[slug]))
