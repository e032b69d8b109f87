"""Comparisons: the same page from two vantages, so that what differs by place can be told from what changes."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor
from monitoring.models.vantage import Vantage


class VantageComparison(models.Model):
    """One page asked for from two vantages at about the same time, and what differs. Opens no change, moves no baseline."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="comparisons")
    first = models.ForeignKey(Vantage, on_delete=models.CASCADE, related_name="+", verbose_name=_("first vantage"))
    second = models.ForeignKey(Vantage, on_delete=models.CASCADE, related_name="+", verbose_name=_("second vantage"))
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    problem = models.CharField(max_length=300, blank=True)
    # per side: final address, status, title, language, size, when, and the sentence of a page that is no page
    facts = models.JSONField(default=list, blank=True)
    diff = models.JSONField(default=dict, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("comparison of vantages")
        verbose_name_plural = _("comparisons of vantages")
        constraints = [
            models.CheckConstraint(condition=~models.Q(first=models.F("second")), name="comparison_two_vantages"),
            # one at a time: a second click asks for nothing
            models.UniqueConstraint(
                fields=["monitor"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="comparison_one_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id} on monitor {self.monitor_id}"
