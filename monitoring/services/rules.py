"""The rules in force for a monitor: its page type's, with its own put on top."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import re2
from django.db.models import Q
from django.utils import timezone

from monitoring.detection.fields import FieldSpec
from monitoring.detection.ignore import selector_fault
from monitoring.models import FieldRule, IgnoreRule, Monitor


@dataclass(frozen=True, slots=True)
class Rules:
    """Fields to extract and text to leave out.

    important, review: names of the fields that mail, and of those that open a change.
    """

    specs: tuple[FieldSpec, ...] = ()
    important: frozenset[str] = frozenset()
    review: frozenset[str] = frozenset()
    field_selectors: tuple[str, ...] = ()
    ignore_selectors: tuple[str, ...] = ()
    ignore_patterns: tuple[str, ...] = ()
    ignore_places: tuple[str, ...] = ()


def rules_of(monitors: Iterable[Monitor]) -> dict[int, Rules]:
    """The rules of each monitor by its id, in two queries."""
    monitors = list(monitors)
    fields, ignores = _rows(monitors)
    return {m.pk: _combined(m, fields, ignores) for m in monitors}


def rules_without_and_with(
    monitors: Iterable[Monitor], *, proposed: Iterable[IgnoreRule], instead_of: Iterable[int] = ()
) -> dict[int, tuple[Rules, Rules]]:
    """Of each monitor by its id the rules without and with some proposed ones, which need not be saved.

    instead_of: ids of saved ignore rules that are in force on neither side: what the proposed ones replace.
    """
    monitors = list(monitors)
    gone = set(instead_of)
    fields, saved = _rows(monitors)
    kept = [rule for rule in saved if rule.pk not in gone]
    more = [*kept, *proposed]
    return {m.pk: (_combined(m, fields, kept), _combined(m, fields, more)) for m in monitors}


def _rows(monitors: list[Monitor]) -> tuple[list[FieldRule], list[IgnoreRule]]:
    owners = Q(monitor__in=[m.pk for m in monitors]) | Q(page_type__in={m.page_type_id for m in monitors})
    fields = list(FieldRule.objects.filter(owners).order_by("pk"))
    return fields, list(IgnoreRule.objects.filter(owners).in_force(timezone.now()).order_by("pk"))


def _combined(monitor: Monitor, fields: list[FieldRule], ignores: list[IgnoreRule]) -> Rules:
    return combine(
        inherited=[f for f in fields if f.page_type_id == monitor.page_type_id],
        own=[f for f in fields if f.monitor_id == monitor.pk],
        ignores=[r for r in ignores if r.monitor_id == monitor.pk or r.page_type_id == monitor.page_type_id],
    )


def combine(*, inherited: Iterable[FieldRule], own: Iterable[FieldRule], ignores: Iterable[IgnoreRule]) -> Rules:
    """Rules from a page type's fields, a monitor's own ones that take their places by name, and what both leave out."""
    by_name = {f.name: f for f in (*inherited, *own)}
    active = [f for f in by_name.values() if f.enabled]
    mine = list(ignores)
    return Rules(
        specs=tuple(spec_of(f) for f in active),
        important=frozenset(f.name for f in active if f.important),
        review=frozenset(f.name for f in active if f.opens_change),
        field_selectors=_sound(f.selector for f in active if f.source == FieldRule.Source.CSS and not f.attribute),
        ignore_selectors=_sound(r.value for r in mine if r.kind == IgnoreRule.Kind.SELECTOR),
        ignore_patterns=tuple(
            pattern_of(r) for r in mine if r.kind in (IgnoreRule.Kind.PATTERN, IgnoreRule.Kind.BLOCK)
        ),
        ignore_places=tuple(r.value for r in mine if r.kind == IgnoreRule.Kind.PLACE),
    )


def _sound(selectors: Iterable[str]) -> tuple[str, ...]:
    """The selectors that parse; forms refuse the others, and one that got past them must not stop the visit."""
    return tuple(selector for selector in selectors if not selector_fault(selector))


def pattern_of(rule: IgnoreRule) -> str:
    """The RE2 pattern of a rule; one that names a block by some of its text takes the whole of that block."""
    if rule.kind == IgnoreRule.Kind.BLOCK:
        return rf"(?is)^.*{re2.escape(rule.value)}.*$"
    return rule.value


def spec_of(rule: FieldRule) -> FieldSpec:
    """A field rule as the extractor takes it."""
    return FieldSpec(
        name=rule.name, source=rule.source, selector=rule.selector, attribute=rule.attribute, type=rule.type
    )
