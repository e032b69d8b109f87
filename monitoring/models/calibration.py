"""Calibration runs: thresholds from quiet re-fetches and from verdicts, in the open."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor
from monitoring.models.page_type import PageType


class CalibrationRun(models.Model):
    """One proposal of a threshold or cut; a person applies it."""

    class Basis(models.TextChoices):
        REFETCH = "refetch", _("quiet re-fetches")
        VERDICTS = "verdicts", _("verdicts")
        FIRST_LOOK = "first-look", _("first look")
        QUIET = "quiet", _("scheduled re-fetches")

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("proposal ready")
        APPLIED = "applied", _("applied")
        REVERTED = "reverted", _("reverted")
        FAILED = "failed", _("failed")
        UNCHANGED = "unchanged", _("nothing to change")

    monitor = models.ForeignKey(
        Monitor, on_delete=models.CASCADE, null=True, blank=True, related_name="calibration_runs"
    )
    page_type = models.ForeignKey(
        PageType, on_delete=models.CASCADE, null=True, blank=True, related_name="calibration_runs"
    )
    basis = models.CharField(_("basis"), max_length=10, choices=Basis.choices)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    fetches = models.PositiveSmallIntegerField(_("fetches"), default=5)
    fetched = models.PositiveSmallIntegerField(_("fetched"), default=0)
    distances = models.JSONField(default=list, blank=True)
    scores = models.JSONField(default=list, blank=True)
    statistics = models.JSONField(default=dict, blank=True)
    before_threshold = models.PositiveSmallIntegerField(null=True, blank=True)
    before_cut = models.FloatField(null=True, blank=True)
    proposed_threshold = models.PositiveSmallIntegerField(_("proposed threshold"), null=True, blank=True)
    proposed_cut = models.FloatField(_("proposed cut"), null=True, blank=True)
    problem = models.CharField(max_length=300, blank=True)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    applied_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("calibration run")
        verbose_name_plural = _("calibration runs")
        constraints = [
            models.CheckConstraint(
                condition=(
                    models.Q(monitor__isnull=False, page_type__isnull=True)
                    | models.Q(monitor__isnull=True, page_type__isnull=False)
                ),
                name="calibration_one_subject",
            )
        ]

    def __str__(self) -> str:
        return f"{self.basis} {self.state}"
