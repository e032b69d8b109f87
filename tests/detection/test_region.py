"""The main region: each failure the author of the 2006 rule lists, and what a region must withstand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from monitoring.detection.blocks import Reading, Region, Surface
from monitoring.detection.density import tag_density_body
from monitoring.detection.joint import choose_jointly, same_region
from monitoring.detection.read import main_text_of, read

PAGES = Path(__file__).parent.parent / "pages"
CASES = sorted(p.name for p in PAGES.glob("region_*"))


@dataclass(frozen=True, slots=True)
class Case:
    html: str
    failure: str
    rule_takes: list[str]
    rule_misses: list[str]
    main: list[str]
    furniture: list[str]


def load(name: str) -> Case:
    folder = PAGES / name
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return Case(html=(folder / "page.html").read_text(encoding="utf-8"), **expected)


@pytest.mark.parametrize("name", CASES)
def test_the_region_holds_the_text_and_not_the_furniture(name: str) -> None:
    case = load(name)

    text = main_text_of(case.html)

    assert [m for m in case.main if m not in text] == []
    assert [f for f in case.furniture if f in text] == []


@pytest.mark.parametrize("name", CASES)
def test_the_old_rule_fails_as_its_author_says(name: str) -> None:
    case = load(name)

    text = tag_density_body(case.html)

    assert [m for m in case.rule_takes if m not in text] == []
    assert [m for m in case.rule_misses if m in text] == []


def test_every_failure_its_author_lists_has_a_case() -> None:
    listed = {
        "sidebar taken for the body",
        '"more" page',
        "a dividing div inside the entry",
        "several entries on a page",
        "long comments",
        "untidy markup",
    }

    assert listed <= {load(name).failure for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_furniture_is_marked_and_not_dropped(name: str) -> None:
    case = load(name)

    reading = read(case.html)

    whole = "\n".join(b.text for b in reading.blocks)
    assert all(f in whole for f in case.furniture)
    marked = "\n".join(b.text for b in reading.blocks if b.region is Region.FURNITURE)
    assert all(f in marked for f in case.furniture)


PROSE = "The board meets on the first Monday of the month, in public, and publishes what it has decided. "
LINKS = "".join(f"<a href=/{n}>Berth number {n} on the long quay</a> " for n in range(20))
OTHER = "Berths are given out by lot, once a year, to whoever has paid the fee and read the rules. "


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"


def main_texts(reading: Reading) -> list[str]:
    return [b.text for b in reading.blocks if b.region is Region.MAIN and b.surface is Surface.VISIBLE]


def test_a_selector_set_by_a_person_wins() -> None:
    html = page(f"<main><p>{PROSE * 5}</p></main><div id=fees><p>Fee 100</p><nav>inside</nav></div>")

    reading = read(html, main_selector="#fees")

    assert (reading.region_how, main_texts(reading)) == ("selector", ["Fee 100", "inside"])


def test_an_inline_element_can_be_selected() -> None:
    reading = read(page(f"<p>{PROSE * 5}</p><p>now <span id=x>Fee 100</span></p>"), main_selector="#x")

    assert reading.region_how == "selector"
    assert "Fee 100" in main_texts(reading)[0]


def test_a_selector_that_matches_nothing_is_flagged_and_the_region_found() -> None:
    reading = read(page(f"<main><p>{PROSE * 5}</p></main>"), main_selector="#gone")

    assert reading.region_how == "landmark"
    assert [f.code for f in reading.flags] == ["selector-missing"]


def test_a_selector_that_does_not_parse_is_refused() -> None:
    with pytest.raises(ValueError):
        read(page("<p>x</p>"), main_selector="div[")


def test_a_remembered_region_is_taken_again_when_another_place_grows() -> None:
    old = page(f"<div class=rules><h1>Rules</h1><p>{PROSE * 8}</p></div><div class=berths>{LINKS}</div>")
    new = page(f"<div class=rules><h1>Rules</h1><p>{PROSE * 8}</p></div><div class=berths><p>{OTHER * 12}</p></div>")
    before = read(old)

    after = read(new, remembered_region=before.region_path)

    assert after.region_how == "remembered"
    assert main_texts(after) == main_texts(before)


def test_a_remembered_region_that_lost_its_text_is_given_up_and_said() -> None:
    before = read(page(f"<div class=rules><p>{PROSE * 8}</p></div><div class=berths><p>x</p></div>"))

    after = read(
        page(f"<div class=rules><p>gone</p></div><div class=berths><p>{OTHER * 8}</p></div>"),
        remembered_region=before.region_path,
    )

    assert "region-moved" in [f.code for f in after.flags]
    assert any("Berths" in text for text in main_texts(after))


def test_an_article_without_prose_is_not_believed() -> None:
    html = page(f"<article><p>Tiny.</p></article><div class=text><p>{PROSE * 4}</p><p>{OTHER * 4}</p></div>")

    assert main_texts(read(html)) == [(PROSE * 4).strip(), (OTHER * 4).strip()]


def test_an_element_that_holds_the_text_is_not_dropped_for_its_name() -> None:
    html = page(f"<div class=newsletter><p>{PROSE * 4}</p><p>{OTHER * 4}</p></div><div><p>{OTHER}</p></div>")

    assert PROSE.strip() in main_text_of(html)


def test_a_text_that_changed_region_is_main_on_both_sides() -> None:
    old = read(page(f"<div class=rules><p>{PROSE * 6}</p></div><nav><p>{OTHER}</p></nav>"))
    new = read(page(f"<div class=rules><p>{PROSE * 6}</p><p>{OTHER}</p></div>"))

    first, second = choose_jointly(old, new)

    assert set(main_texts(first)) == set(main_texts(second))


def test_joint_choice_leaves_equal_readings_alone() -> None:
    reading = read(page(f"<main><p>{PROSE * 6}</p></main>"))

    assert choose_jointly(reading, reading) == (reading, reading)


def test_readings_are_chosen_jointly_only_where_the_remembered_region_is_gone() -> None:
    rules, berths = f"<p>{PROSE * 6}</p>", f"<p>{OTHER * 8}</p>"
    old = read(page(f"<div class=rules>{rules}</div><div class=berths><p>x</p></div>"))
    stays = read(page(f"<div class=rules>{rules}</div><nav>{berths}</nav>"), remembered_region=old.region_path)
    moves = read(page(f"<nav>{rules}</nav><div class=berths>{berths}</div>"), remembered_region=old.region_path)

    kept = same_region(old, stays)
    joint = same_region(old, moves)

    assert kept == (old, stays)
    assert main_texts(moves) == [(OTHER * 8).strip()]
    assert (PROSE * 6).strip() in main_texts(joint[1])


def test_regions_without_common_text_are_reported_as_moved() -> None:
    old = read(page(f"<div class=rules><p>{PROSE * 6}</p></div>"))
    new = read(page(f"<div class=berths><p>{OTHER * 6}</p></div>"))

    _, after = choose_jointly(old, new)

    assert [f.code for f in after.flags] == ["region-moved"]


@pytest.mark.parametrize(
    "wrapper", ["<div>{}</div>", "<div class=css-1x2y3z>{}</div>", "<section><div>{}</div></section>"]
)
def test_a_wrapper_around_the_region_changes_no_main_text(wrapper: str) -> None:
    inside = f"<article><h1>Rules</h1><p>{PROSE * 4}</p><p>{OTHER * 4}</p></article>"

    assert main_text_of(page(wrapper.format(inside))) == main_text_of(page(inside))
