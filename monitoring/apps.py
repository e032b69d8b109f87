"""The machine side."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """Monitors, checks, snapshots, changes."""

    name = "monitoring"
    verbose_name = "Monitoring"
