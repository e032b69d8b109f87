"""Missed cases: changes that a person knows of and that nothing raised."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor
from monitoring.models.snapshot import Snapshot


class MissedCase(models.Model):
    """ "You missed this": a day, what changed, and where it is known the figures of the check that let it pass."""

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="missed_cases")
    happened_on = models.DateField(_("day"))
    what = models.CharField(_("what was missed"), max_length=1000)
    # The captures between which it happened, both or neither.
    before = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    after = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    # Of the check that called it noise, as they were; null where no such check is known.
    check_no = models.PositiveBigIntegerField(null=True, blank=True)
    score = models.FloatField(_("score"), null=True, blank=True)
    distance = models.PositiveSmallIntegerField(_("distance"), null=True, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    reported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reported_at = models.DateTimeField(_("reported"))

    class Meta:
        ordering = ["-happened_on", "-pk"]
        verbose_name = _("missed case")
        verbose_name_plural = _("missed cases")
        constraints = [
            models.CheckConstraint(condition=~models.Q(what=""), name="missed_case_says_what"),
            models.CheckConstraint(
                condition=models.Q(before__isnull=True, after__isnull=True)
                | models.Q(before__isnull=False, after__isnull=False),
                name="missed_case_both_captures",
            ),
            models.CheckConstraint(
                condition=models.Q(score__isnull=True) | models.Q(check_no__isnull=False), name="missed_case_score_of"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.happened_on} on monitor {self.monitor_id}"
