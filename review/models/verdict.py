"""Verdicts: what people decided. Append-only."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models import Change


class VerdictQuerySet(models.QuerySet["Verdict"]):
    """Verdicts, narrowed in words."""

    def standing(self) -> VerdictQuerySet:
        """Those that nobody took back.

        Asked as `NOT EXISTS`: of a join with what is not there PostgreSQL expects one row where there are a million.
        """
        return self.filter(~models.Exists(Verdict.objects.filter(undoes=models.OuterRef("pk"))))


class Verdict(models.Model):
    """One decision on a change; undo adds a row. Carries the hash of the diff the person saw."""

    class Action(models.TextChoices):
        APPROVE = "approve", _("approved")
        DISMISS = "dismiss", _("dismissed")
        SNOOZE = "snooze", _("snoozed")
        UNDO = "undo", _("undone")
        SECOND = "second", _("second opinion")

    class Reason(models.TextChoices):
        # why dismissed: 1..7 on the keyboard
        DATE = "date", _("date or counter")
        FURNITURE = "furniture", _("footer or navigation")
        FORMATTING = "formatting", _("formatting")
        ROTATING = "rotating", _("rotating content")
        REORDERED = "reordered", _("reordered only")
        BLOCK_PAGE = "block-page", _("blocked or error page")
        NOT_RELEVANT = "not-relevant", _("real but not relevant")
        # why approved
        OBLIGATION = "obligation", _("obligation or right changed")
        PARTY = "party", _("party or supplier changed")
        CERTIFICATE = "certificate", _("certificate changed")
        DATE_CHANGED = "date-changed", _("date changed")
        OTHER = "other", _("other relevant")

    change = models.ForeignKey(Change, on_delete=models.PROTECT, related_name="verdicts")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="verdicts")
    action = models.CharField(_("verdict"), max_length=10, choices=Action.choices)
    opinion = models.CharField(max_length=10, blank=True)  # approve or dismiss, where the action is a second opinion
    reason = models.CharField(_("reason"), max_length=15, choices=Reason.choices, blank=True)
    undoes = models.OneToOneField("self", on_delete=models.PROTECT, null=True, blank=True, related_name="undone_by")
    state_before = models.CharField(max_length=10, blank=True)
    snoozed_until_before = models.DateTimeField(null=True, blank=True)
    version_seen = models.PositiveIntegerField()
    diff_hash = models.CharField(max_length=64, blank=True)
    score = models.FloatField(null=True, blank=True)
    distance = models.PositiveSmallIntegerField(null=True, blank=True)
    seconds_on_screen = models.FloatField(null=True, blank=True)
    calibrates = models.BooleanField(default=True)
    idempotency_key = models.CharField(max_length=40, unique=True)
    at = models.DateTimeField(_("when"))

    objects = VerdictQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-pk"]
        verbose_name = _("verdict")
        verbose_name_plural = _("verdicts")
        indexes = [
            # a change's verdicts in order: WHERE change ORDER BY id
            models.Index(fields=["change", "id"], name="verdict_of_change"),
            # the log, newest first, and a span of it: ORDER BY at DESC, id DESC
            models.Index(fields=["-at", "-id"], name="verdict_log"),
            # a person's own log, and what they decided today
            models.Index(fields=["actor", "-at", "-id"], name="verdict_log_of_actor"),
            # the log of one decision or one reason, which may be rare: WHERE action (or reason) ORDER BY at DESC, id DESC
            models.Index(fields=["action", "-at", "-id"], name="verdict_log_of_action"),
            models.Index(fields=["reason", "-at", "-id"], name="verdict_log_of_reason"),
            # what a person did last, for undo: WHERE actor ORDER BY id DESC
            models.Index(fields=["actor", "-id"], name="verdict_of_actor"),
            # what took a verdict back: undoes = id. Of most nothing did, and SQLite's statistics of the full index mislead it.
            models.Index(fields=["undoes"], name="verdict_undoing", condition=models.Q(undoes__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.action} on change {self.change_id}"


class Note(models.Model):
    """What a person wants the next reader of a change to know."""

    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    text = models.TextField(_("note"), max_length=4000)
    at = models.DateTimeField(_("when"), auto_now_add=True)

    class Meta:
        ordering = ["at", "pk"]
        verbose_name = _("note")
        verbose_name_plural = _("notes")

    def __str__(self) -> str:
        return self.text[:60]


class Assignment(models.Model):
    """Who takes care of a change; one person at a time."""

    change = models.OneToOneField(Change, on_delete=models.CASCADE, related_name="assignment")
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="assignments")
    assigned_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(_("when"), auto_now=True)

    class Meta:
        verbose_name = _("assignment")
        verbose_name_plural = _("assignments")

    def __str__(self) -> str:
        return f"change {self.change_id} to {self.assignee_id}"
