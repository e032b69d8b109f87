"""Routes in Django admin: who gets new changes and who is alerted, for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from monitoring.admin.access import TeamScoped, teams_of, visible_people
from monitoring.models import Monitor
from review import roles
from review.models import Route

if TYPE_CHECKING:
    _RouteBase = forms.ModelForm[Route]
else:
    _RouteBase = forms.ModelForm

SCOPES = ("page_type", "site", "monitor")


class RouteForm(_RouteBase):
    """A scope, who gets what is new there and who is told; says what is wrong in words people understand."""

    class Meta:
        model = Route
        fields = ["team", *SCOPES, "assignee", "told"]

    def clean(self) -> dict[str, Any]:
        """One scope at most, somebody named, and everybody who is named in the team."""
        values: dict[str, Any] = super().clean() or {}
        scoped = [name for name in SCOPES if values.get(name)]
        if len(scoped) > 1:
            raise ValidationError(
                _("Choose a page type, a site or a monitor: one of them, or none for the whole team.")
            )
        assignee, told = values.get("assignee"), list(values.get("told") or ())
        if assignee is None and not told:
            raise ValidationError(_("Name an assignee, or people to alert, or both."))
        team, monitor = values.get("team"), values.get("monitor")
        if team is None:
            return values
        if monitor is not None and monitor.team_id != team.pk:
            self.add_error("monitor", _("This monitor belongs to the team %(name)s.") % {"name": monitor.team.name})
        members = set(team.members.values_list("pk", flat=True))
        if assignee is not None and (assignee.pk not in members or not roles.may_decide(assignee)):
            self.add_error("assignee", _("An assignee decides on changes and is in the team."))
        if outside := [roles.display_name(person) for person in told if person.pk not in members]:
            self.add_error("told", _("Not in the team: %(names)s.") % {"names": ", ".join(outside)})
        if told and (mute := [roles.display_name(person) for person in told if not person.email]):
            self.add_error("told", _("Without an address for mail: %(names)s.") % {"names": ", ".join(mute)})
        return values


@admin.register(Route)
class RouteAdmin(TeamScoped[Route]):
    """Defaults of teams; the most specific one decides, for each of the two by itself."""

    form = RouteForm
    list_display = ["__str__", "scope", "team", "assignee", "alerted"]
    list_select_related = ["team", "page_type", "site", "monitor", "assignee"]
    list_filter = ["team"]
    search_fields = ["monitor__name", "site__name", "page_type__name", "team__name"]
    autocomplete_fields = ["page_type", "site", "monitor"]
    filter_horizontal = ["told"]
    fieldsets = [
        (gettext_lazy("For"), {"fields": ["team", *SCOPES]}),
        (gettext_lazy("Who"), {"fields": ["assignee", "told"]}),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Route]:
        return super().get_queryset(request).prefetch_related("told")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only teams, people and monitors that the person sees."""
        if db_field.name == "team":
            kwargs["queryset"] = teams_of(request.user)
        elif db_field.name == "assignee":
            kwargs["queryset"] = _people(request)
        elif db_field.name == "monitor":
            kwargs["queryset"] = Monitor.objects.visible_to(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only people whom the person sees."""
        return super().formfield_for_manytomany(db_field, request, queryset=_people(request), **kwargs)

    @admin.display(description=gettext_lazy("for"))
    def scope(self, row: Route) -> str:
        names = [_("every monitor of the team"), _("page type"), _("site"), _("monitor")]
        return names[row.rank]

    @admin.display(description=gettext_lazy("alerted"), empty_value="–")
    def alerted(self, row: Route) -> str:
        return ", ".join(roles.display_name(person) for person in row.told.all())


def _people(request: HttpRequest) -> QuerySet[User]:
    return User.objects.filter(visible_people(request.user), is_active=True).distinct().order_by("username")
