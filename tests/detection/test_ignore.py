"""Rules that people write, refused with the fault named."""

from __future__ import annotations

import time

import pytest

from monitoring.detection.ignore import (
    IgnoreRuleError,
    compile_pattern,
    selector_fault,
    validate_block,
    validate_pattern,
    validate_selector,
)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("[a-", "bracket"),
        ("[z-a]", "ends are swapped"),
        ("(ab", "never closed"),
        ("ab)", "closes nothing"),
        ("*a", "nothing to repeat"),
        ("a**", "Two repetition signs"),
        ("a{2000}", "1,000"),
        ("ab\\", "backslash"),
        (r"\Zq", "backslash"),
        ("(?=a)b", "look-ahead"),
        ("(?!a)b", "negative look-ahead"),
        ("(?<=a)b", "look-behind"),
        ("(?<!a)b", "negative look-behind"),
        (r"(a)\1", "back-reference"),
        ("(?P<n>a)(?P=n)", "back-reference"),
        ("(?>a)", "atomic"),
        (".*", "hide every change"),
        (r"[\s\S]+", "hide every change"),
        ("(?s).*", "hide every change"),
        ("x" * 1001, "1,001"),
        ("((a{1,100}){1,10}b){1,20}", "repetition|too large"),
        ("\ud800", "no page can contain"),
    ],
)
def test_a_faulty_pattern_is_refused_with_the_fault_named(pattern: str, fault: str) -> None:
    with pytest.raises(IgnoreRuleError, match=fault) as caught:
        validate_pattern(pattern)

    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("pattern", ["(a+)+$", r"\d+ visitors", "(?i)sponsored by .*", r"\p{Han}{2}", "(x|x)*y"])
def test_a_sound_pattern_is_accepted(pattern: str) -> None:
    validate_pattern(pattern)


def test_a_pattern_that_is_catastrophic_elsewhere_is_harmless() -> None:
    start = time.process_time()

    for pattern in ("(a+)+$", "(a|a)*c"):
        compile_pattern(pattern).sub(" ", "a" * 500_000 + "b")

    assert time.process_time() - start < 10  # quadratic work takes minutes here


def test_matches_are_taken_out() -> None:
    assert compile_pattern(r"\d+ visitors").sub(" ", "12 visitors today").strip() == "today"
    assert compile_pattern("b").search("abc").span() == (1, 2)


@pytest.mark.parametrize(
    ("selector", "fault"),
    [
        ("", "empty"),
        ("p[", "bracket"),
        ("p:nth-child(", "parenthesis"),
        ("//div/p", "XPath"),
        ("p::before", "pseudo-elements"),
        ("p,,b", "comma"),
        ("p:nonsense", "p:nonsense"),
        ("!", "does not parse"),
        ("p" * 1001, "1,001"),
        ("p\x00", "no page can contain"),
        ("*", "whole page"),
        ("body", "whole page"),
    ],
)
def test_a_faulty_selector_is_refused_and_named(selector: str, fault: str) -> None:
    with pytest.raises(IgnoreRuleError, match=fault) as caught:
        validate_selector(selector)

    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("selector", ["p.note", "#ad > div:nth-child(2)", "div:has(> img)", "[data-x='1']", "a, b"])
def test_a_sound_selector_is_accepted(selector: str) -> None:
    validate_selector(selector)

    assert selector_fault(selector) == ""


def test_a_block_is_known_by_its_folded_text() -> None:
    assert validate_block("  Cookie “Settings” ") == 'cookie "settings"'


@pytest.mark.parametrize("text", ["", "  ", "a\u200b"])
def test_a_block_of_next_to_nothing_is_refused(text: str) -> None:
    with pytest.raises(IgnoreRuleError, match="at least 3"):
        validate_block(text)
