"""Canaries in words: what each plants, what was seen of it, and what to do where it was not."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import Canary, Outcome, Planting
from monitoring.services.canaries import Standing

CELLS = {"seen": "c", "wrong": "e", "missed": "e", "void": "o", "waiting": "s"}


def name(canary: Canary) -> str:
    """What the canary plants."""
    return {
        "date": _("Only a date moves"),
        "entry": _("An entry of a list is replaced"),
        "clause": _("A clause turns into its opposite, and the encoding changes (Japanese)"),
        "price": _("A price moves"),
        "challenge": _("A challenge page instead of the page"),
    }.get(canary.key, canary.monitor.name)


def seen(row: Planting) -> str:
    """What was seen of a planting; empty while that is open."""
    label = str(Outcome(row.seen).label) if row.seen else ""
    if row.state == Planting.State.SEEN:
        return label
    if row.state == Planting.State.WRONG and not row.recorded:
        return _("seen as %(kind)s, and not recorded") % {"kind": label}
    if row.state == Planting.State.WRONG:
        return _("missed: read as %(kind)s") % {"kind": label}
    if row.state == Planting.State.MISSED:
        return _("missed: %(kind)s") % {"kind": label} if label else _("missed: no visit came")
    return ""


def told(standing: Standing) -> str:
    """The last plantings as a sentence, for who can't see them drawn."""
    counts: dict[str, int] = {}
    for row in standing.plantings:
        label = str(Planting.State(row.state).label)
        counts[label] = counts.get(label, 0) + 1
    listed = ", ".join(f"{n} × {label}" for label, n in counts.items())
    total = len(standing.plantings)
    return ngettext("The last planting: %(list)s", "The last %(n)s plantings: %(list)s", total) % {
        "n": total,
        "list": listed,
    }


def next_step(row: Planting) -> str:
    """What to do about one that was not noticed as planned."""
    if row.state == Planting.State.MISSED and row.seen in ("", Outcome.ERROR):
        return _(
            "Look whether workers reach the web server at TIDELINE_SAMPLE_ORIGIN and whether visits are on time: “manage.py status”."
        )
    if not row.recorded:
        return _("Look at the log of the workers: the visit found it, and its change or field was not written.")
    return _("Take no silence for granted until this is over. Run “manage.py replay” and “manage.py doctor”.")
