"""The machine side's tables, one noun a file."""

from monitoring.models.calibration import CalibrationRun
from monitoring.models.canary import Canary, Planting
from monitoring.models.change import Change, EarlierDiff, FieldChange
from monitoring.models.check import Check, Outcome
from monitoring.models.comparison import VantageComparison
from monitoring.models.forecast import ForecastBin, Prior
from monitoring.models.hints import Hint, HintSource, RobotsFile
from monitoring.models.missed import MissedCase
from monitoring.models.monitor import (
    DocumentKind,
    Monitor,
    MonitorMemory,
    MonitorState,
    Renderer,
    SettingChange,
)
from monitoring.models.operations import Census, Process, Tally
from monitoring.models.outbox import OutboxMessage
from monitoring.models.page_type import PageType
from monitoring.models.periodic import PeriodicJob
from monitoring.models.promise import Cause, Outage, PromiseAlarm, PromiseAlarmEvent, PromiseLook, PromiseState
from monitoring.models.rules import FieldRule, IgnoreRule
from monitoring.models.site import RobotsPolicy, Site
from monitoring.models.snapshot import Payload, Snapshot
from monitoring.models.tally import HourTally, TallyMark
from monitoring.models.team import Counts, Team
from monitoring.models.vantage import Vantage
from monitoring.models.watching import Alarm, FoldMark, Hold, SiteDay, SiteWatch
from monitoring.models.worker_class import WorkerClass

__all__ = [
    "Alarm",
    "CalibrationRun",
    "Canary",
    "Cause",
    "Census",
    "Change",
    "Check",
    "Counts",
    "DocumentKind",
    "EarlierDiff",
    "FieldChange",
    "FieldRule",
    "FoldMark",
    "ForecastBin",
    "Hint",
    "HintSource",
    "Hold",
    "HourTally",
    "IgnoreRule",
    "MissedCase",
    "Monitor",
    "MonitorMemory",
    "MonitorState",
    "Outage",
    "OutboxMessage",
    "Outcome",
    "PageType",
    "Payload",
    "PeriodicJob",
    "Planting",
    "Prior",
    "Process",
    "PromiseAlarm",
    "PromiseAlarmEvent",
    "PromiseLook",
    "PromiseState",
    "Renderer",
    "RobotsFile",
    "RobotsPolicy",
    "SettingChange",
    "Site",
    "SiteDay",
    "SiteWatch",
    "Snapshot",
    "Tally",
    "TallyMark",
    "Team",
    "Vantage",
    "VantageComparison",
    "WorkerClass",
]
