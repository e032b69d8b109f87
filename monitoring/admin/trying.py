"""The page between “save” and an ignore rule: what the rule would have hidden, from stored captures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from monitoring.admin.looking import without_buttons
from monitoring.models import IgnoreRule, Monitor, PageType
from monitoring.services import trials

if TYPE_CHECKING:
    from monitoring.admin.access import Admin as _Base
else:

    class _Base[M]:
        """Nothing at run time: this is mixed into an admin."""


_SAVES = ("_save", "_continue", "_addanother")
_READ = frozenset({"kind", "value"})
_RESULT = "_tideline_trial"


def trial_of(request: HttpRequest) -> trials.Trial | None:
    """The trial that this request's rules went through on their way to being saved."""
    found: trials.Trial | None = getattr(request, _RESULT, None)
    return found


def override_of(request: HttpRequest) -> str:
    """Why the rule is to be saved all the same; empty when nothing was written."""
    return request.POST.get("override", "").strip()


class Tries[M: models.Model](_Base[M]):
    """Shows what new and changed ignore rules of a form would have hidden, and saves only what was confirmed."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:  # Any: as Django's own
        """The form; on “save” with a rule that was not confirmed yet, the trial of it."""
        if request.method == "POST" and _is_save(request):
            page = self._trial_page(request, object_id)
            if page is not None:
                return page
        asked = next((name for name in ("_preview", "_edit") if name in request.POST), "")
        if request.method == "POST" and asked:
            # Shown again with its values and errors. The form is never valid then, and no bulk action is meant.
            kept = without_buttons(request.POST)
            kept[asked] = "1"
            request.POST = kept
        return super().changeform_view(request, object_id, form_url, extra_context)

    def _trial_page(self, request: HttpRequest, object_id: str | None) -> TemplateResponse | None:
        """What has to be seen before these values are saved; None where nothing has, or the form is wrong and says so."""
        obj = self.get_object(request, unquote(object_id)) if object_id else None
        if object_id and obj is None:
            return None
        if not (self.has_change_permission(request, obj) if obj else self.has_add_permission(request)):
            raise PermissionDenied
        form = self.get_form(request, obj, change=obj is not None)(request.POST, request.FILES, instance=obj)
        if not form.is_valid():
            return None
        formsets, _inlines = self._create_formsets(  # type: ignore[attr-defined]  # not in the stubs
            request, form.instance, change=obj is not None
        )
        if not all(formset.is_valid() for formset in formsets):
            return None
        proposed, replaced = _proposed(form, formsets)
        owner = _owner(form.instance)
        if not proposed or owner is None:
            return None
        trial = trials.try_rules(owner, proposed, viewer=request.user, instead_of=replaced)
        fault = _fault(request, trial)
        if trial.is_empty or ("_tried" in request.POST and not fault):
            setattr(request, _RESULT, trial)
            if trial.is_empty:
                messages.info(request, _("There is no stored capture yet to try the ignore rule on."))
            return None
        kept = without_buttons(request.POST)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": obj,
            "title": _("Try the ignore rule"),
            "form_url": request.get_full_path(),
            "trial": trial,
            "override_allowed": trials.may_override(request.user),
            "override": override_of(request),
            "fault": fault if "_tried" in request.POST else "",
            "kept": [(name, value) for name in kept for value in kept.getlist(name)],
            "button": next((name for name in _SAVES if name in request.POST), "_save"),
        }
        return TemplateResponse(request, "admin/monitoring/trial.html", context)


def _is_save(request: HttpRequest) -> bool:
    """Whether a form is to be saved; the page's bulk actions come without one of its buttons, too."""
    names = set(request.POST)
    if names & {"_preview", "_edit"}:
        return False
    return bool(names & set(_SAVES)) or not any(name.endswith("-action") for name in names)


def _fault(request: HttpRequest, trial: trials.Trial) -> str:
    """Why this person may not save these rules as things stand."""
    if not trial.refused:
        return ""
    try:
        trials.check_override(trial, actor=request.user, override=override_of(request))
    except trials.RuleRefusedError as error:
        return " ".join(error.messages)
    return ""


def _owner(instance: models.Model) -> trials.Owner | None:
    """Whose captures a form's rules are tried on; those of a monitor or page type as it is stored."""
    if isinstance(instance, IgnoreRule):
        return instance.monitor or instance.page_type
    if isinstance(instance, Monitor | PageType):
        stored = type(instance)._default_manager.filter(pk=instance.pk).first() if instance.pk else None
        return stored or instance
    return None


def _proposed(
    form: ModelForm[Any], formsets: Iterable[BaseModelFormSet[Any, Any]]
) -> tuple[list[IgnoreRule], list[int]]:
    """The ignore rules that read differently after this form, and the ids of saved ones that then no longer apply."""
    if isinstance(form.instance, IgnoreRule):
        rows: list[ModelForm[Any]] = [form]
        gone: list[int] = []
    else:
        mine = [formset for formset in formsets if formset.model is IgnoreRule]
        dropped = [one for formset in mine for one in formset.deleted_forms]
        rows = [one for formset in mine for one in formset.forms if one not in dropped]
        gone = [one.instance.pk for one in dropped if one.instance.pk]
    changed = [one for one in rows if _READ & set(one.changed_data)]
    return [one.instance for one in changed], gone + [one.instance.pk for one in changed if one.instance.pk]


__all__ = ["Tries", "override_of", "trial_of"]
