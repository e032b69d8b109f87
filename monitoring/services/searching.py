"""The search in what waits: how text becomes words that both databases' full-text indexes find.

Neither index can be trusted with a language that writes no spaces: SQLite's trigrams find no word of two characters, and
PostgreSQL takes a run of Japanese for one word. So the text is cut here, before it is stored: words as they stand,
Chinese, Japanese, Korean and Thai in pairs of characters. What is asked for is cut the same way (ADR 0016).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import connection, models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from monitoring.models import Change, Monitor

if TYPE_CHECKING:
    from django.apps import AppConfig

WAITING = ("open", "snoozed")
MOST_TERMS = 12  # of one search; more narrow nothing down and cost
_TABLE = "monitoring_change"
_INDEX = "monitoring_change_search"

# Scripts without spaces between words: Thai to Khmer, kana, ideographs, Hangul.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORD = re.compile(r"[^\W_]+")


def _folded(text: str) -> str:
    """Text as it is compared: width and case folded, accents off Latin letters, nothing else."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return text
    # Beyond Latin a mark makes another letter: a Japanese "ga" is not a "ka".
    return "".join(unicodedata.normalize("NFD", char)[0] if "\u00c0" <= char <= "\u024f" else char for char in text)


def _runs(text: str) -> Iterable[tuple[str, bool]]:
    """Words of folded text, each with whether its script has no spaces."""
    for match in _WORD.finditer(text):
        word, at = match[0], 0
        for run in _UNSPACED.finditer(word):
            if run.start() > at:
                yield word[at : run.start()], False
            yield run[0], True
            at = run.end()
        if at < len(word):
            yield word[at:], False


def _pairs(run: str) -> list[str]:
    """Each character with its neighbour, and the last alone: every character starts one."""
    return [run[i : i + 2] for i in range(len(run))]


def words_of(text: str) -> str:
    """The text as the words that are indexed, in order, one space between them.

    >>> words_of("Die Geb\u00fchr: \u6599\u91d1\u8868")
    'die gebuhr \u6599\u91d1 \u91d1\u8868 \u8868'
    """
    found: list[str] = []
    for word, unspaced in _runs(_folded(text)):
        found += _pairs(word) if unspaced else [word]
    return " ".join(found)


def of_change(monitor: Monitor, text: str, *, limit: int) -> str:
    """What a change is found by: the first line is its page's name, site and address, the second what changed."""
    return f"{_page_words(monitor)}\n{words_of(text)[:limit]}"


def _page_words(monitor: Monitor) -> str:
    return words_of(f"{monitor.name} {monitor.site.name} {monitor.url}")


def renamed(monitors: models.QuerySet[Monitor]) -> None:
    """Waiting changes of these monitors are found by what their pages are called now."""
    waiting = Change.objects.filter(monitor__in=monitors, state__in=WAITING).select_related("monitor__site")
    for change in waiting.only("search_text", "monitor__name", "monitor__url", "monitor__site__name"):
        _old, _newline, rest = change.search_text.rpartition("\n")
        Change.objects.filter(pk=change.pk).update(search_text=f"{_page_words(change.monitor)}\n{rest}")


# --- asking --------------------------------------------------------------------------------------------------


def _terms(asked: str) -> tuple[list[str], list[str]]:
    """The words that must all be there (each the beginning of one), and runs of them that must stand side by side."""
    words: list[str] = []
    phrases: list[str] = []
    for quoted, plain in re.findall(r'"([^"]*)"|([^"\s]+)', asked):
        runs = list(_runs(_folded(quoted or plain)))
        together: list[str] = []
        for word, unspaced in runs:
            # The last character of what was asked for may go on in the text: its pair is the one before.
            together += (_pairs(word)[:-1] or [word]) if unspaced else [word]
        words += together
        if len(together) > 1 and (quoted or any(unspaced for _word, unspaced in runs) or len(runs) > 1):
            phrases.append(" ".join(together))
    return list(dict.fromkeys(words))[:MOST_TERMS], phrases[:MOST_TERMS]


def matching(asked: str) -> Q:
    """The waiting changes that hold everything asked for, as a condition; nothing matches what has no word in it.

    Words match from their beginning, text in quotation marks and runs of Japanese only as they stand.
    """
    words, phrases = _terms(asked)
    if not words:
        return Q(pk__in=())
    if connection.vendor == "postgresql":
        query = " & ".join(f"'{word}':*" for word in words)
        # As an array the answer is made once; as a joined subquery the planner, who thinks it small, asked it at every row.
        found = Q(RawSQL(_POSTGRESQL_MATCH, [query], output_field=models.BooleanField()))  # noqa: S611 - letters and digits
    else:
        query = " ".join(f'"{word}"*' for word in words)
        found = Q(pk__in=RawSQL(_SQLITE_MATCH, [query]))  # noqa: S611 - letters and digits
    for phrase in phrases:
        found &= Q(search_text__contains=phrase)
    return found


# --- the indexes -----------------------------------------------------------------------------------------------

_VECTOR = "to_tsvector('simple', search_text)"
_SQLITE_MATCH = f"SELECT rowid FROM {_INDEX} WHERE {_INDEX} MATCH %s"  # noqa: S608 - names are our own
_POSTGRESQL_MATCH = (
    f"{_TABLE}.id = ANY(ARRAY(SELECT found.id FROM {_TABLE} found "  # noqa: S608 - names are our own
    f"WHERE {_VECTOR} @@ to_tsquery('simple', %s) AND found.state IN ('open', 'snoozed')))"
)
_POSTGRESQL = (
    f"CREATE INDEX IF NOT EXISTS {_INDEX} ON {_TABLE} USING gin ({_VECTOR}) WHERE state IN ('open', 'snoozed')",
)
_OLD, _NEW = "old.state IN ('open', 'snoozed')", "new.state IN ('open', 'snoozed')"
_GONE = f"INSERT INTO {_INDEX}({_INDEX}, rowid, search_text) SELECT 'delete', old.id, old.search_text WHERE {_OLD};"
_CAME = f"INSERT INTO {_INDEX}(rowid, search_text) SELECT new.id, new.search_text WHERE {_NEW};"
# One trigger takes the old words out and puts the new ones in: two of them would run in no certain order.
_MOVED = f"(({_OLD}) <> ({_NEW}) OR ({_NEW} AND old.search_text IS NOT new.search_text))"
_SQLITE_TABLE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {_INDEX} USING fts5(search_text, content='{_TABLE}', content_rowid='id', "
    "tokenize='unicode61 remove_diacritics 0')"
)
_SQLITE_TRIGGERS = {
    f"{_INDEX}_insert": f"AFTER INSERT ON {_TABLE} WHEN {_NEW} BEGIN {_CAME} END",
    f"{_INDEX}_delete": f"AFTER DELETE ON {_TABLE} WHEN {_OLD} BEGIN {_GONE} END",
    f"{_INDEX}_update": f"AFTER UPDATE OF search_text, state ON {_TABLE} WHEN {_MOVED} BEGIN {_GONE} {_CAME} END",
}


def keep_index(sender: AppConfig | None = None, *, using: str = "default", **_kwargs: object) -> None:
    """The full-text index of what waits, made where it is missing; runs after every `migrate`.

    On SQLite triggers keep it in step, and a migration that makes the table anew loses them without a word; then they
    are set again and the index is filled again.
    """
    if using != "default" or _TABLE not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for statement in _POSTGRESQL:
                cursor.execute(statement)
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE tbl_name = %s AND type = 'trigger'", [_TABLE])
        there = {name for (name,) in cursor.fetchall()}
        if there >= set(_SQLITE_TRIGGERS):
            return
        cursor.execute(_SQLITE_TABLE)
        for name, body in _SQLITE_TRIGGERS.items():
            cursor.execute(f"CREATE TRIGGER IF NOT EXISTS {name} {body}")
    fill_index()


def fill_index() -> None:
    """SQLite's index from what waits, whatever it held."""
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {_INDEX}({_INDEX}) VALUES ('delete-all')")  # noqa: S608 - names are our own
        cursor.execute(
            f"INSERT INTO {_INDEX}(rowid, search_text) "  # noqa: S608 - names are our own
            f"SELECT id, search_text FROM {_TABLE} WHERE state IN ('open', 'snoozed')"
        )
