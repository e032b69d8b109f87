"""Page types: thresholds and defaults, with their fields and ignore rules."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from monitoring.admin.access import Admin
from monitoring.admin.outlook import unfit_words
from monitoring.admin.rules import FieldRows, IgnoreRows, save_rules
from monitoring.admin.trying import Tries
from monitoring.forms import PageTypeForm
from monitoring.models import PageType
from monitoring.services import monitors
from monitoring.services.intervals import format_interval
from monitoring.services.outlook import unfit_sites


class PageTypeFieldRows(FieldRows[PageType]):
    """Fields that every monitor of the type has unless it says otherwise."""


class PageTypeIgnoreRows(IgnoreRows[PageType]):
    """What every monitor of the type leaves out."""


@admin.register(PageType)
class PageTypeAdmin(Tries[PageType], Admin[PageType]):
    """Kinds of pages; shared by all teams."""

    form = PageTypeForm
    list_display = ["name", "threshold", "cut", "weight", "interval", "order_matters", "case_matters", "watched"]
    search_fields = ["name", "slug"]
    ordering = ["name"]
    prepopulated_fields = {"slug": ["name"]}
    inlines = [PageTypeFieldRows, PageTypeIgnoreRows]
    fieldsets = [
        (None, {"fields": ["name", "slug"]}),
        (
            _("What counts as a change"),
            {"fields": ["cut", "threshold", "order_matters", "case_matters", "audit_share", "auto_cut"]},
        ),
        (_("How often"), {"fields": ["default_interval_s", "weight", "max_interval_s", "min_interval_s"]}),
        (_("When a page can't be read"), {"fields": ["tell_after", "remind_days"]}),
        (_("How long it is kept"), {"fields": ["keep_days", "keep_snapshots", "keep_checks_days"]}),
        (_("Record"), {"fields": ["reason"]}),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[PageType]:
        return super().get_queryset(request).annotate(_watched=Count("monitors"))

    @admin.display(description=_("interval"), ordering="default_interval_s")
    def interval(self, row: PageType) -> str:
        return format_interval(row.default_interval_s)

    @admin.display(description=_("monitors"), ordering="_watched")
    def watched(self, row: Any) -> int:
        return int(row._watched)

    def save_model(self, request: HttpRequest, obj: PageType, form: ModelForm[PageType], change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            return
        wanted = {name: form.cleaned_data[name] for name in form.changed_data if name in monitors.PAGE_TYPE_SETTINGS}
        stored = PageType.objects.get(pk=obj.pk)
        monitors.change_page_type(stored, wanted, actor=request.user, reason=form.cleaned_data["reason"])
        if {"max_interval_s", "min_interval_s"} & set(wanted):
            for fit in unfit_sites(stored):
                self.message_user(request, unfit_words(fit), messages.WARNING)

    def save_formset(self, request: HttpRequest, form: Any, formset: BaseModelFormSet[Any, Any], change: bool) -> None:
        save_rules(request, formset)
