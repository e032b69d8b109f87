"""What was foreseen of changes against what was found, and what is known of pages nobody has watched yet."""

from __future__ import annotations

from django.db import models

from monitoring.models.page_type import PageType
from monitoring.models.site import Site
from monitoring.models.team import Team


class ForecastBin(models.Model):
    """Checks of one day and team whose chance of finding a change was foreseen within one tenth, and what they found.

    A sum over a sample of the checks, so that a page with a year of them reads a few thousand rows.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="forecasts")
    on = models.DateField()
    tenth = models.PositiveSmallIntegerField()  # 0: below 10 %, 9: from 90 % on
    checks = models.PositiveIntegerField(default=0)
    expected = models.FloatField(default=0.0)  # the sum of the chances
    found = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "on", "tenth"], name="forecast_bin_once")]
        indexes = [
            # retention: WHERE on < ..
            models.Index(fields=["on"], name="forecast_bin_day"),
        ]

    def __str__(self) -> str:
        return f"team {self.team_id} {self.on} tenth {self.tenth}"


class Prior(models.Model):
    """How often a page changes before it was watched: `days` for half a change, of all pages, of a page type, or of a site.

    Found once a month from the pages under watch; those that began with an older one keep it.
    """

    page_type = models.OneToOneField(PageType, on_delete=models.CASCADE, null=True, blank=True, related_name="prior")
    site = models.OneToOneField(Site, on_delete=models.CASCADE, null=True, blank=True, related_name="prior")
    days = models.FloatField()
    monitors = models.PositiveIntegerField()
    fitted_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(page_type__isnull=True) | models.Q(site__isnull=True), name="prior_of_one_kind"
            ),
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(page_type__isnull=True, site__isnull=True),
                name="prior_of_all_once",
            ),
            models.CheckConstraint(condition=models.Q(days__gt=0), name="prior_days_range"),
        ]

    def __str__(self) -> str:
        return f"half a change in {self.days:.1f} days"
