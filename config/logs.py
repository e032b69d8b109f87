"""Log lines that nobody outside can write into."""

from __future__ import annotations

import logging
import re
from types import TracebackType
from typing import override

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    r"""Text on one line: controls, line separators and direction marks written as `\x1b` or `\u2028`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class OneLine(logging.Formatter):
    """One event is one line, whatever a page's title or a visitor's name holds; a traceback is indented below it."""

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = escaped(record.message)
        return super().formatMessage(record)

    @override
    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        return "\n".join(f"    {escaped(line)}" for line in super().formatException(ei).split("\n"))
