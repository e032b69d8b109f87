from django.db import migrations, models

from monitoring.schema import AddIndexInBackground


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("monitoring", "0025_sparse_indexes"),
    ]

    operations = [
        AddIndexInBackground(
            model_name="fieldchange",
            index=models.Index(fields=["monitor", "-at", "-id"], name="field_change_of_monitor"),
        ),
    ]
