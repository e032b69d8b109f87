"""Vantages: from where and as whom we ask."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Vantage(models.Model):
    """Country, proxy, language, time zone, locale and viewport; fixed for every run, so that only time differs.

    The proxy's address is a template: `{country}` stands for the country, `{secret:NAME}` for a user name or a
    password that the deployment holds. Neither the one nor the other is ever stored here.
    """

    name = models.CharField(_("name"), max_length=80, unique=True)
    country = models.CharField(_("country"), max_length=2, blank=True, help_text=_("Two letters, as in ISO 3166."))
    proxy_url = models.CharField(
        _("proxy"),
        max_length=400,
        blank=True,
        help_text=_(
            "http://USER:{secret:NAME}@HOST:PORT; {country} stands for the country, as in customer-NAME-country-{country}."
        ),
    )
    language = models.CharField(_("language"), max_length=80, default="en-US,en;q=0.8")
    user_agent = models.CharField(_("user agent"), max_length=300, blank=True)
    locale = models.CharField(
        _("locale"),
        max_length=35,
        blank=True,
        help_text=_("What a browser formats dates and numbers by, as in de-AT; empty: the first language."),
    )
    time_zone = models.CharField(_("time zone"), max_length=60, default="UTC")
    viewport_width = models.PositiveSmallIntegerField(_("viewport width"), default=1280)
    viewport_height = models.PositiveSmallIntegerField(_("viewport height"), default=900)

    class Meta:
        ordering = ["name"]
        verbose_name = _("vantage")
        verbose_name_plural = _("vantages")

    def __str__(self) -> str:
        return self.name
