"""How a person wants the interface to be."""

from __future__ import annotations

import zoneinfo

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Preferences(models.Model):
    """Keys, theme, diff palette, document face, language and time zone of one person."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preferences")
    language = models.CharField(_("language"), max_length=10, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=60, default="UTC")
    theme = models.CharField(
        _("theme"),
        max_length=10,
        blank=True,
        choices=[("", _("as the system")), ("light", _("light")), ("dark", _("dark"))],
    )
    palette = models.CharField(
        _("diff palette"),
        max_length=15,
        blank=True,
        choices=[("", _("green and red")), ("blue-orange", _("blue and orange"))],
    )
    sans_documents = models.BooleanField(_("documents without serifs"), default=False)
    single_keys = models.BooleanField(_("single-key shortcuts"), default=True)
    spoken_marks = models.BooleanField(_("hidden words around marks for screen readers"), default=True)

    class Meta:
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return f"preferences of {self.user_id}"

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """The time zone, or UTC where the stored name is none."""
        try:
            return zoneinfo.ZoneInfo(self.time_zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            return zoneinfo.ZoneInfo("UTC")
