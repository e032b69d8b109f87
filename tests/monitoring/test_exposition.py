"""Metrics come out as Prometheus reads them, and a reader that is strict says no to anything else."""

from __future__ import annotations

import math

import pytest

from monitoring.services.exposition import Family, render
from tests.prometheus import FormatError, parse


def test_samples_come_back_as_they_went_in() -> None:
    odd = 'a "quoted" \\ back\nslash, {braces} = 規約'
    told = render(
        [
            Family("tide_seen_total", "counter", "Seen.\nTwo lines, and a \\.").add(3, name_=odd).add(0.125, name_=""),
            Family("tide_level", "gauge", "Level.").add(-1.5),
            Family("tide_empty", "gauge", "Nothing to tell."),
        ]
    )

    found = parse(told)
    assert set(found) == {"tide_seen_total", "tide_level"}
    assert found["tide_seen_total"].value(name=odd) == 3
    assert found["tide_seen_total"].value(name="") == 0.125
    assert found["tide_level"].value() == -1.5


def test_a_histogram_is_cumulative_and_ends_at_infinity() -> None:
    family = Family("tide_took_seconds", "histogram", "Took.")
    family.add_classes((0.5, 1.0), {0: 2, 2: 5}, 12.5, class_="http")

    found = parse(render([family]))["tide_took_seconds"]
    assert [found.value("_bucket", class_="http", le=le) for le in ("0.5", "1", "+Inf")] == [2, 2, 7]
    assert (found.value("_count", class_="http"), found.value("_sum", class_="http")) == (7, 12.5)


@pytest.mark.parametrize("value", [0.0, 1e15, 1e300, 123456789.25, 1e-9, math.inf, 2**53])
def test_numbers_keep_their_value(value: float) -> None:
    assert parse(render([Family("tide_x", "gauge", "X.").add(value)]))["tide_x"].value() == value


HEAD = "# HELP a_total A.\n# TYPE a_total counter\n"


@pytest.mark.parametrize(
    "text",
    [
        "a_total 1\n",
        HEAD + "a_total 1",
        HEAD,
        HEAD + "a_total one\n",
        HEAD + "b_total 1\n",
        HEAD + 'a_total{x="1",x="2"} 1\n',
        HEAD + 'a_total{x="1"} 1\na_total{x="1"} 2\n',
        HEAD + 'a_total{x="a"b"} 1\n',
        HEAD + 'a_total{x-y="a"} 1\n',
        HEAD + "a_total -1\n",
        HEAD + "a_total 1\n" + HEAD + "a_total 1\n",
        "# HELP a A.\n# TYPE a counter\na 1\n",
        "# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n",
        '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
        '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n',
        '# HELP h H.\n# TYPE h histogram\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n',
    ],
)
def test_the_reader_is_strict(text: str) -> None:
    with pytest.raises(FormatError):
        parse(text)
