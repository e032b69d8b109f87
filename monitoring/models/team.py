"""Teams own monitors; who is not a member doesn't see them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Counts(models.TextChoices):
    """What a budget counts."""

    COST = "cost", _("what a visit costs")
    CHECKS = "checks", _("visits")


class Team(models.Model):
    """A group of people who share monitors."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="teams", blank=True, verbose_name=_("members")
    )
    budget = models.PositiveIntegerField(
        _("budget, fetches a day"),
        null=True,
        blank=True,
        help_text=_(
            "Pages without an interval of their own share it by how often they change; empty: fixed intervals."
        ),
    )
    budget_counts = models.CharField(
        _("counted"),
        max_length=10,
        choices=Counts.choices,
        default=Counts.COST,
        db_default=Counts.COST,
        help_text=_("A visit costs a fetch; one that is answered “not modified” a tenth, one by a browser more."),
    )
    # What the hourly job found (services.budget); a fetch is the unit.
    price = models.FloatField(default=1.0, db_default=1.0, editable=False)
    trim = models.FloatField(
        default=1.0, db_default=1.0, editable=False
    )  # slow correction of the budget that is planned with
    steady_at = models.DateTimeField(null=True, blank=True, editable=False)  # until then spend tells nothing
    priced_at = models.DateTimeField(null=True, blank=True, editable=False)
    replan = models.BooleanField(default=False, db_default=False, editable=False)  # all visits that lie ahead, once
    planned_spend = models.FloatField(default=0.0, db_default=0.0, editable=False)
    least_spend = models.FloatField(default=0.0, db_default=0.0, editable=False)  # what the promises alone need
    measured_spend = models.FloatField(default=0.0, db_default=0.0, editable=False)  # of the last 24 hours
    forced_spend = models.FloatField(default=0.0, db_default=0.0, editable=False)  # what is planned only by promises
    # The hard cap (services.bucket): fetches that may still be spent, as of `tokens_at`; below 0 only promises go on.
    tokens = models.FloatField(null=True, blank=True, editable=False)
    tokens_at = models.DateTimeField(null=True, blank=True, editable=False)
    waiting = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # due visits that wait for it

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(budget__isnull=True) | models.Q(budget__gte=1), name="team_budget_range"
            )
        ]
        verbose_name = _("team")
        verbose_name_plural = _("teams")

    def __str__(self) -> str:
        return self.name
