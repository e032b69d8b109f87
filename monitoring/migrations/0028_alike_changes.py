from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('monitoring', '0027_learned_rules'),
    ]

    operations = [
        migrations.AddField(
            model_name='change',
            name='edit_hash',
            field=models.CharField(blank=True, editable=False, max_length=32, null=True),
        ),
    ]
