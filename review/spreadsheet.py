"""Rows as CSV that no spreadsheet runs, sent as they are read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

from django.http import StreamingHttpResponse

MOST_ROWS = 100_000
# A spreadsheet takes text that starts with one of these for a formula; the full-width forms are folded by some.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_LEADING = re.compile(r"\A[\s\x00-\x20\x7f-\xa0\u200b-\u200f\u2060\ufeff]+")


def safe_cell(text: str) -> str:
    """Text that no spreadsheet runs: an apostrophe before what could start a formula, also behind leading blanks."""
    shown = _LEADING.sub("", text)
    return f"'{text}" if text.startswith(FORMULA_STARTS) or shown.startswith(FORMULA_STARTS) else text


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, value: str) -> str:
        """The row as csv wrote it."""
        return value


def _lines(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    yield "\ufeff" + writer.writerow(columns)
    for row in rows:
        yield writer.writerow([safe_cell(cell) for cell in row])


def download(name: str, columns: Sequence[str], rows: Iterable[Iterable[str]]) -> StreamingHttpResponse:
    """The rows as a file `name` (RFC 4180, UTF-8 with a byte order mark), every cell safe to open in a spreadsheet."""
    response = StreamingHttpResponse(_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
