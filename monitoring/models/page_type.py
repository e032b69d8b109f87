"""Page types: thresholds and defaults for the monitors of one kind of page."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class PageType(models.Model):
    """ "Privacy policy", "certificate list", "news home page": what its monitors share."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    slug = models.SlugField(_("short name"), max_length=80, unique=True)
    threshold = models.PositiveSmallIntegerField(
        _("threshold"),
        default=3,
        help_text=_("Bits of fingerprint distance (0 to 64) above which a difference speaks for content."),
    )
    cut = models.FloatField(_("cut"), default=0.5, help_text=_("Score (0 to 1) from which a change goes to the queue."))
    order_matters = models.BooleanField(_("order matters"), default=False)
    case_matters = models.BooleanField(_("case matters"), default=False)
    weight = models.FloatField(
        _("weight"), default=1.0, help_text=_("Importance in scheduling and in the order of the queue.")
    )
    audit_share = models.FloatField(
        _("audit share"), default=0.0, help_text=_("Share of noise (0 to 1) that goes to the queue as an audit sample.")
    )
    auto_cut = models.FloatField(
        _("applied by itself up to"),
        default=0.0,
        db_default=0.0,
        help_text=_("Once a week a proposal that moves the cut by at most this much (0 to 1) is applied; 0: never."),
    )
    tell_after = models.PositiveSmallIntegerField(
        _("told after"),
        default=3,
        help_text=_("Visits in a row that bring no page to compare before the team is told."),
    )
    remind_days = models.PositiveSmallIntegerField(
        _("reminded after, days"), default=7, help_text=_("While it lasts; 0: never.")
    )
    default_interval_s = models.PositiveIntegerField(_("interval, seconds"), default=21_600)
    min_interval_s = models.PositiveIntegerField(
        _("minimum interval, seconds"),
        null=True,
        blank=True,
        help_text=_("Where it is longer than the monitor's own; empty: as the monitor says."),
    )
    max_interval_s = models.PositiveIntegerField(
        _("at least every, seconds"),
        null=True,
        blank=True,
        help_text=_("A promise for all its monitors, where it is shorter than their own; empty: as the monitor says."),
    )

    # How long evidence is kept that no change and no baseline rests on; a legal hold wins over all three.
    keep_days = models.PositiveIntegerField(
        _("snapshots kept, days"), null=True, blank=True, help_text=_("Empty: without limit.")
    )
    keep_snapshots = models.PositiveIntegerField(
        _("snapshots kept per monitor"), null=True, blank=True, help_text=_("The newest ones; empty: all.")
    )
    keep_checks_days = models.PositiveIntegerField(
        _("checks kept, days"),
        null=True,
        blank=True,
        help_text=_("Visits that found nothing and left no snapshot; 30 at least; empty: without limit."),
    )

    class Meta:
        ordering = ["name"]
        verbose_name = _("page type")
        verbose_name_plural = _("page types")
        constraints = [
            models.CheckConstraint(condition=models.Q(threshold__lte=64), name="page_type_threshold_bits"),
            models.CheckConstraint(condition=models.Q(cut__gte=0, cut__lte=1), name="page_type_cut_range"),
            models.CheckConstraint(
                condition=models.Q(audit_share__gte=0, audit_share__lte=1), name="page_type_audit_share"
            ),
            models.CheckConstraint(
                condition=models.Q(auto_cut__gte=0, auto_cut__lte=1), name="page_type_auto_cut_range"
            ),
            models.CheckConstraint(
                condition=models.Q(tell_after__gte=1, tell_after__lte=50, remind_days__lte=365),
                name="page_type_telling_range",
            ),
            models.CheckConstraint(
                condition=models.Q(min_interval_s__isnull=True)
                | models.Q(max_interval_s__isnull=True)
                | models.Q(min_interval_s__lte=models.F("max_interval_s")),
                name="page_type_interval_order",
            ),
            models.CheckConstraint(
                condition=(models.Q(keep_days__isnull=True) | models.Q(keep_days__gte=1))
                & (models.Q(keep_snapshots__isnull=True) | models.Q(keep_snapshots__gte=1))
                & (models.Q(keep_checks_days__isnull=True) | models.Q(keep_checks_days__gte=30)),
                name="page_type_keeping_range",
            ),
            models.CheckConstraint(
                condition=models.Q(max_interval_s__isnull=True) | models.Q(max_interval_s__gte=60),
                name="page_type_promise_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name
