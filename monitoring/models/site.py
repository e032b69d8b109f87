"""Sites: the hosts under watch."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _


class RobotsPolicy(models.TextChoices):
    """What a site's robots.txt means for us."""

    OBEY = "obey", _("obey")
    WARN = "warn", _("fetch, and say so")
    IGNORE = "ignore", _("ignore")


# Why a site is left alone, by `rest_reason`.
REST_WORDS = {
    "retry-after": _("the site asked for it"),
    "refused": _("it refused us"),
    "unreachable": _("it could not be reached"),
}


class Site(models.Model):
    """One host, as a reader knows it, and what politeness towards it needs."""

    name = models.CharField(_("name"), max_length=120)
    host = models.CharField(
        _("host"), max_length=253, unique=True, help_text=_("With the port where it is not the usual one.")
    )
    gap_s = models.FloatField(
        _("gap, seconds"), default=1.0, help_text=_("Least time between two requests to this host.")
    )
    cookies = models.TextField(
        _("cookies"), blank=True, help_text=_("One a line, each as NAME=secret:REFERENCE; sent to this host only.")
    )
    login_url = models.CharField(
        _("address to sign in at"), max_length=2000, blank=True, help_text=_("For browsers; empty: nobody signs in.")
    )
    login_steps = models.JSONField(
        _("steps to sign in"), default=list, blank=True, help_text=_("What a browser does there; a list as JSON.")
    )
    next_free_at = models.DateTimeField(_("next free at"), null=True, blank=True, editable=False)

    # robots.txt
    robots_policy = models.CharField(
        _("robots.txt"), max_length=10, choices=RobotsPolicy.choices, default=RobotsPolicy.OBEY
    )
    robots_reason = models.CharField(
        _("why it is ignored"), max_length=300, blank=True, help_text=_("Needed where robots.txt is ignored.")
    )
    crawl_delay_s = models.FloatField(_("crawl delay, seconds"), default=0.0, editable=False)

    # what the site asked for, or cannot bear
    rest_until = models.DateTimeField(_("left alone until"), null=True, blank=True, editable=False)
    rest_reason = models.CharField(max_length=40, blank=True, editable=False)
    refusals = models.PositiveSmallIntegerField(default=0, editable=False)  # answers 429 or 503 in a row
    failures = models.PositiveSmallIntegerField(default=0, editable=False)  # fetches in a row that met no server

    # how much of what the gap lets through is planned, and by what its pages' price is raised where that is too much
    load = models.FloatField(default=0.0, db_default=0.0, editable=False)
    least_load = models.FloatField(
        default=0.0, db_default=0.0, editable=False
    )  # what its monitors' promises alone need
    host_factor = models.FloatField(default=1.0, db_default=1.0, editable=False)

    # sitemaps and feeds
    use_hints = models.BooleanField(
        _("use sitemaps and feeds"),
        default=True,
        help_text=_("An entry newer than the last check pulls that check forward."),
    )
    hint_url = models.CharField(
        _("sitemap or feed"), max_length=2000, blank=True, help_text=_("Empty: those that robots.txt names.")
    )

    class Meta:
        ordering = ["name"]
        verbose_name = _("site")
        verbose_name_plural = _("sites")
        indexes = [
            # the first by name that have pages one may see: ORDER BY name, id LIMIT ..
            models.Index(fields=["name", "id"], name="site_by_name"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(gap_s__gte=0, gap_s__lte=3600), name="site_gap_range"),
            models.CheckConstraint(
                condition=~models.Q(robots_policy="ignore") | ~models.Q(robots_reason=""),
                name="site_robots_ignored_with_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The site's page."""
        return reverse("site", args=[self.pk])

    @property
    def effective_gap_s(self) -> float:
        """Least time between two requests: ours, or the site's Crawl-delay where that is longer and not ignored."""
        return self.gap_s if self.robots_policy == RobotsPolicy.IGNORE else max(self.gap_s, self.crawl_delay_s)

    def rests(self, now: datetime) -> bool:
        """Whether the site is left alone at this moment."""
        return self.rest_until is not None and self.rest_until > now

    @property
    def rest_words(self) -> str:
        """Why the site is, or was last, left alone."""
        return str(REST_WORDS.get(self.rest_reason, self.rest_reason))
