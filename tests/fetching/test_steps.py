"""Lists of steps: what is taken, and how each fault is named."""

from __future__ import annotations

from typing import Any

import pytest

from monitoring.fetching.steps import Do, Step, StepError, parse_steps, secrets_of


def test_a_list_becomes_steps_and_is_stored_as_it_was_written() -> None:
    raw: list[dict[str, Any]] = [
        {"do": "consent"},
        {"do": "type", "selector": "#user", "value": "secret:SHOP_USER", "on": "login.example.org"},
        {"do": "select", "selector": "#lang", "value": "de"},
        {"do": "click", "text": "Show all", "within_s": 2.0},
        {"do": "press", "key": "Control+A"},
        {"do": "scroll", "to": "bottom"},
        {"do": "wait", "selector": "tr", "count": 20},
        {"do": "wait", "selector": "#spinner", "gone": True},
        {"do": "wait", "seconds": 1.5},
    ]

    steps = parse_steps(raw)

    assert [step.to_json() for step in steps] == raw
    assert steps[1] == Step(do=Do.TYPE, selector="#user", value="secret:SHOP_USER", on="login.example.org")
    assert secrets_of(steps, home="www.example.org") == {("SHOP_USER", "login.example.org")}


@pytest.mark.parametrize("nothing", [None, "", []])
def test_no_steps_are_no_steps(nothing: object) -> None:
    assert parse_steps(nothing) == ()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"do": "click"}, "Expected a list of steps"),
        ("click #a", "Expected a list of steps"),
        ([{"do": "click", "selector": "a"}] * 21, "There are 21 steps; at most 20"),
        ([{"do": "consent"}, "click"], "Step 2: expected an object"),
        ([{"do": "run"}], "Step 1: “do” is 'run'; expected one of click, type"),
        ([{}], "Step 1: “do” is 'None'"),
        ([{"do": []}], "Step 1: “do” is"),
        ([{"do": "click", "selector": "a", "script": "x"}], "click takes no script; it takes selector, text, within_s"),
        ([{"do": "click"}], "click needs exactly one of selector, text"),
        ([{"do": "click", "selector": "a", "text": "b"}], "click needs exactly one of"),
        ([{"do": "type", "selector": "a"}], "type needs value"),
        ([{"do": "wait"}], "wait needs exactly one of selector, text, url, quiet_s, seconds"),
        ([{"do": "wait", "seconds": 21}], "“seconds” must be from 0.1 to 20"),
        ([{"do": "wait", "seconds": float("nan")}], "“seconds” must be from"),
        ([{"do": "wait", "seconds": True}], "“seconds” must be a number"),
        ([{"do": "wait", "seconds": 20}] * 3, "add up to 60 s; at most 40 s"),
        ([{"do": "wait", "text": "x", "count": 3}], "“gone” and “count” belong to a selector"),
        ([{"do": "wait", "selector": "x", "count": 3, "gone": True}], "cannot stand together"),
        ([{"do": "wait", "selector": "x", "count": 1.5}], "“count” must be a whole number"),
        ([{"do": "wait", "selector": "x", "gone": "yes"}], "“gone” must be true or false"),
        ([{"do": "click", "selector": "a\nb"}], "without control characters"),
        ([{"do": "click", "selector": "a" * 501}], "at most 500 characters"),
        ([{"do": "press", "key": "rm -rf"}], "“key” must name one key"),
        ([{"do": "scroll", "to": "left"}], "“to” must be one of bottom, top"),
        ([{"do": "consent", "answer": "maybe"}], "“answer” must be one of accept, reject"),
        ([{"do": "type", "selector": "a", "value": "secret:shop"}], "a secret is written as secret:NAME"),
        ([{"do": "type", "selector": "a", "value": "secret:KEY"}], "not KEY"),
        ([{"do": "select", "selector": "a", "value": "secret:SHOP"}], "a secret can only be typed"),
        ([{"do": "type", "selector": "a", "value": "x", "on": "a.example"}], "“on” names the host"),
        ([{"do": "type", "selector": "a", "value": "secret:SHOP", "on": "http://a"}], "“on” names the host"),
    ],
)
def test_each_fault_is_named_with_its_step_and_what_is_expected(raw: object, said: str) -> None:
    with pytest.raises(StepError) as caught:
        parse_steps(raw)

    assert said in str(caught.value)


def test_selectors_are_tried_out() -> None:
    with pytest.raises(StepError, match="Step 1: does not parse"):
        parse_steps([{"do": "click", "selector": ":::"}], check_selector=lambda text: "does not parse")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"do": "type", "selector": "#user", "value": "hush"}, "type into “#user”"),
        ({"do": "wait", "seconds": 2}, "wait 2 s"),
        ({"do": "wait", "text": "Ready"}, "wait for “Ready”"),
        ({"do": "consent"}, "consent"),
    ],
)
def test_words_name_a_step_without_what_it_types(raw: dict[str, Any], words: str) -> None:
    assert parse_steps([raw])[0].words == words
