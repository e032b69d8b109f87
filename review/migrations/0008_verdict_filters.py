from django.db import migrations, models

from monitoring.schema import AddIndexInBackground


class Migration(migrations.Migration):

    atomic = False  # indexes of large tables are made in the background

    dependencies = [
        ('review', '0007_sparse_indexes'),
    ]

    operations = [
        AddIndexInBackground(
            model_name='verdict',
            index=models.Index(fields=['action', '-at', '-id'], name='verdict_log_of_action'),
        ),
        AddIndexInBackground(
            model_name='verdict',
            index=models.Index(fields=['reason', '-at', '-id'], name='verdict_log_of_reason'),
        ),
    ]
