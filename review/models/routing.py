"""Who gets what: default assignees and recipients of alerts, and who stands in for whom."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models import Monitor, PageType, Site, Team


class Route(models.Model):
    """For a team's monitors, or those of one page type, one site, or one alone: who gets new changes and who is alerted.

    The most specific route that says something decides, for each of the two by itself.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="routes", verbose_name=_("team"))
    page_type = models.ForeignKey(
        PageType, on_delete=models.CASCADE, null=True, blank=True, related_name="routes", verbose_name=_("page type")
    )
    site = models.ForeignKey(
        Site, on_delete=models.CASCADE, null=True, blank=True, related_name="routes", verbose_name=_("site")
    )
    monitor = models.ForeignKey(
        Monitor, on_delete=models.CASCADE, null=True, blank=True, related_name="routes", verbose_name=_("monitor")
    )
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("assignee"),
        help_text=_("Gets every new change; empty: as the next wider route says, or nobody."),
    )
    told = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="+",
        verbose_name=_("alerted"),
        help_text=_("Who is mailed at once; nobody chosen: as the next wider route says, or the whole team."),
    )

    class Meta:
        ordering = ["team", "pk"]
        verbose_name = _("route")
        verbose_name_plural = _("routes")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(page_type__isnull=True, site__isnull=True)
                | models.Q(page_type__isnull=True, monitor__isnull=True)
                | models.Q(site__isnull=True, monitor__isnull=True),
                name="route_one_scope",
            ),
            # one route for each scope of a team; they are also what finds a monitor's routes
            models.UniqueConstraint(
                fields=["team"],
                condition=models.Q(page_type__isnull=True, site__isnull=True, monitor__isnull=True),
                name="route_of_team",
            ),
            models.UniqueConstraint(
                fields=["team", "page_type"], condition=models.Q(page_type__isnull=False), name="route_of_page_type"
            ),
            models.UniqueConstraint(
                fields=["team", "site"], condition=models.Q(site__isnull=False), name="route_of_site"
            ),
            models.UniqueConstraint(
                fields=["team", "monitor"], condition=models.Q(monitor__isnull=False), name="route_of_monitor"
            ),
        ]

    def __str__(self) -> str:
        return str(self.monitor or self.site or self.page_type or self.team)

    @property
    def rank(self) -> int:
        """How specific it is: 3 a monitor, 2 a site, 1 a page type, 0 the team."""
        return 3 if self.monitor_id else 2 if self.site_id else 1 if self.page_type_id else 0


class Absence(models.Model):
    """That a person is away on some days, both included, and who looks after what is theirs."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="absence")
    from_on = models.DateField(_("away from"))
    to_on = models.DateField(_("until, included"))
    cover = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=_("covered by")
    )

    class Meta:
        verbose_name = _("absence")
        verbose_name_plural = _("absences")
        constraints = [
            models.CheckConstraint(condition=models.Q(from_on__lte=models.F("to_on")), name="absence_in_order"),
            models.CheckConstraint(condition=~models.Q(cover=models.F("user")), name="absence_covered_by_another"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} from {self.from_on} to {self.to_on}"
