"""How the product itself is doing: the processes there are, what they counted, what is counted now and then."""

from __future__ import annotations

from django.db import models


class Process(models.Model):
    """One process of the product, as it was when it last gave a sign of life (services.heartbeat). Pruned."""

    class Kind(models.TextChoices):
        WEB = "web"
        TICKER = "ticker"
        WORKER = "worker"

    key = models.CharField(max_length=120, primary_key=True)  # host, process id, and when it began
    kind = models.CharField(max_length=10, choices=Kind.choices)
    queue = models.CharField(max_length=40, default="default", db_default="default")  # the class of a worker
    host = models.CharField(max_length=80)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=20)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # by the database's clock, so that all can be compared
    clock_off_s = models.FloatField(default=0.0, db_default=0.0)  # its own clock minus the database's
    facts = models.JSONField(default=dict)  # what it is at, its memory, its last errors

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=["web", "ticker", "worker"]), name="process_kind_known")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pid} on {self.host}"


class Tally(models.Model):
    """What processes counted since the installation began (services.tallies): sums that only rise, in a few slots.

    A process adds to the slot of its number, so that two seldom want the same row; what is told is the sum of all.
    """

    slot = models.PositiveSmallIntegerField(primary_key=True)
    counts = models.JSONField(default=dict)  # series to number

    def __str__(self) -> str:
        return f"slot {self.slot}"


class Census(models.Model):
    """Figures that take a look at whole tables, from the last time that somebody looked (services.census). One row."""

    at = models.DateTimeField()
    took_ms = models.PositiveIntegerField()
    figures = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"census of {self.at:%Y-%m-%d %H:%M}"
