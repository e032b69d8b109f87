"""The four roles, as groups."""

from django.db import migrations

ROLES = ("analyst", "lead", "admin", "auditor")


def create_roles(apps, schema_editor):
    """Make each role's group where it is missing."""
    group = apps.get_model("auth", "Group")
    for name in ROLES:
        group.objects.get_or_create(name=name)


def keep_roles(apps, schema_editor):
    """Going back leaves the groups: people may be in them."""


class Migration(migrations.Migration):
    dependencies = [
        ("review", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(create_roles, keep_roles)]
