"""Changes: what waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from monitoring.models.check import Check
from monitoring.models.monitor import Monitor
from monitoring.models.snapshot import Snapshot
from monitoring.models.team import Team

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class ChangeQuerySet(models.QuerySet["Change"]):
    """Changes, by who may see them and by whether they wait."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> ChangeQuerySet:
        """Changes of the user's teams' monitors; for a superuser all of them but the canaries'."""
        if getattr(user, "is_superuser", False):
            return self.exclude(state=Change.State.CANARY)
        # EXISTS keeps the queue's own index in front; a join lets SQLite start from the team and read every change.
        # The teams are asked for once, not at every change.
        teams = Team.objects.filter(members=user.pk).values("pk")
        mine = Monitor.objects.filter(pk=models.OuterRef("monitor_id"), team_id__in=teams)
        return self.filter(models.Exists(mine))

    def waiting(self) -> ChangeQuerySet:
        """Changes that want a verdict now."""
        return self.filter(state=Change.State.OPEN, hold__isnull=True)


class Change(models.Model):
    """A machine-made item: prior snapshot, new snapshot, diff, score, reasons."""

    class Kind(models.TextChoices):
        CONTENT = "content", _("content")
        FIELD = "field", _("field")
        GONE = "gone", _("page gone")
        REDIRECT = "redirect", _("new address")
        TYPE = "type", _("new document type")
        AUDIT = "audit", _("audit sample")

    class State(models.TextChoices):
        OPEN = "open", _("open")
        SNOOZED = "snoozed", _("snoozed")
        APPROVED = "approved", _("approved")
        DISMISSED = "dismissed", _("dismissed")
        CANARY = "canary", _("canary")  # planted by ourselves: nobody is asked, and nothing is learned from it

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="changes")
    check_row = models.ForeignKey(Check, on_delete=models.PROTECT, related_name="changes")
    prior = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="changes_from")
    new = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, blank=True, related_name="changes_to")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.OPEN)
    version = models.PositiveIntegerField(default=1)  # rises with every fold, verdict, undo and snooze
    opened_at = models.DateTimeField(_("opened"))
    updated_at = models.DateTimeField(_("last seen"))
    closed_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)  # null while snoozed: until the page changes again
    priority = models.PositiveSmallIntegerField(_("priority"), default=1)  # 0 low .. 3 urgent
    score = models.FloatField(_("score"), null=True, blank=True)
    cut = models.FloatField(null=True, blank=True)
    distance = models.PositiveSmallIntegerField(_("distance"), null=True, blank=True)
    threshold = models.PositiveSmallIntegerField(null=True, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    flags = models.JSONField(default=list, blank=True)
    diff = models.JSONField(default=dict, blank=True)
    diff_hash = models.CharField(max_length=64, blank=True)
    # What was taken out and put in, for the same change on other pages of the team; null: a change of its own.
    edit_hash = models.CharField(max_length=32, null=True, blank=True, editable=False)  # noqa: DJ001
    say = models.JSONField(default=list, blank=True)  # the one sentence of the queue row
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    places = models.PositiveIntegerField(default=0)
    folded = models.PositiveIntegerField(_("newer captures folded in"), default=0)
    returns = models.PositiveIntegerField(_("times back to the prior text"), default=0)  # while it waited
    search_text = models.TextField(blank=True)
    hold = models.ForeignKey(
        "monitoring.Hold", on_delete=models.SET_NULL, null=True, blank=True, related_name="changes", db_index=False
    )  # held back with many others until a lead decides
    # The chance with which this noise was taken for the audit sample, as it was then; null for what was found.
    sample_share = models.FloatField(null=True, blank=True)

    objects = ChangeQuerySet.as_manager()

    class Meta:
        ordering = ["-priority", "opened_at", "pk"]
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        constraints = [
            # one open change per monitor: a newer one folds into it
            models.UniqueConstraint(
                fields=["monitor"],
                condition=models.Q(state__in=["open", "snoozed"]),
                name="change_one_open_per_monitor",
            ),
            models.CheckConstraint(
                condition=models.Q(new__isnull=False) | models.Q(kind__in=["gone", "redirect"]),
                name="change_has_new_side",
            ),
        ]
        indexes = [
            # the queue: WHERE state = open AND hold IS NULL ORDER BY priority DESC, opened_at, id; its views are counted from
            # the index alone. The one below serves the release before.
            models.Index(
                fields=["-priority", "opened_at", "id", "kind"],
                name="change_waiting",
                condition=models.Q(state="open", hold__isnull=True),
            ),
            models.Index(
                fields=["-priority", "opened_at", "id"], name="change_queue", condition=models.Q(state="open")
            ),
            # the same change on other pages: WHERE state = open AND edit_hash ORDER BY priority DESC, id
            models.Index(
                fields=["edit_hash", "-priority", "id"],
                name="change_alike",
                condition=models.Q(state="open", edit_hash__isnull=False),
            ),
            # a monitor's history of changes: WHERE monitor ORDER BY opened_at DESC
            models.Index(fields=["monitor", "-opened_at"], name="change_of_monitor"),
            # how many came in a span of time: WHERE opened_at BETWEEN ..
            models.Index(fields=["opened_at"], name="change_by_time"),
            # the audit samples of a time: WHERE kind = audit AND opened_at >= ..
            models.Index(fields=["opened_at"], name="change_audits", condition=models.Q(kind="audit")),
            # snoozed ones to wake: WHERE state = snoozed AND snoozed_until <= now
            # what is held: WHERE hold
            models.Index(fields=["hold"], name="change_held", condition=models.Q(hold__isnull=False)),
            models.Index(fields=["snoozed_until"], name="change_snoozed", condition=models.Q(state="snoozed")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} on monitor {self.monitor_id}"

    def get_absolute_url(self) -> str:
        """The change page."""
        return reverse("change", args=[self.pk])


class EarlierDiff(models.Model):
    """What a waiting change showed before a newer capture folded into it: from the same prior text to an earlier capture."""

    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="earlier_diffs")
    version = models.PositiveIntegerField()  # of the change, as it showed this
    seen_at = models.DateTimeField(_("last seen"))
    diff = models.JSONField(default=dict)
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-version"]
        constraints = [
            # those of a change, the newest first: WHERE change ORDER BY version DESC
            models.UniqueConstraint(fields=["change", "version"], name="earlier_diff_once"),
        ]

    def __str__(self) -> str:
        return f"change {self.change_id} at version {self.version}"


class FieldChange(models.Model):
    """One value that changed: a row of the dataset."""

    class State(models.TextChoices):
        CHANGED = "changed", _("changed")
        VANISHED = "vanished", _("vanished")
        APPEARED = "appeared", _("appeared")

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="field_changes")
    check_row = models.ForeignKey(Check, on_delete=models.PROTECT, related_name="field_changes")
    change = models.ForeignKey(Change, on_delete=models.SET_NULL, null=True, blank=True, related_name="field_changes")
    name = models.CharField(_("field"), max_length=60)
    type = models.CharField(max_length=12)
    state = models.CharField(_("state"), max_length=10, choices=State.choices)
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)
    text = models.CharField(_("what changed"), max_length=600)
    important = models.BooleanField(_("important"), default=False)
    at = models.DateTimeField(_("when"))

    class Meta:
        ordering = ["-at", "-pk"]
        verbose_name = _("field change")
        verbose_name_plural = _("field changes")
        constraints = [models.UniqueConstraint(fields=["check_row", "name"], name="field_change_once")]
        indexes = [
            # the dataset page and its CSV: WHERE monitor AND name ORDER BY at DESC
            models.Index(fields=["monitor", "name", "-at"], name="field_change_series"),
            # one field of every page, newest first; and which names there are
            models.Index(fields=["name", "-at", "-id"], name="field_change_named"),
            # the fields of one page over time: WHERE monitor AND at >= .. ORDER BY at DESC, id DESC
            models.Index(fields=["monitor", "-at", "-id"], name="field_change_of_monitor"),
            # the dataset of everything, newest first
            models.Index(fields=["-at", "-id"], name="field_change_newest"),
            # those of one change: WHERE change ORDER BY at DESC. Most belong to none, and to SQLite's statistics a full index
            # then looks as if every change had them all.
            models.Index(
                fields=["change", "-at", "-id"],
                name="field_change_of_change",
                condition=models.Q(change__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.text
