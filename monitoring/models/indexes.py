"""Indexes that are not the same on every database."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.ddl_references import Statement


class InWriteOrder(models.Index):
    """An index on a column that rises as rows are written.

    On PostgreSQL a range index (BRIN): a few bytes for thousands of rows, where a tree takes 22 bytes a row. SQLite has
    none of that kind and gets a plain tree. `django.contrib.postgres` has a class for the first but refuses the second.
    """

    def create_sql(
        self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor, using: str = "", **kwargs: Any
    ) -> Statement:
        """The statement that makes the index."""
        if schema_editor.connection.vendor != "postgresql":
            return super().create_sql(model, schema_editor, using=using, **kwargs)
        statement = super().create_sql(model, schema_editor, using=" USING brin", **kwargs)
        return Statement(f"{statement.template} WITH (pages_per_range = 32, autosummarize = on)", **statement.parts)
