"""The machine side."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """Monitors, checks, snapshots, changes."""

    name = "monitoring"
    verbose_name = "Monitoring"

    def ready(self) -> None:
        """Register the jobs that run by the clock and belong to no service."""
        from monitoring.queueing import periodic

        periodic("sample-pace", 60, "monitoring.sample.workspace.settle", when="monitoring.sample.workspace.is_fresh")
