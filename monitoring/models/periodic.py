"""Periodic jobs: when each is next due, so that several tickers run it once."""

from __future__ import annotations

from django.db import models


class PeriodicJob(models.Model):
    """One entry of the registry in `monitoring.queueing`; the row exists once the job has run."""

    name = models.CharField(max_length=80, primary_key=True)
    next_at = models.DateTimeField()
    last_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name
