"""Fields and ignore rules: as rows inside a monitor or page type, and as lists of their own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.forms import BaseModelFormSet, ModelChoiceField, ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from monitoring.admin.access import Rows, TeamScoped
from monitoring.admin.trying import Tries, override_of, trial_of
from monitoring.forms import FieldRuleForm, IgnoreRuleForm
from monitoring.models import FieldRule, IgnoreRule, Monitor, PageType
from monitoring.services import monitors, trials

type Rule = FieldRule | IgnoreRule


def rule_name(rule: Rule) -> str:
    """What the record of settings calls a rule."""
    return f"field {rule.name}" if isinstance(rule, FieldRule) else "ignore"


def rule_text(rule: Rule) -> str:
    """A rule in one line."""
    if isinstance(rule, IgnoreRule):
        return trials.rule_text(rule)
    notes = [rule.source, rule.selector, rule.attribute and f"[{rule.attribute}]", f"as {rule.type}"]
    notes += [word for word, on in (("important", rule.important), ("off", not rule.enabled)) if on]
    if rule.review is not None:
        notes.append("review" if rule.review else "no review")
    return " ".join(note for note in notes if note)


def _read_by(rule: Rule | None) -> tuple[object, ...]:
    """The part of a rule that decides what is read from a page; the rest decides what is done about it."""
    if rule is None:
        return ()
    if isinstance(rule, IgnoreRule):
        return trials.reads_like(rule)
    return (rule.name, rule.source, rule.selector, rule.attribute, rule.type, rule.enabled)


def _record(request: HttpRequest, before: Rule | None, after: Rule | None) -> None:
    """Put one rule's way from `before` to `after` on record; None is a rule that is not there."""
    rule = after or before
    old, new = (rule_text(one) if one else "" for one in (before, after))
    if rule is None or old == new:
        return
    monitors.log_rule(
        rule_name(rule),
        old,
        new,
        actor=request.user,
        monitor=rule.monitor,
        page_type=rule.page_type,
        reads_differently=_read_by(before) != _read_by(after),
    )


class FieldRows[P: (Monitor, PageType)](Rows[FieldRule, P]):
    """Fields of a monitor or page type."""

    model = FieldRule
    form = FieldRuleForm
    extra = 0
    fields = ["name", "source", "selector", "attribute", "type", "important", "review", "enabled"]


class IgnoreRows[P: (Monitor, PageType)](Rows[IgnoreRule, P]):
    """What a monitor or page type leaves out."""

    model = IgnoreRule
    form = IgnoreRuleForm
    extra = 0
    fields = ["kind", "value", "note"]


def save_rules(request: HttpRequest, formset: BaseModelFormSet[Any, Any]) -> None:
    """Save a formset of rules and record each that was added, changed or removed."""
    model: Any = formset.model
    # Read again: the formset's own objects already hold the new values.
    before: dict[int, Rule] = model._default_manager.in_bulk([row.pk for row in formset.get_queryset()])
    fresh = formset.save(commit=False)
    for rule in formset.deleted_objects:
        _record(request, before[rule.pk], None)
        rule.delete()
    for rule in fresh:
        if isinstance(rule, IgnoreRule):
            _save_ignore_rule(request, rule)
            continue
        old = before.get(rule.pk)
        rule.save()
        _record(request, old, rule)
    formset.save_m2m()


def _save_ignore_rule(request: HttpRequest, rule: IgnoreRule) -> None:
    """Save a rule that was tried on the way here."""
    trials.save_rule(rule, trial=trial_of(request), actor=request.user, override=override_of(request))


class RuleAdmin[R: FieldRule | IgnoreRule](TeamScoped[R]):
    """Rules across monitors and page types."""

    team_path = "monitor__team"
    rows_without_team = True
    list_select_related = ["monitor", "page_type"]
    autocomplete_fields = ["monitor", "page_type"]
    show_full_result_count = False

    @admin.display(description=_("of"))
    def owner(self, row: Rule) -> str:
        return str(row.monitor or row.page_type)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        if db_field.name == "monitor":
            kwargs["queryset"] = Monitor.objects.filter(pk__in=Monitor.objects.visible_to(request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: R | None = None) -> list[str]:
        """A rule stays with its owner: moved to another, it would vanish from the first one's record."""
        return [] if obj is None else ["monitor", "page_type"]

    def save_model(self, request: HttpRequest, obj: R, form: ModelForm[R], change: bool) -> None:
        stored = type(obj)._default_manager.filter(pk=obj.pk).first() if change else None
        super().save_model(request, obj, form, change)
        _record(request, stored, obj)

    def delete_model(self, request: HttpRequest, obj: R) -> None:
        _record(request, obj, None)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[R]) -> None:
        for rule in queryset:
            self.delete_model(request, rule)


@admin.register(FieldRule)
class FieldRuleAdmin(RuleAdmin[FieldRule]):
    """Named, typed values taken from pages."""

    form = FieldRuleForm
    list_display = ["name", "owner", "source", "selector", "type", "important", "opens_a_change", "enabled"]
    list_filter = ["source", "type", "important", "enabled", "page_type"]
    search_fields = ["name", "selector", "monitor__name", "page_type__name"]

    @admin.display(description=_("opens a change"), boolean=True)
    def opens_a_change(self, row: FieldRule) -> bool:
        return row.opens_change


@admin.register(IgnoreRule)
class IgnoreRuleAdmin(Tries[IgnoreRule], RuleAdmin[IgnoreRule]):
    """Text left out of comparisons; tried on stored captures before it is saved."""

    form = IgnoreRuleForm
    list_display = ["value", "kind", "owner", "note", "created_by", "created_at", "expires_at"]
    list_select_related = ["monitor", "page_type", "created_by"]
    list_filter = ["kind", "page_type"]
    search_fields = ["value", "note", "monitor__name", "page_type__name"]

    def save_model(self, request: HttpRequest, obj: IgnoreRule, form: ModelForm[IgnoreRule], change: bool) -> None:
        _save_ignore_rule(request, obj)
