"""What a person says was missed: recorded as a labelled case with the figures of the check that let it pass.

Cases are what people happened to notice. They stop a rise of the cut and ask for a lower one; of how much is missed they
are a lower bound and never part of the audit sample's rate.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from monitoring.models import Check, MissedCase, Monitor, Outcome, Snapshot
from monitoring.services.monitors import log_entry

MISSED = "missed"  # as the record of a monitor names it


def report(
    monitor: Monitor,
    *,
    happened_on: date,
    what: str,
    actor: User,
    now: datetime,
    before: Snapshot | None = None,
    after: Snapshot | None = None,
) -> MissedCase:
    """A new case, in the monitor's record too.

    Its figures are those of the highest-scoring check that was called noise between the two captures, or where none
    are named on that day of the reader's time zone; without such a check they stay unknown. Raises ValidationError for
    a day to come, no words, or captures that aren't two of this monitor in order.
    """
    what = " ".join(what.split())[:1000]
    if not what:
        raise ValidationError(_("Say what was missed."))
    if happened_on > timezone.localdate(now):
        raise ValidationError(_("That day has not come yet."))
    if (before is None) != (after is None):
        raise ValidationError(_("Name both captures or none."))
    if before is not None and after is not None:
        if {before.monitor_id, after.monitor_id} != {monitor.pk} or before.taken_at >= after.taken_at:
            raise ValidationError(_("The first capture has to be the older one."))
        checks = monitor.checks.filter(started_at__gt=before.taken_at, started_at__lte=after.taken_at)
    else:
        midnight = timezone.make_aware(datetime.combine(happened_on, time()))
        checks = monitor.checks.filter(started_at__gte=midnight, started_at__lt=midnight + timedelta(days=1))
    check = _let_pass(checks)
    with transaction.atomic():
        case = MissedCase.objects.create(
            monitor=monitor, happened_on=happened_on, what=what, before=before, after=after, reported_by=actor,
            reported_at=now, **({} if check is None else {
                "check_no": check.check_no, "score": check.score, "distance": check.distance, "reasons": check.reasons,
            }),
        )  # fmt: skip
        log_entry(actor, MISSED, "", _told(case), monitor=monitor).save()
    return case


def _let_pass(checks: QuerySet[Check]) -> Check | None:
    noise = checks.filter(outcome=Outcome.NOISE, score__isnull=False)
    return noise.only("check_no", "score", "distance", "reasons").order_by("-score", "-check_no").first()


def remove(case: MissedCase, *, actor: User, reason: str) -> None:
    """The case counts no longer; who took it away and why stays in the monitor's record. Raises ValidationError without a reason."""
    if not reason.strip():
        raise ValidationError(_("Say why; the reason stays on record."))
    with transaction.atomic():
        if case.delete()[0]:
            log_entry(actor, MISSED, _told(case), "", reason=reason.strip()[:300], monitor_id=case.monitor_id).save()


def _told(case: MissedCase) -> str:
    return f"{case.happened_on:%Y-%m-%d}: {case.what}"
