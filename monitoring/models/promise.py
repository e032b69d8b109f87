"""Promises under watch: which cannot be kept and why, what was told of it, and what each team's plans come to."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from monitoring.models.team import Team


class Cause(models.TextChoices):
    """What stands in the way of a promise."""

    HOST = "host", _("the site bears too few visits")
    BUDGET = "budget", _("the budget")
    ERRORS = "errors", _("failed visits")
    ROBOTS = "robots", _("robots.txt")
    QUARANTINE = "quarantine", _("held pages")
    REST = "rest", _("the site is left alone")
    QUEUE = "queue", _("the workers are behind")
    STOPPED = "stopped", _("no worker is at work")
    OUTAGE = "outage", _("an outage")


class PromiseAlarm(models.Model):
    """Promises of one team that one cause breaks or endangers: seen, raised once it lasts, over once it is away for longer."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="promise_alarms", verbose_name=_("team"))
    cause = models.CharField(_("cause"), max_length=12, choices=Cause.choices)
    # What looks at it left (scheduling.alarms).
    trouble = models.BooleanField(default=True)  # whether the last look found any
    since = models.DateTimeField()  # the first look of the row that agrees with the last one
    looks = models.PositiveIntegerField(default=0)
    looked_at = models.DateTimeField()
    began_at = models.DateTimeField(_("since"))
    raised_at = models.DateTimeField(_("raised"), null=True, blank=True)
    told_at = models.DateTimeField(_("told last"), null=True, blank=True)
    told = models.PositiveIntegerField(default=0)
    cleared_at = models.DateTimeField(_("over"), null=True, blank=True)
    # What it is about, as the last look found it.
    broken = models.PositiveIntegerField(_("not read in time"), default=0)
    at_risk = models.PositiveIntegerField(_("at risk"), default=0)
    oldest_at = models.DateTimeField(null=True, blank=True)  # when the oldest of those promises was or will be broken
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-began_at", "-pk"]
        verbose_name = _("alarm of promises")
        verbose_name_plural = _("alarms of promises")
        constraints = [
            # one alarm per team and cause at a time
            models.UniqueConstraint(
                fields=["team", "cause"], condition=models.Q(cleared_at__isnull=True), name="promise_alarm_one_open"
            ),
        ]
        indexes = [
            # a team's past: WHERE team ORDER BY began_at DESC
            models.Index(fields=["team", "-began_at"], name="promise_alarm_of_team"),
        ]

    def __str__(self) -> str:
        return f"{self.cause} of team {self.team_id}"


class PromiseAlarmEvent(models.Model):
    """What was told of an alarm, when, and of how much. Append-only."""

    class What(models.TextChoices):
        RAISED = "raised", _("raised")
        GROWN = "grown", _("grown")
        REMINDED = "reminded", _("told again")
        CLEARED = "cleared", _("over")

    alarm = models.ForeignKey(PromiseAlarm, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(_("when"))
    what = models.CharField(max_length=10, choices=What.choices)
    broken = models.PositiveIntegerField(default=0)
    at_risk = models.PositiveIntegerField(default=0)
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.what} at {self.at:%Y-%m-%d %H:%M}"


class PromiseState(models.Model):
    """How one team's promises stood at the last look, so that no page counts a million rows."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, primary_key=True, related_name="promise_state")
    looked_at = models.DateTimeField()
    broken = models.PositiveIntegerField(default=0)
    at_risk = models.PositiveIntegerField(default=0)
    oldest_broken_at = models.DateTimeField(null=True, blank=True)
    due = models.PositiveIntegerField(default=0)  # over ten minutes late
    oldest_due_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"promises of team {self.team_id}"


class PromiseLook(models.Model):
    """When promises were last looked at: the one row by which a time without looks is noticed."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"


class Outage(models.Model):
    """A time in which nothing was at work, as the first look after it found."""

    began_at = models.DateTimeField(_("began"))
    ended_at = models.DateTimeField(_("ended"))

    class Meta:
        ordering = ["-began_at"]
        verbose_name = _("outage")
        verbose_name_plural = _("outages")
        constraints = [
            models.CheckConstraint(condition=models.Q(ended_at__gt=models.F("began_at")), name="outage_order")
        ]
        indexes = [
            # whether a promise was broken by one: WHERE ended_at > now - 1 day
            models.Index(fields=["ended_at"], name="outage_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.began_at:%Y-%m-%d %H:%M} to {self.ended_at:%Y-%m-%d %H:%M}"
