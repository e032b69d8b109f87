"""A strict reader of Prometheus' text format 0.0.4: what a scraper or `promtool check metrics` refuses is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{((?:{_LABEL})(?:,{_LABEL})*)\}})? (\S+)")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN")
_SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}

type Labels = frozenset[tuple[str, str]]


class FormatError(ValueError):
    """A line that does not belong here."""


@dataclass(slots=True)
class Metric:
    """A family as it was read."""

    kind: str
    help: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, suffix: str = "", **labels: str) -> float:
        """The value of the sample with exactly these labels (`class_` for class)."""
        named = frozenset((name.rstrip("_"), text) for name, text in labels.items())
        return self.samples[suffix, named]


def parse(text: str) -> dict[str, Metric]:
    """The families by name; raises `FormatError` and says at which line."""
    if not text.endswith("\n"):
        raise FormatError("the last line has no end")
    found: dict[str, Metric] = {}
    name, help_text = "", None
    for number, line in enumerate(text[:-1].split("\n"), 1):
        if line.startswith("# HELP "):
            name, _, help_text = line.removeprefix("# HELP ").partition(" ")
            if name in found or not re.fullmatch(_NAME, name) or not help_text.strip():
                raise FormatError(f"line {number}: HELP of {name!r} again, of no name, or without words")
        elif line.startswith("# TYPE "):
            typed, _, kind = line.removeprefix("# TYPE ").partition(" ")
            if typed != name or name in found or help_text is None or kind not in _SUFFIXES:
                raise FormatError(f"line {number}: TYPE does not follow its HELP, or is unknown")
            found[name] = Metric(kind, help_text)
        else:
            _sample(line, number, name, found)
    for name, metric in found.items():
        _check(name, metric)
    return found


def _sample(line: str, number: int, name: str, found: dict[str, Metric]) -> None:
    match = _SAMPLE.fullmatch(line)
    if match is None or not _NUMBER.fullmatch(match[match.lastindex or 0]):
        raise FormatError(f"line {number}: no sample: {line!r}")
    if name not in found:
        raise FormatError(f"line {number}: a sample before its TYPE")
    metric, suffix = found[name], match[1].removeprefix(name)
    if not match[1].startswith(name) or suffix not in _SUFFIXES[metric.kind]:
        raise FormatError(f"line {number}: {match[1]} stands among the samples of {name}")
    pairs = [(key, _meant(text)) for key, text in re.findall(_LABEL, match[2] or "")]
    if len({key for key, _ in pairs}) != len(pairs):
        raise FormatError(f"line {number}: a label twice")
    key = (suffix, frozenset(pairs))
    if key in metric.samples:
        raise FormatError(f"line {number}: a series twice")
    metric.samples[key] = float(line.rpartition(" ")[2])


def _meant(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


def _check(name: str, metric: Metric) -> None:
    if not metric.samples:
        raise FormatError(f"{name} has no samples")
    if metric.kind == "counter" and not name.endswith("_total"):
        raise FormatError(f"{name} is a counter that does not end in _total")
    if metric.kind != "counter" and name.endswith(("_total", "_bucket", "_sum", "_count")):
        raise FormatError(f"{name} has the name of another type")
    if metric.kind == "counter" and min(metric.samples.values()) < 0:
        raise FormatError(f"{name} is below zero")
    if metric.kind == "histogram":
        _check_histogram(name, metric)


def _check_histogram(name: str, metric: Metric) -> None:
    series: dict[Labels, list[tuple[float, float]]] = {}
    for (suffix, labels), value in metric.samples.items():
        if suffix == "_bucket":
            bound = float(dict(labels)["le"])
            rest = frozenset(pair for pair in labels if pair[0] != "le")
            series.setdefault(rest, []).append((bound, value))
    for labels, buckets in series.items():
        bounds, counts = zip(*buckets, strict=True)
        if list(bounds) != sorted(bounds) or list(counts) != sorted(counts) or bounds[-1] != float("inf"):
            raise FormatError(f"{name}: classes out of order, falling, or without +Inf")
        if metric.samples["_count", labels] != counts[-1] or ("_sum", labels) not in metric.samples:
            raise FormatError(f"{name}: _count is not the last class, or _sum is missing")
