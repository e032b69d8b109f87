"""Inputs made to exhaust a differ or to fool a reader: bounded work, and everything hidden gets a name."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitoring.detection.blocks import Block, Reading, Surface
from monitoring.detection.diff import Limits, apply, diff, rows_of


def page(*texts: str) -> Reading:
    return Reading(tuple(Block(text, "p", path="body/p", slot="") for text in texts))


def numbers(first: int, count: int) -> list[str]:
    return [str(n) for n in range(first, first + count)]


# name -> the two pages, made when asked for: together they are large
WORST: dict[str, Callable[[], tuple[Reading, Reading]]] = {
    "one word, half of it common": lambda: (page("b" + "a" * 100_000 + "b"), page("c" + "a" * 60_000 + "c")),
    "one word of alternating parts": lambda: (
        page("".join(f"ab{n}de" for n in range(20_000))),
        page("".join(f"cd{n}de" for n in range(20_000))),
    ),
    "nothing in common": lambda: (page("ab " * 50_000), page("cd " * 50_000)),
    "a million different words": lambda: (page(" ".join(numbers(0, 10**6))), page(" ".join(numbers(10**6, 10**6)))),
    "five megabytes and a letter": lambda: (page("a" * 5_000_000), page("a" * 5_000_000 + "b")),
    "a repeated word, every second one new": lambda: (page("a " * 20_000), page("a b " * 10_000)),
    "repeated blocks, every second one new": lambda: (page(*["a"] * 20_000), page(*["a", "b"] * 10_000)),
    "thirty thousand blocks replaced": lambda: (page(*numbers(0, 30_000)), page(*numbers(30_000, 30_000))),
    "thirty thousand blocks reversed": lambda: (page(*numbers(0, 30_000)), page(*reversed(numbers(0, 30_000)))),
    "a million letters against one": lambda: (page(" ".join("abcdefghijklmnopqrstuvwxyz" * 38_000)), page("x")),
    "a flood of combining marks": lambda: (page("x"), page("x" + "\u0301" * 200_000)),
    "shuffled words in one block": lambda: (
        page(" ".join(numbers(0, 40_000))),
        page(" ".join(sorted(numbers(0, 40_000)))),
    ),
    "similar blocks in another order": lambda: (
        page(*(f"Item {n} costs {n * 7 % 1000} euro a month, taxes in" for n in range(3_000))),
        page(*(f"Item {n} costs {n * 7 % 1000} euro a year, taxes in" for n in reversed(range(3_000)))),
    ),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_inputs_are_bounded_by_work(name: str) -> None:
    old, new = WORST[name]()

    started = time.process_time()
    document = diff(old, new)
    spent = time.process_time() - started

    assert document["places"] >= 1
    assert spent < 1.0
    assert len(json.dumps(document, ensure_ascii=False).encode("utf-8")) < 2_000_000


@pytest.mark.slow
def test_memory_stays_small_over_all_of_them() -> None:
    program = (
        "import resource\n"
        "from tests.detection.test_diff_hostile import WORST, diff\n"
        "idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for make in WORST.values():\n"
        "    diff(*make())\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle) // 1024)\n"
    )
    root = Path(__file__).resolve().parents[2]

    answer = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)

    assert int(answer.stdout) < 300


def test_a_letter_after_five_megabytes_shows() -> None:
    document = diff(page("a" * 5_000_000), page("a" * 5_000_000 + "b"))

    (row,) = rows_of(document)
    assert row["op"] == "reworded"
    assert row["segments"][-1][0] == "+"
    assert row["segments"][-1][1].endswith("b")
    assert document["simplified"]
    assert document["cut"] > 4_000_000


def test_every_change_of_an_enormous_block_keeps_its_place() -> None:
    words = [f"word{n}" for n in range(30_000)]
    edited = [f"new{n}" if n % 300 == 0 else word for n, word in enumerate(words)]
    document = diff(page(" ".join(words)), page(" ".join(edited)))

    (row,) = rows_of(document)
    marks = [segment for segment in row["segments"] if segment[0] != "="]
    assert len(marks) == 200
    assert marks[-1] == ["+", "new29700"]
    assert document["cut"] > 0
    assert document["simplified"]


def test_a_starved_diff_says_so() -> None:
    document = diff(page("a b c", *numbers(0, 50)), page("a b d", *numbers(100, 50)), limits=Limits(changed_blocks=5))

    assert document["simplified"]
    assert document["rest"] > 0


def test_a_flood_of_visible_changes_does_not_hide_the_hidden_one() -> None:
    hidden = Block("You waive all rights", "p", path="body/p", slot="", surface=Surface.HIDDEN)
    flood = page(*numbers(1000, 600))
    document = diff(page(*numbers(0, 600)), Reading((*flood.blocks, hidden)))

    last = document["blocks"][-1]
    assert (last["surface"], last["segments"]) == ("hidden", [["+", "You waive all rights"]])
    assert document["rest"] > 0


@pytest.mark.parametrize(
    ("was", "now", "names"),
    [
        ("acme.com", "\u0430cme.com", ["U+0430 CYRILLIC SMALL LETTER A"]),
        (
            "ace",
            "\u0430\u0441\u0435",
            ["U+0430 CYRILLIC SMALL LETTER A", "U+0441 CYRILLIC SMALL LETTER ES", "U+0435 CYRILLIC SMALL LETTER IE"],
        ),
        ("100", "\u202e001\u202c", ["U+202E RIGHT-TO-LEFT OVERRIDE", "U+202C POP DIRECTIONAL FORMATTING"]),
        ("liability", "lia\u200bbility", ["U+200B ZERO WIDTH SPACE"]),
        ("terms", "te\u00adrms", ["U+00AD SOFT HYPHEN"]),
        ("ok", "ok\U000e0039\U000e0030", ["U+E0039 TAG DIGIT NINE and 1 more: 90"]),
        ("ok", "ok" + "".join(chr(0xE0100 + n) for n in range(40)), ["U+E0100 VARIATION SELECTOR-17 and 39 more"]),
        ("x", "x" + "\u0301" * 9, ["U+0301 COMBINING ACUTE ACCENT and 4 more"]),
        ("12", "\uff11\uff12", ["U+FF11 FULLWIDTH DIGIT ONE", "U+FF12 FULLWIDTH DIGIT TWO"]),
        ("b", "b\x00", ["U+0000 NULL"]),
        ("b", "b\x1b", ["U+001B ESCAPE"]),
    ],
)
def test_what_looks_like_nothing_is_named(was: str, now: str, names: list[str]) -> None:
    document = diff(page(f"before {was} after"), page(f"before {now} after"))

    chips = [segment for row in rows_of(document) for segment in row["segments"] if segment[0] == "!"]
    assert [chip[2] for chip in chips] == names
    assert {chip[3] for chip in chips} == {"+"}
    assert document["places"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # a Persian word needs its non-joiner
        "क्\u200dष",
        "\U0001f468\u200d\U0001f469 \u2764\ufe0f 1\ufe0f\u20e3",
        "Москва столица",
        "Αθήνα",
    ],
)
def test_ordinary_writing_gets_no_chips(text: str) -> None:
    document = diff(page("x"), page("x", text))

    assert all(segment[0] != "!" for row in rows_of(document) for segment in row["segments"])


def test_lone_surrogates_are_a_change_and_break_no_json() -> None:
    document = diff(page("a\ud800b"), page("a\ud801b"))

    json.dumps(document, ensure_ascii=False).encode("utf-8")
    (row,) = rows_of(document)
    assert [s[2] for s in row["segments"] if s[0] == "!"] == ["U+D800 LONE SURROGATE", "U+D801 LONE SURROGATE"]
    assert apply(document, "old") == apply(document, "new") == ["a\ufffdb"]


def test_the_same_pages_give_the_same_document() -> None:
    old, new = WORST["similar blocks in another order"]()

    documents: list[dict[str, Any]] = [diff(old, new) for _ in range(2)]

    assert documents[0] == documents[1]


def test_the_shared_catalogue_of_differ_cases_is_bounded(shared: Path) -> None:
    path = shared / "hostile" / "hostile.py"
    if not path.is_file():
        pytest.skip("no catalogue of hostile input beside this checkout")
    spec = importlib.util.spec_from_file_location("hostile", path)
    assert spec is not None
    assert spec.loader is not None
    catalogue: Any = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up while it is being made.
    sys.modules["hostile"] = catalogue
    spec.loader.exec_module(catalogue)

    spent: dict[str, float] = {}
    for case in catalogue.cases():
        if (case.area, case.kind) == ("differ", "text"):
            old, new = (page(" ".join(text.split())) for text in case.payload)
            started = time.process_time()
            document = diff(old, new)
            spent[case.name] = time.process_time() - started
            json.dumps(document, ensure_ascii=False).encode("utf-8")
            assert document["places"] >= 1, case.name

    assert len(spent) >= 9
    assert max(spent.values()) < 1.0, spent
