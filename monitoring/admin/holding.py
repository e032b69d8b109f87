"""Actions that put and lift legal holds, with a page that asks why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from monitoring.forms import HoldForm

type Hold = Callable[..., int]
type Chosen = QuerySet[Any]  # Any: rows of either model


class Holds:
    """Mixed into an admin: its rows can be held. `hold` is the service for them."""

    hold: Hold

    @admin.action(description=_("Put a legal hold"), permissions=["hold"])
    def put_hold(self, request: HttpRequest, queryset: Chosen) -> TemplateResponse | None:
        return self._held(request, queryset, held=True)

    @admin.action(description=_("Lift a legal hold"), permissions=["hold"])
    def lift_hold(self, request: HttpRequest, queryset: Chosen) -> TemplateResponse | None:
        return self._held(request, queryset, held=False)

    def has_hold_permission(self, request: HttpRequest) -> bool:
        """Whoever configures monitors may hold evidence; that takes nothing away."""
        return bool(request.user.has_perm("monitoring.change_monitor"))

    def _held(
        self: Any, request: HttpRequest, queryset: Chosen, *, held: bool
    ) -> TemplateResponse | None:  # Any: an admin
        form = HoldForm(request.POST if "hold" in request.POST else None)
        if form.is_valid():
            ids = list(queryset.order_by("pk").values_list("pk", flat=True))
            count = type(self).hold(ids, held=held, actor=request.user, reason=form.cleaned_data["reason"])
            said = (
                ngettext("%d is held now.", "%d are held now.", count)
                if held
                else ngettext("%d is no longer held.", "%d are no longer held.", count)
            )
            self.message_user(request, said % count)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": _("Put a legal hold") if held else _("Lift a legal hold"),
            "opts": self.opts,
            "form": form,
            "held": held,
            "chosen": list(queryset.order_by("pk")[:20]),
            "count": queryset.count(),
            "ids": request.POST.getlist(ACTION_CHECKBOX_NAME),
            "checkbox": ACTION_CHECKBOX_NAME,
            "across": request.POST.get("select_across", "0"),
            "action": "put_hold" if held else "lift_hold",
            "back": request.get_full_path(),
        }
        return TemplateResponse(request, "admin/monitoring/hold.html", context)
