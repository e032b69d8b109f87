"""Every page of the configuration opens for those who may see it, and for nobody else."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from tests.factories import make_change, make_user

pytestmark = pytest.mark.django_db

OWN = [model for model in admin.site._registry if model._meta.app_label in {"monitoring", "review"}]
NAMES = [f"{model._meta.app_label}.{model._meta.model_name}" for model in OWN]


@pytest.fixture
def root(client: Client) -> Client:
    user = make_user("root", role="admin", is_superuser=True)
    client.force_login(user)
    return client


@pytest.mark.parametrize("name", NAMES)
def test_list_opens_for_a_superuser(name: str, root: Client) -> None:
    make_change()

    answer = root.get(reverse(f"admin:{name.replace('.', '_')}_changelist"))

    assert answer.status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_one_row_opens_for_a_superuser(name: str, root: Client) -> None:
    make_change()
    row = apps.get_model(name)._default_manager.first()
    if row is None:
        pytest.skip("no such row in this test's data")

    answer = root.get(reverse(f"admin:{name.replace('.', '_')}_change", args=[row.pk]))

    assert answer.status_code == 200


def test_add_form_opens_for_a_superuser(root: Client) -> None:
    answer = root.get(reverse("admin:monitoring_monitor_add"))

    assert answer.status_code == 200
