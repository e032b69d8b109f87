from django.db import migrations, models

from monitoring.schema import AddIndexInBackground


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('monitoring', '0028_alike_changes'),
    ]

    operations = [
        AddIndexInBackground(
            model_name='change',
            index=models.Index(condition=models.Q(('edit_hash__isnull', False), ('state', 'open')), fields=['edit_hash', '-priority', 'id'], name='change_alike'),
        ),
    ]
