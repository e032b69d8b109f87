"""The texts of waiting changes as the words that the search finds; decided ones are not searched."""

from django.db import migrations


def cut(apps, schema_editor):
    """In chunks by key. A text that has its two lines was cut before."""
    from monitoring.services.searching import words_of

    changes = apps.get_model("monitoring", "Change").objects.filter(state__in=["open", "snoozed"])
    last = 0
    while rows := list(
        changes.filter(pk__gt=last).order_by("pk").select_related("monitor__site")
        .only("search_text", "monitor__name", "monitor__url", "monitor__site__name")[:500]
    ):
        for row in rows:
            page = words_of(f"{row.monitor.name} {row.monitor.site.name} {row.monitor.url}")
            changes.filter(pk=row.pk).update(search_text=f"{page}\n{words_of(row.search_text)[:8000]}")
        last = rows[-1].pk


class Migration(migrations.Migration):

    dependencies = [("monitoring", "0014_guarantees")]

    operations = [migrations.RunPython(cut, migrations.RunPython.noop)]
