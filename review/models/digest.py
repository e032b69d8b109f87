"""Digests: what is waiting, by mail."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class DigestSubscription(models.Model):
    """When a person wants to be told what is waiting."""

    class Rhythm(models.TextChoices):
        DAILY = "daily", _("daily")
        WEEKLY = "weekly", _("weekly")
        OFF = "off", _("never")

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="digest_subscription")
    rhythm = models.CharField(_("rhythm"), max_length=10, choices=Rhythm.choices, default=Rhythm.DAILY)
    time_zone = models.CharField(_("time zone"), max_length=60, default="UTC")
    hour = models.PositiveSmallIntegerField(_("hour"), default=7)
    weekday = models.PositiveSmallIntegerField(_("weekday"), default=0)  # 0 is Monday
    alerts = models.BooleanField(_("alerts at once"), default=True)
    next_at = models.DateTimeField(null=True, blank=True)
    last_sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("digest subscription")
        verbose_name_plural = _("digest subscriptions")
        constraints = [
            models.CheckConstraint(condition=models.Q(hour__lte=23), name="digest_hour_of_day"),
            models.CheckConstraint(condition=models.Q(weekday__lte=6), name="digest_day_of_week"),
        ]
        indexes = [
            # the digest tick: WHERE rhythm <> off AND next_at <= now
            models.Index(fields=["next_at"], name="digest_due", condition=models.Q(next_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.rhythm} for {self.user_id}"


class Digest(models.Model):
    """One digest that was made: the period it covers and what it counted. Once per person and period."""

    subscription = models.ForeignKey(DigestSubscription, on_delete=models.CASCADE, related_name="digests")
    period = models.CharField(max_length=20)  # 2026-11-30 or 2026-W49, in the person's time zone
    proof_of_life = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)
    outbox_key = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("digest")
        verbose_name_plural = _("digests")
        constraints = [models.UniqueConstraint(fields=["subscription", "period"], name="digest_once_per_period")]

    def __str__(self) -> str:
        return self.period
