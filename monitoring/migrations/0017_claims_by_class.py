from django.db import migrations, models

from monitoring.schema import AddIndexInBackground

CHUNK = 2_000


def mark_monitors_of_the_browser(apps, schema_editor):
    """Tell which monitors use a browser; a few thousand rows at a time, so that nobody waits for long. May be repeated."""
    Monitor = apps.get_model("monitoring", "Monitor")
    wanted = Monitor.objects.filter(
        models.Q(renderer="browser") | models.Q(renderer="auto", learned_renderer="browser"), by_browser=False
    )
    with_steps = Monitor.objects.filter(renderer="auto", by_browser=False).exclude(learned_renderer="browser")
    last = 0
    while pks := list(wanted.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        last = pks[-1]
        Monitor.objects.filter(pk__in=pks).update(by_browser=True)
    last = 0
    while rows := list(with_steps.filter(pk__gt=last).order_by("pk").values_list("pk", "steps")[:CHUNK]):
        last = rows[-1][0]
        Monitor.objects.filter(pk__in=[pk for pk, steps in rows if steps]).update(by_browser=True)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("monitoring", "0016_worker_classes"),
    ]

    operations = [
        migrations.RunPython(mark_monitors_of_the_browser, migrations.RunPython.noop),
        AddIndexInBackground(
            model_name="monitor",
            index=models.Index(
                condition=models.Q(enabled=True, next_check_at__isnull=False, quarantined_at__isnull=True),
                fields=["by_browser", "next_check_at"],
                name="monitor_due_class",
            ),
        ),
    ]
