"""Documents that are no HTML, each read as its readers would: text, JSON, XML, feeds, the pages of a PDF."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from monitoring.detection.blocks import Reading, Region, Surface, page_of
from monitoring.detection.documents.digest import read_file, spoken_size
from monitoring.detection.documents.faults import DocumentFault
from monitoring.detection.documents.feed import read_feed, within_window
from monitoring.detection.documents.jsonpath import JsonPathError, compile_path, select
from monitoring.detection.documents.jsontext import read_json
from monitoring.detection.documents.links import first_link
from monitoring.detection.documents.pages import Page, Pages, read_pages
from monitoring.detection.documents.plain import read_plain
from monitoring.detection.documents.types import DocumentType, type_of
from monitoring.detection.documents.xmltext import read_xml
from monitoring.detection.fingerprint import text_hash
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Kind, Settings
from monitoring.detection.memory import Memory


def texts(reading: Reading) -> list[str]:
    """The visible blocks' texts."""
    return [block.text for block in reading.visible]


def kind(old: Reading, new: Reading, **settings: Any) -> Kind:
    """How a first comparison of two readings comes out."""
    return judge(old, new, Memory(), settings=Settings(**settings)).kind


# -- types -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "text", "expected"),
    [
        ("text/html", "<p>x", DocumentType.HTML),
        ("", "<p>x", DocumentType.HTML),
        ("application/xhtml+xml", "<?xml version='1.0'?><!DOCTYPE html><html/>", DocumentType.HTML),
        ("application/xhtml+xml", "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///x'>]><x>&f;</x>", DocumentType.XML),
        ("text/plain", "terms", DocumentType.TEXT),
        ("text/csv", "a,b", DocumentType.TEXT),
        ("application/json", "{}", DocumentType.JSON),
        ("application/ld+json", "{}", DocumentType.JSON),
        ("application/xml", "<!-- <rss> --><urlset/>", DocumentType.XML),
        ("text/xml", "\ufeff<?xml version='1.0'?>\n<rss/>", DocumentType.FEED),
        ("application/xml", "<a:feed xmlns:a='http://www.w3.org/2005/Atom'/>", DocumentType.FEED),
        ("application/rss+xml", "<rdf:RDF/>", DocumentType.FEED),
        ("application/pdf", "", DocumentType.PDF),
        ("image/png", "", DocumentType.FILE),
        ("application/zip", "", DocumentType.FILE),
    ],
)
def test_the_type_follows_from_label_and_root(content_type: str, text: str, expected: DocumentType) -> None:
    assert type_of(content_type, text) is expected


# -- plain text --------------------------------------------------------------------------

WRAPPED = """Terms

These terms are between you and Halden Library and apply to every account that
you open with us. The yearly fee is 100 euros.

- first entry
- second entry
short
lines
"""


def test_wrapped_lines_are_a_paragraph_and_short_ones_stand_alone() -> None:
    assert texts(read_plain(WRAPPED)) == [
        "Terms",
        "These terms are between you and Halden Library and apply to every account that you open with us. The yearly fee is 100 euros.",
        "- first entry",
        "- second entry",
        "short",
        "lines",
    ]


def test_another_width_is_no_change() -> None:
    again = WRAPPED.replace("account that\nyou", "account\nthat you")

    assert text_hash(read_plain(again)) == text_hash(read_plain(WRAPPED))


def test_a_table_keeps_its_lines() -> None:
    assert texts(read_plain("a,b,c\n1,2,3\n" + "x" * 90 + "\ny\n", lines=True)) == ["a,b,c", "1,2,3", "x" * 90, "y"]


def test_lone_surrogates_and_nul_stand_as_replacements() -> None:
    assert texts(read_plain("a\ud800b\0c")) == ["a\ufffdb\ufffdc"]


# -- JSON --------------------------------------------------------------------------------

PRICES: dict[str, Any] = {
    "updated": "2026-11-30T10:00:00Z",
    "items": [{"id": 7, "name": "Card", "price": 12.5}, {"id": 8, "name": "Copy", "price": 3}],
    "tags": ["b", "a"],
}


def as_json(value: object, **options: Any) -> str:
    return json.dumps(value, **options)


def test_json_is_a_line_for_each_value_under_its_names() -> None:
    assert texts(read_json(as_json(PRICES))) == [
        "items[7].id: 7", "items[7].name: Card", "items[7].price: 12.5",
        "items[8].id: 8", "items[8].name: Copy", "items[8].price: 3",
        "tags[]: b", "tags[]: a",
        "updated: 2026-11-30T10:00:00Z",
    ]  # fmt: skip


def test_neither_the_order_of_keys_nor_white_space_is_text() -> None:
    other = dict(reversed(PRICES.items())) | {"items": [dict(reversed(item.items())) for item in PRICES["items"]]}

    assert text_hash(read_json(as_json(other, indent=3))) == text_hash(read_json(as_json(PRICES)))


def test_the_order_of_a_list_is_a_change_only_where_order_matters() -> None:
    old, new = read_json(as_json(PRICES)), read_json(as_json(PRICES | {"items": PRICES["items"][::-1]}))

    assert kind(old, new) is not Kind.CONTENT


def test_two_entries_that_swap_their_prices_are_a_change() -> None:
    swapped = [{"id": 7, "name": "Card", "price": 3}, {"id": 8, "name": "Copy", "price": 12.5}]

    assert kind(read_json(as_json(PRICES)), read_json(as_json(PRICES | {"items": swapped}))) is Kind.CONTENT


def test_rows_without_a_name_of_their_own_stay_whole() -> None:
    old, new = [{"n": "A", "p": 1}, {"n": "B", "p": 2}], [{"n": "A", "p": 2}, {"n": "B", "p": 1}]

    assert texts(read_json(as_json({"rows": old}))) == ["rows[]: n: A, p: 1", "rows[]: n: B, p: 2"]
    assert kind(read_json(as_json({"rows": old})), read_json(as_json({"rows": new}))) is Kind.CONTENT


def test_numbers_stand_as_they_were_written_and_texts_that_look_alike_in_quotes() -> None:
    read = texts(
        read_json('{"a": 1.10, "b": 12345678901234567890123, "c": "12", "d": null, "e": "null", "f": [], "g": ""}')
    )

    assert read == ["a: 1.10", "b: 12345678901234567890123", 'c: "12"', "d: null", 'e: "null"', "f: []", 'g: ""']


def test_a_name_that_stands_twice_hides_nothing() -> None:
    assert texts(read_json('{"price": 1, "price": 2}')) == [
        "price: 1",
        'price (2)"]: 2'.replace('price (2)"]', '["price (2)"]'),
    ]


def test_names_of_data_are_no_names_of_places() -> None:
    """A page's box called "consent" is a banner; a value called so is not."""
    old, new = '{"cookie-consent": {"advert": "Fee is 100"}}', '{"cookie-consent": {"advert": "Fee is 900"}}'

    assert kind(read_json(old), read_json(new)) is Kind.CONTENT


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.items[*].price", ["items[].price: 12.5", "items[].price: 3"]),
        ("items[0].name", ["items[].name: Card"]),
        ("$.items[-1]['name']", ["items[].name: Copy"]),
        ("$..name", ["items[].name: Card", "items[].name: Copy"]),
        ("$.items[0:1].id", ["items[].id: 7"]),
        ("$['tags','updated']", ["tags[]: b", "tags[]: a", "updated: 2026-11-30T10:00:00Z"]),
        ("$.tags.*", ["tags[]: b", "tags[]: a"]),
        ("$", None),
    ],
)
def test_a_path_selects(path: str, expected: list[str] | None) -> None:
    reading = read_json(as_json(PRICES), path=path)

    assert texts(reading) == (expected if expected is not None else texts(read_json(as_json(PRICES))))


@pytest.mark.parametrize("path", ["$.", "$.a[", "$.a[?(@.b)]", "$a", "a b", "$.a[1", "$" + ".a" * 60])
def test_a_path_that_cannot_be_read_is_refused_with_a_place(path: str) -> None:
    with pytest.raises(JsonPathError, match=r"character|steps"):
        compile_path(path)


def test_a_path_that_finds_nothing_is_a_fault() -> None:
    with pytest.raises(DocumentFault) as caught:
        read_json("{}", path="$.items")

    assert caught.value.code == "path-missing"


def test_a_path_that_looks_at_too_much_ends() -> None:
    with pytest.raises(JsonPathError):
        select([[[[[0] * 10] * 10] * 10] * 10] * 10, "$..*..*..*..x")


@pytest.mark.parametrize("text", ["", "{", "[1,]", "<p>no</p>", '{"a": 1} {"b": 2}', "\x00"])
def test_what_is_no_json_is_a_fault_with_its_place(text: str) -> None:
    with pytest.raises(DocumentFault, match="line 1") as caught:
        read_json(text)

    assert caught.value.code == "json-broken"


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("[" * 200_000, "depth-limited"),
        ("[" * 150 + "]" * 150, "depth-limited"),
        ('{"a":' * 50_000, "depth-limited"),
        ("[" + "[]," * 400_000 + "0]", "nodes-limited"),
        ('["' + "x" * 5_000_000 + '"]', ""),
        ("[" + "9" * 1_000_000 + "]", ""),
    ],
    ids=["open", "deep", "objects", "many", "long text", "long number"],
)
def test_hostile_json_is_read_coarsely_or_whole(text: str, flag: str) -> None:
    reading = read_json(text)

    assert reading.blocks
    assert [f.code for f in reading.flags][:1] == ([flag] if flag else [])


# -- XML ---------------------------------------------------------------------------------

BOOKS = "<list xmlns='urn:x'><book id='7'><title>A</title><price currency='EUR'>12.50</price></book><book id='8'><title>B</title><price currency='EUR'>3</price></book></list>"  # fmt: skip


def test_xml_is_a_line_for_each_text_under_its_names() -> None:
    assert texts(read_xml(BOOKS)) == [
        "book[7] [id=7]", "book[7]/title: A", "book[7]/price [currency=EUR]: 12.50",
        "book[8] [id=8]", "book[8]/title: B", "book[8]/price [currency=EUR]: 3",
    ]  # fmt: skip


def test_prefixes_comments_and_the_order_of_attributes_are_no_text() -> None:
    one = "<list><a x='1' y='2'>t</a></list>"
    other = "<?xml version='1.0'?><!-- new --><n:list xmlns:n='urn:n'>\n <n:a y='2' x='1'>t</n:a></n:list>"

    assert text_hash(read_xml(one)) == text_hash(read_xml(other))


def test_a_sitemap_is_a_row_for_each_address() -> None:
    text = "<urlset><url><loc>http://a/</loc><lastmod>2026</lastmod></url><url><loc>http://b/</loc></url></urlset>"

    assert texts(read_xml(text)) == ["url: loc: http://a/, lastmod: 2026", "url: loc: http://b/"]


def test_mixed_text_is_read_as_one() -> None:
    assert texts(read_xml("<d><p>The fee is <b>100</b> euros.</p></d>")) == ["p: The fee is 100 euros."]


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><l>&c;</l>'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (LAUGHS, "xml-entities"),
        ('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>', "xml-entities"),
        ('<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:1/p"> %p;]><x/>', "xml-entities"),
        ("<a>" * 300 + "</a>" * 300, "xml-too-large"),
        ("<a>" + "<b/>" * 400_000 + "</a>", "xml-too-large"),
        ("<a " + " ".join(f"x{n}='1'" for n in range(350_000)) + "/>", "xml-too-large"),
        ("<a><b></a>", "xml-broken"),
        ("", "xml-broken"),
        ("no markup", "xml-broken"),
        ("<a>&undefined;</a>", "xml-broken"),
    ],
    ids=["laughs", "file", "parameter", "deep", "many", "attributes", "crossed", "empty", "text", "undefined"],
)
def test_hostile_and_broken_xml_is_a_fault(text: str, code: str) -> None:
    with pytest.raises(DocumentFault) as caught:
        read_xml(text)

    assert caught.value.code == code
    assert "passwd" not in caught.value.sentence


def test_an_external_document_type_is_not_fetched_and_its_names_stay_readable() -> None:
    """The network guard of the tests would fail a request; HTML's own names are known without one."""
    text = '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><x>a&nbsp;&eacute; &unknown;</x>'

    assert texts(read_xml(text)) == ["x: a é &unknown;"]


# -- feeds -------------------------------------------------------------------------------


def rss(*numbers: int, built: str = "now", **edits: str) -> str:
    """A feed with these entries; `edits` replace texts of entries by number (`n3=...`)."""
    entries = "".join(
        f"<item><title>News {n}</title><link>https://news.example/{n}?utm_source=feed</link><guid>{n}</guid>"
        f"<pubDate>Mon, {n:02} Nov 2026 10:00:00 GMT</pubDate>"
        f"<description>&lt;p&gt;{edits.get(f'n{n}', f'The library says &lt;b&gt;something&lt;/b&gt; about matter {n}.')}&lt;/p&gt;</description></item>"
        for n in numbers
    )
    return (
        f"<?xml version='1.0'?><rss version='2.0'><channel><title>Halden news</title><lastBuildDate>{built}</lastBuildDate>"
        f"<ttl>60</ttl><description>All of it</description>{entries}</channel></rss>"
    )


ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Blatt</title><updated>now</updated>
<entry><id>urn:1</id><title type="html">Eins &amp;amp; zwei</title><link rel="self" href="https://a.example/self"/>
<link href="https://a.example/1"/><updated>2026-11-30</updated><summary>Kurz.</summary></entry></feed>"""


def test_an_entry_is_title_link_date_and_text() -> None:
    blocks = read_feed(rss(3)).blocks[2:]

    assert [(block.text, block.surface) for block in blocks] == [
        ("News 3", Surface.VISIBLE),
        ("https://news.example/3", Surface.LINK),
        ("Mon, 03 Nov 2026 10:00:00 GMT", Surface.VISIBLE),
        ("The library says something about matter 3.", Surface.VISIBLE),
    ]


def test_atom_is_read_as_rss_is() -> None:
    reading = read_feed(ATOM)

    assert texts(reading) == ["Blatt", "Eins & zwei", "2026-11-30", "Kurz."]
    assert (reading.title, reading.lang) == ("Blatt", "de")
    assert reading.blocks[2].text == "https://a.example/1"


def test_when_a_feed_was_built_is_no_text() -> None:
    assert text_hash(read_feed(rss(3, 2, built="later"))) == text_hash(read_feed(rss(3, 2)))


def test_entries_in_another_order_are_no_change() -> None:
    assert kind(read_feed(rss(3, 2, 1)), read_feed(rss(1, 3, 2))) is not Kind.CONTENT


def test_a_new_entry_is_a_change_and_what_it_pushed_out_is_not() -> None:
    old, new = read_feed(rss(3, 2, 1)), read_feed(rss(4, 3, 2))
    found = judge(within_window(old, new), new, Memory(), settings=Settings())

    assert found.kind is Kind.CONTENT
    assert {edit.kind.value for edit in found.edits} == {"added"}


def test_an_entry_that_was_taken_back_is_a_change() -> None:
    old, new = read_feed(rss(3, 2, 1)), read_feed(rss(4, 3, 1))

    assert within_window(old, new) == old
    assert within_window(old, read_feed(rss(3, 2))) == old


def test_an_edited_entry_is_a_change() -> None:
    old, new = read_feed(rss(3, 2, 1)), read_feed(rss(3, 2, 1, n2="The library takes back what it said."))

    assert kind(old, new) is Kind.CONTENT


# -- pages -------------------------------------------------------------------------------

WORDS = [
    "the",
    "fee",
    "account",
    "library",
    "member",
    "notice",
    "period",
    "data",
    "office",
    "request",
    "answer",
    "closed",
    "year",
    "days",
    "written",
    "copy",
]


def wrapped(seed: int, *, width: int, sentences: int) -> list[str]:
    """A paragraph of these sentences, broken into lines."""
    rng = random.Random(seed)
    words = " ".join(" ".join(rng.choices(WORDS, k=9)).capitalize() + "." for _ in range(sentences)).split()
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def paged(lines: list[str], *, by: int) -> Pages:
    """Lines on pages of `by` lines, each with a running head and a page number."""
    cut = [lines[at : at + by] for at in range(0, len(lines), by)]
    pages = ["\n".join(["Halden Library, terms", *page, f"Page {n} of {len(cut)}"]) for n, page in enumerate(cut, 1)]
    return Pages(tuple(Page(page) for page in pages), total=len(pages))


def document(*, fee: str = "100") -> list[str]:
    lines = ["Terms of the library"]
    for number in range(1, 9):
        lines += [f"{number}. Section", *wrapped(number, width=80, sentences=7)]
        if number == 6:
            lines += [f"The yearly fee is {fee} euros."]
    return lines


def test_a_block_knows_its_page() -> None:
    reading = read_pages(paged(document(), by=20))

    fee = next(block for block in reading.blocks if "yearly fee" in block.text)
    assert page_of(fee.path) == 3
    assert page_of(reading.blocks[0].path) == 1
    assert page_of("html/body/p") == 0


def test_paragraphs_survive_a_page_break_and_running_heads_are_furniture() -> None:
    whole, cut = read_pages(paged(document(), by=1000)), read_pages(paged(document(), by=17))

    assert [b.text for b in cut.blocks if b.region is Region.MAIN] == [
        b.text for b in whole.blocks if b.region is Region.MAIN and b.text != "Halden Library, terms"
    ]
    assert [b.text for b in cut.blocks if b.region is Region.FURNITURE] == ["Halden Library, terms"]


def test_other_page_breaks_are_no_change() -> None:
    assert kind(read_pages(paged(document(), by=20)), read_pages(paged(document(), by=17))) is not Kind.CONTENT


def test_how_many_pages_there_are_is_no_text_even_in_a_running_head() -> None:
    def foot(version: int, total: int) -> Pages:
        return Pages(
            tuple(Page(f"Text {n}\nTerms, version {version}, page {n} of {total}") for n in range(1, total + 1))
        )

    assert texts(read_pages(foot(3, 4)))[-1] == "Terms, version 3"
    assert texts(read_pages(foot(4, 5)))[-1] == "Terms, version 4"


def test_one_figure_is_a_change_whatever_the_pages_did() -> None:
    old, new = read_pages(paged(document(), by=20)), read_pages(paged(document(fee="900"), by=17))
    found = judge(old, new, Memory(), settings=Settings())

    assert found.kind is Kind.CONTENT
    assert [new.blocks[e.new].text for e in found.edits if not e.explained and e.new >= 0] == [
        "The yearly fee is 900 euros."
    ]


def test_a_word_broken_at_a_lines_end_is_whole_again() -> None:
    lines = [
        "x" * 60 + " the infor-",
        "mation that we hold about you and your account, and the docu\ufffe",
        "ments of the account are sent to you on request.",
    ]

    (block,) = read_pages(Pages((Page("\n".join(lines)),), total=1)).blocks
    assert "the information that we hold about you and your account, and the documents of" in block.text


def test_pages_without_text_are_compared_by_their_pictures_and_say_so() -> None:
    reading = read_pages(Pages((Page("Certificate of Halden Library"), Page("", ("aa11",)), Page("")), total=3))

    assert texts(reading)[1:] == ["Page 2 holds no text; its pictures are compared by digest: aa11", "Page 3 is empty."]
    assert [(flag.code, flag.detail) for flag in reading.flags] == [("pages-without-text", "2, 3")]
    assert [flag.code for flag in read_pages(Pages((Page("", ("aa11",)),), total=1)).flags] == ["no-text"]


def test_pages_that_were_not_read_are_told() -> None:
    assert [f.detail for f in read_pages(Pages((Page("a"),), total=9)).flags] == ["1 of 9 pages read"]


# -- files and links ---------------------------------------------------------------------


def test_a_file_is_its_digest_and_says_so() -> None:
    reading = read_file("image/png", 34_120, "ab" * 32)

    assert texts(reading) == [f"A file of type image/png, 34120 bytes, SHA-256 {'ab' * 32}"]
    assert [(flag.code, flag.detail) for flag in reading.flags] == [("by-digest", "image/png, 34 kB")]
    assert (spoken_size(12), spoken_size(1_250_000)) == ("12 bytes", "1.2 MB")


LINKS = "<base href=/docs/><p class=x><a href='#top'>Up</a> <a href='mailto:a@b'>Mail</a> <a id=c href='cert 9.pdf#p'> The <b>certificate</b></a></p>"  # fmt: skip


@pytest.mark.parametrize("selector", ["#c", "a", "p.x", "#c b", "a[href*=cert]"])
def test_the_first_link_that_leads_somewhere_is_followed(selector: str) -> None:
    found = first_link(LINKS, selector, page_url="https://a.example/terms/index.html")

    assert found is not None
    assert (found.text, found.href) == ("The certificate", "cert 9.pdf#p")
    assert found.target == "https://a.example/docs/cert 9.pdf"


@pytest.mark.parametrize(
    "html", ["", "<p>none</p>", "<a>no target</a>", "<a href='javascript:x()'>y</a>", "<a href='http://['>z</a>"]
)
def test_a_page_without_the_link_has_none(html: str) -> None:
    assert first_link(html, "a", page_url="https://a.example/") is None


def test_no_more_blocks_than_are_compared() -> None:
    reading = read_plain("\n".join(f"line {n}" for n in range(100_000)), lines=True)

    assert len(reading.blocks) <= 35_000
    assert [flag.code for flag in reading.flags] == ["nodes-limited"]
    assert sum("line 77777" in block.text for block in reading.blocks) >= 1
    assert all(a.slot != b.slot for a, b in pairwise(reading.blocks))
