"""Pages made to hide a change, to look like one, or to exhaust who reads them: each ends as it should, at little cost.

Our own few cases run everywhere; the shared catalogue runs where it is beside this checkout.
"""

from __future__ import annotations

import pytest

from monitoring.detection.blocks import Block, Reading
from monitoring.detection.ignore import IgnoreRuleError, compile_pattern
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Kind, Settings
from monitoring.detection.memory import Memory
from tests.hostile import chain
from tests.hostile.chain import OURS_BAD, OURS_COSTLY, OURS_PAIRS, OURS_SAME, YESTERDAY, Told

MOST_MB = 300
# A machine whose cores are shared bills the same work twice its CPU time; `benchmarks/bench_hostile.py` holds the figure.
BUSY = 4

# A change that is explained and kept, not raised; what the page says to a reader is the same.
EXPLAINED = {
    "hide_soft_hyphen": "typography",  # shown only where a line breaks; still named in the diff
}
# Pages of one picture or one form field: nothing to read, so they never become a baseline.
UNREADABLE = {"hide_img_alt_and_src", "hide_input_value"}
# Cases that the fetcher or the status decides; the pure chain only has to survive them.
ELSEWHERE = {"hide_user_agent_cloaking"}


@pytest.fixture(scope="module")
def ours() -> dict[str, Told]:
    """What the chain tells of our own cases."""
    return chain.outcomes("ours")


@pytest.fixture(scope="module")
def shared_cases() -> dict[str, tuple[str, str, Told]]:
    """Area, expectation and what the chain tells of each case of the shared catalogue."""
    module = chain.load()
    if module is None:
        pytest.skip("the shared catalogue is not beside this checkout")
    expected = {case.name: (case.area, case.verdict) for case in module.cases()}
    return {name: (*expected[name.removesuffix(" edited")], told) for name, told in chain.outcomes("catalogue").items()}


def too_dear(told: Told) -> bool:
    """Whether a case took more than it may, or did not end by itself."""
    return bool(told.ended) or told.cpu_s > BUSY * chain.limit_s(told.name) or told.peak_mb > MOST_MB


# --- our own ----------------------------------------------------------------------------------------------------


def test_our_cases_cost_little(ours: dict[str, Told]) -> None:
    assert len(ours) == len(OURS_PAIRS) + len(OURS_SAME) + len(OURS_BAD) + 2 * len(OURS_COSTLY)
    assert [told for told in ours.values() if too_dear(told)] == []


@pytest.mark.parametrize("name", OURS_PAIRS)
def test_what_is_hidden_is_a_change(name: str, ours: dict[str, Told]) -> None:
    told = ours[name]

    assert (told.quality, told.kind, told.rebuilt) == ("good", "content", True)
    assert told.surfaces


@pytest.mark.parametrize(
    ("name", "character"),
    [("homoglyph", "U+0430"), ("bidi-override", "U+202E"), ("zero-width", "U+200B"), ("tag-characters", "U+E0070")],
)
def test_characters_that_deceive_are_named(name: str, character: str, ours: dict[str, Told]) -> None:
    assert character in ours[name].chips


@pytest.mark.parametrize(
    ("name", "surface"),
    [
        ("display-none", "hidden"),
        ("hidden-attribute", "hidden"),
        ("iframe-srcdoc", "embedded"),
        ("shadow-root", "embedded"),
        ("css-content", "style"),
        ("link-target", "link"),
        ("image-text", "attribute"),
    ],
)
def test_text_that_no_reader_sees_is_told_apart(name: str, surface: str, ours: dict[str, Told]) -> None:
    assert surface in ours[name].surfaces


@pytest.mark.parametrize("name", OURS_SAME)
def test_the_same_text_in_other_bytes_is_no_change(name: str, ours: dict[str, Told]) -> None:
    assert ours[name].kind in ("none", "noise")


@pytest.mark.parametrize("name", OURS_BAD)
def test_a_page_that_is_none_never_becomes_the_baseline(name: str, ours: dict[str, Told]) -> None:
    assert ours[name].quality in ("blocked", "gone", "error")


@pytest.mark.parametrize("name", OURS_COSTLY)
def test_a_costly_page_hides_no_edit(name: str, ours: dict[str, Told]) -> None:
    assert ours[name].lost == 0
    assert ours[f"{name} edited"].kind == "content"


def test_no_depth_hides_a_word(ours: dict[str, Told]) -> None:
    assert "DEEPMARK" in ours["nesting"].text
    assert "TAIL" in ours["nesting"].text


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"(\w+\s?)*$", "(?:a{1,30}){1,30}b"])
def test_a_catastrophic_pattern_is_quick_or_refused(pattern: str) -> None:
    old, new = (Reading((Block(text, "p", path="body/p", slot=""),)) for text in ("a" * 3000 + "!", "a" * 3001 + "!"))
    try:
        compile_pattern(pattern)
    except IgnoreRuleError:
        return

    told = judge(old, new, Memory.start(YESTERDAY), settings=Settings(ignore_patterns=(pattern,)))

    assert told.kind in (Kind.CONTENT, Kind.NOISE)


# --- the shared catalogue ---------------------------------------------------------------------------------------


def test_the_catalogue_costs_little(shared_cases: dict[str, tuple[str, str, Told]]) -> None:
    assert len(shared_cases) > 100
    assert [told for _area, _expect, told in shared_cases.values() if too_dear(told)] == []


def test_every_hidden_change_is_found_or_flagged(shared_cases: dict[str, tuple[str, str, Told]]) -> None:
    hidden = {
        name: (expect, told)
        for name, (area, expect, told) in shared_cases.items()
        if area == "evasion" and name not in ELSEWHERE
    }
    assert len(hidden) >= 25

    missed = {}
    for name, (expect, told) in hidden.items():
        if name in EXPLAINED:
            good = told.kind == "noise" and EXPLAINED[name] in told.explained and bool(told.chips or told.surfaces)
        elif name in UNREADABLE:
            good = told.quality == "blocked" and told.kind == "content"
        elif expect == "NOCHANGE":
            good = told.kind in ("none", "noise")
        else:
            good = told.quality == "good" and told.kind == "content"
        if not good or not told.rebuilt:
            missed[name] = told
    assert missed == {}


def test_every_case_ends_as_the_catalogue_says(shared_cases: dict[str, tuple[str, str, Told]]) -> None:
    wrong = {
        name: (expect, told)
        for name, (area, expect, told) in shared_cases.items()
        if area != "evasion" and not name.endswith(" edited") and not as_expected(expect, told)
    }

    assert wrong == {}


def as_expected(expect: str, told: Told) -> bool:
    """Whether an outcome is one of those that a word of the catalogue allows."""
    read_whole = told.quality == "good" and told.lost == 0
    match expect:
        case "SUSPECT":
            return told.quality in ("blocked", "gone", "error")
        case "UNSUPPORTED":
            return told.refused == "not-text"
        case "LIMIT":  # at a limit that is told, or read whole within its budget
            return bool(told.refused or told.flags or told.lost == 0)
        case "FLAG":
            return bool(told.flags) or read_whole
        case "NOCHANGE":
            return told.kind in ("none", "noise") if told.kind else read_whole
        case "CHANGE":
            return told.kind == "content" if told.kind else read_whole
        case "ERROR":  # entities are refused; a failing status is no page
            return told.quality != "good" and not any(word in told.text for word in ("root:", "haha"))
        case "INERT":
            return not told.ended
        case _:
            return False


def test_no_hostile_page_hides_an_edit(shared_cases: dict[str, tuple[str, str, Told]]) -> None:
    edited = [told for name, (_area, _expect, told) in shared_cases.items() if name.endswith(" edited")]

    assert len(edited) > 30
    assert [told for told in edited if not told.refused and told.kind != "content"] == []


def test_encodings_are_read_as_they_were_written(shared_cases: dict[str, tuple[str, str, Told]]) -> None:
    texts = {name: told.text for name, (area, _expect, told) in shared_cases.items() if area == "encoding"}
    japanese = "規約が変更されました。料金は月額"

    for name, text in texts.items():
        if any(label in name for label in ("shift_jis", "euc-jp", "iso-2022-jp", "meta_after")):
            assert japanese in text, name
        assert "\0" not in text, name
        text.encode()
    assert "prix €" in texts["enc_bom_beats_header"]
    assert "“quoted”" in texts["enc_latin1_label_cp1252_bytes"]
    assert "<script>" not in texts["enc_utf7_header"]
    assert "<script>" not in texts["enc_unicode_escape_header"]
    assert texts["enc_ncr_surrogate_nul_big"] == "a\ufffdb\ufffdc\ufffdd"
    assert "CCC" in texts["enc_nul_bytes"]


def test_a_moved_block_is_a_change_where_order_matters() -> None:
    texts = ["A clause of some length that stands first", *["filler"] * 50, "Another clause that stands last"]
    old, new = (
        Reading(tuple(Block(text, "p", path="body/p", slot="") for text in order))
        for order in (texts, [texts[-1], *texts[1:-1], texts[0]])
    )

    assert judge(old, new, Memory.start(YESTERDAY), settings=Settings(order_matters=True)).kind is Kind.CONTENT
