"""Bytes of a table and of each of its indexes, as the database keeps them on disk."""

from __future__ import annotations

from django.db import connection


def sizes(table: str) -> dict[str, int]:
    """Bytes by name: the table, and its indexes."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT c.relname, pg_relation_size(c.oid) FROM pg_class c WHERE c.oid = %s::regclass"
                " OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = %s::regclass) ORDER BY 2 DESC",
                [table, table],
            )
            found = dict(cursor.fetchall())
            cursor.execute("SELECT pg_table_size(%s::regclass)", [table])
            return found | {table: cursor.fetchone()[0]}  # with its TOAST, visibility and free space maps
        cursor.execute("SELECT name FROM sqlite_master WHERE tbl_name = %s", [table])
        names = [row[0] for row in cursor.fetchall()]
        marks = ", ".join(["%s"] * len(names))
        cursor.execute(f"SELECT name, SUM(pgsize) FROM dbstat WHERE name IN ({marks}) GROUP BY name", names)
        return dict(cursor.fetchall())
