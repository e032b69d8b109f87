"""Plans and promises: what the whole watch costs and keeps, and whether what it foresees comes true."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from monitoring.models import Site, Team
from review import alarms, charts, promises, wording
from review.selectors import fleet

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LOOKED_BACK = timedelta(days=90)
ENOUGH = 30  # checks below which a share says nothing
SHOWN_TEAMS = 50
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Spend:
    """One team's line: fetches a day as planned, measured, allowed, and forced by promises."""

    team: Team
    planned: str
    measured: str
    budget: str
    forced: str
    least: str
    price: str
    waiting: int
    over: bool


@require_GET
def fleet_page(request: HttpRequest) -> HttpResponse:
    """Alarms, spend by team, hosts at their limit, the oldest broken promises, and foreseen against found."""
    user, now = cast("User", request.user), timezone.now()
    teams = list(fleet.teams(user).order_by("name")[:SHOWN_TEAMS])
    tenths = fleet.tenths(user, since=(now - LOOKED_BACK).date())
    drawing = charts.calibration(tenths, write=_percent)
    return render(
        request,
        "review/fleet.html",
        {
            "section": "fleet",
            "alarms": [alarms.line(one) for one in alarms.open_alarms(user)],
            "past": [alarms.line(one) for one in alarms.past_alarms(user, most=SHOWN)],
            "stopped": alarms.stopped_sentence(now),
            "state": fleet.state(user),
            "oldest": promises.told(list(fleet.broken(user, now=now).order_by("deadline_at", "pk")[:SHOWN]), now),
            "spends": [_spend(team) for team in teams],
            "sites": [(site, _site_words(site)) for site in fleet.full_sites(user)],
            "outages": fleet.outages(),
            "drawing": drawing,
            "dots": [_dot_words(dot) for dot in drawing.dots],
            "verdict": _verdict(tenths),
        },
    )


def _percent(share: float) -> str:
    return _("%(share)s %%") % {"share": round(100 * share)}


def _number(value: float) -> str:
    return wording.decimal(value, 0 if value >= 10 else 1)


def _spend(team: Team) -> Spend:
    priced = team.priced_at is not None
    budgeted = priced and team.budget is not None
    share = team.forced_spend / team.planned_spend if budgeted and team.planned_spend else 0.0
    return Spend(
        team=team,
        planned=_number(team.planned_spend) if priced else "–",
        measured=_number(team.measured_spend) if priced else "–",
        budget=wording.decimal(team.budget, 0) if team.budget is not None else "–",
        forced=_percent(share) if budgeted else "–",
        least=_number(team.least_spend) if budgeted else "–",
        price=wording.decimal(team.price, 3) if budgeted else "–",
        waiting=team.waiting,
        over=team.budget is not None and team.least_spend > team.budget * 1.01,
    )


def _site_words(site: Site) -> str:
    if site.least_load > 1:
        return alarms.host_sentence(site)
    return _("%(share)s %% of the visits it bears are planned; its pages are visited less often than they are worth.") % {
        "share": round(100 * min(site.load, 9.99))
    }  # fmt: skip


def _dot_words(dot: charts.Dot) -> dict[str, str]:
    return {"foreseen": _percent(dot.foreseen), "found": _percent(dot.found), "checks": wording.decimal(dot.checks, 0)}


def _verdict(tenths: list[charts.Tenth]) -> str:
    """Whether what was foreseen came true, in one sentence."""
    checks = sum(one.checks for one in tenths)
    if checks < ENOUGH:
        return _("Too few checks yet to compare.")
    expected, found = sum(one.expected for one in tenths), sum(one.found for one in tenths)
    low, high = charts.wilson(found, checks)
    words = {
        "expected": _percent(expected / checks),
        "found": _percent(found / checks),
        "n": wording.decimal(checks, 0),
    }
    if low <= expected / checks <= high:
        return _("Of %(n)s checks %(expected)s were expected to find a change, and %(found)s did.") % words
    if found > expected:
        return _("Pages change more often than is foreseen: %(found)s of %(n)s checks found a change, and %(expected)s were expected to.") % words  # fmt: skip
    return _("Pages change less often than is foreseen: %(found)s of %(n)s checks found a change, and %(expected)s were expected to.") % words  # fmt: skip
