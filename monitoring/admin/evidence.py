"""Checks, snapshots, changes and the rest of what was recorded: read-only, with score, reasons and baseline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from monitoring.admin.access import Evidence, TeamScoped, as_id, teams_of
from monitoring.admin.holding import Holds
from monitoring.models import (
    CalibrationRun,
    Change,
    Check,
    FieldChange,
    FieldRule,
    OutboxMessage,
    Payload,
    SettingChange,
    Snapshot,
    Vantage,
)
from monitoring.services.holds import hold_snapshots

NOTHING = "–"


def against(value: float | int | None, limit: float | int | None, *, digits: int) -> str:
    """A measure against the limit in force then: `0.81 of 0.50`."""
    if value is None:
        return NOTHING
    shown = f"{value:.{digits}f}"
    return shown if limit is None else f"{shown} / {limit:.{digits}f}"


def reason_lines(reasons: Any) -> SafeString | str:
    """Reasons as recorded, one a line; they are plain text or objects with a code and a sentence."""
    if not isinstance(reasons, list) or not reasons:
        return NOTHING
    return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", ((_sentence(one),) for one in reasons)))


def _sentence(reason: Any) -> str:
    if isinstance(reason, dict):
        parts = [str(reason.get("code", "")), str(reason.get("detail") or reason.get("text") or "")]
        return ": ".join(part for part in parts if part) or str(reason)
    return str(reason)


def row_link(model: str, pk: int | None, text: str) -> SafeString | str:
    """A link to another row of the monitoring admin."""
    if pk is None:
        return NOTHING
    return format_html('<a href="{}">{}</a>', reverse(f"admin:monitoring_{model}_change", args=[pk]), text)


class MonitorTeamFilter(admin.SimpleListFilter):
    """By the team that owns the monitor; offers the person's own teams only."""

    title = _("team")
    parameter_name = "team"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        return [(str(team.pk), team.name) for team in teams_of(request.user)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = as_id(self.value())
        return queryset if chosen is None else queryset.filter(monitor__team=chosen)


class GivenFilter(admin.SimpleListFilter):
    """By one of the values a column can have, where Django's own reads the whole table for those it has."""

    given: ClassVar[Sequence[tuple[str, Any]]] = ()  # Any: a text or a translation

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return self.given

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = dict(self.given)
        return queryset.filter(**{str(self.parameter_name): value}) if (value := self.value()) in known else queryset


class PriorityFilter(GivenFilter):
    """By priority."""

    title, parameter_name = _("priority"), "priority"
    given: ClassVar = [(str(priority), str(priority)) for priority in range(4)]


class TypeFilter(GivenFilter):
    """By the type of a field's value."""

    title, parameter_name = _("type"), "type"
    given: ClassVar = FieldRule.Type.choices


class OfMonitor[M: (Check, Snapshot, Change, FieldChange)](Evidence[M], TeamScoped[M]):
    """Evidence that belongs to one monitor."""

    team_path = "monitor__team"
    list_select_related = ["monitor"]

    @admin.display(description=_("score / cut"), ordering="score")
    def score_against_cut(self, row: Any) -> str:
        return against(row.score, row.cut, digits=2)

    @admin.display(description=_("distance / threshold"), ordering="distance")
    def distance_against_threshold(self, row: Any) -> str:
        return against(row.distance, row.threshold, digits=0)

    @admin.display(description=_("reasons"))
    def sentences(self, row: Any) -> SafeString | str:
        return reason_lines(row.reasons)


@admin.register(Check)
class CheckAdmin(OfMonitor[Check]):
    """Every visit and what came of it."""

    list_display = ["monitor", "check_no", "started_at", "outcome", "reason", "status", "score_against_cut", "distance_against_threshold"]  # fmt: skip
    list_filter = ["outcome", MonitorTeamFilter, "visible_difference", "not_modified", "started_at"]
    search_fields = ["monitor__name", "monitor__url", "reason"]
    date_hierarchy = None
    fieldsets = [
        (None, {"fields": ["monitor", "check_no", "started_at", "duration_ms", "vantage_then", "why", "outcome", "reason", "detail"]}),
        (_("Why"), {"fields": ["score_against_cut", "distance_against_threshold", "sentences", "visible_difference", "snapshot", "fields_then"]}),
        (_("Answer"), {"fields": ["status", "not_modified", "size_bytes", "final_url", "raw_sha256_then", "text_hash_then", "fingerprint_then"]}),
        (_("Afterwards"), {"fields": ["next_check_at", "planned_then", "plan_price", "rate_a", "rate_b", "detector_version_then"]}),
    ]  # fmt: skip
    readonly_fields = [
        "score_against_cut", "distance_against_threshold", "sentences", "planned_then", "vantage_then", "fields_then",
        "raw_sha256_then", "text_hash_then", "fingerprint_then", "detector_version_then",
    ]  # fmt: skip

    @admin.display(description=_("reasons"))
    def sentences(self, row: Check) -> SafeString | str:
        return reason_lines(row.told)

    # An unchanged visit's row leaves out what an earlier one says; here it is said again.

    @admin.display(description="plan reason")
    def planned_then(self, row: Check) -> str:
        return row.planned_because or NOTHING

    @admin.display(description=_("vantage"))
    def vantage_then(self, row: Check) -> str:
        return str(Vantage.objects.filter(pk=row.as_then("vantage_id")).first() or NOTHING)

    @admin.display(description="fields")
    def fields_then(self, row: Check) -> str:
        return json.dumps(row.as_then("fields"), ensure_ascii=False)

    @admin.display(description="raw sha256")
    def raw_sha256_then(self, row: Check) -> str:
        return str(row.as_then("raw_sha256")) or NOTHING

    @admin.display(description="text hash")
    def text_hash_then(self, row: Check) -> str:
        return str(row.as_then("text_hash")) or NOTHING

    @admin.display(description="fingerprint")
    def fingerprint_then(self, row: Check) -> str:
        return str(row.as_then("fingerprint")) or NOTHING

    @admin.display(description="detector version")
    def detector_version_then(self, row: Check) -> str:
        return str(row.as_then("detector_version")) or NOTHING


@admin.register(Snapshot)
class SnapshotAdmin(Holds, OfMonitor[Snapshot]):
    """Captures kept as evidence; the bytes are read on the change page, never here."""

    hold = hold_snapshots
    actions = ["put_hold", "lift_hold"]  # type: ignore[assignment]

    list_display = ["monitor", "role", "taken_at", "status", "title", "is_baseline", "legal_hold"]
    list_filter = ["role", MonitorTeamFilter, "rendered", "legal_hold", "taken_at"]
    ordering = ["-pk"]
    search_fields = ["monitor__name", "url", "title"]
    exclude = ["region_path", "screenshot", "thumbnail", "picture"]
    readonly_fields = ["is_baseline", "shot"]

    @admin.display(description=_("screenshot"), empty_value="–")
    def shot(self, row: Snapshot) -> SafeString | None:
        if row.screenshot_id is None:
            return None
        full = reverse("picture", args=[row.pk, "screenshot"])
        if row.thumbnail_id is None:
            return format_html('<a href="{}">{}</a>', full, _("screenshot"))
        small = reverse("picture", args=[row.pk, "thumbnail"])
        return format_html('<a href="{}"><img src="{}" alt="{}" width="320"></a>', full, small, _("screenshot"))

    @admin.display(description=_("in use as baseline"), boolean=True)
    def is_baseline(self, row: Snapshot) -> bool:
        return row.monitor.baseline_id == row.pk


@admin.register(Payload)
class PayloadAdmin(Evidence[Payload]):
    """Stored bytes, once per digest. They belong to no team, so only a superuser sees the list."""

    list_display = ["sha256", "size_bytes", "stored_bytes", "codec", "created_at"]
    search_fields = ["=sha256"]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def has_view_permission(self, request: HttpRequest, obj: Payload | None = None) -> bool:
        return bool(getattr(request.user, "is_superuser", False))


@admin.register(Change)
class ChangeAdmin(OfMonitor[Change]):
    """What waits for a person or was decided; decisions are made on the change page."""

    list_display = [
        "monitor",
        "kind",
        "state",
        "opened_at",
        "score_against_cut",
        "distance_against_threshold",
        "places",
        "folded",
    ]
    list_filter = ["state", "kind", MonitorTeamFilter, PriorityFilter, "opened_at"]
    ordering = ["-pk"]  # the newest first, without sorting them all
    search_fields = ["monitor__name", "monitor__url"]
    fieldsets = [
        (None, {"fields": ["monitor", "kind", "state", "version", "opened_at", "updated_at", "closed_at", "snoozed_until"]}),
        (_("Why"), {"fields": ["score_against_cut", "distance_against_threshold", "sentences", "flags", "priority"]}),
        (_("Evidence"), {"fields": ["baseline_used", "new", "check_row", "added", "removed", "places", "folded", "diff_hash"]}),
    ]  # fmt: skip
    readonly_fields = ["score_against_cut", "distance_against_threshold", "sentences", "baseline_used"]

    @admin.display(description=_("baseline compared with"))
    def baseline_used(self, row: Change) -> SafeString | str:
        return row_link("snapshot", row.prior_id, str(row.prior))


@admin.register(FieldChange)
class FieldChangeAdmin(OfMonitor[FieldChange]):
    """Values that changed: the rows of the dataset."""

    list_display = ["monitor", "name", "state", "text", "important", "at"]
    list_filter = ["state", MonitorTeamFilter, "important", TypeFilter, "at"]
    search_fields = ["monitor__name", "name", "text"]


@admin.register(SettingChange)
class SettingChangeAdmin(Evidence[SettingChange], TeamScoped[SettingChange]):
    """Who changed which setting, and when."""

    team_path = "monitor__team"
    rows_without_team = True
    list_display = ["at", "actor_name", "subject", "name", "old", "new", "reason"]
    list_select_related = ["monitor", "page_type", "site"]
    list_filter = ["name", "at"]
    search_fields = ["monitor__name", "page_type__name", "site__name", "actor_name", "name"]

    @admin.display(description=_("of"))
    def subject(self, row: SettingChange) -> str:
        return str(row.monitor or row.page_type or row.site or NOTHING)


@admin.register(CalibrationRun)
class CalibrationRunAdmin(Evidence[CalibrationRun], TeamScoped[CalibrationRun]):
    """Proposals of thresholds, with what they rest on; they are applied on the calibration page."""

    team_path = "monitor__team"
    rows_without_team = True
    list_display = ["created_at", "subject", "basis", "state", "progress", "proposed_threshold", "proposed_cut"]
    list_select_related = ["monitor", "page_type"]
    list_filter = ["state", "basis", "created_at"]
    search_fields = ["monitor__name", "page_type__name"]

    @admin.display(description=_("of"))
    def subject(self, row: CalibrationRun) -> str:
        return str(row.monitor or row.page_type or NOTHING)

    @admin.display(description=_("fetched"))
    def progress(self, row: CalibrationRun) -> str:
        return f"{row.fetched} / {row.fetches}" if row.basis == CalibrationRun.Basis.REFETCH else NOTHING


@admin.register(OutboxMessage)
class OutboxMessageAdmin(Evidence[OutboxMessage]):
    """Mail on its way. Its text is never shown: it may hold a link that opens somebody's account."""

    list_display = ["created_at", "kind", "recipient", "subject", "state", "attempts", "sent_at"]
    list_filter = ["state", "kind", "created_at"]
    search_fields = ["recipient", "subject"]
    fields = ["kind", "recipient", "subject", "state", "attempts", "next_attempt_at", "last_error", "created_at", "sent_at", "message_id"]  # fmt: skip

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def has_view_permission(self, request: HttpRequest, obj: OutboxMessage | None = None) -> bool:
        return bool(getattr(request.user, "is_superuser", False))
