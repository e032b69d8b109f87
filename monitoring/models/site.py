"""Sites: the hosts under watch."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Site(models.Model):
    """One host, as a reader knows it, and what politeness towards it needs."""

    name = models.CharField(_("name"), max_length=120)
    host = models.CharField(
        _("host"), max_length=253, unique=True, help_text=_("With the port where it is not the usual one.")
    )
    gap_s = models.FloatField(
        _("gap, seconds"), default=1.0, help_text=_("Least time between two requests to this host.")
    )
    next_free_at = models.DateTimeField(_("next free at"), null=True, blank=True, editable=False)

    class Meta:
        ordering = ["name"]
        verbose_name = _("site")
        verbose_name_plural = _("sites")
        constraints = [models.CheckConstraint(condition=models.Q(gap_s__gte=0, gap_s__lte=3600), name="site_gap_range")]

    def __str__(self) -> str:
        return self.name
