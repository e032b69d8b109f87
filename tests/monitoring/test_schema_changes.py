"""The release before works on this release's tables: whatever its statements name is there, and what they leave out fills itself.

`RELEASE` is the last migration of each app in the last release. Move it when a release is made.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddIndex, RemoveIndex, RunPython, RunSQL
from django.db.migrations.state import ProjectState

from monitoring.schema import AddIndexInBackground, RemoveIndexInBackground

RELEASE = {"monitoring": "0011_policy", "review": "0003_notices"}
# Grow with the number of pages or visits: an index is made while they are in use.
LARGE = {"monitor", "check", "snapshot", "payload", "change", "fieldchange", "verdict", "outboxmessage"}
# Columns and tables that go: only when the release before has not used them any more. (app.model or app.model.field): why
GONE: dict[str, str] = {}
# Made at once, before this rule came: on PostgreSQL each holds up writes to its table for as long as it is being made.
AT_ONCE = {
    "monitor_rate_stale",
    "check_of_monitor",
    "check_by_time",
    "check_started",
    "check_noise",
    "check_snapshot",
}


@cache
def loader() -> MigrationLoader:
    """All migrations there are."""
    return MigrationLoader(None)


@cache
def old() -> ProjectState:
    """The tables as the last release knows them."""
    nodes = list(RELEASE.items())
    others = [node for node in loader().graph.leaf_nodes() if node[0] not in RELEASE]
    state: ProjectState = loader().graph.make_state(nodes=nodes + others, real_apps=None)
    return state


@cache
def new() -> ProjectState:
    """The tables of this release."""
    state: ProjectState = loader().project_state()
    return state


def ours(state: ProjectState) -> Iterator[tuple[str, type[models.Model]]]:
    for model in state.apps.get_models():
        if model._meta.app_label in RELEASE:
            yield f"{model._meta.app_label}.{model._meta.model_name}", model


def since() -> list[Any]:
    """Migrations that came after the last release."""
    graph = loader().graph
    before = {node for app, name in RELEASE.items() for node in graph.forwards_plan((app, name))}
    return [
        loader().disk_migrations[node]
        for node in sorted(loader().disk_migrations)
        if node[0] in RELEASE and node not in before
    ]


def test_nothing_that_the_last_release_uses_is_gone() -> None:
    now = dict(ours(new()))
    for name, model in ours(old()):
        if name in GONE:
            continue
        assert name in now, f"{name} is gone; the release before reads and writes it"
        assert now[name]._meta.db_table == model._meta.db_table
        columns = {field.column for field in now[name]._meta.local_concrete_fields}
        for field in model._meta.local_concrete_fields:
            if f"{name}.{field.name}" not in GONE:
                assert field.column in columns, f"{name}.{field.name} is gone or renamed"


def test_columns_that_came_since_fill_themselves() -> None:
    before = dict(ours(old()))
    for name, model in ours(new()):
        if name not in before:
            continue
        known = {field.column for field in before[name]._meta.local_concrete_fields}
        for field in model._meta.local_concrete_fields:
            if field.column not in known:
                assert field.null or field.has_db_default(), (
                    f"{name}.{field.name}: the release before does not write it"
                )


def test_large_tables_get_their_indexes_in_the_background() -> None:
    for migration in since():
        for operation in migration.operations:
            if not isinstance(operation, AddIndex | RemoveIndex) or operation.model_name.lower() not in LARGE:
                continue
            name = operation.index.name if isinstance(operation, AddIndex) else operation.name
            made_before = any(
                model.lower() == operation.model_name.lower() for model in _made_in(migration)
            )  # an empty table
            if name in AT_ONCE or made_before:
                continue
            assert isinstance(operation, AddIndexInBackground | RemoveIndexInBackground), f"{migration}: {name}"
            assert migration.atomic is False, f"{migration}: {name} is made in the background, outside a transaction"


def _made_in(migration: Any) -> list[str]:
    return [operation.name for operation in migration.operations if type(operation).__name__ == "CreateModel"]


def test_data_steps_can_be_taken_back_or_say_that_nothing_is_to_do() -> None:
    for migration in since():
        for operation in migration.operations:
            if isinstance(operation, RunPython | RunSQL):
                assert operation.reversible, f"{migration} can't be taken back"


# -- the statements of the last release on the tables of this one -----------------------------------------------------

_CHOSEN: dict[type[models.Field[Any, Any]], Any] = {
    models.DateTimeField: dt.datetime(2026, 11, 30, tzinfo=dt.UTC),
    models.DateField: dt.date(2026, 11, 30),
    models.JSONField: {},
    models.BinaryField: b"x",
    models.BooleanField: False,
    models.FloatField: 0.5,
}


# What the last release's own constraints ask for besides.
_LINKED = {"calibrationrun": "monitor", "fieldrule": "monitor", "ignorerule": "monitor"}
_FITTING = {("change", "kind"): "gone"}


def _value(field: models.Field[Any, Any], made: dict[type[models.Model], models.Model]) -> Any:
    if (found := _FITTING.get((field.model._meta.model_name or "", field.name))) is not None:
        return found
    if isinstance(field, models.ForeignKey):
        if field.model._meta.model_name == "vantagecomparison" and field.name == "second":
            other: Any = field.related_model
            return other.objects.create(name="another")
        return _made(field.related_model, made)
    if field.choices:
        return next(iter(field.choices))[0]
    for kind, value in _CHOSEN.items():
        if isinstance(field, kind):
            return value
    if isinstance(field, models.IntegerField):
        return 1
    return "x"


def _made(model: Any, made: dict[type[models.Model], models.Model]) -> models.Model:
    """A row of an old model, with the rows it needs; inserted with the old columns only."""
    if model not in made:
        values = {}
        for field in model._meta.local_concrete_fields:
            if field.primary_key and not field.remote_field and isinstance(field, models.AutoField):
                continue
            if _LINKED.get(model._meta.model_name) == field.name:
                values[field.name] = _value(field, made)
                continue
            if (
                field.has_default()
                or field.null
                or getattr(field, "auto_now", False)
                or getattr(field, "auto_now_add", False)
            ):
                continue
            if field.blank and not field.remote_field:
                continue
            values[field.name] = _value(field, made)
        made[model] = model.objects.create(**values)
    return made[model]


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(name for name, _ in ours(old())))
def test_the_last_release_reads_and_writes(name: str) -> None:
    model = dict(ours(old()))[name]
    made: dict[type[models.Model], models.Model] = {}

    row = _made(model, made)
    row.save()  # an UPDATE of every column that it knows
    found = model._default_manager.get(pk=row.pk)

    for field in model._meta.local_concrete_fields:
        assert getattr(found, field.attname) is not None or field.null
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")
        assert len(cursor.description) >= len(model._meta.local_concrete_fields)
