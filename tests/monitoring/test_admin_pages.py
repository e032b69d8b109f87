"""Every page of the configuration opens for those who may see it, and for nobody else."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
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


def test_the_menu_is_sorted_by_purpose(root: Client) -> None:
    groups = {
        str(app["name"]): [m["object_name"] for m in app["models"]] for app in admin.site.get_app_list(_request(root))
    }

    assert list(groups) == ["What is watched", "People", "Evidence"]
    assert groups["What is watched"][:3] == ["Monitor", "PageType", "Vantage"]
    assert groups["People"] == ["User", "Team", "Route"]
    assert {"Check", "Snapshot", "Verdict", "SettingChange"} <= set(groups["Evidence"])


def _request(client: Client) -> HttpRequest:
    answer = client.get(reverse("admin:index"))
    request: HttpRequest = answer.wsgi_request
    return request


@pytest.mark.parametrize("term", ["", "pri", "x"])
@pytest.mark.parametrize("field", ["page_type", "vantage"])
def test_completion_answers(field: str, term: str, root: Client) -> None:
    make_change()
    asked = {"app_label": "monitoring", "model_name": "monitor", "field_name": field, "term": term}

    answer = root.get(reverse("admin:autocomplete"), asked)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "admin:index",
        "admin:monitoring_monitor_changelist",
        "admin:monitoring_monitor_add",
        "admin:monitoring_monitor_import",
        "admin:monitoring_pagetype_add",
        "admin:auth_user_add",
    ],
)
def test_pages_need_no_inline_script_or_style(name: str, root: Client) -> None:
    answer = root.get(reverse(name))
    page = answer.content.decode()

    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>\s*\S", page.replace('type="application/json"', 'src="data"'))
    assert not re.search(r"<[^>]+\s(style|onclick|onchange|onsubmit)=", page)
    assert "<style" not in page


@pytest.mark.parametrize("language", ["de", "ja"])
@pytest.mark.parametrize(
    "name",
    ["index", "monitoring_monitor_changelist", "monitoring_monitor_add", "monitoring_monitor_import", "auth_user_add"],
)
def test_pages_open_in_every_language(name: str, language: str, root: Client) -> None:
    make_change()

    answer = root.get(reverse(f"admin:{name}"), headers={"accept-language": language})

    assert answer.status_code == 200
    assert f'<html lang="{language}"' in answer.content.decode()


@pytest.mark.parametrize(("language", "names"), [("de", ("Überwachung", "Prüfen")), ("ja", ("監視", "レビュー"))])
def test_the_parts_of_the_admin_have_names_in_the_readers_language(
    language: str, names: tuple[str, str], root: Client
) -> None:
    for place, name in zip(("monitoring_monitor", "review_verdict"), names, strict=True):
        page = root.get(reverse(f"admin:{place}_changelist"), headers={"accept-language": language})
        assert f">{name}<" in page.content.decode()
