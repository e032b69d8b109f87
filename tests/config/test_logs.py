"""One event is one line in the log, whatever was logged."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from config import logs
from config.logs import JsonLines, OneLine

ROOT = Path(__file__).resolve().parents[2]
FORMATTER = OneLine("%(levelname)s %(message)s")


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    """A warning as a logger would hand it over."""
    return logging.LogRecord("review", logging.WARNING, "here.py", 1, message, args, extra.get("exc_info"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Terms\r\n2026-01-01 INFO approved", "Terms\\r\\n2026-01-01 INFO approved"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
        ("規約 é", "規約 é"),
        ("a\x85b\x00", "a\\x85b\\x00"),
    ],
)
def test_control_characters_are_written_out(text: str, shown: str) -> None:
    assert FORMATTER.format(record("title=%s", text)) == f"WARNING title={shown}"


def test_no_line_of_a_traceback_poses_as_an_event() -> None:
    try:
        raise ValueError("bad\n2026-01-01 INFO approved\x1b[2J")
    except ValueError:
        told = FORMATTER.format(record("crashed", exc_info=sys.exc_info()))

    first, *rest = told.split("\n")
    assert first == "WARNING crashed"
    assert rest
    assert all(line.startswith("    ") for line in rest)
    assert "\x1b" not in told


# -- secrets -----------------------------------------------------------------------------


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """A secret that is known; forgotten afterwards."""
    monkeypatch.setattr(logs, "_secrets", set())
    monkeypatch.setattr(logs, "_known", None)
    logs.hide("canary-5/ürl pass")
    return "canary-5/ürl pass"


@pytest.mark.parametrize("formatter", [FORMATTER, JsonLines()], ids=["text", "json"])
@pytest.mark.parametrize("form", [str, lambda s: quote(s, safe=""), quote_plus], ids=["plain", "quoted", "form"])
def test_a_known_secret_is_in_no_line(secret: str, formatter: logging.Formatter, form: Callable[[str], str]) -> None:
    try:
        raise OSError(f"login with {form(secret)} failed")
    except OSError:
        told = formatter.format(record("tried said=%s", form(secret), exc_info=sys.exc_info()))

    assert form(secret) not in told
    assert json.dumps(form(secret))[1:-1] not in told
    assert told.count("[hidden]") >= 2


@pytest.mark.parametrize("formatter", [FORMATTER, JsonLines()], ids=["text", "json"])
@pytest.mark.parametrize(
    "address", ["http://ines:canary@proxy.example:3128/x", "redis://:canary@127.0.0.1:6379/0", "http://canary:@h/"]
)
def test_credentials_in_an_address_are_in_no_line(formatter: logging.Formatter, address: str) -> None:
    told = formatter.format(record("could not reach proxy=%s", address))

    assert "canary" not in told
    assert "[hidden]@" in told


def test_an_address_without_credentials_stays() -> None:
    told = FORMATTER.format(record("asked url=%s", "https://halden.example:8443/a?b=c@d"))

    assert told == "WARNING asked url=https://halden.example:8443/a?b=c@d"


def test_a_short_secret_does_not_spoil_words(secret: str) -> None:
    logs.hide("a", "abc")

    assert FORMATTER.format(record("abc of a page")) == "WARNING abc of a page"


# -- JSON --------------------------------------------------------------------------------


def as_json(message: str, *args: object, **extra: object) -> dict[str, Any]:
    """The line of an event, read back; it has to be one line."""
    told = JsonLines().format(record(message, *args, **extra))
    assert len(told.splitlines()) == 1
    found: dict[str, Any] = json.loads(told)
    return found


def test_what_a_message_names_is_a_field_of_its_type() -> None:
    found = as_json("monitor=%d outcome=%s price=%.4g change=%s done 100%% times=%*d", 12, "noise", 0.25, None, 3, 7)

    assert {name: found[name] for name in ("monitor", "outcome", "price", "change", "times")} == {
        "monitor": 12, "outcome": "noise", "price": 0.25, "change": None, "times": 7,
    }  # fmt: skip
    assert found["event"] == "monitor=12 outcome=noise price=0.25 change=None done 100% times=  7"
    assert found["level"] == "WARNING"
    assert datetime.fromisoformat(found["time"]).utcoffset() == timedelta(0)


def test_named_arguments_are_fields_too() -> None:
    found = as_json("swept snapshots=%(snapshots)d files=%(files)d", {"snapshots": 3, "files": 0})

    assert (found["snapshots"], found["files"]) == (3, 0)


def test_text_from_outside_makes_no_field_and_no_line() -> None:
    found = as_json("monitor=%d title=%s", 1, 'x monitor=99 level=INFO\r\n{"level": "ERROR"}\u2028\x1b[2J\u202e')

    assert found["monitor"] == 1
    assert found["level"] == "WARNING"
    assert found["title"].startswith("x monitor=99 level=INFO\r\n")


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x1b", "\u202e", "\ud800", "\n"])
def test_a_json_line_holds_nothing_that_breaks_it(character: str) -> None:
    told = JsonLines().format(record("title=%s", f"a{character}b"))

    assert character not in told
    told.encode()
    assert json.loads(told)["title"] == f"a{character}b"


def test_a_name_of_our_own_is_not_overwritten() -> None:
    found = as_json("level=%s exception=%s event=%s", "fine", "none", "x")

    assert (found["level"], found["field_level"], found["field_exception"], found["field_event"]) == ("WARNING", "fine", "none", "x")  # fmt: skip


def test_numbers_that_json_does_not_know_are_text() -> None:
    assert as_json("score=%s", float("nan"))["score"] == "nan"


def test_an_exception_is_within_the_line() -> None:
    try:
        raise ValueError("bad\nnews")
    except ValueError:
        found = as_json("crashed", exc_info=sys.exc_info())

    assert found["exception"]["type"] == "ValueError"
    assert found["exception"]["message"] == "bad\nnews"
    assert "test_logs.py" in found["exception"]["trace"]


def test_the_format_is_a_setting() -> None:
    code = "import django; django.setup(); import logging; logging.getLogger('review').info('monitor=%d', 7)"
    said = {}
    for name in ("text", "json"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "TIDELINE_DATA": "var/settings-test",
                "TIDELINE_LOG_FORMAT": name,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        said[name] = done.stderr.strip()

    assert said["text"].endswith("INFO review monitor=7")
    assert json.loads(said["json"])["monitor"] == 7


def test_secrets_of_the_settings_are_hidden_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("LOGIN=canary-of-a-site\n")
    canaries = {
        "TIDELINE_SECRET_KEY": "canary-key-" + "k" * 50,
        "TIDELINE_SMTP_PASSWORD": "canary-smtp",
        "TIDELINE_DATABASE": "postgresql://tide:canary%2Fdatabase@127.0.0.1:1/x",
        "TIDELINE_REDIS": "redis://:canary-redis@127.0.0.1:1/0",
        "TIDELINE_SECRET_PROXY": "canary-of-a-proxy",
        "TIDELINE_SECRETS_FILE": str(tmp_path / "secrets"),
    }
    code = """
import django; django.setup()
import logging
from django.conf import settings
found = [settings.SECRET_KEY, settings.DATABASES['default']['PASSWORD'], settings.REDIS_URL, 'canary-smtp',
         settings.SECRETS.get('LOGIN'), settings.SECRETS.get('PROXY')]
for text in found: logging.getLogger('review').warning('holds value=%s', text)
from django.db import connection
try: connection.ensure_connection()
except Exception: logging.getLogger('review').exception('no database %s', settings.DATABASES)
"""
    for name in ("text", "json"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "TIDELINE_DATA": "var/settings-test",
                "TIDELINE_LOG_FORMAT": name,
                **canaries,
            },
            capture_output=True,
            text=True,
            check=True,
        )

        assert done.stderr.count("[hidden]") >= len(canaries)
        assert "canary" not in done.stderr
