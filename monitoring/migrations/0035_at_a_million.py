"""The first sites by name, of ten thousand, and the audit samples among a million changes."""

from django.db import migrations, models

from monitoring.schema import AddIndexInBackground


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("monitoring", "0034_canary_index")]

    operations = [
        AddIndexInBackground(model_name="site", index=models.Index(fields=["name", "id"], name="site_by_name")),
        AddIndexInBackground(
            model_name="change",
            index=models.Index(fields=["opened_at"], name="change_audits", condition=models.Q(kind="audit")),
        ),
    ]
