"""Secrets by reference: `secret:NAME` in a setting, the value only in memory and only when it is used.

A reference is what is stored, shown and logged. The value comes from the deployment (`settings.SECRETS`).
"""

from __future__ import annotations

import re

from django.conf import settings

PREFIX = "secret:"
LEAST_CHARS = 4  # shorter ones could not be told from ordinary text, and so not be kept out of what is stored
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


class SecretError(Exception):
    """A reference that names no secret; the sentence names the reference and never a value."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def is_reference(text: str) -> bool:
    """Whether this text stands for a secret."""
    return text.startswith(PREFIX)


def name_of(reference: str) -> str:
    """The name in a reference; raises `SecretError` where it can't be one."""
    name = reference.removeprefix(PREFIX)
    if not _NAME.fullmatch(name) or settings.SECRETS.is_reserved(name):
        raise SecretError(
            f"“{PREFIX}{name[:40]}” names no secret; a name is made of capitals, digits and underscores, "
            "is not KEY and does not end in _FILE or _HOSTS."
        )
    return name


def resolve(reference: str, *, host: str = "") -> str:
    """The value behind a reference, for use on this host; raises `SecretError` where the deployment has none for it."""
    name = name_of(reference)
    hosts = settings.SECRETS.hosts(name)
    if hosts and host not in hosts:
        raise SecretError(
            f"The secret {name} may not be given to {host or 'this host'}; TIDELINE_SECRET_{name}_HOSTS names where it may go."
        )
    try:
        value = settings.SECRETS.get(name)
    except (OSError, ValueError) as error:
        raise SecretError(f"The secret {name} cannot be read: its file is missing or unreadable.") from error
    if not value:
        raise SecretError(
            f"The secret {name} is not set; set TIDELINE_SECRET_{name} or add a line {name}=… to the secrets file."
        )
    if len(value) < LEAST_CHARS:
        raise SecretError(f"The secret {name} is too short; at least {LEAST_CHARS} characters are expected.")
    return str(value)
