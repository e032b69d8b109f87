"""A look before it counts: the preview of a monitor's form, and the report on a file of monitors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.admin.access import teams_of
from monitoring.forms import ImportForm
from monitoring.models import FieldRule, IgnoreRule, Monitor, Site
from monitoring.services import importing, monitors
from monitoring.services.egress import exemption_of
from monitoring.services.preview import preview
from monitoring.services.rules import Rules, combine

# What a preview needs to be right; a form without a name can be looked at all the same.
PREVIEWED = frozenset(
    {
        "url",
        "vantage",
        "page_type",
        "renderer",
        "wait_selector",
        "steps",
        "main_selector",
        "charset_override",
        "document_type",
        "json_path",
        "link_selector",
    }
)
_BUTTONS = frozenset(
    {
        "_preview",
        "_edit",
        "_save",
        "_continue",
        "_addanother",
        "_saveasnew",
        "_tried",
        "override",
        "csrfmiddlewaretoken",
    }
)
_SALT = "monitoring.import"
_KEPT_S = 3600


def without_buttons(post: QueryDict) -> Any:  # Any: a changeable QueryDict has no public type
    """What a form sent, less its buttons and the bulk actions that Django puts on the same page."""
    kept = post.copy()
    for name in list(kept):
        if name in _BUTTONS or name.endswith(("-action", "-select_across")) or name == ACTION_CHECKBOX_NAME:
            del kept[name]
    return kept


def preview_page(
    request: HttpRequest,
    *,
    form: ModelForm[Monitor],
    formsets: Iterable[BaseModelFormSet[Any, Any]],
    stored: Monitor | None,
    context: dict[str, Any],
) -> TemplateResponse | None:
    """The finished preview page for a form's unsaved values; None where these values are wrong and the form says so."""
    sets = list(formsets)
    # By their errors: forms of a preview are never valid, so that nothing of them is saved.
    if PREVIEWED & set(form.errors) or any(formset.total_error_count() for formset in sets):
        return None
    values = form.cleaned_data
    ours = stored if stored is not None and values["url"] == stored.url else None
    seen = preview(
        url=values["url"],
        vantage=values["vantage"],
        renderer=values["renderer"],
        wait_selector=values["wait_selector"],
        steps=values["steps"],
        site=Site.objects.filter(host=monitors.site_host(values["url"])).first(),
        main_selector=values["main_selector"],
        charset=values["charset_override"],
        document_type=values["document_type"],
        json_path=values["json_path"],
        link_selector=values["link_selector"],
        rules=_rules(values.get("page_type"), sets),
        exemption=exemption_of(ours) if ours else None,
    )
    kept = without_buttons(request.POST)
    context |= {
        "title": _("Preview"),
        "seen": seen,
        "name": values.get("name") or seen.title or values["url"],
        "kept": [(name, value) for name in kept for value in kept.getlist(name)],
        "savable": not form.errors,
    }
    return TemplateResponse(request, "admin/monitoring/monitor/preview.html", context)


def _rules(page_type: Any, formsets: list[BaseModelFormSet[Any, Any]]) -> Rules:
    """The page type's saved rules with the form's unsaved ones on top."""
    unsaved = [
        form.instance
        for formset in formsets
        for form in formset.forms
        if form.cleaned_data and not form.cleaned_data.get("DELETE")
    ]
    return combine(
        inherited=list(page_type.field_rules.order_by("pk")) if page_type else [],
        own=[rule for rule in unsaved if isinstance(rule, FieldRule)],
        ignores=[
            *(page_type.ignore_rules.order_by("pk") if page_type else []),
            *(rule for rule in unsaved if isinstance(rule, IgnoreRule)),
        ],
    )


def import_page(request: HttpRequest, model_admin: admin.ModelAdmin[Monitor]) -> HttpResponseBase:
    """Upload, report, confirm. The file's text travels through the report page, signed and for its sender only."""
    if not model_admin.has_add_permission(request):
        raise PermissionDenied
    if "confirm" in request.POST:
        return _confirmed(request)
    form = ImportForm(request.POST or None, request.FILES or None)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": _("Import monitors"),
        "form": form,
        "columns": importing.COLUMNS,
    }
    if request.method == "POST" and form.is_valid():
        try:
            importing.check_size(form.cleaned_data["file"].size)
            text = importing.decode(form.cleaned_data["file"].read())
            report = importing.look(text, teams=teams_of(request.user))
        except importing.UnreadableFileError as error:
            form.add_error("file", str(error))
        else:
            context |= {
                "report": report,
                "file_name": form.cleaned_data["file"].name,
                "sealed": signing.dumps({"user": request.user.pk, "text": text}, salt=_SALT, compress=True),
            }
    return TemplateResponse(request, "admin/monitoring/monitor/import.html", context)


def _confirmed(request: HttpRequest) -> HttpResponseBase:
    try:
        sealed = signing.loads(request.POST.get("sealed", ""), salt=_SALT, max_age=_KEPT_S)
    except signing.BadSignature:
        messages.error(request, _("The report is older than an hour or not yours. Upload the file again."))
        return HttpResponseRedirect(reverse("admin:monitoring_monitor_import"))
    if sealed["user"] != request.user.pk:
        raise PermissionDenied
    try:
        report = importing.add(sealed["text"], teams=teams_of(request.user), actor=request.user, now=timezone.now())
    except importing.UnreadableFileError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(reverse("admin:monitoring_monitor_import"))
    count = len(report.added)
    messages.success(
        request,
        ngettext(
            "%d monitor added; its first check is planned.",
            "%d monitors added; their first checks are spread over the next hour.",
            count,
        )
        % count,
    )
    if report.bad:
        left = len(report.bad)
        messages.warning(request, ngettext("%d line was left out.", "%d lines were left out.", left) % left)
    return HttpResponseRedirect(reverse("admin:monitoring_monitor_changelist"))
