"""Checks: a small row for every visit."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor
from monitoring.models.snapshot import Snapshot
from monitoring.models.vantage import Vantage
from monitoring.scheduling import Rate, chance_of_change


class Outcome(models.TextChoices):
    """What a check found. Closed list; finer causes are reason codes."""

    NONE = "none", _("unchanged")
    NOISE = "noise", _("noise")
    CONTENT = "content", _("content")
    FIELD = "field", _("field")
    BLOCKED = "blocked", _("blocked")
    ERROR = "error", _("error")
    GONE = "gone", _("gone")


class Check(models.Model):
    """One visit, whatever came of it."""

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="checks")
    check_no = models.PositiveBigIntegerField()
    started_at = models.DateTimeField(_("started"))
    duration_ms = models.PositiveIntegerField(default=0)
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome.choices)
    reason = models.CharField(_("reason"), max_length=40, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    not_modified = models.BooleanField(default=False)
    size_bytes = models.PositiveIntegerField(default=0)
    final_url = models.CharField(max_length=2000, blank=True)
    raw_sha256 = models.CharField(max_length=64, blank=True)
    text_hash = models.CharField(max_length=32, blank=True)
    fingerprint = models.CharField(max_length=16, blank=True)
    distance = models.PositiveSmallIntegerField(_("distance"), null=True, blank=True)
    threshold = models.PositiveSmallIntegerField(null=True, blank=True)
    score = models.FloatField(_("score"), null=True, blank=True)
    cut = models.FloatField(null=True, blank=True)
    visible_difference = models.BooleanField(default=False)
    reasons = models.JSONField(default=list, blank=True)
    delta = models.BinaryField(default=b"", blank=True)
    quiet_slots = models.BinaryField(default=b"", blank=True)  # what moved between this capture and one just before it
    rebased = models.BooleanField(default=False)  # this check's capture became the baseline
    fields = models.JSONField(default=dict, blank=True)
    # From where it was asked. No index: nobody looks checks up by it, and every visit would pay for one.
    vantage = models.ForeignKey(
        Vantage, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    snapshot = models.ForeignKey(Snapshot, on_delete=models.SET_NULL, null=True, blank=True, related_name="checks")
    detector_version = models.CharField(max_length=20)
    next_check_at = models.DateTimeField(null=True, blank=True)
    plan_reason = models.CharField(max_length=30, blank=True)
    # Why this visit was made, where not as the visit before had planned it: asked for, a signal, new.
    why = models.CharField(max_length=30, blank=True, default="", db_default="")
    # What the next visit was planned with: the rate as known after this one, the price; null before there was any.
    rate_a = models.FloatField(null=True, blank=True)
    rate_b = models.FloatField(null=True, blank=True)
    plan_price = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at", "-pk"]
        verbose_name = _("check")
        verbose_name_plural = _("checks")
        constraints = [
            # the last fence: two workers can't both write the same visit
            models.UniqueConstraint(fields=["monitor", "check_no"], name="check_once"),
            models.CheckConstraint(condition=models.Q(outcome__in=Outcome.values), name="check_outcome_known"),
            models.CheckConstraint(
                condition=models.Q(distance__isnull=True) | models.Q(distance__lte=64), name="check_distance_bits"
            ),
        ]
        indexes = [
            # a monitor's history: WHERE monitor ORDER BY started_at DESC
            models.Index(fields=["monitor", "-started_at"], name="check_of_monitor"),
            # rates of each kind over time: WHERE started_at BETWEEN .. GROUP BY outcome
            models.Index(fields=["started_at", "outcome"], name="check_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.monitor_id} #{self.check_no} {self.outcome}"

    @property
    def next_chance(self) -> float | None:
        """Chance, as known at this visit, that the next one finds a change; None where nothing was planned."""
        if self.rate_a is None or self.rate_b is None or self.next_check_at is None:
            return None
        days = (self.next_check_at - self.started_at).total_seconds() / 86_400
        return chance_of_change(Rate(self.rate_a, self.rate_b), days)
