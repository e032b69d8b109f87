"""What a proposal says beside its figures, in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.calibrating.audit import Missed
from monitoring.models import CalibrationRun
from review import wording
from review.selectors.agreement import Quality
from review.selectors.missing import MissedEach


def said(run: CalibrationRun) -> list[str]:
    """Sentences on what is known of the step and what a person should look at before it is applied."""
    between, notes = run.statistics.get("between"), run.statistics.get("notes", [])
    sentences = [*_step(run, between)] if between else []
    return sentences + [_note(note["code"], note["data"]) for note in notes]


def _step(run: CalibrationRun, between: dict[str, object]) -> list[str]:
    old, new = run.before_cut, run.proposed_cut
    sentences = []
    seen, upper = _number(between["seen"]), _number(between["upper"])
    if seen:
        sentences.append(
            ngettext(
                "%(n)s verdict lies between the old and the new values; with 95%% confidence at most %(share)s of such changes matter. That says nothing of what lies elsewhere.",
                "%(n)s verdicts lie between the old and the new values; with 95%% confidence at most %(share)s of such changes matter. That says nothing of what lies elsewhere.",
                int(seen),
            )
            % {"n": int(seen), "share": percent(upper)}
        )
    if old is not None and new is not None and new < old:
        found, alarms = between["more_found"], between["more_alarms"]
        if isinstance(found, list | tuple) and isinstance(alarms, list | tuple):
            sentences.append(
                _(
                    "By the audit sample the lower cut would have found %(found)s more changes (%(low)s to %(high)s) and brought %(alarms)s more to dismiss (%(alow)s to %(ahigh)s) in this time."
                )
                % dict(
                    zip(
                        ("found", "low", "high", "alarms", "alow", "ahigh"),
                        (round(value) for value in (*found, *alarms)),
                        strict=True,
                    )
                )
            )
    return sentences


def _note(code: str, data: dict[str, object]) -> str:
    if code == "audit-needed":
        return _(
            "An approved change lies close above the cut (%(score)s). What lies below is not known: lowering the cut needs %(needed)s verdicts on audit samples there, and there are %(seen)s."
        ) % {
            "score": wording.decimal(_number(data["smallest"]), 2),
            "needed": data["needed"],
            "seen": data["seen"],
        }
    if code == "below-quiet":
        return _(
            "%(n)s of %(of)s calibrated pages move further by themselves than this threshold, up to %(largest)s bits."
        ) % {"n": data["monitors"], "of": data["of"], "largest": data["largest"]}
    changes = data.get("changes")
    count = len(changes) if isinstance(changes, list) else 0
    if code == "second-opinion":
        return ngettext(
            "%(n)s approval lies far below all others: no cut passes it, and none is lowered for it before another person has said what they think.",
            "%(n)s approvals lie far below all others: no cut passes them, and none is lowered for them before another person has said what they think.",
            count,
        ) % {"n": count}
    return ngettext(
        "%(n)s approval that lies far below all others was contradicted by another person and is left out.",
        "%(n)s approvals that lie far below all others were contradicted by another person and are left out.",
        count,
    ) % {"n": count}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def percent(share: float) -> str:
    """A share as people read it."""
    return _("%(n)s %%") % {"n": wording.decimal(100 * share, 0 if share >= 0.1 else 1)}


@dataclass(frozen=True, slots=True)
class MissedLine:
    """The miss rate of a page type in a few words, and where its calibration is."""

    name: str
    slug: str
    words: str


def missed_lines(found: MissedEach) -> tuple[str, list[MissedLine]]:
    """The miss rate at all as a sentence, and each sampled page type's in short; without any sample no types."""
    lines = [MissedLine(kind.name, kind.slug, _rate(missed)) for kind, missed in found.by_type]
    return miss_rate(found.at_all), lines if found.at_all.decided else []


def _rate(missed: Missed) -> str:
    if missed.rate is None:
        return _("not known yet")
    return _("%(rate)s (%(low)s to %(high)s)") % {
        "rate": percent(missed.rate),
        "low": percent(missed.rate_low),
        "high": percent(missed.rate_high),
    }


def miss_rate(missed: Missed) -> str:
    """The miss rate of the audit sample with its interval, in one sentence."""
    rate = missed.rate
    if rate is None:
        return _("Not known: no audit sample has a verdict yet. The audit share of a page type sends some noise here.")
    return ngettext(
        "An estimated %(rate)s of changes were missed in 90 days (95%% interval %(low)s to %(high)s; %(n)s audit sample decided).",
        "An estimated %(rate)s of changes were missed in 90 days (95%% interval %(low)s to %(high)s; %(n)s audit samples decided).",
        missed.decided,
    ) % {
        "rate": percent(rate),
        "low": percent(missed.rate_low),
        "high": percent(missed.rate_high),
        "n": missed.decided,
    }


def pace(found: Quality) -> str:
    """How long a decision takes, in one sentence."""
    if found.median_s is None:
        return _("No decision with a known time in 180 days.")
    template = ngettext(
        "%(n)s decision in 180 days; half of them took no longer than %(seconds)s seconds on screen.",
        "%(n)s decisions in 180 days; half of them took no longer than %(seconds)s seconds on screen.",
        found.decided,
    )
    return template % {"n": found.decided, "seconds": wording.decimal(found.median_s, 1)}


def agreement(found: Quality) -> str:
    """How often second opinions agree, with the interval, in one sentence."""
    if not found.compared:
        return _("No second opinion yet. Anybody but who decided gives one on the page of a decided change.")
    template = ngettext(
        "%(agreed)s of %(n)s second opinion agrees with the verdict (95%% interval of the share %(low)s to %(high)s).",
        "%(agreed)s of %(n)s second opinions agree with the verdict (95%% interval of the share %(low)s to %(high)s).",
        found.compared,
    )
    return template % {
        "agreed": found.agreed, "n": found.compared, "low": percent(found.low), "high": percent(found.high),
    }  # fmt: skip
