"""Log lines that nobody outside can write into and that hold no secret: as text, or one JSON object a line."""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, override
from urllib.parse import quote, quote_plus

# The request that a line belongs to; empty outside of one.
request_id: ContextVar[str] = ContextVar("request_id", default="")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# What JSON may hold but a terminal, a line reader or an encoder would trip over.
_UNFIT = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HIDDEN: Final = "[hidden]"
_LEAST = 6  # a shorter secret is found in words that are none
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@'\"]*:[^\s/@'\"]*(?=@)")
_secrets: set[str] = set()
_known: re.Pattern[str] | None = None


def escaped(text: str) -> str:
    r"""Text on one line: controls, line separators and direction marks written as `\x1b` or `\u2028`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def hide(*values: str) -> None:
    """Keep these values out of every log line from now on, as they are and as they stand in an address."""
    global _known
    fresh = {
        form for value in values if len(value) >= _LEAST for form in (value, quote(value, safe=""), quote_plus(value))
    }
    if not fresh <= _secrets:
        _secrets.update(fresh)
        _known = re.compile("|".join(re.escape(value) for value in sorted(_secrets, key=len, reverse=True)))


def hidden(text: str) -> str:
    """Text without secrets that are known, and without names and passwords in addresses."""
    if "://" in text:
        text = _CREDENTIALS.sub(_HIDDEN, text)
    return text if _known is None else _known.sub(_HIDDEN, text)


class OneLine(logging.Formatter):
    """One event is one line, whatever a page's title or a visitor's name holds; a traceback is indented below it."""

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = escaped(record.message)
        line = super().formatMessage(record)
        asked = request_id.get()
        return f"{line} request={asked}" if asked else line

    @override
    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        return "\n".join(f"    {escaped(line)}" for line in super().formatException(ei).split("\n"))

    @override
    def format(self, record: logging.LogRecord) -> str:
        return hidden(super().format(record))


class RecentErrors(logging.Handler):
    """Remembers this process's last errors, for those who look how it is doing."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="seconds")
        text = escaped(hidden(record.getMessage()))
        if record.exc_info and record.exc_info[1] is not None:
            text += f" ({type(record.exc_info[1]).__name__})"
        _errors.append({"at": at, "logger": record.name, "event": text[:300]})


_errors: deque[dict[str, str]] = deque(maxlen=3)


def recent_errors() -> list[dict[str, str]]:
    """The last errors that were logged here, the newest last."""
    return list(_errors)


class JsonLines(logging.Formatter):
    """One event is one JSON object on one line, with what the message names (`monitor=12`) as fields of their own.

    Fields are read off the message's template and its arguments, never off the finished text: a title that says
    `monitor=3` makes no field.
    """

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {  # Any: JSON
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": hidden(record.getMessage()),
            "process": os.getpid(),
        }
        if record.processName and record.processName != "MainProcess":
            line["worker"] = record.processName
        if asked := request_id.get():
            line["request"] = asked
        for name, value in _fields(record):
            line[f"field_{name}" if name in line or name == "exception" else name] = value
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = {
                "type": record.exc_info[0].__name__,
                "message": hidden(str(record.exc_info[1])),
                "trace": hidden(self.formatException(record.exc_info)),
            }
        text = json.dumps(line, ensure_ascii=False, allow_nan=False)
        return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_PLACE = re.compile(r"(?:(\w+)=)?%(?:\((\w+)\))?([#0\- +]*)(\*|\d+)?(?:\.(\*|\d+))?([a-zA-Z%])")


@lru_cache(maxsize=1_000)
def _places(template: str) -> tuple[tuple[str, str, int], ...]:
    """Of a message's template what is named in it: the name, and the key or the number of its argument."""
    found, number = [], 0
    for name, key, _flags, width, precision, kind in _PLACE.findall(template):
        if kind == "%":
            continue
        number += (width == "*") + (precision == "*")
        if name:
            found.append((name, key, number))
        number += 1
    return tuple(found)


def _fields(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    if not isinstance(record.msg, str) or not record.args:
        return
    for name, key, number in _places(record.msg):
        if key and isinstance(record.args, Mapping):
            yield name, _plain(record.args.get(key))
        elif not key and isinstance(record.args, tuple) and number < len(record.args):
            yield name, _plain(record.args[number])


def _plain(value: object) -> object:
    """A value as JSON can hold it."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return hidden(str(value))
