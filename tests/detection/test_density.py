"""The tag-density rule of 2006, exactly."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.detection.density import tag_density_body

REFERENCE = Path(__file__).parents[2].parent / "shared" / "bench" / "extract" / "baselines.py"


def test_exactly_one_hundred_bytes_are_not_enough() -> None:
    assert tag_density_body("</head><div>" + "a" * 100 + "</div>") == ""
    assert tag_density_body("</head><div>" + "a" * 101 + "</div>") == "a" * 101


def test_bytes_are_counted_and_not_characters() -> None:
    assert tag_density_body("<div>" + "é" * 51 + "</div>") == "é" * 51


def test_exactly_a_tenth_of_a_tag_a_byte_is_too_much() -> None:
    text = "a" * 200
    assert tag_density_body("<div>" + "<b>" * 20 + text + "</div>") == ""
    assert tag_density_body("<div>" + "<b>" * 19 + text + "</div>") == text


def test_the_longest_piece_wins_and_the_first_of_equals() -> None:
    assert tag_density_body("<div>" + "a" * 120 + "<div>" + "b" * 150 + "<td>" + "c" * 150) == "b" * 150


def test_what_stands_before_the_first_head_end_is_left_out() -> None:
    assert tag_density_body("<div>" + "a" * 300 + "</HEAD><div>" + "b" * 150 + "</head>") == "b" * 150


def test_a_page_without_head_end_is_taken_whole() -> None:
    assert tag_density_body("<div>" + "a" * 150 + "</div>") == "a" * 150


def test_entities_count_as_written_and_are_unescaped_at_the_end() -> None:
    assert tag_density_body("<div>" + "&amp;" * 21 + "</div>") == "&" * 21


def test_comments_and_processing_instructions_are_no_text() -> None:
    assert tag_density_body("<div>" + "a" * 101 + "<!-- x > y --><?php z ?></div>") == "a" * 101


def test_script_text_can_win_as_the_author_found() -> None:
    assert "var" in tag_density_body("<div><script>" + "var a=1;" * 40 + "</script></div>")


@pytest.mark.parametrize("flood", ["<", "<!--", "<td", "<?", "<div", "</", "<!-- >"])
def test_unclosed_markup_costs_linear_time(flood: str) -> None:
    start = time.process_time()

    tag_density_body(flood * (1_000_000 // len(flood)))

    assert time.process_time() - start < 10  # quadratic work takes minutes here


PIECES = ["<", ">", "<div>", "<td x>", "</td>", "</div >", "<!--", "-->", "<?", "?>", "abc def " * 5, "é" * 30, "&amp;"]


@pytest.mark.skipif(not REFERENCE.exists(), reason="the shared reference is not here")
@given(st.lists(st.sampled_from([*PIECES, "</head>", "</HEAD>", "<p>", "x" * 60]), max_size=14))
def test_it_equals_the_reference(pieces: list[str]) -> None:
    spec = importlib.util.spec_from_file_location("baselines", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    baselines = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(baselines)
    html = "".join(pieces)

    assert tag_density_body(html) == baselines.tag_density(html)
