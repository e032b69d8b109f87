"""Django admin, its menu sorted by what people come for: what is watched, who works here, and the evidence."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

WATCHED: Final = ("Monitor", "PageType", "Vantage", "Site", "FieldRule", "IgnoreRule")
PEOPLE: Final = ("User", "Team", "Route")
_GROUPS: Final = ((_("What is watched"), WATCHED), (_("People"), PEOPLE))


class TidelineSite(admin.AdminSite):
    """The default site with a menu of our own."""

    site_header = "Tideline"
    site_title = "Tideline"
    index_title = _("Configuration")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:  # Any: as Django's own
        """Groups by purpose instead of by application; what is in none of them is evidence."""
        apps: list[Any] = super().get_app_list(request, app_label)
        if app_label is not None or not apps:
            return apps
        known = {model["object_name"]: (app, model) for app in apps for model in app["models"]}
        placed = {name for _title, names in _GROUPS for name in names}
        evidence = tuple(name for name in known if name not in placed)
        found = []
        for title, names in (*_GROUPS, (_("Evidence"), evidence)):
            members = [known[name] for name in names if name in known]
            if members:
                app = members[0][0]
                found.append({**app, "name": title, "models": [model for _app, model in members]})
        return found


class TidelineAdmin(AdminConfig):
    """Installed in place of Django's own application, so that `admin.site` is ours."""

    default_site = "monitoring.adminsite.TidelineSite"

    def ready(self) -> None:
        """Find every application's pages, and take back those of background work.

        It is no configuration: a scheduled task names any function to call, and a queued one holds a pickle.
        """
        super().ready()
        from django_q.models import Failure, OrmQ, Schedule, Success

        for model in (Failure, OrmQ, Schedule, Success):
            if admin.site.is_registered(model):  # messages have a page only where the database is the broker
                admin.site.unregister(model)
