"""Monitors in admin: lists, forms and bulk actions. Every change goes through the services, which keep the record."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Field, ForeignKey, OuterRef, QuerySet, Subquery
from django.forms import BaseModelFormSet, ModelChoiceField, ModelForm
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from monitoring.admin.access import OfferedFilter, TeamScoped, as_id, teams_of
from monitoring.admin.evidence import NOTHING, against, reason_lines, row_link
from monitoring.admin.holding import Holds
from monitoring.admin.looking import import_page, preview_page
from monitoring.admin.outlook import outlook_words, unfit_words
from monitoring.admin.rules import FieldRows, IgnoreRows, save_rules
from monitoring.admin.trying import Tries
from monitoring.forms import MonitorForm, MoveForm
from monitoring.models import Check, Monitor, Outcome, Renderer, Site, Vantage
from monitoring.services import monitors
from monitoring.services.calibrate import start_run
from monitoring.services.holds import hold_monitors
from monitoring.services.intervals import format_interval
from monitoring.services.outlook import fit_of

_SITES_OFFERED = 30
_LOOKED_AT = 5_000
_RECORD_SHOWN = 20
_CALIBRATED_AT_ONCE = 20  # each run fetches its page several times


class SiteFilter(admin.SimpleListFilter):
    """By site: the ones with the most monitors, so that thousands of hosts do not fill the page; search finds the rest."""

    title = _("site")
    parameter_name = "site"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        # Of many monitors the newest stand for all.
        newest = model_admin.get_queryset(request).order_by("-pk").values("pk")[:_LOOKED_AT]
        shown = Monitor.objects.filter(pk__in=newest).order_by().values("site").annotate(n=Count("pk")).order_by("-n")
        names = Site.objects.in_bulk([row["site"] for row in shown[:_SITES_OFFERED]])
        chosen = as_id(self.value())
        if chosen is not None and chosen not in names:
            names.update(
                Site.objects.filter(monitors__in=model_admin.get_queryset(request)).distinct().in_bulk([chosen])
            )
        return [(str(site.pk), str(site)) for site in sorted(names.values(), key=str)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Monitor]) -> QuerySet[Monitor]:
        chosen = as_id(self.value())
        return queryset if chosen is None else queryset.filter(site=chosen)


class LastOutcomeFilter(admin.SimpleListFilter):
    """By what the last check found."""

    title = _("outcome of the last check")
    parameter_name = "last"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, Any]]:
        return [*Outcome.choices, ("never", _("not checked yet"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Monitor]) -> QuerySet[Monitor]:
        newest = Check.objects.filter(monitor=OuterRef("pk"), check_no=OuterRef("check_no")).values("outcome")[:1]
        if self.value() == "never":
            return queryset.filter(last_checked_at=None)
        if self.value() not in Outcome.values:
            return queryset
        return queryset.alias(_last=Subquery(newest)).filter(_last=self.value())


class MonitorFieldRows(FieldRows[Monitor]):
    """Fields of this monitor; one with the name of a page type's field takes its place."""


class MonitorIgnoreRows(IgnoreRows[Monitor]):
    """What this monitor leaves out, besides what its page type does."""


@admin.register(Monitor)
class MonitorAdmin(Holds, Tries[Monitor], TeamScoped[Monitor]):
    """Pages under watch."""

    hold = hold_monitors
    form = MonitorForm
    list_display = ["name", "site", "page_type", "state", "last_check", "enabled", "next_check_at", "team"]
    list_select_related = ["site", "page_type", "vantage", "team"]
    list_filter = [
        "state",
        "enabled",
        LastOutcomeFilter,
        ("page_type", OfferedFilter),
        ("team", OfferedFilter),
        "legal_hold",
        "renderer",
        ("vantage", OfferedFilter),
        SiteFilter,
    ]
    search_fields = ["name", "url", "site__name", "site__host"]
    show_full_result_count = False
    list_per_page = 50
    autocomplete_fields = ["page_type", "vantage", "confirm_vantage"]
    radio_fields = {"renderer": admin.HORIZONTAL}
    inlines = [MonitorFieldRows, MonitorIgnoreRows]
    actions = ["pause", "resume", "check_now", "move_to_page_type", "calibrate", "put_hold", "lift_hold"]
    readonly_fields = [
        "comes_to",
        "site",
        "legal_hold",
        "now_state",
        "last_check_facts",
        "in_force",
        "baseline_in_use",
        "record",
    ]
    fieldsets = [
        (None, {"fields": ["url", "name", "team", "page_type", "vantage", "confirm_vantage", "enabled", "legal_hold"]}),
        (
            _("How it is fetched and read"),
            {
                "fields": [
                    "renderer",
                    "wait_selector",
                    "steps",
                    "link_selector",
                    "document_type",
                    "main_selector",
                    "json_path",
                    "charset_override",
                ]
            },
        ),
        (
            _("What counts as a change"),
            {
                "fields": [("cut", "threshold"), ("order_matters", "case_matters")],
                "description": _("Empty or unknown: as the page type says."),
            },
        ),
        (_("How often"), {"fields": ["interval_s", ("min_interval_s", "max_interval_s"), "weight", "comes_to"]}),
        (_("Record"), {"fields": ["reason"]}),
    ]
    evidence_fieldsets = [
        (
            _("What it looked like"),
            {"fields": ["site", "now_state", "last_check_facts", "baseline_in_use", "in_force"]},
        ),
        (_("Who changed what"), {"fields": ["record"]}),
    ]

    # --- what is shown ---------------------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Monitor]:
        newest = Check.objects.filter(monitor=OuterRef("pk"), check_no=OuterRef("check_no"))
        return super().get_queryset(request).annotate(last_outcome=Subquery(newest.values("outcome")[:1]))

    def get_fieldsets(self, request: HttpRequest, obj: Monitor | None = None) -> Any:
        return (
            self.fieldsets
            if obj is None
            else [*self.evidence_fieldsets[:1], *self.fieldsets, *self.evidence_fieldsets[1:]]
        )

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        if db_field.name == "team":
            own = teams_of(request.user)
            kwargs["queryset"] = own
            if (only := list(own[:2])) and len(only) == 1:
                kwargs["initial"] = only[0]
        elif db_field.name == "vantage" and len(only_one := list(Vantage.objects.all()[:2])) == 1:
            kwargs["initial"] = only_one[0]
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Field[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        """Without the icons that lead away from a half-filled form; what they open is in the menu."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            for what in ("add", "change", "delete", "view"):
                setattr(field.widget, f"can_{what}_related", False)
        return field

    @admin.display(description=_("what it comes to"))
    def comes_to(self, row: Monitor) -> str:
        return outlook_words(row, now=timezone.now()) if row.pk else NOTHING

    @admin.display(description=_("last check"))
    def last_check(self, row: Any) -> str:
        return str(Outcome(row.last_outcome).label) if row.last_outcome else NOTHING

    @admin.display(description=_("state"))
    def now_state(self, row: Monitor) -> str:
        parts = [row.get_state_display()]
        if row.rebaseline and row.baseline_id:
            parts.append(str(_("new baseline at the next good capture: %s") % row.rebaseline))
        if row.quarantined_at:
            parts.append(str(_("set aside: %s; “check now” takes it back") % row.quarantine_words))
        if not row.enabled:
            parts.append(str(_("paused")))
        if row.renderer == Renderer.AUTO and row.learned_renderer and row.learned_since:
            parts.append(
                str(
                    _("fetched by %(how)s since %(at)s")
                    % {
                        "how": Renderer(row.learned_renderer).label,
                        "at": timezone.localtime(row.learned_since).strftime("%Y-%m-%d %H:%M"),
                    }
                )
            )
        return "; ".join(parts)

    @admin.display(description=_("last check"))
    def last_check_facts(self, row: Monitor) -> SafeString | str:
        last = row.checks.order_by("-check_no").first()
        if last is None:
            return NOTHING
        facts = _("%(outcome)s on %(at)s; score %(score)s, distance %(distance)s") % {
            "outcome": last.get_outcome_display(),
            "at": timezone.localtime(last.started_at).strftime("%Y-%m-%d %H:%M %Z"),
            "score": against(last.score, last.cut, digits=2),
            "distance": against(last.distance, last.threshold, digits=0),
        }
        return format_html("{} {}", row_link("check", last.pk, str(facts)), reason_lines(last.told))

    @admin.display(description=_("baseline"))
    def baseline_in_use(self, row: Monitor) -> SafeString | str:
        return row_link("snapshot", row.baseline_id, str(row.baseline)) if row.baseline else str(_("not yet read"))

    @admin.display(description=_("in force"))
    def in_force(self, row: Monitor) -> str:
        words = ngettext(
            "cut %(cut).2f, threshold %(threshold)d bit, every %(interval)s, weight %(weight)g",
            "cut %(cut).2f, threshold %(threshold)d bits, every %(interval)s, weight %(weight)g",
            row.effective_threshold,
        )
        return words % {
            "cut": row.effective_cut,
            "threshold": row.effective_threshold,
            "interval": format_interval(row.effective_interval_s),
            "weight": row.effective_weight,
        }

    @admin.display(description=_("settings"))
    def record(self, row: Monitor) -> SafeString | str:
        rows = row.setting_changes.select_related("actor")[:_RECORD_SHOWN]
        lines = format_html_join(
            "",
            "<li>{} · {} · {}: {} → {} {}</li>",
            (
                (
                    timezone.localtime(one.at).strftime("%Y-%m-%d %H:%M"),
                    one.actor_name or NOTHING,
                    one.name,
                    one.old or NOTHING,
                    one.new or NOTHING,
                    f"({one.reason})" if one.reason else "",
                )
                for one in rows
            ),
        )
        return format_html('<ul class="record">{}</ul>', lines) if lines else NOTHING

    # --- a look before it counts -----------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        own = path("import/", self.admin_site.admin_view(self.import_view), name="monitoring_monitor_import")
        return [own, *super().get_urls()]

    def import_view(self, request: HttpRequest) -> HttpResponseBase:
        """Monitors from a file."""
        return import_page(request, self)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:  # Any: as Django's own
        """The form; with the button “preview” a page that shows what these values would compare, saving nothing."""
        if request.method == "POST" and "_preview" in request.POST:
            page = self._preview(request, object_id)
            if page is not None:
                return page
        return super().changeform_view(request, object_id, form_url, extra_context)

    def _preview(self, request: HttpRequest, object_id: str | None) -> TemplateResponse | None:
        obj = self.get_object(request, unquote(object_id)) if object_id else None
        if object_id and obj is None:
            return None
        if not (self.has_change_permission(request, obj) if obj else self.has_add_permission(request)):
            raise PermissionDenied
        stored = Monitor.objects.get(pk=obj.pk) if obj else None
        form = self.get_form(request, obj, change=obj is not None)(request.POST, instance=obj)
        formsets, _inlines = self._create_formsets(  # type: ignore[attr-defined]  # not in the stubs
            request, form.instance, change=obj is not None
        )
        here = (
            reverse("admin:monitoring_monitor_change", args=[obj.pk])
            if obj
            else reverse("admin:monitoring_monitor_add")
        )
        context = {**self.admin_site.each_context(request), "opts": self.opts, "original": stored, "form_url": here}
        return preview_page(request, form=form, formsets=formsets, stored=stored, context=context)

    # --- saving ----------------------------------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Monitor, form: ModelForm[Monitor], change: bool) -> None:
        if obj.team_id not in set(teams_of(request.user).values_list("pk", flat=True)):
            raise PermissionDenied
        if change:
            wanted = {name: form.cleaned_data[name] for name in form.changed_data if name in monitors.MONITOR_SETTINGS}
            stored = Monitor.objects.select_related("team", "page_type", "vantage").get(pk=obj.pk)
            rows = monitors.change_settings(
                stored, wanted, actor=request.user, reason=form.cleaned_data["reason"], now=timezone.now()
            )
            if stored.rebaseline and stored.baseline_id and rows:
                self.message_user(
                    request, _("The next good capture becomes the new baseline: %s.") % stored.rebaseline, messages.INFO
                )
            self._warn(request, stored.pk)
            return
        values = {name: form.cleaned_data[name] for name in monitors.MONITOR_SETTINGS}
        made = monitors.add_monitor(actor=request.user, now=timezone.now(), **values)
        obj.pk = made.pk
        obj._state.adding = False
        obj.refresh_from_db()
        self._warn(request, made.pk)

    def _warn(self, request: HttpRequest, pk: int) -> None:
        """Say at once when the site does not bear what is promised."""
        saved = Monitor.objects.select_related("site", "page_type").get(pk=pk)
        if words := unfit_words(fit_of(saved.site, monitor=saved)):
            self.message_user(request, words, messages.WARNING)

    def save_formset(self, request: HttpRequest, form: Any, formset: BaseModelFormSet[Any, Any], change: bool) -> None:
        save_rules(request, formset)

    def has_delete_permission(self, request: HttpRequest, obj: Monitor | None = None) -> bool:
        """Only a monitor that was never visited can go; evidence stays, and pausing is the way to stop."""
        return obj is not None and not obj.checks.exists() and super().has_delete_permission(request, obj)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        to_delete, counts, needed, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, needed - {"setting change", "monitor memory"}, protected

    # --- bulk actions ----------------------------------------------------------------------------------------------

    @admin.action(description=_("Pause"), permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Monitor]) -> None:
        count = monitors.pause(_ids(queryset), actor=request.user)
        self.message_user(request, ngettext("%d monitor paused.", "%d monitors paused.", count) % count)

    @admin.action(description=_("Resume"), permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Monitor]) -> None:
        count = monitors.resume(_ids(queryset), actor=request.user, now=timezone.now())
        self.message_user(request, ngettext("%d monitor resumed.", "%d monitors resumed.", count) % count)

    @admin.action(description=_("Check now"), permissions=["change"])
    def check_now(self, request: HttpRequest, queryset: QuerySet[Monitor]) -> None:
        ids = _ids(queryset)
        count = monitors.check_now(ids, now=timezone.now())
        self.message_user(request, ngettext("%d monitor is due now.", "%d monitors are due now.", count) % count)
        if left := len(ids) - count:
            self.message_user(
                request,
                ngettext("%d is paused and was left alone.", "%d are paused and were left alone.", left) % left,
                messages.WARNING,
            )

    @admin.action(description=_("Calibrate"), permissions=["change"])
    def calibrate(self, request: HttpRequest, queryset: QuerySet[Monitor]) -> None:
        """Fetch each page several times in quick succession; a worker does it, and a person applies what it proposes."""
        started = 0
        for monitor in queryset.order_by("pk")[:_CALIBRATED_AT_ONCE]:
            try:
                start_run(monitor, actor=monitors.person_of(request.user))
                started += 1
            except ValidationError as error:
                self.message_user(request, f"{monitor}: {' '.join(error.messages)}", messages.WARNING)
        if started:
            text = ngettext(
                "%d calibration is waiting for a worker.", "%d calibrations are waiting for a worker.", started
            )
            self.message_user(request, text % started)
        if (left := queryset.count() - _CALIBRATED_AT_ONCE) > 0:
            said = ngettext(
                "%d monitor was left for later: %d at once.", "%d monitors were left for later: %d at once.", left
            )
            self.message_user(request, said % (left, _CALIBRATED_AT_ONCE), messages.WARNING)

    @admin.action(description=_("Move to another page type"), permissions=["change"])
    def move_to_page_type(
        self, request: HttpRequest, queryset: QuerySet[Monitor]
    ) -> TemplateResponse | HttpResponseRedirect | None:
        form = MoveForm(request.POST if "move" in request.POST else None)
        if form.is_valid():
            count = monitors.move(
                _ids(queryset), form.cleaned_data["page_type"], actor=request.user, reason=form.cleaned_data["reason"]
            )
            self.message_user(
                request,
                ngettext(
                    "%d monitor moved; its next good capture is the new baseline.",
                    "%d monitors moved; their next good captures are the new baselines.",
                    count,
                )
                % count,
            )
            return None
        changelist = reverse("admin:monitoring_monitor_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Move to another page type"),
            "opts": self.opts,
            "form": form,
            "chosen": list(queryset.order_by("pk")[:20]),
            "count": queryset.count(),
            "ids": request.POST.getlist(ACTION_CHECKBOX_NAME),
            "checkbox": ACTION_CHECKBOX_NAME,
            "across": request.POST.get("select_across", "0"),
            # With its filters: “all that match” must mean the same monitors when it comes back.
            "back": request.get_full_path() if request.path == changelist else changelist,
        }
        return TemplateResponse(request, "admin/monitoring/monitor/move.html", context)


def _ids(queryset: QuerySet[Monitor]) -> list[int]:
    return list(queryset.order_by("pk").values_list("pk", flat=True))
