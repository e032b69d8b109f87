"""Alarms of sites in words: what was seen, and what to do about it."""

from __future__ import annotations

from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from monitoring.models import Alarm, Outcome
from review import wording


def reason(alarm: Alarm) -> str:
    """What was seen, with its figures."""
    facts = alarm.facts if isinstance(alarm.facts, dict) else {}

    def number(name: str, places: int = 1) -> str:
        value = facts.get(name, 0)
        return wording.decimal(float(value) if isinstance(value, int | float) else 0.0, places)

    def percent(name: str) -> str:
        value = facts.get(name, 0)
        return wording.decimal(100 * (float(value) if isinstance(value, int | float) else 0.0), 0)

    said = {
        Alarm.Kind.SILENT: _(
            "No change for %(days)s days, where one came every %(usual)s days; the last %(visits)s visits showed no difference at all."
        )
        % {"days": number("days"), "usual": number("usual_days"), "visits": number("visits", 0)},
        Alarm.Kind.NOISE_SCORE: _(
            "Noise scores %(now)s in the last 14 days and scored %(before)s in the 76 days before."
        )
        % {"now": number("now", 2), "before": number("before", 2)},
        Alarm.Kind.NOISE_DISTANCE: _(
            "Noise moves the text by %(now)s bits in the last 14 days and moved it by %(before)s in the 76 days before."
        )
        % {"now": number("now"), "before": number("before")},
        Alarm.Kind.BLOCKED: _("%(share)s %% of the last day's visits met a block page.") % {"share": percent("share")},
        Alarm.Kind.CAPTURES: _("%(share)s %% of the visits of three days brought no page; usual are %(usual)s %%.")
        % {"share": percent("share"), "usual": percent("usual")},
        Alarm.Kind.SLOW: _("A visit takes %(now)s ms and took %(before)s ms before.")
        % {"now": number("now_ms", 0), "before": number("before_ms", 0)},
        Alarm.Kind.CANARY: _canary(facts),
    }
    return said[Alarm.Kind(alarm.kind)]


def _canary(facts: dict[str, Any]) -> str:  # Any: JSON
    """What was planted when, and what was seen of it."""
    labels = {str(outcome.value): str(outcome.label) for outcome in Outcome}
    planted = parse_datetime(str(facts.get("planted_at", "")))
    words = {
        "at": wording.day_words(planted, "clock") if planted else "?",
        "expected": labels.get(str(facts.get("expected", "")), "?"),
        "seen": labels.get(str(facts.get("seen", "")), ""),
    }
    if not words["seen"]:
        return _("What was planted on %(at)s should have been noticed as %(expected)s; no visit came.") % words
    return _("What was planted on %(at)s should have been noticed as %(expected)s and was seen as %(seen)s.") % words


def next_step(alarm: Alarm) -> str:
    """What a person does about it."""
    return {
        Alarm.Kind.SILENT: _(
            "Open a page in a browser and compare it with the last snapshot: the site may serve us an old copy. A second vantage tells."
        ),
        Alarm.Kind.NOISE_SCORE: _("The template changes. Look at what is held back and calibrate the page type anew."),
        Alarm.Kind.NOISE_DISTANCE: _("The template changes. Calibrate the monitors anew, or narrow their region."),
        Alarm.Kind.BLOCKED: _("Ask the site's owner for access, visit less often, or choose another vantage."),
        Alarm.Kind.CAPTURES: _("Look at the reasons of the last checks; addresses may have moved."),
        Alarm.Kind.CANARY: _(
            "Until this is over take no silence for granted. Run “manage.py status” and look at the canary's last checks."
        ),
        Alarm.Kind.SLOW: _("Visit less often, or look at whether the site has a fault."),
    }[Alarm.Kind(alarm.kind)]
