"""The diff document: what is marked, what is moved, what is folded, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from monitoring.detection.blocks import Block, Reading, Region, Surface
from monitoring.detection.diff import Limits, apply, diff, diff_hash, first_places, rows_of, summary

CHILDREN = "Children. Our services are not directed to people under 16, and we do not knowingly collect their data."


def make_block(text: str, **changes: Any) -> Block:
    """A paragraph; "# text" is a heading and "* text" a list item."""
    tag, heading = "p", 0
    if text.startswith("# "):
        tag, heading, text = "h2", 2, text[2:]
    elif text.startswith("* "):
        tag, text = "li", text[2:]
    values: dict[str, Any] = {"tag": tag, "path": f"body/{tag}", "slot": "", "heading": heading} | changes
    return Block(text, **values)


def make_reading(*texts: str, lang: str = "en", more: tuple[Block, ...] = ()) -> Reading:
    return Reading(tuple(make_block(text) for text in texts) + more, lang=lang)


def changed(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in rows_of(document) if row["op"] != "equal"]


def only(document: dict[str, Any]) -> list[list[str]]:
    """The segments of the one changed block."""
    (row,) = changed(document)
    segments: list[list[str]] = row["segments"]
    return segments


def test_one_number_is_one_replacement() -> None:
    document = diff(
        make_reading("We keep records for 12 months afterwards."),
        make_reading("We keep records for 24 months afterwards."),
    )

    assert only(document) == [["=", "We keep records for "], ["-", "12"], ["+", "24"], ["=", " months afterwards."]]
    assert (document["added"], document["removed"], document["total"], document["places"]) == (1, 1, 7, 1)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("30 Nov 2026", "31 Jan 2027"),
        ("30. November 2026", "1. Dezember 2026"),
        ("November 30, 2026", "November 1, 2026"),
        ("Nov. 30, 2026", "Dec. 1, 2026"),
        ("5 May", "6 May"),
        ("1er janvier 2026", "15 février 2026"),
        ("30 de noviembre de 2026", "1 de enero de 2027"),
        ("30 listopada 2026", "1 grudnia 2026"),
        ("30 maart 2026", "1 mei 2026"),
        ("1\u00a0200\u00a0000", "1\u00a0300\u00a0000"),
        ("2026年11月30日", "2027年1月31日"),
        ("12か月間", "24か月間"),
        ("$1,200.50", "$1,300.50"),
        ("89,00", "79,00"),
        ("jane.doe@example.com", "jane.roe@example.com"),
        ("https://example.com/terms?v=1", "https://example.com/terms?v=2"),
        ("LS‑51907", "LS‑51908"),
        ("third-party", "third-person"),
        ("10:30", "10:45"),
        ("2018/848", "2018/849"),
        ("v1.2.3", "v1.2.4"),
        ("e\u0301te\u0301", "e\u0301te\u0300"),
        ("नमस्ते", "नमस्तें"),
    ],
)
def test_atomic_tokens_are_replaced_whole(was: str, now: str) -> None:
    document = diff(
        make_reading(f"It has always been {was} until now"), make_reading(f"It has always been {now} until now")
    )

    assert only(document)[1:3] == [["-", was], ["+", now]]


def test_moved_block_is_shown_once_in_full_and_once_as_a_trace() -> None:
    stay = [f"Paragraph number {n} stays where it is." for n in range(6)]
    document = diff(make_reading(CHILDREN, *stay), make_reading(*stay, CHILDREN))

    source, target = changed(document)
    assert (source["op"], target["op"], source["pair"], target["pair"]) == ("moved_from", "moved_to", "m1", "m1")
    assert (target["old"], target["new"], target["place"], source["place"]) == (1, 7, 1, None)
    assert (document["added"], document["removed"], document["moved"]) == (0, 0, 1)


def test_differing_quotes_and_spaces_are_counted_and_not_marked() -> None:
    old, new = make_reading('He said "no" to it.', "a b"), make_reading("He said “no” to it.", "a\u00a0b")
    document = diff(old, new)

    assert document["places"] == 0
    assert document["ignored"] == {"whitespace": 1, "quotes": 2, "composition": 0, "markup": 0}
    assert apply(document, "old") == [b.text for b in old.blocks]


def test_unchanged_blocks_fold_with_their_sections() -> None:
    kept = ["# 1 Who we are", "We are Halden.", "We are in Bergen.", "# 2 What", "One.", "Two.", "# 3 How", "Before."]
    document = diff(make_reading(*kept, "Fee 10 euro a day."), make_reading(*kept, "Fee 12 euro a day."))

    fold, *rest = document["blocks"]
    assert (fold["op"], fold["count"], fold["sections"]) == ("fold", 6, ["1 Who we are", "2 What"])
    assert [row["op"] for row in rest] == ["equal", "equal", "reworded"]


def test_hidden_text_is_a_place_of_its_own() -> None:
    hidden = make_block("You waive all rights", surface=Surface.HIDDEN)
    document = diff(make_reading("a"), make_reading("a", more=(hidden,)))

    (row,) = changed(document)
    assert (row["op"], row["surface"], document["places"]) == ("added", "hidden", 1)
    assert summary(document) == [("hidden-added", 1)]


def test_the_rest_is_counted_beyond_the_cap() -> None:
    old = make_reading(*[f"Line {n} costs 10" for n in range(30)])
    new = make_reading(*[f"Line {n} costs 12" for n in range(30)])
    document = diff(old, new, limits=Limits(changed_blocks=10))

    assert (len(changed(document)), document["rest"], document["counts"]["reworded"]) == (10, 20, 30)


def test_summary_and_places_tell_the_story() -> None:
    old = make_reading("We keep records. Backups last 35 days.", "* Lysne Seafood")
    new = make_reading("We keep records. Support mail is kept for good. Backups last 35 days.")
    document = diff(old, new)

    assert summary(document) == [("entry-removed", 1), ("sentence-added", 1)]
    assert first_places(document, 1)[0]["added"] == "Support mail is kept for good."
    assert diff_hash(document) == diff_hash(diff(old, new))


def test_one_unchanged_word_between_two_changes_is_taken_in() -> None:
    document = diff(make_reading("pay the fee in one week or so"), make_reading("pay a fee by one week or so"))

    assert only(document) == [["=", "pay "], ["-", "the fee in"], ["+", "a fee by"], ["=", " one week or so"]]


def test_two_unchanged_words_keep_two_changes_apart() -> None:
    document = diff(make_reading("pay the yearly fee in one week"), make_reading("pay a yearly fee by one week"))

    assert [segment[0] for segment in only(document)] == ["=", "-", "+", "=", "-", "+", "="]


def test_chinese_changes_are_not_joined_across_a_comma() -> None:
    document = diff(make_reading("我们收集甲，乙方信息", lang="zh"), make_reading("我们收集丙，丁方信息", lang="zh"))

    assert [segment[:2] for segment in only(document)] == [
        ["=", "我们收集"],
        ["-", "甲"],
        ["+", "丙"],
        ["=", "，"],
        ["-", "乙"],
        ["+", "丁"],
        ["=", "方信息"],
    ]
    assert (document["unit"], document["added"], document["removed"], document["total"]) == ("characters", 2, 2, 9)


def test_japanese_is_cut_by_runs_of_one_script() -> None:
    document = diff(
        make_reading("当社は、ご本人の同意を得た場合に限り、第三者に提供します。", lang="ja"),
        make_reading("当社は、第三者に提供することがあります。", lang="ja"),
    )

    assert [segment for segment in only(document) if segment[0] != "="] == [
        ["-", "ご本人の同意を得た場合に限り、"],
        ["-", "します"],
        ["+", "することがあります"],
    ]


def test_thai_is_cut_by_clusters() -> None:
    document = diff(make_reading("ค่าบริการที่นี่", lang="th"), make_reading("ค่าบริการที่โน่น", lang="th"))

    marks = [segment[1] for segment in only(document) if segment[0] in "-+"]
    assert marks == ["นี่", "โน่น"]


def test_little_in_common_shows_before_and_after() -> None:
    was = "This list is updated as certificates are issued, renewed or withdrawn, and was last reviewed in October."
    now = "Our quality team checks it monthly. Certificates under renewal stay here until a decision is made."
    document = diff(make_reading("Notes follow.", was), make_reading("Notes follow.", now))

    (row,) = changed(document)
    assert (row["op"], row["before"], row["after"]) == ("rewritten", [["-", was]], [["+", now]])


def test_appended_text_is_never_a_rewrite() -> None:
    document = diff(
        make_reading("We may end this."), make_reading("We may end this." + " Nobody else may do so at any time." * 4)
    )

    assert [row["op"] for row in changed(document)] == ["reworded"]
    assert summary(document) == [("sentence-added", 4)]


def test_an_inserted_sentence_is_marked_as_a_sentence() -> None:
    document = diff(
        make_reading("We log visits. We log errors. We log in."),
        make_reading("We log visits. We log errors. We log clicks. We log in."),
    )

    assert [segment for segment in only(document) if segment[0] == "+"] == [["+", "We log clicks."]]


def test_reordered_entries_are_moves() -> None:
    entries = [f"* Supplier {name}" for name in ("Abrel", "Kelder", "Lysne", "Marrow")]
    document = diff(make_reading(*entries), make_reading(entries[3], *entries[:3]))

    assert document["counts"] == {"reworded": 0, "rewritten": 0, "added": 0, "removed": 0, "moved": 1}
    assert (document["added"], document["removed"]) == (0, 0)


def test_a_moved_and_edited_block_is_a_move_with_marks() -> None:
    long = "Children. Our services are not directed to people under 16, and we never knowingly collect the data of anybody younger."
    stay = [f"Paragraph number {n} stays where it is." for n in range(6)]
    document = diff(make_reading(long, *stay), make_reading(*stay, long.replace("16", "18")))

    source, target = changed(document)
    assert (source["op"], target["op"]) == ("moved_from", "moved_to")
    assert [segment for segment in target["segments"] if segment[0] != "="] == [["-", "16"], ["+", "18"]]
    assert source["segments"] == [["=", long]]
    assert source["edits"] == target["edits"] == 1
    assert summary(document) == [("clause-reworded", 1), ("paragraph-moved", 1)]
    assert document["say"]["op"] == "reworded"
    assert document["counts"] == {"reworded": 1, "rewritten": 0, "added": 0, "removed": 0, "moved": 1}


def test_a_short_block_that_repeats_is_not_called_moved() -> None:
    document = diff(
        make_reading("Read more", "One thing.", "Another thing."),
        make_reading("One thing.", "Another thing.", "Read more"),
    )

    assert document["moved"] == 0
    assert document["counts"]["added"] == document["counts"]["removed"] == 1


def test_a_heading_that_travels_with_its_paragraph_moves_too() -> None:
    stay = [f"Paragraph number {n} stays where it is." for n in range(6)]
    document = diff(make_reading("# Minors", CHILDREN, *stay), make_reading(*stay, "# Minors", CHILDREN))

    assert (document["moved"], document["counts"]["added"], document["counts"]["removed"]) == (2, 0, 0)


def test_one_removed_entry_is_named() -> None:
    entries = [
        f"* {name} · ISO 22000 · {name[:2].upper()}‑{n}07 · valid to 31 Dec 2026"
        for n, name in enumerate(("Abrel", "Kelder", "Lysne"))
    ]
    document = diff(make_reading(*entries), make_reading(entries[0], entries[2]))

    (row,) = changed(document)
    assert (row["op"], row["segments"]) == ("removed", [["-", entries[1][2:]]])
    assert summary(document) == [("entry-removed", 1)]


def test_letter_case_is_marked() -> None:
    document = diff(make_reading("each Party agrees to pay"), make_reading("each party agrees to pay"))

    assert [segment for segment in only(document) if segment[0] != "="] == [["-", "Party"], ["+", "party"]]


def test_only_markup_changed() -> None:
    document = diff(Reading((make_block("Same"),)), Reading((make_block("# Same"),)))

    assert (document["places"], document["ignored"]["markup"]) == (0, 1)
    assert document["say"]["segments"] == []


def test_a_link_target_is_one_word() -> None:
    old, new = (make_block(f"/a /terms-v{n}.pdf /b?c=1", surface=Surface.LINK) for n in (1, 2))
    document = diff(make_reading("Terms", more=(old,)), make_reading("Terms", more=(new,)))

    assert only(document)[1:3] == [["-", "/terms-v1.pdf"], ["+", "/terms-v2.pdf"]]
    assert summary(document) == [("link-reworded", 1)]


def test_unseen_text_that_only_stands_elsewhere_is_no_change() -> None:
    one, other = (make_block(text, surface=Surface.ATTRIBUTE) for text in ("Back to top", "Close"))
    document = diff(make_reading("a", more=(one, other)), make_reading("a", more=(other, one)))

    assert document["places"] == 0


def test_hidden_text_that_becomes_visible_is_two_places() -> None:
    text = "You waive all rights to a refund"
    document = diff(make_reading("a", more=(make_block(text, surface=Surface.HIDDEN),)), make_reading("a", text))

    assert [(row["op"], row["surface"]) for row in changed(document)] == [("added", "visible"), ("removed", "hidden")]


def test_the_queue_row_is_centred_on_the_change() -> None:
    before = "This is what the clause has always said about everything. " * 10
    document = diff(
        make_reading(before + "The fee is 10 euro. " + before), make_reading(before + "The fee is 12 euro. " + before)
    )

    segments = document["say"]["segments"]
    text = "".join(segment[1] for segment in segments)
    assert (document["say"]["op"], len(text) <= 220) == ("reworded", True)
    assert ["-", "10"] in segments
    assert ["+", "12"] in segments
    assert text.startswith("…")
    assert text.endswith("…")


def test_the_queue_row_prefers_rewording_and_what_readers_see() -> None:
    unseen = [make_block(f"/v{n}", surface=Surface.LINK) for n in (1, 2)]
    document = diff(
        make_reading("Gone for ever and a day.", "We keep it 12 months.", more=(unseen[0],)),
        make_reading("We keep it 24 months.", more=(unseen[1],)),
    )

    assert (document["say"]["op"], document["say"]["surface"]) == ("reworded", "visible")


def test_digest_places_are_whole_sentences() -> None:
    old = make_reading("First sentence stays. We keep it for 12 months. Last one stays.")
    new = make_reading("First sentence stays. We keep it for 24 months. Last one stays.")

    (place,) = first_places(diff(old, new), 3)

    assert place == {
        "op": "reworded",
        "surface": "visible",
        "removed": "We keep it for 12 months.",
        "added": "We keep it for 24 months.",
    }


def test_a_run_of_added_blocks_is_one_place() -> None:
    document = diff(make_reading("Start.", "End."), make_reading("Start.", "One new.", "Two new.", "End."))

    assert [row["place"] for row in changed(document)] == [1, None]
    assert (document["places"], document["counts"]["added"]) == (1, 2)


def test_one_unchanged_block_is_never_folded() -> None:
    old = make_reading("a 10", "b", "c", "d", "e 10")
    document = diff(old, make_reading("a 12", "b", "c", "d", "e 12"))

    assert [row["op"] for row in document["blocks"]] == ["reworded", "equal", "equal", "equal", "reworded"]


def test_long_unchanged_text_keeps_its_place_in_the_count() -> None:
    texts = [f"Paragraph {n}. " + "All of this stays the same. " * 20 for n in range(40)]
    document = diff(
        make_reading("Fee 10", *texts), make_reading("Fee 12", *texts), limits=Limits(kept_characters=5_000)
    )

    fold = document["blocks"][-1]
    assert (fold["op"], fold["count"]) == ("fold", 39)
    assert 0 < len(fold["blocks"]) < 39
    assert document["cut"] > 0
    assert not document["simplified"]


def test_first_reading_is_all_added() -> None:
    document = diff(Reading(()), make_reading("One.", "Two."))

    assert (document["added"], document["removed"], document["places"]) == (2, 0, 1)


def test_apply_refuses_an_unknown_side() -> None:
    with pytest.raises(ValueError, match="'old' or 'new'"):
        apply(diff(Reading(()), Reading(())), "both")


def test_a_kanji_word_is_replaced_whole() -> None:
    document = diff(
        make_reading("当社は個人情報を守ります。", lang="ja"), make_reading("当社は個別情報を守ります。", lang="ja")
    )

    assert [segment for segment in only(document) if segment[0] != "="] == [["-", "個人情報"], ["+", "個別情報"]]


def test_a_long_block_that_also_stands_elsewhere_is_not_called_moved() -> None:
    stay = [f"Paragraph number {n} stays where it is." for n in range(6)]
    document = diff(make_reading(CHILDREN, stay[0], CHILDREN, *stay[1:]), make_reading(CHILDREN, *stay, CHILDREN))

    assert document["moved"] == 0
    assert (document["counts"]["added"], document["counts"]["removed"]) == (1, 1)


def test_a_block_is_not_paired_with_one_that_shares_a_few_small_words() -> None:
    was = "The provider stores invoices in the country of the customer for ten years."
    document = diff(
        make_reading("Start.", was, "End."),
        make_reading(
            "Start.", "Cookies are the small files of a browser.", "Complaints go to the authority in Bergen.", "End."
        ),
    )

    assert [row["op"] for row in changed(document)] == ["removed", "added", "added"]


def test_a_quoted_sentence_is_a_sentence() -> None:
    document = diff(
        make_reading("He came. Nobody spoke to him."),
        make_reading("He came. He said (“we shall see.”) Nobody spoke to him."),
    )

    assert summary(document) == [("sentence-added", 1)]


@pytest.mark.parametrize("rest", ["out of 10 people", "decimal places", "sets of data", "may follow", "general rules"])
def test_a_number_before_a_word_is_not_a_date(rest: str) -> None:
    document = diff(make_reading(f"There are 5 {rest}"), make_reading(f"There are 6 {rest}"))

    assert only(document) == [["=", "There are "], ["-", "5"], ["+", "6"], ["=", f" {rest}"]]


def test_dividers_are_no_words() -> None:
    document = diff(make_reading("Start."), make_reading("Start.", "Fee | 10 euro – monthly"))

    assert (document["added"], document["total"]) == (4, 5)


def test_the_queue_row_prefers_the_main_region() -> None:
    menus = [make_block(f"Menu {n}", region=Region.FURNITURE) for n in (1, 2)]
    old = Reading((menus[0], make_block("Start.")))
    new = Reading((menus[1], make_block("Start."), make_block("A new clause.")))

    assert diff(old, new)["say"] == {"op": "added", "surface": "visible", "segments": [["+", "A new clause."]]}
