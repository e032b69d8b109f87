"""Migration operations for tables that are in use while they change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex, RemoveIndex
from django.db.migrations.state import ProjectState
from django.db.models import Model


class AddIndexInBackground(AddIndex):
    """An index that is made while rows are read and written, where the database can do that (PostgreSQL).

    Needs a migration with `atomic = False`. May be repeated: an index that is there is left alone, and what a killed attempt
    left behind is made anew.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Make the index."""
        model: type[Model] = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        if schema_editor.connection.vendor != "postgresql":
            if self.index.name not in _indexes(schema_editor, model):
                schema_editor.add_index(model, self.index)
                _analyse(schema_editor, self.index.name)
            return
        with _patient(schema_editor):
            if (is_valid := _is_valid(schema_editor, self.index.name)) is False:
                schema_editor.remove_index(model, self.index, concurrently=True)  # type: ignore[call-arg]
            if not is_valid:
                schema_editor.add_index(model, self.index, concurrently=True)  # type: ignore[call-arg]

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Drop the index."""
        _drop(self.index, app_label, self.model_name, schema_editor, from_state)


def _analyse(schema_editor: BaseDatabaseSchemaEditor, name: str) -> None:
    """Tell SQLite what is in a new index where it knows that of the others: one it knows nothing of, it does not use."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")
        if cursor.fetchone()[0]:
            cursor.execute(f"ANALYZE {schema_editor.quote_name(name)}")


class RemoveIndexInBackground(RemoveIndex):
    """The same for an index that goes. Only in the release after the one whose code stopped to need it."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Drop the index."""
        index = from_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        _drop(index, app_label, self.model_name, schema_editor, from_state)


def _drop(
    index: Any, app_label: str, model_name: str, schema_editor: BaseDatabaseSchemaEditor, state: ProjectState
) -> None:  # Any: indexes are generic in nothing we use
    model: type[Model] = state.apps.get_model(app_label, model_name)
    if schema_editor.connection.vendor == "postgresql":
        with _patient(schema_editor):
            if _is_valid(schema_editor, index.name) is not None:
                schema_editor.remove_index(model, index, concurrently=True)  # type: ignore[call-arg]
    elif index.name in _indexes(schema_editor, model):
        schema_editor.remove_index(model, index)


@contextmanager
def _patient(schema_editor: BaseDatabaseSchemaEditor) -> Iterator[None]:
    """Wait for as long as it takes: what is done in the background holds up nobody, and waits for every open transaction."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        before = cursor.fetchone()[0]
        cursor.execute("SELECT set_config('lock_timeout', '0', false)")
        yield
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])


def _indexes(schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> set[str]:
    with schema_editor.connection.cursor() as cursor:
        return set(schema_editor.connection.introspection.get_constraints(cursor, model._meta.db_table))


def _is_valid(schema_editor: BaseDatabaseSchemaEditor, name: str) -> bool | None:
    """Whether PostgreSQL uses the index; False for what an interrupted attempt left, None when there is none."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
            "WHERE c.relname = %s AND pg_table_is_visible(c.oid)",
            [name],
        )
        row = cursor.fetchone()
    return None if row is None else bool(row[0])
