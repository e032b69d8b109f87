from django.db import migrations, models

from monitoring.schema import AddIndexInBackground


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("monitoring", "0023_holds"),
    ]

    operations = [
        AddIndexInBackground(
            model_name='change',
            index=models.Index(fields=['opened_at'], name='change_by_time'),
        ),
        AddIndexInBackground(
            model_name='fieldchange',
            index=models.Index(fields=['name', '-at', '-id'], name='field_change_named'),
        ),
        AddIndexInBackground(
            model_name='monitor',
            index=models.Index(fields=['name', 'id'], name='monitor_by_name'),
        ),
        AddIndexInBackground(
            model_name='monitor',
            index=models.Index(fields=['state', 'state_since', 'id'], name='monitor_troubled'),
        ),
        AddIndexInBackground(
            model_name='monitor',
            index=models.Index(condition=models.Q(('quarantined_at__isnull', False)), fields=['quarantined_at'], name='monitor_set_aside'),
        ),
        AddIndexInBackground(
            model_name='change',
            index=models.Index(condition=models.Q(('hold__isnull', False)), fields=['hold'], name='change_held'),
        ),
    ]
