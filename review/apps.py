"""The human side."""

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """Verdicts, notes, assignments, digests."""

    name = "review"
    verbose_name = "Review"
