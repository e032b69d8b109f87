"""Notices: who was told that a page can't be read, so that they are reminded, and told when it can be again."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models import Monitor


class TroubleNotice(models.Model):
    """One person told of one page's trouble. Open until the page is read again; then `ended_at` is set."""

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="notices")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    told_at = models.DateTimeField(_("told"))
    reminded_at = models.DateTimeField(_("told last"))
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-told_at", "-pk"]
        verbose_name = _("notice of trouble")
        verbose_name_plural = _("notices of trouble")
        constraints = [
            # nobody is told twice of the same trouble
            models.UniqueConstraint(
                fields=["monitor", "user"], condition=models.Q(ended_at__isnull=True), name="notice_one_open"
            ),
        ]
        indexes = [
            # reminders and recoveries: WHERE ended_at IS NULL
            models.Index(fields=["reminded_at"], name="notice_open", condition=models.Q(ended_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"monitor {self.monitor_id} to {self.user_id}"
