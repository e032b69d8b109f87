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
    if not _NAME.fullmatch(name) or name in settings.SECRETS.RESERVED or name.endswith("_FILE"):
        raise SecretError(
            f"“{PREFIX}{name[:40]}” names no secret; a name is made of capitals, digits and underscores, "
            "is not KEY and does not end in _FILE."
        )
    return name


def resolve(reference: str) -> str:
    """The value behind a reference; raises `SecretError` where the deployment has none."""
    name = name_of(reference)
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
