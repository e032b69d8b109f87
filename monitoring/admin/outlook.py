"""Words in the admin for what settings will come to."""

from __future__ import annotations

from datetime import datetime

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from monitoring.models import Monitor
from monitoring.services import outlook
from monitoring.services.intervals import format_interval

_ROUND_S = 60


def unfit_words(fit: outlook.Fit) -> str:
    """That a site does not bear what is promised, and what would fit; empty where it does."""
    if fit.is_enough:
        return ""
    text = _(
        "Not all promises can be kept: %(site)s bears %(allowed)s visits a day, and what is promised of its pages needs %(needed)s. It would fit with a gap of %(gap)s s."
    ) % {
        "site": fit.site.name,
        "allowed": number_format(int(fit.allowed)),
        "needed": number_format(round(fit.needed)),
        "gap": number_format(fit.gap_s, 2),
    }
    if fit.promise_s is not None:
        shortest = _(" Of this page alone no more can be promised than at least every %(promise)s.")
        text += shortest % {"promise": format_interval(-(-fit.promise_s // _ROUND_S) * _ROUND_S)}
    return text


def outlook_words(monitor: Monitor, *, now: datetime) -> str:
    """What the weight and the promise cost: the interval and cost now, with four times and a quarter of the weight."""
    found = outlook.outlook(monitor, now=now)
    if found is None:
        return _("Visits keep to their interval; a budget of the team would plan them.")
    quarter, same, four = (
        {"interval": format_interval(-(-seconds // _ROUND_S) * _ROUND_S), "cost": number_format(cost, 1)}
        for _times, seconds, cost in found.weights
    )
    text = _("Now every %(interval)s, %(cost)s fetches a day.") % same
    text += " " + _("Four times the weight: every %(interval)s, %(cost)s.") % four
    text += " " + _("A quarter of it: every %(interval)s, %(cost)s.") % quarter
    if found.promise_cost >= 0.05:
        text += " " + _("The promise costs %(cost)s fetches a day more.") % {
            "cost": number_format(found.promise_cost, 1)
        }
    return text
