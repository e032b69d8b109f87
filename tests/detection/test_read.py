"""The reading of a page: blocks as natural units, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.detection.blocks import Block, Surface
from monitoring.detection.fingerprint import text_hash
from monitoring.detection.read import ReadLimits, read, skim


def texts(html: str, surface: Surface = Surface.VISIBLE) -> list[str]:
    return [b.text for b in read(html).blocks if b.surface is surface]


def slots(html: str) -> dict[str, str]:
    return {b.text: b.slot for b in read(html).blocks if b.surface is Surface.VISIBLE}


def codes(html: str, limits: ReadLimits | None = None) -> list[str]:
    return [f.code for f in read(html, limits=limits or ReadLimits()).flags]


# -- what is one block ----------------------------------------------------------------

SEGMENTS: list[tuple[str, list[str]]] = [
    ("<p>One <b>bo</b>ld <a href=/x>link</a>.</p>", ["One bold link."]),
    ("<div>before<p>inside</p>after</div>", ["before", "inside", "after"]),
    ("<p>a<p>b", ["a", "b"]),
    ("<ul><li>one<li>two <ul><li>inner</ul>tail</ul>", ["one", "two", "inner", "tail"]),
    ("<dl><dt>Fee<dd>100</dl>", ["Fee", "100"]),
    ("<table><tr><td>Fee<td>100<tr><td>Tax<td>7</table>", ["Fee | 100", "Tax | 7"]),
    ("<table><tr><th>Fee<td><p>100</p><p>euros</p></table>", ["Fee", "100", "euros"]),
    ("<table><tr><td>a<td><p>b</p><td>c<td>d</table>", ["a", "b", "c | d"]),
    (f"<table><tr><td>{'long ' * 60}<td>side</table>", [("long " * 60).strip(), "side"]),
    ("<table><caption>Fees</caption><tr><td>1</table>", ["Fees", "1"]),
    ("<table><tr><td>out<table><tr><td>in<td>in2</table>after</table>", ["out", "in | in2", "after"]),
    ("<h1>A<br>B</h1>", ["A B"]),
    ("<p>one<br>two<br><br>three</p>", ["one two", "three"]),
    ("<p>This line is a whole sentence of good length.<br>And the next</p>", [
        "This line is a whole sentence of good length.", "And the next"]),
    ("<pre>a\nb\n\nc</pre>", ["a b", "c"]),
    ("<p><a href=/a>Home</a><a href=/b>About</a></p>", ["Home About"]),
    ("<p>S<b>M</b>S</p>", ["SMS"]),
    ("<select><option>red<option>blue</select>", ["red", "blue"]),
    ("<x-card>text <x-tag>inline</x-tag> goes on</x-card>", ["text inline goes on"]),
    ("<a href=/x><div>card</div></a>", ["card"]),
    ("<button>Send</button><label>Name</label>", ["Send", "Name"]),
    ("text<script>var x</script> goes<style>p{}</style> on", ["text goes on"]),
    ("<p>a&nbsp;b\u3000c</p>", ["a b c"]),
    ("", []),
    ("<p> \n </p>", []),
]  # fmt: skip


@pytest.mark.parametrize(("html", "expected"), SEGMENTS)
def test_segmentation(html: str, expected: list[str]) -> None:
    assert texts(html) == expected


PLAIN = "<h1>Rules</h1><p>First rule is long enough.</p><ul><li>one</li><li>two</li></ul><p>Last.</p>"
SAME = [
    "<div><h1>Rules</h1><div><p>First rule is long enough.</p></div><ul><li>one</li><li>two</li></ul><p>Last.</p></div>",
    "<h1 class=x id=y>Rules</h1><p data-a=1><span>First rule</span> is long enough.</p><ul><li>one<li>two</ul><p>Last.</p>",
    "<h1>\n Rules </h1>\n\n<p>First rule   is\nlong enough.</p><ul> <li>one</li> <li>two</li> </ul><p>Last.</p>",
    "<section><h1>Rules</h1></section><!-- x --><p>First <i></i>rule is long enough.</p><ul><li><div>one</div><li>two</ul><p>Last.",
]


@pytest.mark.parametrize("html", SAME)
def test_other_markup_around_the_same_text_gives_the_same_blocks(html: str) -> None:
    assert texts(html) == texts(PLAIN)


def test_an_edited_sentence_changes_one_block() -> None:
    old, new = texts(PLAIN), texts(PLAIN.replace("long enough", "short"))

    assert [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] == [1]


# -- what a block says of itself --------------------------------------------------------


def only(html: str) -> Block:
    [block] = [b for b in read(html).blocks if b.surface is Surface.VISIBLE]
    return block


def test_a_heading_knows_its_level() -> None:
    assert only("<h3>x</h3>").heading == 3


def test_link_density_is_the_share_of_linked_characters() -> None:
    assert only("<p>abcd<a href=/x>efgh</a></p>").link_density == 0.5


def test_list_entries_share_the_number_of_their_list() -> None:
    numbers = [b.list_id for b in read("<ul><li>a<li>b</ul><p>c</p><ol><li>d</ol>").blocks]
    assert numbers == [0, 0, -1, 1]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("plain words", "latin"),
        ("Größe – 100 € “quoted”", "latin"),
        ("料金は月額千円です", "kana"),
        ("条款已更改", "cjk"),
        ("약관이 변경되었습니다", "hangul"),
        ("Правила изменены", "cyrillic"),
        ("تم تغيير الشروط", "arabic"),
        ("Οι όροι άλλαξαν", "greek"),
        ("ข้อกำหนดเปลี่ยนแปลง", "thai"),
        ("התנאים השתנו", "hebrew"),
        ("1234", "latin"),
    ],
)
def test_the_script_of_a_block(text: str, script: str) -> None:
    assert only(f"<p>{text}</p>").script == script


def test_language_direction_and_title_come_from_the_document() -> None:
    reading = read("<html lang=ar-EG dir=rtl><title> A\nB </title><p>x")

    assert (reading.lang, reading.direction, reading.title) == ("ar", "rtl", "A B")


# -- slots -----------------------------------------------------------------------------


def test_a_slot_stays_when_only_the_text_changes() -> None:
    old = "<div class=box><p>a</p><p>b</p></div>"

    assert slots(old)["b"] == slots(old.replace("b</p>", "changed</p>"))["changed"]


def test_a_slot_stays_when_hashed_classes_and_states_change() -> None:
    old = '<div class="css-1a2b3c box is-open" id="gpt-ab12cd34"><p class="x9f3k2 note">a</p></div>'
    new = '<div class="css-9z8y7x box" id="gpt-ff99aa11"><p class="note p00aa1">a</p></div>'

    assert slots(old) == slots(new)


def test_a_block_of_another_kind_put_in_front_shifts_no_slot() -> None:
    old = "<main><p>a</p><p>b</p></main>"

    assert slots(old)["b"] == slots(old.replace("<p>a", "<div class=advert>buy</div><p>a"))["b"]


def test_a_wrapper_changes_no_slot() -> None:
    assert slots("<main><p>a</p></main>") == slots("<main><div><p>a</p></div></main>")


def test_every_slot_is_one_of_a_kind() -> None:
    html = "<p>a</p><p>a</p><ul><li>a<li><a href=/x>a</a></ul><img alt=a><img alt=a><p hidden>a</p>"
    found = [b.slot for b in read(html).blocks]

    assert len(found) == len(set(found))


def test_a_path_is_bounded_however_deep_the_page() -> None:
    block = only("<section id=abc>" * 1500 + "x")

    assert len(block.path) <= 250


# -- surfaces: nothing that reaches a reader goes unread -----------------------------------

HIDDEN = [
    "<p style='display: none'>waive</p>",
    "<p style='visibility:hidden'>waive</p>",
    "<p style='position:absolute;left:-9999px'>waive</p>",
    "<p style='font-size:0'>waive</p>",
    "<p style='color:#fff;background:white'>waive</p>",
    "<p hidden>waive</p>",
    "<p aria-hidden=true>waive</p>",
    "<noscript>waive</noscript>",
    "<noscript><p>waive</p></noscript>",
    "<video>waive</video>",
]


@pytest.mark.parametrize("markup", HIDDEN)
def test_hidden_text_is_read_and_kept_apart(markup: str) -> None:
    html = f"<p>seen</p>{markup}"

    assert (texts(html), texts(html, Surface.HIDDEN)) == (["seen"], ["waive"])


def test_hidden_text_inside_a_sentence_leaves_the_sentence_whole() -> None:
    html = "<p>You may <span hidden>not </span>leave.</p>"

    assert (texts(html), texts(html, Surface.HIDDEN)) == (["You may leave."], ["not"])


def test_a_page_behind_a_dialog_is_not_hidden_text() -> None:
    html = f"<div aria-hidden=true><p>{'The rules. ' * 50}</p></div>"

    assert len(texts(html)) == 1


def test_a_page_that_hides_itself_until_a_script_ran_is_read_as_visible_and_flagged() -> None:
    html = f"<div style='display:none'><p>{'The rules. ' * 80}</p></div><p>Loading</p>"

    assert (len(texts(html)), codes(html)) == (2, ["hidden-page"])


def test_a_page_that_is_all_noscript_is_read_as_visible() -> None:
    html = f"<body><div id=app></div><noscript><h1>Rules</h1><p>{'Text of the page. ' * 40}</p></noscript>"

    assert texts(html)[0] == "Rules"


@pytest.mark.parametrize(
    "markup",
    [
        "<img alt=waive>",
        "<input value=waive>",
        "<input placeholder=waive>",
        "<b title=waive></b>",
        "<div aria-label=waive></div>",
        "<svg><text>waive</text></svg>",
        "<svg><title>waive</title></svg>",
    ],
)
def test_words_of_attributes_are_read(markup: str) -> None:
    assert texts(markup, Surface.ATTRIBUTE) == ["waive"]


@pytest.mark.parametrize("kind", ["hidden", "password", "checkbox"])
def test_values_nobody_sees_are_not_read(kind: str) -> None:
    assert read(f"<input type={kind} value=a8f3>").blocks == ()


@pytest.mark.parametrize(
    "markup",
    [
        "<iframe srcdoc='<p>waive</p>'></iframe>",
        "<div><template shadowrootmode=open><p>waive</p></template></div>",
        "<iframe srcdoc=\"<iframe srcdoc='<p>waive</p>'></iframe>\"></iframe>",
    ],
)
def test_documents_inside_the_page_are_read(markup: str) -> None:
    assert texts(markup, Surface.EMBEDDED) == ["waive"]


def test_a_plain_template_is_not_shown_and_not_read() -> None:
    assert read("<template><p>no</p></template>").blocks == ()


def test_more_embedded_documents_than_allowed_are_flagged() -> None:
    assert codes("<iframe srcdoc=x></iframe>" * 30) == ["embedded-limited"]


def test_text_of_a_style_sheet_is_read() -> None:
    assert texts("<style>.x::after{content:'900 EUR'}</style><p class=x>Fee", Surface.STYLE) == ["900 EUR"]


def test_link_targets_are_read_without_tracking() -> None:
    html = "<p><a href='/terms?v=2&utm_source=x&gclid=9'>Terms</a> <a href='#top'>up</a></p>"

    assert texts(html, Surface.LINK) == ["/terms?v=2"]
    assert only(html).hrefs == ("/terms?v=2",)


def test_a_link_target_alone_makes_a_difference() -> None:
    assert read("<a href=/v1.pdf>Terms</a>").blocks != read("<a href=/v2.pdf>Terms</a>").blocks


def test_ignored_elements_are_left_out_and_not_counted_as_lost() -> None:
    reading = read("<p>a</p><p class=clock>12:01</p>", ignore_selectors=(".clock",), field_selectors=("#none",))

    assert [b.text for b in reading.blocks] == ["a"]
    assert (reading.flags, reading.chars_seen) == ((), reading.chars_kept)


# -- guards ------------------------------------------------------------------------------


def test_deep_nesting_is_read_flat_and_flagged() -> None:
    html = "<div>" * 100_000 + "DEEP" + "</div>" * 100_000 + "<p>TAIL</p>"

    assert texts(html) == ["DEEP", "TAIL"]
    assert codes(html) == ["depth-limited"]


@pytest.mark.parametrize("depth", [254, 300, 3000])
def test_moderate_nesting_is_read_as_it_is(depth: int) -> None:
    html = "<div>" * depth + "DEEP" + "</div>" * depth + "<p>TAIL</p>"

    assert (texts(html), codes(html)) == (["DEEP", "TAIL"], [])


def test_a_flood_of_elements_is_joined_and_flagged_and_its_end_still_read() -> None:
    html = "<p>word </p>" * 200_000 + "<p>fee 900</p>"
    reading = read(html)

    assert [f.code for f in reading.flags] == ["nodes-limited"]
    assert "fee 900" in reading.blocks[-1].text
    assert len(reading.blocks) <= ReadLimits().blocks


def test_an_insertion_into_a_flood_moves_few_borders() -> None:
    words = [f"<p>word {n * n % 977} of the list</p>" for n in range(130_000)]
    old = {b.text for b in read("".join(words)).blocks}
    new = {b.text for b in read("".join([*words[:500], "<p>new</p>", *words[500:]])).blocks}

    assert len(new - old) < 5


def test_a_flood_of_attributes_is_not_parsed() -> None:
    html = "<p " + " ".join(f"a{n}=1" for n in range(50_000)) + ">v</p>"

    assert (texts(html), codes(html)) == (["v"], ["attributes-limited"])


def test_one_long_attribute_is_no_flood() -> None:
    html = '<p title="' + "t " * 50_000 + '">v</p>'

    assert (texts(html), codes(html)) == (["v"], [])


def test_markup_beyond_the_size_limit_is_flagged() -> None:
    assert codes("<p>" + "a " * 100, ReadLimits(size_chars=50)) == ["size-limited"]


def test_swallowed_markup_is_flagged() -> None:
    assert codes("<p>terms</p><plaintext><script>x</script>") == ["plaintext"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>AAA\x00BBB</p>\x00<p>CCC</p>", ["AAA\ufffdBBB", "CCC"]),
        ("<p>a\ud800b</p>", ["a\ufffdb"]),
        ("<p>before</p><!-- never closed", ["before"]),
        ("<p>before</p><script>never closed <p>x</p>", ["before"]),
        ("<" + "x" * 100_000 + ">v", ["v"]),
        ("&" * 1000, ["&" * 1000]),
    ],
)
def test_broken_markup_keeps_its_text(html: str, expected: list[str]) -> None:
    assert [t.replace("AAABBB", "AAA\ufffdBBB") for t in texts(html)] == expected


# -- laws --------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<div>",
        "</div>",
        "<b>",
        "</b>",
        "<a\thref=/x>",
        "</a>",
        "<li>",
        "<ul>",
        "</ul>",
        "<table>",
        "<tr>",
        "<td>",
        "</td>",
        "</table>",
        "<br>",
        "<h2>",
        "</h2>",
        "<span\thidden>",
        "</span>",
        "<svg>",
        "</svg>",
        "<select>",
        "<option>",
        "<pre>",
        "</pre>",
        "<noscript>",
        "</noscript>",
        "<x-y>",
        "</x-y>",
        "<!--",
        "-->",
        "<img\talt=q>",
        "<title>",
        "</title>",
        "<button>",
        "<textarea>",
        "</textarea>",
        "<form>",
        "word",
        "other",
        "&amp;",
        ".",
        "料金",
    ]
).map(lambda piece: piece.replace("\t", " ") + ("" if piece.startswith("<") else " "))


@given(st.lists(PIECES, max_size=40))
def test_no_markup_loses_text_in_silence(pieces: list[str]) -> None:
    reading = read("".join(pieces))

    assert "text-lost" not in [f.code for f in reading.flags]
    assert reading.chars_seen == reading.chars_kept


@given(st.lists(PIECES, max_size=40))
def test_reading_twice_gives_the_same(pieces: list[str]) -> None:
    html = "".join(pieces)

    assert read(html) == read(html)


@given(st.lists(PIECES, max_size=40))
def test_display_text_is_collapsed(pieces: list[str]) -> None:
    assert all(b.text == " ".join(b.text.split()) and b.text for b in read("".join(pieces)).blocks)


@given(st.lists(PIECES, max_size=40))
def test_skimming_finds_the_same_text(pieces: list[str]) -> None:
    html = "".join(pieces)

    assert text_hash(skim(html)) == text_hash(read(html))


@pytest.mark.parametrize("html", ["<iframe srcdoc='<p>a'></iframe><p>b", "<div>" * 100_000 + "x", "<p>x</p>" * 40_000])
def test_skimming_keeps_to_the_same_guards(html: str) -> None:
    assert text_hash(skim(html)) == text_hash(read(html))
