"""Snapshots and payloads: captures kept as evidence."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.monitor import Monitor


class Payload(models.Model):
    """Stored bytes, once per SHA-256. The bytes are on disk before this row names them."""

    sha256 = models.CharField(max_length=64, unique=True)
    size_bytes = models.PositiveBigIntegerField()
    stored_bytes = models.PositiveBigIntegerField()
    codec = models.CharField(max_length=10, default="zstd")
    # Stored as what differs from this one; empty: stored whole. A keyframe never rests on another.
    keyframe = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="deltas")
    stored_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")  # of the bytes as stored
    suffix = models.CharField(max_length=16, blank=True, default="", db_default="")  # of the object's name
    created_at = models.DateTimeField(auto_now_add=True)
    wanted_at = models.DateTimeField(null=True, blank=True)  # when it was last handed out to somebody who will name it

    class Meta:
        verbose_name = _("payload")
        verbose_name_plural = _("payloads")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(keyframe__isnull=True) | ~models.Q(keyframe=models.F("id")),
                name="payload_not_its_own_keyframe",
            ),
        ]

    def __str__(self) -> str:
        return self.sha256[:12]

    @property
    def object_name(self) -> str:
        """The name of the object that holds the bytes."""
        return f"{self.sha256}-{self.suffix}" if self.suffix else self.sha256


class Snapshot(models.Model):
    """A capture kept as evidence. Never edited; deleted only by retention."""

    class Role(models.TextChoices):
        BASELINE = "baseline", _("baseline")
        CHANGE = "change", _("change")
        AUDIT = "audit", _("audit")
        NOISE = "noise", _("noise, kept for a while")
        BLOCKED = "blocked", _("blocked")
        ERROR = "error", _("where a step failed")
        CONFIRMATION = "confirmation", _("first of two captures that confirm a change")
        VANTAGE = "vantage", _("the page from a second vantage")
        CALIBRATION = "calibration", _("calibration")

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="snapshots")
    role = models.CharField(_("role"), max_length=12, choices=Role.choices)
    payload = models.ForeignKey(Payload, on_delete=models.PROTECT, related_name="snapshots")
    screenshot = models.ForeignKey(Payload, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    thumbnail = models.ForeignKey(Payload, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    picture = models.JSONField(default=dict, blank=True)  # width, height and page_height of the screenshot, in pixels
    taken_at = models.DateTimeField(_("taken"))
    duration_ms = models.PositiveIntegerField(default=0)
    url = models.CharField(max_length=2000)
    final_url = models.CharField(max_length=2000)
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField(default=list)
    redirects = models.JSONField(default=list)
    peer_address = models.CharField(max_length=60, blank=True)
    certificate_sha256 = models.CharField(max_length=64, blank=True)
    content_type = models.CharField(max_length=200, blank=True)
    document_type = models.CharField(
        max_length=10, blank=True
    )  # as what it was read; empty: taken before types were known
    link = models.JSONField(default=dict, blank=True)  # the link that led here: page, text, href, target
    charset = models.CharField(max_length=40, blank=True)
    charset_source = models.CharField(max_length=20, blank=True)
    rendered = models.BooleanField(default=False)
    vantage = models.JSONField(
        default=dict
    )  # name, country, language, locale, time zone, viewport, user agent as they were; never the proxy
    title = models.CharField(max_length=400, blank=True)
    language = models.CharField(max_length=20, blank=True)
    fingerprint = models.CharField(max_length=16, blank=True)
    text_hash = models.CharField(max_length=32, blank=True)
    region_path = models.CharField(max_length=1000, blank=True)
    fields = models.JSONField(default=dict, blank=True)
    detector_version = models.CharField(max_length=20)
    product_version = models.CharField(max_length=20)
    expires_at = models.DateTimeField(null=True, blank=True)
    legal_hold = models.BooleanField(_("legal hold"), default=False)

    class Meta:
        ordering = ["-taken_at", "-pk"]
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        indexes = [
            # a monitor's evidence, newest first: WHERE monitor ORDER BY taken_at DESC
            models.Index(fields=["monitor", "-taken_at"], name="snapshot_of_monitor"),
            # retention: WHERE expires_at <= now AND NOT legal_hold
            models.Index(
                fields=["expires_at"],
                name="snapshot_expiring",
                condition=models.Q(expires_at__isnull=False, legal_hold=False),
            ),
            # whether a picture is still somebody's: screenshot = id, thumbnail = id; few snapshots have one
            models.Index(fields=["screenshot"], name="snapshot_pictured", condition=models.Q(screenshot__isnull=False)),
            models.Index(fields=["thumbnail"], name="snapshot_thumbed", condition=models.Q(thumbnail__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.monitor_id} at {self.taken_at:%Y-%m-%d %H:%M}"

    @property
    def picture_cut_px(self) -> int:
        """How much of the page its screenshot lacks at the end."""
        return max(int(self.picture.get("page_height", 0)) - int(self.picture.get("height", 0)), 0)
