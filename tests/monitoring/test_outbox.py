"""Mail over a real SMTP server on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from email.message import Message
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.core.mail import mailers

from monitoring.models import OutboxMessage
from monitoring.services import outbox
from tests.factories import NOW


class Inbox:
    """Keeps what arrives; `refuse` answers the next recipients with that line."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        self.refuse = ""

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if self.refuse:
            return self.refuse
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        import email

        self.mails.append(email.message_from_bytes(envelope.content))
        return "250 OK"


@pytest.fixture
def inbox(settings: Any) -> Iterator[Inbox]:
    """A mail server on loopback, and the product configured to use it."""
    box = Inbox()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    settings.MAILERS = {
        "default": {
            "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "OPTIONS": {"host": "127.0.0.1", "port": port, "timeout": 5},
        }
    }
    yield box
    controller.stop()


def enqueue(key: str = "alert/1", **extra: Any) -> bool:
    values = {"kind": "alert", "recipient": "ines@example.test", "subject": "price: 89.00 -> 79.00", "text": "It fell."}
    return outbox.enqueue(key=key, now=NOW, **(values | extra))


@pytest.mark.django_db
def test_a_message_is_sent_once(inbox: Inbox) -> None:
    enqueue(html="<p>It fell.</p>", headers={"List-Unsubscribe": "<https://watch.example/stop>"})

    assert outbox.send_due(now=NOW) == 1
    assert outbox.send_due(now=NOW) == 0

    (mail,) = inbox.mails
    assert mail["Subject"] == "price: 89.00 -> 79.00"
    assert mail["List-Unsubscribe"] == "<https://watch.example/stop>"
    assert [part.get_content_type() for part in mail.walk()][1:] == ["text/plain", "text/html"]


@pytest.mark.django_db
def test_the_same_news_is_not_written_twice() -> None:
    assert enqueue()
    assert not enqueue()
    assert OutboxMessage.objects.count() == 1


@pytest.mark.django_db
def test_a_crash_after_acceptance_repeats_under_the_same_message_id(inbox: Inbox) -> None:
    enqueue()
    (message,) = outbox.claim(NOW)
    mailers["default"].send_messages([outbox._as_mail(message)])  # the server took it, then we were killed

    assert outbox.send_due(now=NOW) == 0  # the lease still stands
    assert outbox.send_due(now=NOW + outbox.LEASE) == 1
    assert outbox.send_due(now=NOW + 2 * outbox.LEASE) == 0

    assert len(inbox.mails) == 2
    assert inbox.mails[0]["Message-ID"] == inbox.mails[1]["Message-ID"]


@pytest.mark.django_db
def test_a_server_that_is_down_loses_nothing(settings: Any) -> None:
    settings.MAILERS = {
        "default": {
            "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "OPTIONS": {"host": "127.0.0.1", "port": 9, "timeout": 1},
        }
    }
    enqueue()

    assert outbox.send_due(now=NOW) == 0

    message = OutboxMessage.objects.get()
    assert message.state == OutboxMessage.State.WAITING
    assert message.next_attempt_at == NOW + timedelta(minutes=1)
    assert "refused" in message.last_error


@pytest.mark.django_db
def test_a_day_without_a_server_is_survived() -> None:
    waited = sum((outbox.backoff(n) for n in range(1, outbox.MAX_ATTEMPTS)), timedelta())

    assert waited > timedelta(hours=24)


@pytest.mark.django_db
def test_a_refused_recipient_does_not_hold_up_the_others(inbox: Inbox) -> None:
    enqueue("alert/1")
    inbox.refuse = "550 no such user"
    outbox.send_due(now=NOW)
    inbox.refuse = ""
    enqueue("alert/2")

    assert outbox.send_due(now=NOW) == 1

    assert OutboxMessage.objects.get(key="alert/1").state == OutboxMessage.State.FAILED
    assert "550" in OutboxMessage.objects.get(key="alert/1").last_error


@pytest.mark.django_db
def test_line_breaks_in_a_subject_add_no_recipient(inbox: Inbox) -> None:
    enqueue(subject="Kettle\r\nBcc: everyone@example.test\u2028 now")

    outbox.send_due(now=NOW)

    (mail,) = inbox.mails
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Kettle Bcc: everyone@example.test now"


@pytest.mark.django_db
def test_two_senders_share_the_work(inbox: Inbox) -> None:
    enqueue()

    first, second = outbox.claim(NOW), outbox.claim(NOW)

    assert len(first) == 1
    assert second == []


@pytest.mark.django_db
def test_a_mail_with_a_password_link_is_forgotten_once_sent(inbox: Inbox) -> None:
    enqueue("invitation/1", kind="invitation", text="https://watch.example/set/secret", html="<a href='secret'>set</a>")
    enqueue("alert/1", text="It fell.")

    assert outbox.send_due(now=NOW) == 2

    assert OutboxMessage.objects.get(kind="invitation").text == ""
    assert OutboxMessage.objects.get(kind="invitation").html == ""
    assert OutboxMessage.objects.get(kind="alert").text == "It fell."
