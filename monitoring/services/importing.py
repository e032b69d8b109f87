"""Many monitors from a CSV file: looked at line by line first, added after a person agreed.

A file that cannot be read as a table is refused as a whole. Otherwise each line is good or names what is wrong with
it; good lines are added, the others left out and reported.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import AddressPolicy, check_url
from monitoring.models import DocumentKind, Monitor, PageType, Renderer, SettingChange, Site, Team, Vantage
from monitoring.services import monitors, priors, rendering
from monitoring.services.egress import address_policy
from monitoring.services.intervals import format_interval, parse_interval
from monitoring.services.vetting import check_json_path, check_selector

MAX_BYTES: Final = 1_000_000
MAX_LINES: Final = 5_000
_BATCH: Final = 500
_MAX_URL: Final = 2000
_BOUNDS: Final = {"interval": (60, 31_536_000), "min_interval": (60, 31_536_000), "max_interval": (60, 31_536_000)}


class UnreadableFileError(ValueError):
    """The file is no table of monitors; the message says why, in a sentence for its sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the file. `problems` is empty for one that can be added; `number` counts from 1, the header included."""

    number: int
    name: str
    url: str
    problems: tuple[str, ...] = ()
    duplicate: bool = False
    monitor: Monitor | None = field(default=None, compare=False)

    @property
    def good(self) -> bool:
        """Whether the line can be added."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a file holds. `added` are the ids of new monitors, empty after a look without adding."""

    lines: tuple[Line, ...]
    delimiter: str
    added: tuple[int, ...] = ()

    @property
    def good(self) -> list[Line]:
        """Lines that can be added."""
        return [line for line in self.lines if line.good]

    @property
    def bad(self) -> list[Line]:
        """Lines that cannot."""
        return [line for line in self.lines if not line.good]


def check_size(size_bytes: int) -> None:
    """Raise UnreadableFileError for a file that is larger than is read; asked before reading it."""
    if size_bytes > MAX_BYTES:
        raise UnreadableFileError(
            _("The file has %(size)s bytes; at most %(most)s are read.")
            % {"size": f"{size_bytes:,}", "most": f"{MAX_BYTES:,}"}
        )


def decode(data: bytes) -> str:
    """The text of an uploaded file: UTF-8 with or without a mark, UTF-16 with one, else Windows-1252."""
    check_size(len(data))
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UnreadableFileError(_("The file is neither UTF-8 nor Windows-1252 text."))


def look(text: str, *, teams: Iterable[Team]) -> Report:
    """What adding this file would do; reads the database, writes nothing. Raises UnreadableFileError."""
    delimiter, records = _records(text)
    lines = tuple(_Reader(teams).read(records))
    return Report(lines=_without_known(lines), delimiter=delimiter)


def add(text: str, *, teams: Iterable[Team], actor: monitors.Actor, now: datetime) -> Report:
    """Add the good lines in one transaction, first checks spread; the report says which they were."""
    report = look(text, teams=teams)
    fresh = [line.monitor for line in report.good if line.monitor is not None]
    person = monitors.person_of(actor)
    try:
        with transaction.atomic():
            sites = _sites_for(fresh)
            for monitor in fresh:
                monitor.site = sites[monitors.site_host(monitor.url)]
                monitor.created_by = person
                monitor.plan_reason = "first"
                monitor.by_browser = monitor.uses_browser
            priors.give(fresh)
            monitors.plan_first(fresh, now=now)
            made = Monitor.objects.bulk_create(fresh, batch_size=_BATCH)
            SettingChange.objects.bulk_create(
                [monitors.log_entry(actor, "created", "", one.url, reason="import", monitor_id=one.pk) for one in made],
                batch_size=_BATCH,
            )
    except IntegrityError as error:
        raise UnreadableFileError(
            _("Somebody added one of these monitors meanwhile; nothing was added. Try again.")
        ) from error
    return Report(lines=report.lines, delimiter=report.delimiter, added=tuple(one.pk for one in made))


# --- the table -----------------------------------------------------------------------------------------------------

_ALIASES: Final = {"address": "url", "link": "url", "type": "page_type", "title": "name"}


def _records(text: str) -> tuple[str, Iterator[tuple[int, dict[str, str] | str]]]:
    """The delimiter, and each record as (line number, cells by column) or (line number, what is wrong with it)."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise UnreadableFileError(_("The file is empty."))
    delimiter = max(";\t,", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = _header(reader)
    return delimiter, _cells(reader, header)


def _header(reader: Any) -> list[str]:  # Any: the reader's type has no public name
    try:
        header = next(row for row in reader if any(cell.strip() for cell in row))
    except (StopIteration, csv.Error) as error:
        raise UnreadableFileError(_("The first line cannot be read as names of columns.")) from error
    names = [cell.strip().lower().replace(" ", "_").replace("-", "_") for cell in header]
    names = [_ALIASES.get(name, name) for name in names]
    known = ", ".join(_COLUMNS)
    if unknown := [name or "(empty)" for name in names if name not in _COLUMNS]:
        raise UnreadableFileError(
            _("Unknown columns: %(unknown)s. Known are: %(known)s.") % {"unknown": ", ".join(unknown)[:200], "known": known}
        )  # fmt: skip
    if twice := {name for name in names if names.count(name) > 1}:
        raise UnreadableFileError(
            _("These columns stand there twice: %(names)s.") % {"names": ", ".join(sorted(twice))}
        )
    if "url" not in names:
        raise UnreadableFileError(_("There is no column “url”. Known are: %(known)s.") % {"known": known})
    return names


def _cells(reader: Any, header: list[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    count = 0
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, _("The line cannot be read: %(why)s.") % {"why": error}
            continue
        if not any(cell.strip() for cell in row):
            continue
        count += 1
        if count > MAX_LINES:
            raise UnreadableFileError(_("The file has more than %(most)s lines.") % {"most": f"{MAX_LINES:,}"})
        if len(row) > len(header):
            yield (
                number,
                _("The line has %(found)d cells; the first line names %(expected)d columns.")
                % {
                    "found": len(row),
                    "expected": len(header),
                },
            )
            continue
        yield number, {name: cell.strip() for name, cell in zip(header, row, strict=False)}


# --- one line ------------------------------------------------------------------------------------------------------


class _Reader:
    """Turns records into lines; what exists is read once."""

    def __init__(self, teams: Iterable[Team]) -> None:
        self.teams = {team.name.casefold(): team for team in teams}
        self.page_types: dict[str, PageType] = {}
        for page_type in PageType.objects.all():
            self.page_types |= {page_type.name.casefold(): page_type, page_type.slug.casefold(): page_type}
        self.vantages = {vantage.name.casefold(): vantage for vantage in Vantage.objects.all()}
        self.policy: AddressPolicy = address_policy()
        self.seen: dict[tuple[int, str, int], int] = {}

    def read(self, records: Iterable[tuple[int, dict[str, str] | str]]) -> Iterator[Line]:
        for number, cells in records:
            if isinstance(cells, str):
                yield Line(number=number, name="", url="", problems=(cells,))
            else:
                yield self._line(number, cells)

    def _line(self, number: int, cells: dict[str, str]) -> Line:
        problems: list[str] = []
        values: dict[str, Any] = {}
        for column, reader in _COLUMNS.items():
            text = cells.get(column, "")
            try:
                _refuse_controls(text)
                values.update(reader(self, text))
            except ValidationError as error:
                problems += [f"{column}: {message}" for message in error.messages]
        problems += _together(values)
        name = cells.get("name", "") or _name_from(values.get("url", ""))
        if len(name) > 200:
            problems.append(_("name: %(found)d characters; at most 200 are kept.") % {"found": len(name)})
        shown = {"number": number, "name": name[:200], "url": values.get("url", cells.get("url", ""))[:300]}
        if problems:
            return Line(**shown, problems=tuple(problems))
        key = (values["team"].pk, values["url"], values["vantage"].pk)
        if key in self.seen:
            return Line(
                **shown,
                duplicate=True,
                problems=(_("Stands in line %(number)d already.") % {"number": self.seen[key]},),
            )
        self.seen[key] = number
        return Line(**shown, monitor=Monitor(name=name, **values))

    def url(self, text: str) -> dict[str, Any]:
        if not text:
            raise ValidationError(_("is missing."))
        try:
            url = check_url(text, self.policy)
        except Refused as error:
            raise ValidationError(error.sentence, code=error.code) from error
        if len(url) > _MAX_URL:
            raise ValidationError(_("has %(found)d characters; at most %(most)d are kept.") % {"found": len(url), "most": _MAX_URL})  # fmt: skip
        return {"url": url}

    def team(self, text: str) -> dict[str, Any]:
        return {"team": _chosen(text, self.teams, _("team"))}

    def page_type(self, text: str) -> dict[str, Any]:
        return {"page_type": _chosen(text, self.page_types, _("page type"))}

    def vantage(self, text: str) -> dict[str, Any]:
        return {"vantage": _chosen(text, self.vantages, _("vantage"))}


def _chosen[T](text: str, known: dict[str, T], what: str) -> T:
    """The row of that name; the only one there is where the cell is empty."""
    if not text and len({id(row) for row in known.values()}) == 1:
        return next(iter(known.values()))
    if not text:
        raise ValidationError(_("is missing; expected the name of a %(what)s.") % {"what": what})
    found = known.get(text.casefold())
    if found is None:
        raise ValidationError(_("“%(text)s” is no %(what)s you can use.") % {"text": text[:80], "what": what})
    return found


def _refuse_controls(text: str) -> None:
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs"}:
            raise ValidationError(
                _("holds the character U+%(code)s, which cannot be kept.") % {"code": f"{ord(character):04X}"}
            )


def _span(column: str, setting: str, *, default: int | None) -> Callable[[_Reader, str], dict[str, Any]]:
    low, high = _BOUNDS[column]

    def read(reader: _Reader, text: str) -> dict[str, Any]:
        if not text:
            return {setting: default}
        try:
            seconds = parse_interval(text)
        except ValueError:
            raise ValidationError(_("“%(text)s” is no length of time; write for example 30 min, 6 h or 2 days.") % {"text": text[:40]}) from None  # fmt: skip
        if not low <= seconds <= high:
            raise ValidationError(
                _("%(found)s is out of range; expected %(low)s to %(high)s.")
                % {"found": format_interval(seconds), "low": format_interval(low), "high": format_interval(high)}
            )
        return {setting: seconds}

    return read


def _number(
    setting: str, low: float, high: float, kind: type[int] | type[float]
) -> Callable[[_Reader, str], dict[str, Any]]:
    def read(reader: _Reader, text: str) -> dict[str, Any]:
        if not text:
            return {setting: None}
        try:
            value = kind(text.replace(",", "."))
        except ValueError:
            raise ValidationError(_("“%(text)s” is no number.") % {"text": text[:40]}) from None
        if not low <= value <= high:  # also refuses nan
            raise ValidationError(
                _("%(value)s is out of range; expected %(low)g to %(high)g.")
                % {"value": text, "low": low, "high": high}
            )
        return {setting: value}

    return read


_WORDS: Final = {
    "yes": True,
    "true": True,
    "1": True,
    "ja": True,
    "no": False,
    "false": False,
    "0": False,
    "nein": False,
}


def _yes_no(setting: str, default: bool | None) -> Callable[[_Reader, str], dict[str, Any]]:
    def read(reader: _Reader, text: str) -> dict[str, Any]:
        if not text:
            return {setting: default}
        if text.lower() not in _WORDS:
            raise ValidationError(_("“%(text)s” is neither yes nor no.") % {"text": text[:40]})
        return {setting: _WORDS[text.lower()]}

    return read


def _expression(setting: str, check: Callable[[str], None]) -> Callable[[_Reader, str], dict[str, Any]]:
    def read(reader: _Reader, text: str) -> dict[str, Any]:
        if len(text) > 400:
            raise ValidationError(
                _("has %(found)d characters; at most %(most)d are kept.") % {"found": len(text), "most": 400}
            )
        if text:
            check(text)
        return {setting: text}

    return read


def _renderer(reader: _Reader, text: str) -> dict[str, Any]:
    value = text.lower() or Renderer.HTTP.value
    if value not in Renderer.values:
        raise ValidationError(_("“%(text)s” is no way to fetch; expected http, browser or auto.") % {"text": text[:40]})
    return {"renderer": value}


def _steps(reader: _Reader, text: str) -> dict[str, Any]:
    if not text:
        return {"steps": []}
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise ValidationError(_("is no JSON; expected a list of steps.")) from error
    return {"steps": rendering.check_steps(raw)}


def _document_type(reader: _Reader, text: str) -> dict[str, Any]:
    value = text.lower() or DocumentKind.AUTO.value
    if value not in DocumentKind.values:
        raise ValidationError(
            _("“%(text)s” is no document type; expected one of %(known)s.")
            % {"text": text[:40], "known": ", ".join(DocumentKind.values)}
        )
    return {"document_type": value}


_COLUMNS: Final[dict[str, Callable[[_Reader, str], dict[str, Any]]]] = {
    "name": lambda reader, text: {},
    "url": _Reader.url,
    "page_type": _Reader.page_type,
    "team": _Reader.team,
    "vantage": _Reader.vantage,
    "renderer": _renderer,
    "wait_selector": _expression("wait_selector", check_selector),
    "steps": _steps,
    "main_selector": _expression("main_selector", check_selector),
    "document_type": _document_type,
    "json_path": _expression("json_path", check_json_path),
    "link_selector": _expression("link_selector", check_selector),
    "interval": _span("interval", "interval_s", default=None),
    "min_interval": _span("min_interval", "min_interval_s", default=300),
    "max_interval": _span("max_interval", "max_interval_s", default=604_800),
    "weight": _number("weight", 0.01, 100, float),
    "threshold": _number("threshold", 0, 64, int),
    "cut": _number("cut", 0, 1, float),
    "order_matters": _yes_no("order_matters", None),
    "case_matters": _yes_no("case_matters", None),
    "enabled": _yes_no("enabled", True),
}
COLUMNS: Final = tuple(_COLUMNS)


def _together(values: dict[str, Any]) -> list[str]:
    """What is wrong between the cells of a line."""
    problems = []
    low, high = values.get("min_interval_s"), values.get("max_interval_s")
    if low and high and low > high:
        problems.append(_("max_interval: shorter than the minimum interval."))
    if values.get("wait_selector") and values.get("renderer") == Renderer.HTTP:
        problems.append(_("wait_selector: only a browser can wait; set renderer to browser."))
    if values.get("steps") and values.get("renderer") == Renderer.HTTP:
        problems.append(_("steps: only a browser does steps; set renderer to browser or auto."))
    if values.get("json_path") and values.get("document_type") not in (DocumentKind.AUTO, DocumentKind.JSON):
        problems.append(_("json_path: only JSON has paths; set document_type to json or auto."))
    return problems


def _name_from(url: str) -> str:
    """A name for a page that was given none: host and path."""
    return url.partition("://")[2].removeprefix("www.").rstrip("/")[:200]


def _without_known(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines, such as are watched already marked."""
    urls = sorted({line.monitor.url for line in lines if line.monitor})
    known: set[tuple[int, str, int]] = set()
    for start in range(0, len(urls), _BATCH):
        chunk = urls[start : start + _BATCH]
        known.update(Monitor.objects.filter(url__in=chunk).values_list("team_id", "url", "vantage_id"))
    return tuple(
        Line(
            number=line.number,
            name=line.name,
            url=line.url,
            duplicate=True,
            problems=(_("This team already watches this address from this vantage."),),
        )
        if line.monitor and (line.monitor.team_id, line.monitor.url, line.monitor.vantage_id) in known
        else line
        for line in lines
    )


def _sites_for(fresh: Iterable[Monitor]) -> dict[str, Site]:
    """Sites by host, missing ones made."""
    hosts = sorted({monitors.site_host(monitor.url) for monitor in fresh})
    found: dict[str, Site] = {}
    for start in range(0, len(hosts), _BATCH):
        chunk = hosts[start : start + _BATCH]
        Site.objects.bulk_create(
            [Site(host=host, name=monitors.site_name(host)) for host in chunk], ignore_conflicts=True
        )
        found |= {site.host: site for site in Site.objects.filter(host__in=chunk)}
    return found
