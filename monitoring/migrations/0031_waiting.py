"""Counts of the queue's views from the index alone, and the sample's pages among a million."""

from django.db import migrations, models

from monitoring.schema import AddIndexInBackground


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("monitoring", "0030_earlier_diffs")]

    operations = [
        AddIndexInBackground(
            model_name="change",
            index=models.Index(
                fields=["-priority", "opened_at", "id", "kind"],
                name="change_waiting",
                condition=models.Q(state="open", hold__isnull=True),
            ),
        ),
        AddIndexInBackground(
            model_name="monitor",
            index=models.Index(fields=["created_at"], name="monitor_of_sample", condition=models.Q(is_sample=True)),
        ),
    ]
