"""Checks: a small row for every visit."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.indexes import InWriteOrder
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


# Reasons of a visit that met the baseline's text: such a row repeats nothing that can be looked up (docs/adr/0018).
MARKUP_ONLY = "markup-only"
UNCHANGED = frozenset({"same-bytes", "not-modified", MARKUP_ONLY})
SAID = {
    MARKUP_ONLY: {"code": MARKUP_ONLY, "text": "Every block says the same; only markup differs.", "data": {}},
}
FIXED, BY_PRICE = "fixed-interval", "expected-change"


class Check(models.Model):
    """One visit, whatever came of it.

    Nearly all visits find nothing, so their rows leave out what another row says already. Hashes, fields, vantage and detector
    version that are empty on an unchanged visit are those of an earlier check; `as_then` looks them up. Reasons and plan that
    are empty follow from the row itself: `told` and `planned_because`.
    """

    # No index of its own: that of `check_once` begins with it.
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="checks", db_index=False)
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
    # From where it was asked; null: as before. No index: nobody looks checks up by it, and every visit would pay for one.
    vantage = models.ForeignKey(
        Vantage, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    snapshot = models.ForeignKey(
        Snapshot, on_delete=models.SET_NULL, null=True, blank=True, related_name="checks", db_index=False
    )
    detector_version = models.CharField(max_length=20, blank=True)
    next_check_at = models.DateTimeField(null=True, blank=True)
    plan_reason = models.CharField(max_length=30, blank=True)
    # Why this visit was made, where not as the visit before had planned it: asked for, a signal, new.
    why = models.CharField(max_length=30, blank=True, default="", db_default="")
    # What the next visit was planned with: the rate as known after this one, the price; null before there was any.
    rate_a = models.FloatField(null=True, blank=True)
    rate_b = models.FloatField(null=True, blank=True)
    plan_price = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("check")
        verbose_name_plural = _("checks")
        constraints = [
            # the last fence: two workers can't both write the same visit. Its index is also that of a monitor's history:
            # WHERE monitor ORDER BY check_no DESC
            models.UniqueConstraint(fields=["monitor", "check_no"], name="check_once"),
            models.CheckConstraint(condition=models.Q(outcome__in=Outcome.values), name="check_outcome_known"),
            models.CheckConstraint(
                condition=models.Q(distance__isnull=True) | models.Q(distance__lte=64), name="check_distance_bits"
            ),
        ]
        indexes = [
            # what was found in a span of time: WHERE started_at BETWEEN ..
            InWriteOrder(fields=["started_at"], name="check_started"),
            # what was held back, newest first: WHERE outcome = noise ORDER BY id DESC
            models.Index(fields=["id"], name="check_noise", condition=models.Q(outcome="noise")),
            # deleting a snapshot asks who refers to it; few checks have one
            models.Index(fields=["snapshot"], name="check_snapshot", condition=models.Q(snapshot__isnull=False)),
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

    @property
    def told(self) -> list[dict[str, Any]]:
        """The reasons, also where they are no more than the row's own reason."""
        if not self.reasons and self.reason in SAID:
            return [SAID[self.reason]]
        return list(self.reasons or ())

    @property
    def planned_because(self) -> str:
        """Why the next visit was planned for then, also where it is the usual: the interval, or without one the price."""
        if self.plan_reason or self.next_check_at is None:
            return self.plan_reason
        return FIXED if self.plan_price is None else BY_PRICE

    def as_then(self, name: str) -> Any:
        """A hash, the fields, the vantage or the detector version of this visit, looked up where the row says "as before"."""
        value = getattr(self, name)
        if value or self.reason not in UNCHANGED or (name == "raw_sha256" and self.reason == MARKUP_ONLY):
            return value  # the bytes of other markup are not known any more
        earlier = Check.objects.filter(monitor=self.monitor_id, check_no__lt=self.check_no, outcome__in=_COMPARED)
        if name in ("text_hash", "fingerprint", "raw_sha256"):
            earlier = earlier.filter(rebased=True)
        empty = {f"{name}__isnull": True} if value is None else {name: type(value)()}
        known = earlier.exclude(**empty).order_by("-check_no").values_list(name, flat=True).first()
        return value if known is None else known


_COMPARED = (Outcome.NONE, Outcome.NOISE, Outcome.CONTENT, Outcome.FIELD)
