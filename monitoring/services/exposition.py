"""Prometheus' text format 0.0.4: families of samples, as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

type Kind = Literal["counter", "gauge", "histogram"]


@dataclass(slots=True)
class Family:
    """A metric with its samples: the suffix of the name, the labels, the value."""

    name: str
    kind: Kind
    help: str
    samples: list[tuple[str, dict[str, str], float]] = field(default_factory=list)

    def add(self, value: float, **labels: object) -> Family:
        """One sample more; gives the family."""
        self.samples.append(("", {name.rstrip("_"): str(text) for name, text in labels.items()}, value))
        return self

    def add_classes(self, bounds: tuple[float, ...], counts: Mapping[int, float], total: float, **labels: str) -> None:
        """The samples of a histogram, from the number of values in each class (the last one has no upper end) and their sum."""
        named = {name.rstrip("_"): text for name, text in labels.items()}
        seen = 0.0
        for place, bound in enumerate((*bounds, math.inf)):
            seen += counts.get(place, 0)
            self.samples.append(("_bucket", {**named, "le": _number(bound)}, seen))
        self.samples.append(("_sum", named, total))
        self.samples.append(("_count", named, seen))


def render(families: Iterable[Family]) -> str:
    """The families that have samples, as text."""
    lines = []
    for family in families:
        if not family.samples:
            continue
        lines.append(f"# HELP {family.name} {_escaped(family.help, quotes=False)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for suffix, labels, value in family.samples:
            inside = ",".join(f'{name}="{_escaped(text, quotes=True)}"' for name, text in labels.items())
            lines.append(f"{family.name}{suffix}{f'{{{inside}}}' if inside else ''} {_number(value)}")
    return "\n".join(lines) + "\n" if lines else ""


def _escaped(text: str, *, quotes: bool) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
