"""What the doctor says: one line per thing that was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Line:
    """What was looked at, how it is, what was found, and what to do where that is not as it should be."""

    topic: str
    grade: Grade
    found: str
    advice: str = ""


type Lines = Iterator[Line]


def ok(topic: str, found: str) -> Line:
    """A line on something sound."""
    return Line(topic, Grade.OK, found)


def warning(topic: str, found: str, advice: str) -> Line:
    """A line on something that works, but not for long or not well."""
    return Line(topic, Grade.WARNING, found, advice)


def problem(topic: str, found: str, advice: str) -> Line:
    """A line on something that does not work, or is not safe."""
    return Line(topic, Grade.PROBLEM, found, advice)
