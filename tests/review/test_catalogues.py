"""The German and Japanese catalogues: complete, with their placeholders, and compiled as they stand in the source."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from review import wording
from tests.review.conftest import SignIn

LANGUAGES = ("de", "ja")
PLACEHOLDER = re.compile(r"%%?\((\w+)\)|%[ds]")


@dataclass
class Entry:
    """One message of a catalogue."""

    parts: dict[str, str] = field(default_factory=dict)

    @property
    def translations(self) -> list[str]:
        """The message's forms."""
        return [text for name, text in self.parts.items() if name.startswith("msgstr")]

    @property
    def sources(self) -> list[str]:
        """What is translated: singular, and plural where there is one."""
        return [text for name, text in self.parts.items() if name.startswith("msgid")]


def folder(language: str) -> Path:
    """Where a language's catalogue is kept."""
    return Path(settings.BASE_DIR) / "locale" / language / "LC_MESSAGES"


def entries(language: str) -> Iterator[Entry]:
    """The messages of a .po file, without its header."""
    for block in (folder(language) / "django.po").read_text(encoding="utf-8").split("\n\n"):
        entry, name = Entry(), ""
        for line in block.splitlines():
            if line.startswith("#") or not line:
                continue
            if not line.startswith('"'):
                name, line = line.split(" ", 1)
                entry.parts[name] = ""
            entry.parts[name] += ast.literal_eval(line)
        if entry.parts.get("msgid"):
            yield entry


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_left_untranslated(language: str) -> None:
    assert [e.sources[0] for e in entries(language) if not all(e.translations)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_loses_or_invents_a_placeholder(language: str) -> None:
    wrong = []
    for entry in entries(language):
        known = {name for source in entry.sources for name in PLACEHOLDER.findall(source)}
        wrong += [t for t in entry.translations if set(PLACEHOLDER.findall(t)) - known]
        if len(entry.sources) == 1:
            wrong += [t for t in entry.translations if set(PLACEHOLDER.findall(t)) != known]

    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_catalogue_is_in_step(language: str) -> None:
    with (folder(language) / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    stale = []
    for entry in entries(language):
        context = entry.parts.get("msgctxt")
        key = f"{context}\x04{entry.parts['msgid']}" if context else entry.parts["msgid"]
        if "msgid_plural" in entry.parts:
            found = [compiled.get((key, n)) for n in range(len(entry.translations))]
        else:
            found = [compiled.get(key)]
        if found != entry.translations:
            stale.append(key)

    assert stale == []


@pytest.mark.django_db
@pytest.mark.parametrize(("language", "word"), [("de", "Anmelden"), ("ja", "サインイン")])
def test_the_door_speaks_the_browsers_language(language: str, word: str) -> None:
    response = Client().get("/login/", headers={"accept-language": language})

    assert word in response.content.decode()
    assert f'lang="{language}"' in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", ["/", "/queue/", "/monitors/", "/sites/", "/canaries/", "/verdicts/", "/me/"])
@pytest.mark.usefixtures("strict_templates")
def test_every_page_opens_in_every_language(analyst: User, sign_in: SignIn, language: str, path: str) -> None:
    client = sign_in(analyst)
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language

    with translation.override(language):
        assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    ("language", "long", "short"),
    [
        ("en", "Monday, 30 November", "30 Nov"),
        ("de", "Montag, 30. November", "30. Nov"),
        ("ja", "11月30日 月曜日", "11/30"),
    ],
)
def test_days_are_written_as_each_language_does(language: str, long: str, short: str) -> None:
    moment = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)

    with translation.override(language):
        assert (wording.day_words(moment, "long"), wording.day_words(moment)) == (long, short)
