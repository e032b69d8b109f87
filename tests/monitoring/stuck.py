"""Settings of a cluster whose judging of one page never ends, in native code that hears no signal and lets nobody in."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as _OURS

INSTALLED_APPS = [*_OURS, "tests.monitoring.stuck.Stuck"]


class Stuck(AppConfig):
    """Takes the judge's place for addresses that hold the word `stuck`."""

    name = "tests.monitoring"
    label = "stuck"

    def ready(self) -> None:
        from monitoring.services import capture
        from monitoring.services.judge import judge_capture

        def never(monitor: Any, outcome: Any, **rest: Any) -> Any:  # Any: passed through
            if "stuck" in monitor.url:
                sum(range(10**15))
            return judge_capture(monitor, outcome, **rest)

        vars(capture)["judge_capture"] = never
