"""What the pages of errors say: who can help, and under which name it stands in the log."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from review.views import today
from tests.factories import make_team, make_user
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


@pytest.mark.parametrize("status", [403, 404])
def test_refusals_name_the_administrators_of_ones_teams(auditor: User, sign_in: SignIn, status: int) -> None:
    make_user("ada", role="admin")
    make_user("zed", role="admin", team=make_team("Elsewhere"))
    client = sign_in(auditor)

    response = client.get("/nowhere/") if status == 404 else client.post(reverse("bulk"))

    assert response.status_code == status
    assert "Administrators of your teams: ada." in response.content.decode()


def test_a_stranger_is_told_of_nobody() -> None:
    make_user("ada", role="admin")

    assert b"ada" not in Client().get("/nowhere/").content


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, 500), (OperationalError, 503)])
def test_what_breaks_is_told_in_the_readers_language_with_its_name(
    analyst: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch, error: type[Exception], status: int
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise error("broken")

    monkeypatch.setattr(today, "render", broken)
    client = sign_in(analyst)
    client.raise_request_exception = False

    response = client.get("/", headers={"x-request-id": "abcdefgh-1"})

    assert response.status_code == status
    assert (b"abcdefgh-1" in response.content) == (status == 500)
    assert b'<html lang="en' in response.content
