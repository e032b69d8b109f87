"""What one row of the queue shows, worked out before the template prints it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.models import Change
from review import charts, rendering, roles, wording
from review.models import Verdict
from review.selectors.queue import LATE_AFTER, PRIORITIES
from review.selectors.routing import Covers


@dataclass(frozen=True, slots=True)
class Flag:
    """A tag on a row: words, a tone (`warn`, `bad` or empty) and an icon."""

    words: str
    tone: str = ""
    icon: str = "note"


@dataclass(frozen=True, slots=True)
class Row:
    """One row, ready to print."""

    pk: int
    version: int
    title: str
    lang: str
    site: str
    site_id: int
    page_type: str
    say: SafeString
    added: int
    removed: int
    unit: str
    shape: str
    meter: charts.Meter | None
    age: str
    late: bool
    priority: int
    priority_words: str
    bars: tuple[bool, bool, bool]
    assignee: str
    assignee_initials: str
    away: str
    flags: list[Flag]
    suggested: str
    alike: int = 0
    same: str = ""


OFTEN = 2  # returns from which a page is said to come and go

FLAG_WORDS = {
    "blocked-before": lambda: Flag(_("Blocked before this check"), "warn", "blocked"),
    "return": lambda: Flag(_("Back to an earlier text"), "", "undo"),
    "returned": lambda: Flag(_("Has gone back since"), "", "undo"),
    "hidden-text": lambda: Flag(_("Hidden text"), "warn", "eye"),
    "contradiction": lambda: Flag(_("Data contradicts the text"), "warn", "note"),
}


def flags_of(change: Change) -> list[Flag]:
    """The tags of a change: what the detector flagged and what its kind says."""
    found: list[Flag] = []
    if change.kind == Change.Kind.GONE:
        found.append(Flag(_("Page gone"), "bad", "cross"))
    elif change.kind == Change.Kind.REDIRECT:
        found.append(Flag(_("New address"), "warn", "next"))
    elif change.kind == Change.Kind.TYPE:
        found.append(Flag(_("New document type"), "warn", "note"))
    elif change.kind == Change.Kind.AUDIT:
        found.append(Flag(_("Audit sample"), "", "eye"))
    elif change.kind == Change.Kind.FIELD:
        found.append(Flag(_("Field changed"), "", "note"))
    for flag in change.flags or []:
        code = str(flag.get("code", "")) if isinstance(flag, dict) else str(flag)
        if code in FLAG_WORDS:
            found.append(FLAG_WORDS[code]())
    if times := _comings(change):
        words = ngettext("Comes and goes: back %(n)s time", "Comes and goes: back %(n)s times", times) % {"n": times}
        found.append(Flag(words, "", "undo"))
    if wording.is_date_like(change):
        found.append(Flag(_("Looks like a date"), "", "note"))
    return found


def _comings(change: Change) -> int:
    """How often the page went back to a text that it had shown; 0 where that is not a habit.

    While a change waits, newer captures fold into it and it counts them itself. What the page did before is what the
    judgement remembered.
    """
    told = [r.get("data", {}).get("times", 0) for r in change.reasons or [] if r.get("code") == "flapping"]
    times = max([int(n) for n in told if isinstance(n, int | float)], default=0)
    return max(times, change.returns if change.returns >= OFTEN else 0)


def row_of(change: Change, *, now: datetime, spoken: bool = True, alike: int = 0, covers: Covers | None = None) -> Row:
    """A change as a row; reads only what `for_rows` selects.

    alike: on how many pages it is the same. covers: who is away, to say who looks after it meanwhile.
    """
    age = now - change.opened_at
    assignment = getattr(change, "assignment", None)
    language = change.prior.language
    unit = _("chars") if language[:2] in ("ja", "zh") else _("words")
    return Row(
        pk=change.pk,
        version=change.version,
        title=change.monitor.name,
        lang=language,
        site=change.monitor.site.name,
        site_id=change.monitor.site_id,
        page_type=change.monitor.page_type.name,
        say=rendering.segments_html(wording.segments_of_say(change.say), spoken=spoken),
        added=change.added,
        removed=change.removed,
        unit=unit,
        shape=rendering.shape(places=change.places),
        meter=_meter(change),
        age=wording.span(age),
        late=age > LATE_AFTER,
        priority=change.priority,
        priority_words=str(PRIORITIES.get(change.priority, "")),
        bars=(True, change.priority >= 1, change.priority >= 2),
        assignee=roles.display_name(assignment.assignee) if assignment else "",
        assignee_initials=roles.initials(assignment.assignee) if assignment else "",
        away=away_words(assignment.assignee, covers) if assignment and covers else "",
        flags=flags_of(change),
        suggested=wording.suggested_reason(change),
        alike=alike if alike > 1 else 0,
        same=change.edit_hash or "",
    )


def away_words(person: User, covers: Covers) -> str:
    """ "away until 12 Dec, covered by Mara Klein"; empty for somebody who is there."""
    absence = covers.away.get(person.pk)
    if absence is None:
        return ""
    until, stand_in = date_format(absence.to_on, "SHORT_DATE_FORMAT"), covers.stand_in(person)
    if stand_in is None:
        return _("away until %(until)s, nobody covers") % {"until": until}
    return _("away until %(until)s, covered by %(name)s") % {"until": until, "name": roles.display_name(stand_in)}


def _meter(change: Change) -> charts.Meter | None:
    """The score against the cut; none where a field raised the change, whose text stayed under the cut."""
    if change.kind == Change.Kind.FIELD and (change.score or 0.0) < (change.cut or 0.0):
        return None
    return charts.meter(change.score, change.cut, write=wording.decimal)


def shared_reason(rows: list[Row]) -> str:
    """The dismissal reason that suits a whole list, where its rows agree; else "date or counter" isn't guessed."""
    reasons = {row.suggested for row in rows}
    return reasons.pop() if len(reasons) == 1 else Verdict.Reason.NOT_RELEVANT
