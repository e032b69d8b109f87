"""The outbox: mail is written in the transaction that makes the news, and sent afterwards.

A message is lost by nothing short of losing the database. It is repeated only when the sender is killed between the
mail server's acceptance and our commit, and then under the same Message-ID, so that mail programs can tell.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import smtplib
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, mailers
from django.db.models import Q

from monitoring.models import OutboxMessage
from monitoring.services import tallies

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)
MAX_ATTEMPTS = 48
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
FORGOTTEN = frozenset({"invitation", "password"})  # these mails hold links that sign somebody in: gone once sent
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def clean_line(text: str, *, limit: int = 250) -> str:
    """Text fit for a mail header: one line, no control characters, at most `limit` characters."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def clean_text(text: str) -> str:
    """Text fit for a mail's body: no control characters but tabs and line ends, which a terminal would obey."""
    return _CONTROL_IN_TEXT.sub("\ufffd", text)


def message_id(key: str) -> str:
    """The same Message-ID for the same news, whoever sends it and however often."""
    digest = hashlib.sha256(f"{settings.SECRET_KEY}/{key}".encode()).hexdigest()[:32]
    return f"<{digest}@{urlsplit(settings.APP_ORIGIN).hostname}>"


def enqueue(
    *,
    key: str,
    kind: str,
    recipient: str,
    subject: str,
    text: str,
    html: str = "",
    headers: Mapping[str, str] | None = None,
    now: datetime,
) -> bool:
    """Write one mail into the outbox; False when this key was written before. Call it inside the news' transaction."""
    _, made = OutboxMessage.objects.get_or_create(
        key=key,
        defaults={
            "kind": kind,
            "recipient": recipient,
            "subject": clean_line(subject),
            "text": clean_text(text),
            "html": clean_text(html),
            "headers": {name: clean_line(value, limit=900) for name, value in (headers or {}).items()},
            "message_id": message_id(key),
            "next_attempt_at": now,
        },
    )
    return made


def backoff(attempts: int) -> timedelta:
    """Time to the next try: 1, 2, 4 ... minutes, at most an hour; 48 tries cover a server that is down for a day and more."""
    return timedelta(minutes=min(60, 2 ** max(0, attempts - 1)))


def claim(now: datetime, *, limit: int = 50) -> list[OutboxMessage]:
    """Messages due now, leased to the caller by one conditional UPDATE each."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lte=now)
    due = OutboxMessage.objects.filter(free, state=OutboxMessage.State.WAITING, next_attempt_at__lte=now)
    token = secrets.token_hex(16)
    ids = list(due.order_by("next_attempt_at").values_list("pk", flat=True)[:limit])
    for pk in ids:
        OutboxMessage.objects.filter(free, pk=pk, state=OutboxMessage.State.WAITING).update(
            lease_until=now + LEASE, lease_token=token
        )
    return list(OutboxMessage.objects.filter(pk__in=ids, lease_token=token).order_by("next_attempt_at"))


def send_due(*, now: datetime, limit: int = 50) -> int:
    """Send what is due; returns the number accepted by the mail server. One failing message stops no other."""
    messages = claim(now, limit=limit)
    if not messages:
        return 0
    connection = mailers["default"]
    sent = 0
    for message in messages:
        problem, permanent = "", False
        try:
            connection.send_messages([_as_mail(message)])
        except smtplib.SMTPRecipientsRefused as error:
            code, said = next(iter(error.recipients.values()), (0, b""))
            problem, permanent = f"{code} {said!r}", code >= 500
        except (OSError, smtplib.SMTPException) as error:
            problem = f"{type(error).__name__}: {error}"
        except ValueError as error:  # an address or header that no server could take
            problem, permanent = f"{type(error).__name__}: {error}", True
        sent += _settle(message, now=now, problem=clean_line(problem, limit=300), permanent=permanent)
    return sent


def _as_mail(message: OutboxMessage) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        subject=message.subject,
        body=message.text,
        to=[message.recipient],
        headers={**message.headers, "Message-ID": message.message_id},
    )
    if message.html:
        mail.attach_alternative(message.html, "text/html")
    return mail


def _settle(message: OutboxMessage, *, now: datetime, problem: str, permanent: bool) -> bool:
    """Record one attempt while the lease still holds; True when the message went out."""
    attempts = message.attempts + 1
    values: dict[str, object] = {"attempts": attempts, "lease_until": None, "lease_token": "", "last_error": problem}
    if not problem:
        values |= {"state": OutboxMessage.State.SENT, "sent_at": now}
        if message.kind in FORGOTTEN:
            values |= {"text": "", "html": ""}
    elif permanent or attempts >= MAX_ATTEMPTS:
        values["state"] = OutboxMessage.State.FAILED
        logger.error("outbox=%s kind=%s gave up after %s attempts: %s", message.pk, message.kind, attempts, problem)
    else:
        values["next_attempt_at"] = now + backoff(attempts)
        logger.warning("outbox=%s kind=%s attempt=%s failed: %s", message.pk, message.kind, attempts, problem)
    OutboxMessage.objects.filter(pk=message.pk, lease_token=message.lease_token).update(**values)
    tallies.count("mail", "sent" if not problem else "gave_up" if "state" in values else "failed")
    return not problem
