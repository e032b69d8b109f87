"""Canaries: pages whose changes are known beforehand, and what was seen of each planting."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.check import Outcome
from monitoring.models.monitor import Monitor


class Canary(models.Model):
    """One page with a known schedule: a planting every `every_s` seconds, at `phase_s` after the epoch and its multiples."""

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, related_name="canary")
    key = models.SlugField(
        _("name"), max_length=40, unique=True
    )  # of canaries.pages, or its own for somebody else's page
    expected = models.CharField(_("expected"), max_length=10, choices=Outcome.choices)
    every_s = models.PositiveIntegerField(_("every, seconds"))
    phase_s = models.PositiveIntegerField(default=0)
    begins_at = models.DateTimeField()  # plantings from here on are looked for
    looked_at = models.DateTimeField(null=True, blank=True)  # by the job

    class Meta:
        ordering = ["pk"]
        verbose_name = _("canary")
        verbose_name_plural = _("canaries")
        constraints = [
            models.CheckConstraint(condition=models.Q(every_s__gte=60), name="canary_every"),
        ]

    def __str__(self) -> str:
        return self.key


class Planting(models.Model):
    """One planting on a canary, and what came of it."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SEEN = "seen", _("noticed as planned")
        WRONG = "wrong", _("noticed as the wrong kind")
        MISSED = "missed", _("missed")
        VOID = "void", _("says nothing")

    canary = models.ForeignKey(Canary, on_delete=models.CASCADE, related_name="plantings", db_index=False)
    planted_at = models.DateTimeField(_("planted"))
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    seen = models.CharField(_("seen"), max_length=10, choices=Outcome.choices, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    recorded = models.BooleanField(default=True)  # what was found stands where people would see it

    class Meta:
        ordering = ["-planted_at"]
        verbose_name = _("planting")
        verbose_name_plural = _("plantings")
        constraints = [
            # a canary's plantings, the newest first: WHERE canary ORDER BY planted_at DESC
            models.UniqueConstraint(fields=["canary", "planted_at"], name="planting_once"),
        ]

    def __str__(self) -> str:
        return f"{self.state} on canary {self.canary_id}"
