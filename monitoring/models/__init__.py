"""The machine side's tables, one noun a file."""

from monitoring.models.calibration import CalibrationRun
from monitoring.models.change import Change, FieldChange
from monitoring.models.check import Check, Outcome
from monitoring.models.comparison import VantageComparison
from monitoring.models.hints import Hint, HintSource, RobotsFile
from monitoring.models.monitor import DocumentKind, Monitor, MonitorMemory, MonitorState, Renderer, SettingChange
from monitoring.models.operations import Census, Process, Tally
from monitoring.models.outbox import OutboxMessage
from monitoring.models.page_type import PageType
from monitoring.models.periodic import PeriodicJob
from monitoring.models.rules import FieldRule, IgnoreRule
from monitoring.models.site import RobotsPolicy, Site
from monitoring.models.snapshot import Payload, Snapshot
from monitoring.models.team import Team
from monitoring.models.vantage import Vantage

__all__ = [
    "CalibrationRun",
    "Census",
    "Change",
    "Check",
    "DocumentKind",
    "FieldChange",
    "FieldRule",
    "Hint",
    "HintSource",
    "IgnoreRule",
    "Monitor",
    "MonitorMemory",
    "MonitorState",
    "OutboxMessage",
    "Outcome",
    "PageType",
    "Payload",
    "PeriodicJob",
    "Process",
    "Renderer",
    "RobotsFile",
    "RobotsPolicy",
    "SettingChange",
    "Site",
    "Snapshot",
    "Tally",
    "Team",
    "Vantage",
    "VantageComparison",
]
