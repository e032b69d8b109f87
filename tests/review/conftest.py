"""Fixtures of the human side: signed-in clients, and templates that fail on unknown variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.template import engines
from django.test import Client
from django.utils import translation

from monitoring.models import Team
from tests.factories import make_team, make_user

type SignIn = Callable[[User], Client]


class UnknownVariableError(AssertionError):
    """A template named something that its view doesn't give."""


class _Failing(str):
    """Django prints this for an unknown variable; printing fails."""

    __slots__ = ()

    def __mod__(self, name: object) -> str:
        raise UnknownVariableError(f"the template's variable {name} is unknown")

    def __contains__(self, key: object) -> bool:
        return key == "%s" or super().__contains__(str(key))


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """A language that one test asked for doesn't stay for the next."""
    with translation.override("en"):
        yield


@pytest.fixture
def strict_templates() -> Iterator[None]:
    """Every variable that a template prints must exist."""
    engine = engines["django"].engine  # type: ignore[attr-defined]
    before, engine.string_if_invalid = engine.string_if_invalid, _Failing("%s")
    yield
    engine.string_if_invalid = before


@pytest.fixture
def sign_in() -> SignIn:
    """A client on the application's host, signed in as somebody."""

    def signed_in(user: User) -> Client:
        client = Client(SERVER_NAME="127.0.0.1", HTTP_HOST="127.0.0.1")
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return signed_in


@pytest.fixture
def team(db: None) -> Team:
    """The team that most rows of the factories belong to."""
    return make_team()


@pytest.fixture
def analyst(team: Team) -> User:
    """Reviews in the team."""
    return make_user("ines", role="analyst", team=team)


@pytest.fixture
def other_analyst(team: Team) -> User:
    """Reviews in the same team."""
    return make_user("mara", role="analyst", team=team)


@pytest.fixture
def lead(team: Team) -> User:
    """Calibrates too."""
    return make_user("lea", role="lead", team=team)


@pytest.fixture
def auditor(team: Team) -> User:
    """Reads everything of the team, changes nothing."""
    return make_user("otto", role="auditor", team=team)


@pytest.fixture
def outsider(db: None) -> User:
    """Reviews in another team."""
    return make_user("zoe", role="analyst", team=make_team("Elsewhere"))


@pytest.fixture
def admin_user_of_team(team: Team) -> User:
    """Configures, and reviews as well."""
    return make_user("ada", role="admin", team=team)
