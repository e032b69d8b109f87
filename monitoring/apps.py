"""The machine side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MonitoringConfig(AppConfig):
    """Monitors, checks, snapshots, changes."""

    name = "monitoring"
    verbose_name = _("Monitoring")

    def ready(self) -> None:
        """Bound what workers may use, and register the jobs that run by the clock and belong to no service."""
        from django.db.models.signals import post_migrate
        from django_q.signals import post_execute_in_worker, post_spawn, pre_execute

        from monitoring.limits import worker_started
        from monitoring.queueing import periodic
        from monitoring.services import heartbeat, searching

        post_migrate.connect(searching.keep_index, sender=self, dispatch_uid="monitoring.search")
        post_spawn.connect(worker_started, dispatch_uid="cap worker memory")
        post_spawn.connect(heartbeat.worker_started, dispatch_uid="worker's sign of life")
        pre_execute.connect(heartbeat.task_begins, dispatch_uid="worker begins a task")
        post_execute_in_worker.connect(heartbeat.task_ended, dispatch_uid="worker ended a task")

        periodic("sample-pace", 60, "monitoring.sample.workspace.settle", when="monitoring.sample.workspace.is_fresh")
