"""Who sees what in admin: rows of one's own teams, and evidence that nobody edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.paginator import Paginator
from django.db import models
from django.http import HttpRequest
from django.utils.functional import cached_property

from monitoring.models import Team

if TYPE_CHECKING:

    class Admin[M: models.Model](admin.ModelAdmin[M]):
        """Generic for the type checker only; Django's own class takes no parameter when it runs."""

    class Rows[Child: models.Model, Parent: models.Model](admin.TabularInline[Child, Parent]):
        """The same for rows inside another form."""
else:

    class Admin[M](admin.ModelAdmin):
        """A model's pages."""

    class Rows[Child, Parent](admin.TabularInline):
        """Rows inside another form."""


def teams_of(user: AbstractBaseUser | AnonymousUser) -> models.QuerySet[Team]:
    """The teams whose rows a person may see; all for a superuser."""
    if getattr(user, "is_superuser", False):
        return Team.objects.all()
    return Team.objects.filter(members=user.pk)


def visible_people(user: AbstractBaseUser | AnonymousUser) -> models.Q:
    """Whom a person sees: everybody in their teams, and people without a team, who wait to be taken into one."""
    if getattr(user, "is_superuser", False):
        return models.Q()
    return models.Q(teams__members=user.pk) | models.Q(teams__isnull=True, is_superuser=False)


def as_id(text: str | None) -> int | None:
    """A row's id from an address; None for anything else (`²` counts as a digit, and 30 digits fit no database)."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # takes none when it runs
    """Pages of a list that is counted up to a limit: counting ten million rows to say so takes longer than anybody looks."""

    MOST = 10_000

    @cached_property
    def count(self) -> int:
        """How many rows, or the limit where there are more; a search or filter leads to those beyond."""
        rows = self.object_list
        if not isinstance(rows, models.QuerySet):
            return len(rows)
        return int(rows.order_by()[: self.MOST].count())


class OfferedFilter(admin.RelatedOnlyFieldListFilter):
    """By a related row that some row of the list has; each is asked for by its index, where Django's own reads the whole table."""

    def field_choices(  # type: ignore[override]  # what `get_choices` gives
        self, field: Any, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> list[tuple[str, str]]:
        """The choices."""
        having = model_admin.get_queryset(request).filter(**{field.name: models.OuterRef("pk")}).values("pk")
        found = field.remote_field.model._default_manager.filter(models.Exists(having)).values_list("pk", flat=True)
        choices: list[tuple[str, str]] = field.get_choices(
            include_blank=False,
            limit_choices_to={"pk__in": list(found)},
            ordering=self.field_admin_ordering(field, request, model_admin),
        )
        return choices


class TeamScoped[M: models.Model](Admin[M]):
    """Shows rows that belong to the person's teams; any other row does not exist for them, whatever the address."""

    team_path = "team"  # lookup from the row to its team
    paginator = CappedPaginator
    show_full_result_count = False
    rows_without_team = False  # whether rows whose path leads nowhere (a page type's rule) are everybody's

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[M]:
        rows = super().get_queryset(request)
        if getattr(request.user, "is_superuser", False):
            return rows
        own = models.Q(**{f"{self.team_path}__in": teams_of(request.user)})
        if self.rows_without_team:
            own |= models.Q(**{f"{self.team_path}__isnull": True})
        return rows.filter(own)


class Evidence[M: models.Model](Admin[M]):
    """What machines and people recorded: to read, never to write."""

    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
