"""Guessing passwords: the pair of name and address is locked, whatever headers the visitor makes up."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse

from config.logs import OneLine
from review.visitor import address_of
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    """Somebody with a password."""
    return make_user("ines")


def attempt(client: Client, password: str, **headers: str) -> int:
    """The status of one sign-in; 302 is in."""
    return client.post(reverse("login"), {"username": "ines", "password": password}, headers=headers).status_code


def guess(client: Client, times: int, **headers: str) -> int:
    """The status of the last of several wrong guesses."""
    return [attempt(client, f"wrong {n}", **headers) for n in range(times)][-1]


def test_guesses_are_locked_out_and_the_owner_elsewhere_is_not(person: User) -> None:
    guesser, owner = Client(REMOTE_ADDR="198.51.100.7"), Client(REMOTE_ADDR="198.51.100.8")

    assert guess(guesser, 12) == 429
    assert attempt(guesser, "correct horse battery") == 429
    assert attempt(owner, "correct horse battery") == 302


def test_the_locked_page_says_what_happened(person: User) -> None:
    client = Client(REMOTE_ADDR="198.51.100.7")
    guess(client, 12)

    page = client.post(reverse("login"), {"username": "ines", "password": "x"})

    assert page.status_code == 429
    assert "ines" not in page.content.decode()
    assert "minutes" in page.content.decode()


def test_a_made_up_forwarded_address_does_not_escape_the_lock(person: User) -> None:
    client = Client(REMOTE_ADDR="198.51.100.7")

    statuses = [attempt(client, "wrong", **{"X-Forwarded-For": f"203.0.113.{n}"}) for n in range(12)]

    assert statuses[-1] == 429


def test_behind_a_proxy_each_visitor_is_locked_apart(person: User, settings: Any) -> None:
    settings.PROXY_COUNT = 1
    client = Client(REMOTE_ADDR="10.0.0.1")

    made_up = [attempt(client, "wrong", **{"X-Forwarded-For": f"203.0.113.{n}, 198.51.100.7"}) for n in range(12)]

    assert made_up[-1] == 429
    assert attempt(client, "correct horse battery", **{"X-Forwarded-For": "198.51.100.7"}) == 429
    assert attempt(client, "correct horse battery", **{"X-Forwarded-For": "198.51.100.8"}) == 302


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, "203.0.113.9", "10.0.0.1"),
        (1, "", "10.0.0.1"),
        (1, "198.51.100.7", "198.51.100.7"),
        (1, "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (2, "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (2, "198.51.100.7", "10.0.0.1"),
        (1, "not an address", "10.0.0.1"),
        (1, "2001:DB8::1", "2001:db8::1"),
    ],
)
def test_only_what_our_own_proxies_say_is_believed(proxies: int, forwarded: str, expected: str, settings: Any) -> None:
    settings.PROXY_COUNT = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)

    assert address_of(request) == expected


def test_a_known_and_an_unknown_name_get_the_same_answer(person: User) -> None:
    pages = []
    for name in ("ines", "nobody-of-that-name"):
        page = Client().post(reverse("login"), {"username": name, "password": "wrong"})
        pages.append((page.status_code, page.content.decode().replace(name, "NAME")))

    assert strip_tokens(pages[0][1]) == strip_tokens(pages[1][1])
    assert pages[0][0] == pages[1][0]


def strip_tokens(page: str) -> str:
    """The page without its form tokens."""
    return "".join(line for line in page.splitlines() if "csrfmiddlewaretoken" not in line)


def test_a_name_cannot_write_lines_into_the_log(person: User, caplog: pytest.LogCaptureFixture) -> None:
    name = "ines\n2026-01-01 INFO review approved change=7\x1b[2J"
    client = Client(REMOTE_ADDR="198.51.100.7")

    with caplog.at_level(logging.INFO):
        for _ in range(12):
            client.post(reverse("login"), {"username": name, "password": "secret guess"})

    lines = [OneLine("%(levelname)s %(message)s").format(record) for record in caplog.records]
    assert lines
    assert not any("\n" in line or "\x1b" in line for line in lines)
    assert not any("secret guess" in line for line in lines)


def test_the_session_changes_at_sign_in_and_dies_at_sign_out(person: User) -> None:
    client = Client()
    client.get(reverse("login"))
    client.session["kept"] = "x"
    before = client.session.session_key

    attempt(client, "correct horse battery")
    inside = client.cookies["sessionid"].value
    assert inside != before
    client.post(reverse("logout"))

    client.cookies["sessionid"] = inside
    assert client.get(reverse("queue")).status_code == 302


def test_other_sessions_die_when_the_password_changes(person: User) -> None:
    client = Client()
    attempt(client, "correct horse battery")
    assert client.get(reverse("queue")).status_code == 200

    person.set_password("another horse battery")
    person.save()

    assert client.get(reverse("queue")).status_code == 302


@pytest.mark.parametrize(
    "wanted", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_never_leads_elsewhere(person: User, wanted: str) -> None:
    answer = Client().post(
        f"{reverse('login')}?next={wanted}",
        {"username": "ines", "password": "correct horse battery", "next": wanted},
    )

    assert answer.status_code == 302
    assert answer["Location"].startswith("/")
    assert not answer["Location"].startswith(("//", "/\\"))


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1@evil.example", "evil.example:8000"])
def test_a_foreign_host_is_refused_and_no_mail_names_it(person: User, host: str) -> None:
    from monitoring.models import OutboxMessage

    assert Client().post(reverse("password_reset"), {"email": "ines@example.test"}, HTTP_HOST=host).status_code == 400
    assert not OutboxMessage.objects.exists()


def test_the_mail_names_the_configured_origin_only(person: User, settings: Any) -> None:
    from monitoring.models import OutboxMessage

    settings.APP_ORIGIN = "https://watch.example.org"
    Client().post(
        reverse("password_reset"),
        {"email": "ines@example.test"},
        headers={"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"},
    )

    message = OutboxMessage.objects.get()
    assert "https://watch.example.org/password/" in message.text
    assert "evil.example" not in message.text + message.html + message.subject


@pytest.mark.parametrize("address", ["ines@example.test", "nobody@example.test"])
def test_asking_for_a_password_tells_nothing(person: User, address: str) -> None:
    answer = Client().post(reverse("password_reset"), {"email": address})

    assert (answer.status_code, answer["Location"]) == (302, reverse("password_reset_done"))
