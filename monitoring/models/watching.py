"""The watch over the watch: daily figures of sites, how still they stand, and what is out of the ordinary."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.page_type import PageType
from monitoring.models.site import Site


class SiteDay(models.Model):
    """One day (UTC) of one site and page type, added up from its checks as they come (services.watching)."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="days")
    page_type = models.ForeignKey(PageType, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    counts = models.JSONField(default=dict)  # visits by outcome
    scores = models.JSONField(default=list)  # histograms of calibrating.drift
    bits = models.JSONField(default=list)
    ms = models.JSONField(default=list)

    class Meta:
        constraints = [
            # a site's days: WHERE site AND day >= ..
            models.UniqueConstraint(fields=["site", "day", "page_type"], name="site_day_once"),
        ]

    def __str__(self) -> str:
        return f"site {self.site_id} on {self.day}"


class SiteWatch(models.Model):
    """How still a site stands: what calibrating.silence asks for."""

    site = models.OneToOneField(Site, on_delete=models.CASCADE, primary_key=True, related_name="watch")
    changes = models.PositiveIntegerField(default=0)
    last_change_at = models.DateTimeField(null=True, blank=True)
    last_visit_at = models.DateTimeField(null=True, blank=True)  # that brought a page to compare
    rate_a = models.FloatField(default=0.0)  # of all its pages together, as known at the last change
    rate_b = models.FloatField(default=0.0)
    visits = models.FloatField(default=0.0)  # the last thousand or so count
    moved = models.FloatField(default=0.0)  # of these, how many showed any difference from the visit before
    still_visits = models.PositiveIntegerField(default=0)
    first_visit_at = models.DateTimeField(null=True, blank=True)
    total_visits = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"watch of site {self.site_id}"


class FoldMark(models.Model):
    """How far the checks have been added up."""

    name = models.CharField(max_length=40, primary_key=True)
    check_id = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name} until {self.check_id}"


class Alarm(models.Model):
    """Something out of the ordinary on a site: seen, raised once it lasts, over once it is away for longer."""

    class Kind(models.TextChoices):
        SILENT = "silent", _("silent")
        NOISE_SCORE = "noise-score", _("noise grows")
        NOISE_DISTANCE = "noise-distance", _("noise moves further")
        BLOCKED = "blocked", _("blocked")
        CAPTURES = "captures", _("captures fail")
        SLOW = "slow", _("slow")
        CANARY = "canary", _("canary missed")

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="alarms")
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    # What looks at it left (scheduling.alarms).
    trouble = models.BooleanField(default=True)
    since = models.DateTimeField()
    looks = models.PositiveIntegerField(default=0)
    looked_at = models.DateTimeField()
    began_at = models.DateTimeField(_("since"))
    raised_at = models.DateTimeField(_("raised"), null=True, blank=True)
    told_at = models.DateTimeField(_("told last"), null=True, blank=True)
    cleared_at = models.DateTimeField(_("over"), null=True, blank=True)
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-began_at", "-pk"]
        verbose_name = _("alarm")
        verbose_name_plural = _("alarms")
        constraints = [
            # one alarm per site and kind at a time
            models.UniqueConstraint(
                fields=["site", "kind"], condition=models.Q(cleared_at__isnull=True), name="alarm_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} on site {self.site_id}"


class Hold(models.Model):
    """Many changes at once that look like a fault of ours: held until a lead releases or drops them."""

    class State(models.TextChoices):
        ACTIVE = "active", _("held")
        RELEASED = "released", _("released")
        DROPPED = "dropped", _("dropped")

    way = models.CharField(
        _("fetched by"), max_length=20
    )  # what the pages have in common: all, browser, http, vantage N
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.ACTIVE)
    since = models.DateTimeField(_("since"))  # changes from here on are held
    opened_at = models.DateTimeField(_("held"))
    crossed_at = models.DateTimeField()  # the last look that found it crossing
    window_s = models.PositiveIntegerField()
    pages = models.PositiveIntegerField()
    pages_changed = models.PositiveIntegerField()
    sites = models.PositiveIntegerField()
    sites_changed = models.PositiveIntegerField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    class Meta:
        ordering = ["-opened_at", "-pk"]
        verbose_name = _("hold")
        verbose_name_plural = _("holds")
        constraints = [
            # one hold at a time: what crosses meanwhile joins it
            models.UniqueConstraint(fields=["state"], condition=models.Q(state="active"), name="hold_one_active"),
        ]

    def __str__(self) -> str:
        return f"{self.pages_changed} of {self.pages} pages"
