"""One event is one line in the log, whatever was logged."""

from __future__ import annotations

import logging
import sys

import pytest

from config.logs import OneLine

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
