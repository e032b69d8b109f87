"""Fewer and smaller indexes on checks. Nothing that code of the release before reads or writes changes."""

import django.db.models.deletion
import monitoring.models.indexes
from django.db import migrations, models


def drop_indexes_of_keys(apps, schema_editor):
    """Drop the indexes that came with two foreign keys: nearly all checks have no snapshot, and (monitor, check_no) has one.

    By their names; altering the fields would copy the whole table on SQLite.
    """
    check = apps.get_model("monitoring", "Check")
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, check._meta.db_table)
    for name, facts in found.items():
        if facts["index"] and not facts["unique"] and facts["columns"] in (["snapshot_id"], ["monitor_id"]):
            schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(name)}")


class Migration(migrations.Migration):
    dependencies = [
        ("monitoring", "0017_claims_by_class"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="check",
            options={"ordering": ["-pk"], "verbose_name": "check", "verbose_name_plural": "checks"},
        ),
        migrations.RemoveIndex(model_name="check", name="check_of_monitor"),
        migrations.RemoveIndex(model_name="check", name="check_by_time"),
        migrations.AddIndex(
            model_name="check",
            index=monitoring.models.indexes.InWriteOrder(fields=["started_at"], name="check_started"),
        ),
        migrations.AddIndex(
            model_name="check",
            index=models.Index(condition=models.Q(("outcome", "noise")), fields=["id"], name="check_noise"),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="check",
                    name="detector_version",
                    field=models.CharField(blank=True, max_length=20),
                ),
                migrations.AlterField(
                    model_name="check",
                    name="monitor",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checks",
                        to="monitoring.monitor",
                    ),
                ),
                migrations.AlterField(
                    model_name="check",
                    name="snapshot",
                    field=models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="checks",
                        to="monitoring.snapshot",
                    ),
                ),
            ],
            database_operations=[migrations.RunPython(drop_indexes_of_keys, migrations.RunPython.noop)],
        ),
        migrations.AddIndex(
            model_name="check",
            index=models.Index(
                condition=models.Q(("snapshot__isnull", False)), fields=["snapshot"], name="check_snapshot"
            ),
        ),
    ]
