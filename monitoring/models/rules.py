"""Rules that admins write: fields to extract, and what to leave out of the comparison."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor
from monitoring.models.page_type import PageType


def _one_owner(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        condition=(
            models.Q(monitor__isnull=False, page_type__isnull=True)
            | models.Q(monitor__isnull=True, page_type__isnull=False)
        ),
        name=name,
        violation_error_message=_("Choose either a monitor or a page type."),
    )


class FieldRule(models.Model):
    """A named, typed value to take from the page; a monitor's rule replaces its page type's of the same name."""

    class Source(models.TextChoices):
        JSONLD = "jsonld", _("JSON-LD path")
        CSS = "css", _("CSS selector")
        META = "meta", _("meta tag")
        MICRODATA = "microdata", _("microdata")
        OPENGRAPH = "opengraph", _("Open Graph")

    class Type(models.TextChoices):
        TEXT = "text", _("text")
        NUMBER = "number", _("number")
        PRICE = "price", _("price with currency")
        DATE = "date", _("date")
        LIST = "list", _("list")
        BOOLEAN = "boolean", _("yes or no")
        AVAILABILITY = "availability", _("availability")

    monitor = models.ForeignKey(
        Monitor, on_delete=models.CASCADE, null=True, blank=True, related_name="field_rules", verbose_name=_("monitor")
    )
    page_type = models.ForeignKey(
        PageType,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="field_rules",
        verbose_name=_("page type"),
    )
    name = models.SlugField(_("name"), max_length=60)
    source = models.CharField(_("taken from"), max_length=12, choices=Source.choices)
    selector = models.CharField(_("selector or path"), max_length=400)
    attribute = models.CharField(_("attribute"), max_length=60, blank=True)
    type = models.CharField(_("type"), max_length=12, choices=Type.choices, default=Type.TEXT)
    important = models.BooleanField(_("important"), default=False, help_text=_("Mails at once when it changes."))
    review = models.BooleanField(
        _("review"),
        null=True,
        blank=True,
        help_text=_("Also opens a change. Unknown: on for lists, dates and text, off for the others."),
    )
    enabled = models.BooleanField(
        _("active"), default=True, help_text=_("Off on a monitor: the page type's field is not used here.")
    )

    class Meta:
        ordering = ["name"]
        verbose_name = _("field")
        verbose_name_plural = _("fields")
        constraints = [
            _one_owner("field_rule_one_owner"),
            models.UniqueConstraint(
                fields=["monitor", "name"],
                condition=models.Q(monitor__isnull=False),
                name="field_rule_once_per_monitor",
            ),
            models.UniqueConstraint(
                fields=["page_type", "name"],
                condition=models.Q(page_type__isnull=False),
                name="field_rule_once_per_type",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def opens_change(self) -> bool:
        """Whether a change of this field also goes to the queue."""
        if self.review is not None:
            return self.review
        return self.type in {self.Type.LIST, self.Type.DATE, self.Type.TEXT}


class IgnoreRuleQuerySet(models.QuerySet["IgnoreRule"]):
    """Ignore rules, by whether they count."""

    def in_force(self, now: datetime) -> IgnoreRuleQuerySet:
        """Rules that hide something now: for good, or until a moment to come."""
        return self.filter(models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=now))


class IgnoreRule(models.Model):
    """Text left out of the comparison: by pattern, selector, block or place.

    One that was learned from a dismissed change is its monitor's, names that change, and ends unless somebody confirms it.
    """

    class Kind(models.TextChoices):
        PATTERN = "pattern", _("pattern")
        SELECTOR = "selector", _("selector")
        BLOCK = "block", _("block containing")
        PLACE = "place", _("place on the page")

    monitor = models.ForeignKey(
        Monitor, on_delete=models.CASCADE, null=True, blank=True, related_name="ignore_rules", verbose_name=_("monitor")
    )
    page_type = models.ForeignKey(
        PageType,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="ignore_rules",
        verbose_name=_("page type"),
    )
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    value = models.CharField(_("value"), max_length=500)
    note = models.CharField(_("note"), max_length=200, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("in force until"), null=True, blank=True, editable=False)  # null: for good
    from_change = models.ForeignKey(
        "monitoring.Change",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="learned_rules",
        verbose_name=_("learned from"),
        editable=False,
    )

    objects = IgnoreRuleQuerySet.as_manager()

    class Meta:
        ordering = ["kind", "value"]
        verbose_name = _("ignore rule")
        verbose_name_plural = _("ignore rules")
        constraints = [
            _one_owner("ignore_rule_one_owner"),
            models.CheckConstraint(
                condition=models.Q(expires_at__isnull=True) | models.Q(monitor__isnull=False),
                name="ignore_rule_only_learned_end",
            ),
        ]
        indexes = [
            # what wants confirming: WHERE expires_at BETWEEN .. ORDER BY expires_at
            models.Index(
                fields=["expires_at"], name="ignore_rule_ending", condition=models.Q(expires_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.value}"

    @property
    def is_learned(self) -> bool:
        """Whether it came from a dismissed change; its change may be gone by now."""
        return self.from_change_id is not None or self.expires_at is not None
