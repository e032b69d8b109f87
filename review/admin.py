"""People and their roles in Django admin; what people decided and what they were mailed is read-only there."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from monitoring.admin.access import Evidence, TeamScoped, teams_of, visible_people
from monitoring.models import Team
from review import (
    admin_routes,  # noqa: F401 - registers itself
    roles,
)
from review.models import Digest, DigestSubscription, Verdict
from review.services import accounts, digests

admin.site.unregister(Group)  # the four roles are fixed, and so is what they allow
admin.site.unregister(User)


class PersonForm(forms.ModelForm):  # type: ignore[type-arg]  # Django's class takes no parameter when it runs
    """An account: who, in which roles, in which teams. Passwords are set by their owners, through a link."""

    roles = forms.ModelMultipleChoiceField(
        Group.objects.none(), label=_("Roles"), widget=forms.CheckboxSelectMultiple, required=False
    )
    teams = forms.ModelMultipleChoiceField(
        Team.objects.none(), label=_("Teams"), widget=forms.CheckboxSelectMultiple, required=False
    )

    class Meta:
        model = User
        fields = ["username", "first_name", "last_name", "email", "is_active", "is_superuser"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "email" in self.fields:
            self.fields["email"].required = True
        if "roles" in self.fields:
            self._choices("roles", Group.objects.filter(name__in=roles.ALL).order_by("name"))
            if not self.instance.pk:
                self.initial.setdefault("roles", list(Group.objects.filter(name=roles.ANALYST)))
            else:
                self.initial.setdefault("roles", list(self.instance.groups.values_list("pk", flat=True)))
                self.initial.setdefault("teams", list(self.instance.teams.values_list("pk", flat=True)))

    def _choices(self, name: str, rows: QuerySet[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelMultipleChoiceField)  # noqa: S101 - declared above
        field.queryset = rows

    def clean_email(self) -> str:
        """One account per address, or a link to a new password would not know whose."""
        address: str = self.cleaned_data["email"].strip()
        if User.objects.filter(email__iexact=address).exclude(pk=self.instance.pk).exists():
            raise ValidationError(_("Another account has this address."), code="taken")
        return address


@admin.register(User)
class PersonAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Accounts. Adding one sends an invitation; nobody here sees or sets another's password."""

    form = PersonForm
    list_display = ["username", "full_name", "email", "role_names", "team_names", "is_active", "last_login"]
    list_filter = ["is_active", "groups", ("teams", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["username", "first_name", "last_name", "email"]
    ordering = ["username"]
    show_full_result_count = False
    actions = ["send_link"]
    readonly_fields = ["last_login", "date_joined"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        rows: QuerySet[User] = super().get_queryset(request).prefetch_related("groups", "teams")
        return rows.filter(visible_people(request.user)).distinct()

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        who = ["username", ("first_name", "last_name"), "email", "is_active"]
        if _actor(request).is_superuser:
            who.append("is_superuser")
        if not self.has_change_permission(request, obj) and obj is not None:
            return [(None, {"fields": [*who, "role_names", "team_names", "last_login", "date_joined"]})]
        sets: list[tuple[Any, Any]] = [(None, {"fields": who}), (_("May"), {"fields": ["roles", "teams"]})]
        if obj is None:
            sets[0][1]["description"] = _("A link to set a password is mailed to the address.")
            who.remove("is_active")
            return sets
        return [*sets, (_("Seen"), {"fields": ["last_login", "date_joined"]})]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        return ["last_login", "date_joined", "role_names", "team_names"]

    def get_form(self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any) -> Any:
        own = teams_of(request.user)

        class Form(super().get_form(request, obj, change, **kwargs)):  # type: ignore[misc]
            """The form with the person's own teams to choose from."""

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                if "teams" in self.fields:
                    self._choices("teams", own)
                    if not self.instance.pk and len(only := list(own[:2])) == 1:
                        self.initial.setdefault("teams", only)

        return Form

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Hashes can't be guessed letter by letter through the list's address."""
        return not lookup.startswith("password") and super().lookup_allowed(lookup, value, request)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or accounts.may_manage(_actor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Verdicts carry names; an account is switched off instead."""
        return False

    def save_model(self, request: HttpRequest, obj: User, form: forms.ModelForm[User], change: bool) -> None:
        actor = _actor(request)
        if change and not accounts.may_manage(actor, User.objects.get(pk=obj.pk)):
            raise PermissionDenied
        if not change:
            obj.set_unusable_password()
        names = {group.name for group in form.cleaned_data["roles"]}
        obj.is_staff = obj.is_superuser or bool(names & accounts.STAFF)
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: forms.ModelForm[User], formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        person = form.instance
        person.groups.set(form.cleaned_data["roles"])
        for team in teams_of(request.user):
            if team in form.cleaned_data["teams"]:
                team.members.add(person)
            else:
                team.members.remove(person)
        if not change:
            digests.subscribe(person)
            accounts.invite(person, actor=_actor(request), now=timezone.now())
            self.message_user(request, _("An invitation is on its way to %(address)s.") % {"address": person.email})

    @admin.display(description=_("name"))
    def full_name(self, row: User) -> str:
        return row.get_full_name()

    @admin.display(description=_("roles"))
    def role_names(self, row: User) -> str:
        return ", ".join(sorted(group.name for group in row.groups.all()))

    @admin.display(description=_("teams"))
    def team_names(self, row: User) -> str:
        return ", ".join(sorted(team.name for team in row.teams.all()))

    @admin.action(description=_("Mail a link to a new password"), permissions=["change"])
    def send_link(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        actor, sent, left = _actor(request), 0, 0
        for person in queryset:
            if person.is_active and person.email and accounts.may_manage(actor, person):
                sent += accounts.invite(person, actor=actor, now=timezone.now())
            else:
                left += 1
        self.message_user(request, ngettext("%d mail is on its way.", "%d mails are on their way.", sent) % sent)
        if left:
            self.message_user(
                request,
                ngettext(
                    "%d account was left alone: inactive, without an address, or also in a team that is not yours.",
                    "%d accounts were left alone: inactive, without an address, or also in a team that is not yours.",
                    left,
                )
                % left,
                messages.WARNING,
            )


def _actor(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


@admin.register(Verdict)
class VerdictAdmin(Evidence[Verdict], TeamScoped[Verdict]):
    """What people decided; never edited, undone by a row of its own on the change page."""

    team_path = "change__monitor__team"
    list_display = ["at", "actor", "action", "reason", "change", "score", "distance", "calibrates"]
    list_select_related = ["actor", "change"]
    list_filter = ["action", "reason", "calibrates", "at"]
    search_fields = ["actor__username", "change__monitor__name"]
    exclude = ["idempotency_key"]


@admin.register(DigestSubscription)
class DigestSubscriptionAdmin(Evidence[DigestSubscription]):
    """Who is told what is waiting, and when; set by each person."""

    list_display = ["user", "rhythm", "hour", "time_zone", "alerts", "next_at", "last_sent_at"]
    list_select_related = ["user"]
    list_filter = ["rhythm", "alerts"]
    search_fields = ["user__username", "user__email"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[DigestSubscription]:
        people = User.objects.filter(visible_people(request.user))
        return super().get_queryset(request).filter(user__in=people)


@admin.register(Digest)
class DigestAdmin(Evidence[Digest]):
    """Digests that were made."""

    list_display = ["subscription", "period", "proof_of_life", "created_at"]
    list_select_related = ["subscription__user"]
    list_filter = ["proof_of_life", "created_at"]
    search_fields = ["subscription__user__username", "period"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Digest]:
        people = User.objects.filter(visible_people(request.user))
        return super().get_queryset(request).filter(subscription__user__in=people)
