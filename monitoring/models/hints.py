"""What sites say about themselves: robots.txt, and sitemaps and feeds whose word is believed by its record."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor
from monitoring.models.site import Site


class RobotsFile(models.Model):
    """A site's robots.txt as it was last read; kept for a day, longer while the site cannot give it."""

    class State(models.TextChoices):
        READ = "read", _("read")
        ABSENT = "absent", _("none there")
        FAILING = "failing", _("cannot be had")

    site = models.OneToOneField(Site, on_delete=models.CASCADE, primary_key=True, related_name="robots_file")
    state = models.CharField(_("state"), max_length=10, choices=State.choices)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    text = models.TextField(blank=True)
    read_at = models.DateTimeField(_("read"), null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField()

    class Meta:
        verbose_name = _("robots.txt")
        verbose_name_plural = _("robots.txt")

    def __str__(self) -> str:
        return f"robots.txt of {self.site_id}: {self.state}"


class HintSource(models.Model):
    """A sitemap or feed of a site, and how often its word was true."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="hint_sources", verbose_name=_("site"))
    url = models.CharField(_("address"), max_length=2000)
    hits = models.FloatField(_("followed by a change"), default=0.0)
    misses = models.FloatField(_("followed by none"), default=0.0)
    etag = models.CharField(max_length=500, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    checked_at = models.DateTimeField(_("read"), null=True, blank=True)
    next_at = models.DateTimeField(_("next"))
    entries = models.PositiveIntegerField(_("entries"), default=0)
    problem = models.CharField(_("problem"), max_length=300, blank=True)

    class Meta:
        ordering = ["site", "pk"]
        verbose_name = _("sitemap or feed")
        verbose_name_plural = _("sitemaps and feeds")
        constraints = [models.UniqueConstraint(fields=["site", "url"], name="hint_source_once_per_site")]
        # the job: WHERE next_at <= now ORDER BY next_at
        indexes = [models.Index(fields=["next_at"], name="hint_source_due")]

    def __str__(self) -> str:
        return self.url


class Hint(models.Model):
    """A check that was pulled forward by a hint and has not happened yet."""

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, primary_key=True, related_name="hint")
    source = models.ForeignKey(HintSource, on_delete=models.CASCADE, related_name="hints")
    changed_at = models.DateTimeField()  # as the source says
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"hint for monitor {self.monitor_id}"
