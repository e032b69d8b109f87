"""The two statements that every visit makes, with their SQL built once.

Building them anew costs Django more than running them (0.4 ms of 0.6 ms a visit). Values still go through the
fields' own conversion, so that both databases get what they would get from `save` and `update`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.db import connection, models


def insert[M: models.Model](row: M) -> M:
    """The new row, inserted; sends no signals and sets the primary key."""
    model = type(row)
    sql = _insert_sql(model, connection.vendor)
    values = [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in _columns(model)]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row.pk = cursor.fetchone()[0]
    row._state.adding = False
    row._state.db = connection.alias
    return row


def update(model: type[models.Model], values: Mapping[str, Any], **where: Any) -> int:
    """Number of rows updated where every named field equals its value; plain values only, no expressions."""
    sql = _update_sql(model, tuple(values), tuple(where), connection.vendor)
    parameters = [_prepared(model, name, value) for name, value in (*values.items(), *where.items())]
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)


def _prepared(model: type[models.Model], name: str, value: Any) -> Any:
    if isinstance(value, models.Model):
        value = value.pk
    return _field(model, name).get_db_prep_save(value, connection)


@cache
def _field(model: type[models.Model], name: str) -> Any:  # Any: fields are generic in what they take and give
    return model._meta.get_field(name)


@cache
def _columns(model: type[models.Model]) -> tuple[Any, ...]:
    return tuple(field for field in model._meta.local_concrete_fields if not field.primary_key)


@cache
def _insert_sql(model: type[models.Model], vendor: str) -> str:
    quote = connection.ops.quote_name
    names = ", ".join(quote(field.column) for field in _columns(model))
    marks = ", ".join("%s" for _ in _columns(model))
    pk = quote(_field(model, "id").column)
    return f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks}) RETURNING {pk}"  # noqa: S608 - names are the models' own


@cache
def _update_sql(model: type[models.Model], names: tuple[str, ...], where: tuple[str, ...], vendor: str) -> str:
    quote = connection.ops.quote_name
    sets = ", ".join(f"{quote(_field(model, name).column)} = %s" for name in names)
    conditions = " AND ".join(f"{quote(_field(model, name).column)} = %s" for name in where)
    return f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE {conditions}"  # noqa: S608 - names are the models' own
