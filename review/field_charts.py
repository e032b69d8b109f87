"""Values of fields over time as drawings: a number, date or list by its size, everything else by which value it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.formats import date_format, number_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from monitoring.detection.fields import FieldType
from review import charts, wording
from review.selectors.dataset import Series
from review.selectors.history import month_labels

SHORT = 14  # characters of a label
LONG = 120  # characters of a value in a sentence
ROOM = 6.4  # for a character of a label
LOW, HIGH = 0.06, 0.94  # the lowest and the highest value, as shares of the height
LABELLED = 4  # values that are no figures get words on the axis up to so many


@dataclass(frozen=True, slots=True)
class Drawn:
    """A field as a page shows it: its drawing, and the same in a sentence."""

    series: Series
    chart: charts.Chart
    sentence: str


def drawn(
    series: Sequence[Series], *, now: datetime, since: datetime, width: int = 264, height: int = 110
) -> list[Drawn]:
    """Each field's values from `since` until `now`, drawn on the same time axis."""
    return [_drawn(one, now=now, span=now - since, width=width, height=height) for one in series]


def _drawn(series: Series, *, now: datetime, span: timedelta, width: int, height: int) -> Drawn:
    sizes = [_size(value) for _at, value in series.steps]
    present = [(value, size) for (_at, value), size in zip(series.steps, sizes, strict=True) if value is not None]
    units = {value.get("currency") for value, size in present if size is not None}
    measured = len(units) == 1 and all(size is not None for _value, size in present)
    shares, labels = _by_size(series, sizes) if measured else _by_value(series)
    steps = [(at, share) for (at, _value), share in zip(series.steps, shares, strict=True)]
    chart = charts.scores_over_time(
        [charts.Point(at, share, "waiting") for at, share in steps[1:] if share is not None],
        cuts=steps,
        now=now,
        span=span,
        width=width,
        height=height,
        left=max([charts.LEFT, *(10 + ROOM * len(words) for _share, words in labels)]),
        months=month_labels(now=now, span=span)[:: 1 if width > 400 else 2],
        heights=labels,
    )
    return Drawn(series, chart, _sentence(series, labels if measured else []))


def _size(value: Any) -> float | None:
    """A stored value as a figure: a number, the day of a date, the number of entries of a list; None for anything else."""
    if not isinstance(value, dict) or value.get("parsed") is False:
        return None
    found = value.get("value")
    match value.get("type"):
        case FieldType.NUMBER | FieldType.PRICE:
            try:
                return float(Decimal(str(found)))
            except (InvalidOperation, OverflowError):
                return None
        case FieldType.DATE:
            try:
                return float(date.fromisoformat(str(found)[:10]).toordinal())
            except ValueError:
                return None
        case FieldType.LIST:
            return float(len(found)) if isinstance(found, list) else None
    return None


def _by_size(series: Series, sizes: Sequence[float | None]) -> tuple[list[float | None], list[tuple[float, str]]]:
    known = [size for size in sizes if size is not None]
    low, high = min(known), max(known)

    def share(size: float) -> float:
        return LOW + (HIGH - LOW) * (size - low) / (high - low) if high > low else 0.5

    ends = dict.fromkeys((low, high))
    labels = [(share(end), _short(series.steps[sizes.index(end)][1], end)) for end in ends]
    return [None if size is None else share(size) for size in sizes], labels


def _by_value(series: Series) -> tuple[list[float | None], list[tuple[float, str]]]:
    """Each different value at a height of its own, in the order in which they came."""
    texts = [None if value is None else wording.field_text(value) for _at, value in series.steps]
    different = list(dict.fromkeys(text for text in texts if text is not None))
    gap = (HIGH - LOW) / max(1, len(different) - 1)
    heights = {text: LOW + gap * n if len(different) > 1 else 0.5 for n, text in enumerate(different)}
    labels = [(share, _cut(text, SHORT)) for text, share in heights.items()] if len(different) <= LABELLED else []
    return [None if text is None else heights[text] for text in texts], labels


def _short(value: Any, size: float) -> str:
    """A value as a label: an amount without its currency, a day, how many entries."""
    match value["type"]:
        case FieldType.DATE:
            return date_format(date.fromordinal(int(size)), "SHORT_DATE_FORMAT")
        case FieldType.LIST:
            return number_format(int(size))
    return _cut(number_format(Decimal(str(value["value"]))), SHORT)


def _cut(text: str, characters: int) -> str:
    return str(Truncator(text).chars(characters))


def _sentence(series: Series, ends: Sequence[tuple[float, str]]) -> str:
    """What the drawing shows, for who doesn't see it."""
    value = _cut(wording.field_text(series.value), LONG)
    if not series.changes:
        return _("%(name)s: %(value)s, the same all the time shown.") % {"name": series.name, "value": value}
    facts = {"name": series.name, "value": value, "n": series.changes}
    if len(ends) > 1:
        facts |= {"low": ends[0][1], "high": ends[1][1]}
        return (
            ngettext(
                "%(name)s: changed once, between %(low)s and %(high)s, now %(value)s.",
                "%(name)s: changed %(n)s times, between %(low)s and %(high)s, now %(value)s.",
                series.changes,
            )
            % facts
        )
    return (
        ngettext(
            "%(name)s: changed once, now %(value)s.", "%(name)s: changed %(n)s times, now %(value)s.", series.changes
        )
        % facts
    )
