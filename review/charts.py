"""Charts as coordinates for SVG templates. Numbers leave as text, so that no locale turns a point into a comma."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

LEFT, RIGHT, TOP, BOTTOM = 30.0, 8.0, 12.0, 20.0
GRID = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """One check: when, its score (0..1), and `noise`, `approved`, `dismissed` or `waiting`."""

    at: datetime
    score: float
    kind: str
    label: str = ""
    current: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """One shape at a place of the drawing."""

    kind: str
    x: str
    y: str
    d: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A grid line or axis label."""

    text: str
    x: str
    y: str
    anchor: str = "end"


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of scores over time with the cut as a line."""

    width: int
    height: int
    marks: list[Mark]
    grid: list[Line]
    months: list[Line]
    cut_path: str
    current: Mark | None
    left: str = f"{LEFT:.1f}"
    right: str = ""
    extra: dict[str, str] = field(default_factory=dict)


def _plain(value: float, places: int) -> str:
    return f"{value:.{places}f}"


def _n(value: float) -> str:
    return f"{value:.1f}"


def scores_over_time(
    points: Sequence[Point],
    *,
    cuts: Sequence[tuple[datetime, float | None]],
    now: datetime,
    span: timedelta,
    width: int = 264,
    height: int = 150,
    left: float = LEFT,
    write: Callable[[float, int], str] = _plain,
    months: Sequence[tuple[datetime, str]] = (),
    heights: Sequence[tuple[float, str]] | None = None,
) -> Chart:
    """The chart of a monitor's checks. `cuts` are (since, cut) in order; the first holds from before the start.

    A cut of None is a gap in its line. `heights` are the labelled lines where the axis isn't the score's own, as (share of
    the height, words); `left` is the room for the words.
    """
    start = now - span
    inner = width - left - RIGHT

    def x(at: datetime) -> float:
        return left + inner * min(1.0, max(0.0, (at - start) / span))

    def y(score: float) -> float:
        return TOP + (height - TOP - BOTTOM) * (1.0 - min(1.0, max(0.0, score)))

    marks: list[Mark] = []
    current: Mark | None = None
    for point in points:
        px, py = x(point.at), y(point.score)
        if point.current:
            current = Mark("now", _n(px), _n(py), label=point.label or write(point.score, 2), d=_n(px - 9))
            continue
        shape = ""
        if point.kind == "approved":
            shape = f"M{_n(px)} {_n(py - 5)}l5 5-5 5-5-5z"
        elif point.kind == "dismissed":
            shape = f"M{_n(px - 3.4)} {_n(py - 3.4)}l6.8 6.8m0-6.8-6.8 6.8"
        marks.append(Mark(point.kind, _n(px), _n(py), shape, point.label))
    path, drawn = "", False
    for index, (since, cut) in enumerate(cuts):
        px = left if index == 0 else x(since)
        if drawn:
            path += f"H{_n(px)}"
        if cut is not None:
            path += f"V{_n(y(cut))}" if drawn else f"M{_n(px)} {_n(y(cut))}"
        drawn = cut is not None
    if drawn:
        path += f"H{_n(width - RIGHT)}"
    if heights is None:
        heights = [(value, write(value, 2 if value % 0.5 else 1 if value % 1 else 0)) for value in GRID]
    grid = [Line(words, _n(left - 5), _n(y(value))) for value, words in heights]
    labels = [
        Line(text, _n(x(at)), _n(height - 4), "middle") for at, text in months if left + 8 < x(at) < width - RIGHT - 8
    ]
    return Chart(width, height, marks, grid, labels, path, current, left=_n(left), right=_n(width - RIGHT))


BITS = 64
BIT_LINES = (1, 4, 16, 64)


def bit_height(bits: float) -> float:
    """Where a distance stands on a chart's logarithmic axis, as a share of its height: 0 bits at 0, 64 at 1."""
    return math.log2(1 + min(BITS, max(0.0, bits))) / math.log2(1 + BITS)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram, in percent of the strip."""

    x: str
    y: str
    width: str
    height: str
    count: int
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of scores in equal bins from 0 to 1."""

    kind: str
    bars: list[Bar]
    total: int


BINS = 25
HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT = 860.0, 84.0


def histogram(kind: str, scores: Sequence[float]) -> Histogram:
    """A strip of bars for scores in [0, 1]; the tallest fills the strip."""
    counts = [0] * BINS
    for score in scores:
        counts[min(BINS - 1, max(0, int(score * BINS)))] += 1
    highest, step = max(counts) or 1, HISTOGRAM_WIDTH / BINS
    bars = [
        Bar(
            _n(index * step + 1),
            _n(HISTOGRAM_HEIGHT - HISTOGRAM_HEIGHT * count / highest),
            _n(step - 2),
            _n(HISTOGRAM_HEIGHT * count / highest),
            count,
            f"{index / BINS:.2f}",
            f"{(index + 1) / BINS:.2f}",
        )
        for index, count in enumerate(counts)
        if count
    ]
    return Histogram(kind, bars, len(scores))


def score_x(score: float) -> str:
    """Where a score stands on a histogram's axis."""
    return _n(HISTOGRAM_WIDTH * min(1.0, max(0.0, score)))


@dataclass(frozen=True, slots=True)
class Meter:
    """A bar of a score with a tick at the cut; lengths in a drawing 100 wide."""

    score: str
    times: str
    cut: str
    fill: str
    tick: str


def meter(score: float | None, cut: float | None, *, write: Callable[[float, int], str] = _plain) -> Meter | None:
    """The meter of a queue row; None where a change has no score (a page that is gone).

    `write` gives a number with so many decimals as people read it; lengths are for the drawing and stay plain.
    """
    if score is None:
        return None
    limit = cut or 0.0
    return Meter(
        score=write(score, 2),
        times=write(score / limit, 1) if limit else "",
        cut=write(limit, 2),
        fill=_n(100 * min(1.0, max(0.0, score))),
        tick=_n(min(98.0, 100 * limit)),
    )


@dataclass(frozen=True, slots=True)
class Tenth:
    """Checks whose chance of finding a change was foreseen within one tenth: how many, what was expected, what was found."""

    checks: int
    expected: float
    found: int


@dataclass(frozen=True, slots=True)
class Dot:
    """One tenth in the drawing: foreseen to the right, found upwards, and what chance alone explains as a line."""

    x: str
    y: str
    r: str
    low: str
    high: str
    foreseen: float
    found: float
    checks: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Foreseen against found, 0 to 1 both; a dot on the diagonal was foreseen rightly."""

    width: int
    height: int
    dots: list[Dot]
    grid: list[Line]
    across: list[Line]
    diagonal: str
    left: str
    right: str
    bottom: str
    top: str


def wilson(found: int, checks: int, z: float = 1.96) -> tuple[float, float]:
    """The range that a share of `found` in `checks` leaves open, 95 % by default (Wilson 1927)."""
    if not checks:
        return 0.0, 1.0
    share, square = found / checks, z * z
    middle = (share + square / (2 * checks)) / (1 + square / checks)
    half = z / (1 + square / checks) * math.sqrt(share * (1 - share) / checks + square / (4 * checks * checks))
    return max(0.0, middle - half), min(1.0, middle + half)


def calibration(
    tenths: Sequence[Tenth],
    *,
    width: int = 560,
    height: int = 340,
    write: Callable[[float], str] = lambda v: f"{v:.0%}",
) -> Calibration:
    """The drawing of foreseen against found; tenths without checks are left out. Dots grow with the number of checks."""
    left, inner, tall = 44.0, width - 44.0 - 3 * RIGHT, height - TOP - 26.0

    def x(share: float) -> float:
        return left + inner * share

    def y(share: float) -> float:
        return TOP + tall * (1 - share)

    most = max((one.checks for one in tenths), default=1) or 1
    dots = []
    for one in tenths:
        if not one.checks:
            continue
        foreseen, found = one.expected / one.checks, one.found / one.checks
        low, high = wilson(one.found, one.checks)
        radius = 2.5 + 4.5 * math.sqrt(one.checks / most)
        dots.append(
            Dot(_n(x(foreseen)), _n(y(found)), _n(radius), _n(y(low)), _n(y(high)), foreseen, found, one.checks)
        )
    grid = [Line(write(value), _n(left - 5), _n(y(value))) for value in (0.0, *GRID)]
    across = [Line(write(value), _n(x(value)), _n(TOP + tall + 15), "middle") for value in (0.0, *GRID)]
    diagonal = f"M{_n(x(0))} {_n(y(0))}L{_n(x(1))} {_n(y(1))}"
    return Calibration(width, height, dots, grid, across, diagonal, _n(left), _n(left + inner), _n(TOP + tall), _n(TOP))
