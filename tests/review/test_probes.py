"""Probes are answered in front of everything else; strangers learn states and nothing more."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.test.client import RequestFactory

from monitoring.models import Process, Team
from monitoring.services import health, heartbeat, metrics
from monitoring.services.heartbeat import Heart
from review import probes
from review.probes import Shared, may_see
from tests.factories import make_monitor
from tests.prometheus import parse

TOKEN = "canary-of-the-metrics-token"
AS_METRICS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's transaction is seen by its own thread only."""
    monkeypatch.setattr(Shared, "get", lambda self: self._work())


@pytest.fixture
def sound(db: None) -> None:
    """A ticker and workers are there."""
    Heart(Process.Kind.TICKER).beat()
    for queue in heartbeat.expected():
        Heart(Process.Kind.WORKER, queue=queue).beat()


# -- live --------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.1.2.3:8000", "who.knows.example"])
def test_live_needs_no_database_no_session_and_no_host_name(host: str) -> None:
    client = Client()
    client.cookies["sessionid"] = "a" * 32
    response = client.get("/health/live", headers={"Host": host})  # a query would fail: the test has no database

    assert (response.status_code, response.content) == (200, b"ok\n")
    assert response["Cache-Control"] == "no-store"


def test_probes_are_not_sent_to_https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert Client().get("/health/live").status_code == 200


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_probes_only_read(path: str) -> None:
    response = Client().post(path)

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")


# -- ready -------------------------------------------------------------------------------


def test_ready_says_so(sound: None) -> None:
    response = Client().get("/health/ready")
    found = response.json()

    assert (response.status_code, found["ready"]) == (200, True)
    assert {check["name"]: check["state"] for check in found["checks"]} == dict.fromkeys(
        ["database", *health._LOOKS], "ok"
    )


@pytest.mark.django_db
def test_not_ready_is_503_and_names_the_parts() -> None:
    response = Client().get("/health/ready")
    found = response.json()

    assert (response.status_code, found["ready"]) == (503, False)
    assert {check["name"] for check in found["checks"] if check["state"] == "problem"} == {"ticker", "workers"}


@pytest.mark.django_db
def test_a_balancer_may_ask_for_the_web_alone() -> None:
    response = Client().get("/health/ready?only=web")

    assert response.status_code == 200
    assert {check["name"] for check in response.json()["checks"]} == set(health.WEB)


@pytest.mark.parametrize("how", [{"query_params": {"format": "text"}}, {"headers": {"Accept": "text/plain"}}])
def test_there_is_a_plain_reading(sound: None, how: dict[str, Any]) -> None:
    response = Client().get("/health/ready", **how)

    assert response["Content-Type"].startswith("text/plain")
    assert response.content.decode().splitlines()[:2] == ["ready", "ok       database"]


@pytest.fixture
def full_of_names(sound: None, settings: Any) -> list[str]:
    """Rows and settings with words that no stranger may read."""
    settings.METRICS_TOKEN = TOKEN
    settings.REDIS_URL = "redis://:canary@127.0.0.1:1/0"
    heart = Heart(Process.Kind.WORKER, queue="canary-queue")
    heart._host = "canary-host"
    heart.facts["at"] = "canary-task"
    heart.beat()
    Process.objects.filter(queue="canary-queue").update(clock_off_s=90)
    make_monitor(name="canary-page", url="https://canary.example/")
    Team.objects.create(name="canary-team", budget=1)
    return ["canary", str(settings.PAYLOAD_DIR), str(settings.DATA_DIR), "127.0.0.1", settings.VERSION]


@pytest.mark.parametrize("path", ["/health/ready", "/health/ready?format=text", "/health/live", "/metrics"])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}])
def test_strangers_learn_no_name_no_address_and_no_secret(
    full_of_names: list[str], path: str, headers: dict[str, str]
) -> None:
    response = Client().get(path, headers=headers)
    told = response.content.decode() + str(dict(response.headers))

    assert [word for word in full_of_names if word in told] == []


def test_who_brings_the_token_learns_what_was_found(full_of_names: list[str]) -> None:
    found = Client().get("/health/ready", headers=AS_METRICS).json()
    said = {check["name"]: check["said"] for check in found["checks"]}

    assert "canary-host" in said["clock"]
    assert "canary-queue" in said["workers"]
    assert said["broker"] == "Redis does not answer: ConnectionError"
    assert TOKEN not in json.dumps(found)


# -- metrics -----------------------------------------------------------------------------


def test_metrics_are_off_unless_asked_for(settings: Any) -> None:
    assert Client().get("/metrics", headers=AS_METRICS).status_code == 404


def test_metrics_want_the_token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    response = Client().get("/metrics")

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_metrics_come_in_their_format_and_without_names(full_of_names: list[str]) -> None:
    response = Client().get("/metrics", headers=AS_METRICS)
    text = response.content.decode()

    assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "tideline_checks_total" in parse(text) or "tideline_due" in parse(text)
    assert not {"canary-page", "canary.example", "canary-team", "canary-host", TOKEN} & set(
        text.replace('"', " ").split()
    )
    assert "canary-page" not in text


def test_metrics_say_when_the_database_is_away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_: Any) -> str:
        raise OperationalError("refused at 10.0.0.1")

    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(metrics, "text", away)
    response = Client().get("/metrics", headers=AS_METRICS)

    assert (response.status_code, response.content) == (503, b"The database does not answer.\n")


def asked_from(address: str, **headers: str) -> Any:
    """A request from an address."""
    return RequestFactory().get("/metrics", REMOTE_ADDR=address, headers=headers)


def test_listed_networks_need_no_token(settings: Any) -> None:
    settings.METRICS_NETWORKS = ["10.1.0.0/16", "fd00::/8"]

    assert may_see(asked_from("10.1.2.3"))
    assert may_see(asked_from("fd00::7"))
    assert not may_see(asked_from("10.2.0.1"))
    assert not may_see(asked_from(""))


def test_a_proxy_does_not_lend_its_address(settings: Any) -> None:
    settings.METRICS_NETWORKS = ["127.0.0.0/8"]

    assert may_see(asked_from("127.0.0.1"))
    assert not may_see(asked_from("127.0.0.1", **{"X-Forwarded-For": "203.0.113.9"}))
    settings.PROXY_COUNT = 1
    assert not may_see(asked_from("127.0.0.1", **{"X-Forwarded-For": "203.0.113.9"}))
    assert may_see(asked_from("127.0.0.1", **{"X-Forwarded-For": "203.0.113.9, 127.0.0.1"}))


# -- waiting for an answer ---------------------------------------------------------------


class TestShared:
    """The answer that many ask for."""

    @pytest.fixture(autouse=True)
    def real(self, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
        """Undo what the other tests have."""
        monkeypatch.undo()

    def test_an_answer_is_kept_a_moment(self) -> None:
        now, numbers = [0.0], iter(range(1, 9))
        shared = Shared(lambda: next(numbers), clock=lambda: now[0])
        first, second = shared.get(), shared.get()
        now[0] += probes.FRESH_S
        third = shared.get()

        assert (first, second, third) == (1, 1, 2)

    def test_what_does_not_answer_is_waited_for_only_so_long_and_asked_once(self) -> None:
        free, asked = threading.Event(), []

        def work() -> int:
            asked.append(1)
            free.wait(30)
            return 7

        shared = Shared(work, timeout_s=0.05)
        assert [shared.get() for _ in range(5)] == [None] * 5
        free.set()
        assert Shared(lambda: 1).get() == 1
        for _ in range(100):
            if (found := shared.get()) is not None:
                break
        assert found == 7
        assert len(asked) == 1

    def test_what_went_wrong_is_raised_where_it_is_asked_for_and_not_kept(self) -> None:
        answers = [OperationalError("away"), None]

        def work() -> str:
            if error := answers.pop(0):
                raise error
            return "there"

        shared = Shared(work)
        with pytest.raises(OperationalError):
            shared.get()

        assert shared.get() == "there"


def test_no_answer_in_time_is_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shared, "get", lambda self: None)
    response = Client().get("/health/ready")

    assert response.status_code == 503
    assert {check["name"] for check in response.json()["checks"] if check["state"] == "problem"} == {"database"}


def test_the_sentence_of_away_names_the_time() -> None:
    found = health.away("no answer within 3 s", now=datetime(2026, 11, 30, tzinfo=UTC))

    assert found.findings[0].said == "no answer within 3 s"
