"""Sites, teams and vantages: whom we visit, who watches, and from where."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Count, ManyToManyField, QuerySet
from django.forms import ModelForm, ModelMultipleChoiceField
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from monitoring.admin.access import Admin, CappedPaginator, TeamScoped, visible_people
from monitoring.admin.outlook import unfit_words
from monitoring.fetching.robots import parse as parse_robots
from monitoring.forms import SiteForm, VantageForm
from monitoring.models import HintSource, RobotsFile, Site, Team, Vantage
from monitoring.scheduling.hints import Trust
from monitoring.services import budget, hints, monitors
from monitoring.services.outlook import fit_of


def _trust_words(source: HintSource) -> str:
    """How far a source is believed, and why."""
    return gettext("%(share)d %% believed (%(hits)d of %(all)d came true)") % {
        "share": round(Trust(source.hits, source.misses).precision * 100),
        "hits": round(source.hits),
        "all": round(source.hits + source.misses),
    }


@admin.register(Site)
class SiteAdmin(Admin[Site]):
    """Hosts under watch; made by themselves when a monitor needs one."""

    form = SiteForm
    list_display = ["name", "host", "gap_s", "robots_policy", "rest"]
    list_filter = ["robots_policy"]
    search_fields = ["name", "host"]
    ordering = ["name"]
    readonly_fields = ["next_free_at", "bears", "rest", "robots_found", "hints_found", "said"]
    fieldsets = [
        (None, {"fields": ["name", "host"]}),
        (_("Politeness"), {"fields": ["gap_s", "bears", "rest", "next_free_at"]}),
        (_("robots.txt"), {"fields": ["robots_policy", "robots_reason", "robots_found"]}),
        (_("Sitemaps and feeds"), {"fields": ["use_hints", "hint_url", "hints_found"]}),
        (_("Signing in"), {"fields": ["cookies", "login_url", "login_steps"]}),
        (_("Last changes"), {"fields": ["said"]}),
    ]
    show_full_result_count = False
    paginator = CappedPaginator

    def get_queryset(self, request: HttpRequest) -> QuerySet[Site]:
        rows = super().get_queryset(request)
        if getattr(request.user, "is_superuser", False):
            return rows
        return rows.filter(monitors__team__members=request.user.pk).distinct()

    def get_readonly_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        return [*self.readonly_fields, *(["host"] if obj is not None else [])]

    def save_model(self, request: HttpRequest, obj: Site, form: ModelForm[Site], change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            hints.choose(obj, now=timezone.now())
            return
        wanted = {name: form.cleaned_data[name] for name in form.changed_data}
        access = {name: wanted.pop(name) for name in monitors.SITE_ACCESS if name in wanted}
        stored = Site.objects.get(pk=obj.pk)
        monitors.change_site(stored, wanted, actor=request.user, now=timezone.now())
        count = monitors.change_access(stored, access, actor=request.user)
        if "gap_s" in wanted and (words := unfit_words(fit_of(stored))):
            self.message_user(request, words, messages.WARNING)
        if count:
            self.message_user(
                request, _("%(count)d monitors get a new baseline at their next check.") % {"count": count}
            )

    @admin.display(description=_("what it bears"), empty_value="–")
    def bears(self, row: Site) -> str | None:
        if not row.pk or row.effective_gap_s <= 0:
            return None
        fit = fit_of(row)
        return unfit_words(fit) or _("%(allowed)d visits a day; what is promised needs %(needed)d") % {
            "allowed": fit.allowed,
            "needed": round(fit.needed),
        }

    @admin.display(description=_("left alone until"), empty_value="–")
    def rest(self, row: Site) -> str | None:
        if not row.rests(timezone.now()) or row.rest_until is None:
            return None
        return f"{date_format(localtime(row.rest_until), 'DATETIME_FORMAT')}: {row.rest_words}"

    @admin.display(description=_("what it says"), empty_value="–")
    def robots_found(self, row: Site) -> str | None:
        found = RobotsFile.objects.filter(site=row.pk).first() if row.pk else None
        if found is None:
            return None
        parts = [str(found.get_state_display())]
        if found.read_at is not None:
            rules = parse_robots(found.text, settings.ROBOT_NAME)
            parts += [date_format(localtime(found.read_at), "DATETIME_FORMAT"), *(r.text for r in rules.rules[:30])]
            if rules.crawl_delay_s:
                parts.append(f"Crawl-delay: {rules.crawl_delay_s:g}")
        return "; ".join(parts)

    @admin.display(description=_("those in use"), empty_value="–")
    def hints_found(self, row: Site) -> str | SafeString:
        sources = HintSource.objects.filter(site=row.pk) if row.pk else HintSource.objects.none()
        return format_html_join("", "<p>{}: {} {}</p>", ((s.url, _trust_words(s), s.problem) for s in sources)) or "–"

    @admin.display(description=_("who changed what"), empty_value="–")
    def said(self, row: Site) -> str | SafeString:
        rows = row.setting_changes.order_by("-at", "-pk")[:20] if row.pk else ()
        lines = (
            (
                date_format(localtime(one.at), "DATETIME_FORMAT"),
                one.actor_name or "–",
                one.name,
                one.old,
                one.new,
                one.reason,
            )
            for one in rows
        )
        return format_html_join("", "<p>{}, {}: {} {} → {} {}</p>", lines) or "–"

    def has_delete_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return obj is not None and not obj.monitors.exists() and super().has_delete_permission(request, obj)


@admin.register(Team)
class TeamAdmin(TeamScoped[Team]):
    """Groups of people who share monitors."""

    team_path = "pk"
    list_display = ["name", "people", "watched", "budget"]
    search_fields = ["name"]
    ordering = ["name"]
    filter_horizontal = ["members"]
    fieldsets = [
        (None, {"fields": ["name", "members"]}),
        (_("How often"), {"fields": ["budget", "budget_counts", "spending"]}),
    ]
    readonly_fields = ["spending"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        return (
            super()
            .get_queryset(request)
            .annotate(_people=Count("members", distinct=True), _watched=Count("monitors", distinct=True))
        )

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any] | None:
        kwargs["queryset"] = User.objects.filter(visible_people(request.user)).distinct().order_by("username")
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if not change:  # otherwise nobody but a superuser could see the new team
            form.instance.members.add(request.user)

    def save_model(self, request: HttpRequest, obj: Team, form: ModelForm[Team], change: bool) -> None:
        wanted, counts, now = obj.budget, obj.budget_counts, timezone.now()
        if change:  # the budget goes through its service, which records it and asks for a price
            obj.budget, obj.budget_counts = Team.objects.values_list("budget", "budget_counts").get(pk=obj.pk)
        super().save_model(request, obj, form, change)
        if change and any(
            [
                budget.set_budget(obj, wanted, actor=request.user, now=now),
                budget.set_counts(obj, counts, actor=request.user, now=now),
            ]
        ):
            self.message_user(request, _("The next visits are planned anew within a few minutes."))
        if change and wanted is not None and obj.least_spend > wanted * 1.01:
            words = _(
                "The promises alone need %(needed)d fetches a day; they are kept, and nothing is left for other pages."
            )
            self.message_user(request, words % {"needed": round(obj.least_spend)}, messages.WARNING)

    @admin.display(description=_("fetches a day"))
    def spending(self, row: Team) -> str:
        if row.budget is None or row.priced_at is None:
            return "–"
        return _("%(planned).0f planned, %(measured).0f in the last 24 hours; the promises alone need %(least).0f") % {
            "planned": row.planned_spend,
            "measured": row.measured_spend,
            "least": row.least_spend,
        }

    @admin.display(description=_("people"), ordering="_people")
    def people(self, row: Any) -> int:
        return int(row._people)

    @admin.display(description=_("monitors"), ordering="_watched")
    def watched(self, row: Any) -> int:
        return int(row._watched)


@admin.register(Vantage)
class VantageAdmin(Admin[Vantage]):
    """From where and as whom we ask. A proxy's password goes in and never comes out."""

    form = VantageForm
    list_display = ["name", "country", "language", "time_zone", "proxy", "viewport"]
    list_filter = ["country"]
    search_fields = ["name", "country", "language"]
    fieldsets = [
        (None, {"fields": ["name", "country", "proxy_url"]}),
        (
            _("As whom"),
            {"fields": ["language", "locale", "user_agent", "time_zone", ("viewport_width", "viewport_height")]},
        ),
    ]

    def get_fieldsets(self, request: HttpRequest, obj: Vantage | None = None) -> Any:
        """With the masked proxy for whoever may only look: Django shows them the column itself otherwise."""
        if obj is None or self.has_change_permission(request, obj):
            return self.fieldsets
        return [(None, {"fields": ["name", "country", "proxy"]}), *self.fieldsets[1:]]

    def get_readonly_fields(self, request: HttpRequest, obj: Vantage | None = None) -> list[str]:
        return ["proxy"]

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """The password can't be guessed letter by letter through the list's address."""
        return not lookup.startswith("proxy_url") and super().lookup_allowed(lookup, value, request)

    @admin.display(description=_("proxy"), empty_value="–")
    def proxy(self, row: Vantage) -> str:
        return monitors.mask_proxy(row.proxy_url)

    @admin.display(description=_("viewport"))
    def viewport(self, row: Vantage) -> str:
        return f"{row.viewport_width} × {row.viewport_height}"

    def save_model(self, request: HttpRequest, obj: Vantage, form: ModelForm[Vantage], change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            return
        stored = Vantage.objects.get(pk=obj.pk)
        count = monitors.change_vantage(
            stored, {name: form.cleaned_data[name] for name in form.changed_data}, actor=request.user
        )
        if count:
            self.message_user(
                request, _("%(count)d monitors get a new baseline at their next check.") % {"count": count}
            )
