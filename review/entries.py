"""A monitor's history in words: one line an entry."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from monitoring.models import Check
from monitoring.services.missed import MISSED
from review import explaining, roles, visits, wording
from review.models import Verdict
from review.selectors.history import Entry
from review.templatetags import tideline

DECIDED = frozenset({"approved", "dismissed"})
FAMILIAR = frozenset({200, 304})
# The score and the distance stand first; the third reason is what made it noise.
NOISE_REASON = 2


@dataclass(frozen=True, slots=True)
class Line:
    """An entry ready to print: its shape, its strong beginning and the rest."""

    entry: Entry
    icon: str
    strong: str
    rest: str


def _setting(entry: Entry) -> tuple[str, str]:
    row = entry.setting
    assert row is not None  # noqa: S101 - the caller looked
    if row.name == "created":
        return _("Added"), f", {row.actor_name}" if row.actor_name else ""
    if row.name == MISSED and row.new:
        return _("Named as missed"), f" ({row.actor_name}): {row.new}"
    if row.name == MISSED:
        return _("No longer a missed case"), f" ({row.actor_name}): {row.reason}. {row.old}"
    rest = _("set from %(old)s to %(new)s") % {"old": row.old or "–", "new": row.new or "–"}
    return row.name, f" {rest}" + (f", {row.actor_name}" if row.actor_name else "") + (
        f": {row.reason}" if row.reason else ""
    )


def _quiet(entry: Entry) -> tuple[str, str]:
    words = _("%(n)s checks since %(since)s") % {"n": entry.runs, "since": tideline.when(entry.until)}
    return _("Unchanged"), f", {words}"


def _verdict(verdict: Verdict) -> str:
    words = f". {capfirst(verdict.get_action_display())}: {roles.display_name(verdict.actor)}"
    return words + (f", {verdict.get_reason_display()}" if verdict.reason else "")


def _noise(check: Check) -> str:
    told = explaining.sentences(check.told)[NOISE_REASON : NOISE_REASON + 1]
    return "".join(f". {sentence.strong} {sentence.rest}".replace("  ", " ").rstrip() for sentence in told)


def _check(entry: Entry) -> tuple[str, str]:
    check = entry.check
    assert check is not None  # noqa: S101 - the caller looked
    rest = ""
    if check.score is not None and entry.kind != "none":
        rest += f", {wording.decimal(check.score, 2)}"
    if check.status and check.status not in FAMILIAR:
        rest += f", {check.status}"
    if entry.verdict is not None:
        rest += _verdict(entry.verdict)
    elif check.detail:
        rest += f". {visits.visit_words(check)}"
    elif entry.kind == "noise":
        rest += _noise(check)
    name = _("first capture") if check.reason == "first-capture" else check.get_outcome_display()
    return capfirst(name), rest


def line_of(entry: Entry) -> Line:
    """An entry as a line of the history."""
    if entry.setting is not None:
        strong, rest = _setting(entry)
    elif entry.runs > 1:
        strong, rest = _quiet(entry)
    else:
        strong, rest = _check(entry)
    state = entry.change.state if entry.change is not None else ""
    return Line(entry, state if state in DECIDED else entry.kind, strong, rest)
