"""How many visits came to what, by hour and team: what pages show of a day without counting a million rows."""

from __future__ import annotations

from django.db import models

from monitoring.models.team import Team


class HourTally(models.Model):
    """The visits of a team that began within an hour, by outcome. A sum of check rows, kept by `services.visits`."""

    start = models.DateTimeField()
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    outcome = models.CharField(max_length=10)
    n = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            # also the index of its one query: WHERE start >= .. GROUP BY outcome
            models.UniqueConstraint(fields=["start", "team", "outcome"], name="hour_tally_once"),
        ]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H} {self.outcome} {self.n}"


class TallyMark(models.Model):
    """Until when visits are in the tallies: one row, read and moved under its lock."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.until:%Y-%m-%d %H:%M}"
