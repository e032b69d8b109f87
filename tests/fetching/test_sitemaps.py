"""Sitemaps and feeds: what they list, and what they must not cost."""

from __future__ import annotations

import gzip
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.fetching.sitemaps import UnreadableListError, date_of, read_list

MAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc> https://a.example/terms </loc><lastmod>2026-11-30T08:00:00+01:00</lastmod></url>
<url><loc>https://a.example/b?x=1&amp;y=2</loc></url></urlset>"""
INDEX = b"""<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap>
<loc>https://a.example/one.xml.gz</loc><lastmod>2026-11-29</lastmod></sitemap></sitemapindex>"""
RSS = b"""<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><link>https://a.example/news</link>
<lastBuildDate>Mon, 30 Nov 2026 12:00:00 GMT</lastBuildDate>
<item><title>One</title><link>https://a.example/1</link><pubDate>Mon, 30 Nov 2026 09:30:00 +0000</pubDate></item>
<item><link>https://a.example/2</link><dc:date>2026-11-28T00:00:00Z</dc:date></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="https://a.example/atom"/><link href="https://a.example/"/>
<updated>2026-11-30T12:00:00Z</updated><entry><link rel="alternate" href="https://a.example/3"/>
<published>2026-11-01T00:00:00Z</published><updated>2026-11-30T07:00:00Z</updated></entry></feed>"""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def listed(body: bytes) -> dict[str, datetime | None]:
    return dict(read_list(body, max_bytes=1_000_000).pages)


def test_a_sitemap_lists_addresses_with_dates() -> None:
    expected = {"https://a.example/terms": at("2026-11-30T07:00:00"), "https://a.example/b?x=1&y=2": None}

    assert listed(MAP) == listed(gzip.compress(MAP)) == expected


def test_an_index_lists_sitemaps() -> None:
    found = read_list(INDEX, max_bytes=10_000)

    assert (found.pages, found.maps) == ((), (("https://a.example/one.xml.gz", at("2026-11-29")),))


def test_a_feed_lists_entries_and_the_page_that_it_belongs_to() -> None:
    assert listed(RSS) == {
        "https://a.example/1": at("2026-11-30T09:30:00"),
        "https://a.example/2": at("2026-11-28"),
        "https://a.example/news": at("2026-11-30T09:30:00"),  # its newest entry, and not when the feed was made
    }
    assert listed(ATOM) == {
        "https://a.example/3": at("2026-11-30T07:00:00"),
        "https://a.example/": at("2026-11-30T07:00:00"),
    }


def test_a_plain_list_is_a_sitemap_without_dates() -> None:
    assert listed(b"https://a.example/1\nhttps://a.example/2\n") == {
        "https://a.example/1": None,
        "https://a.example/2": None,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026", "2026-01-01"),
        ("2026-11-30", "2026-11-30"),
        ("2026-11-30T08:00Z", "2026-11-30T08:00:00"),
        ("2026-11-30T08:00:59.123-05:30", "2026-11-30T13:30:59"),
        ("Mon, 30 Nov 2026 09:30:00 EST", "2026-11-30T14:30:00"),
        ("2026-13-45", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read_in_all_three_spellings(text: str, expected: str | None) -> None:
    assert date_of(text) == (at(expected) if expected else None)


LAUGHS = b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'
FILE = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url></urlset>'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (LAUGHS, "document type declaration"),
        (FILE, "document type declaration"),
        (b"<html><body>Not found</body></html>", "lists no pages"),
        (b"", "no XML"),
        (b"<urlset><url>", "no XML"),
        (b'<?xml version="1.0" encoding="rot13"?><urlset/>', "no XML|encoding"),
        (gzip.compress(b" " * 3_000_000), "larger than 1000000 bytes"),
        (gzip.compress(MAP)[:-20], "ends too early"),
        (b"<urlset>" + b"<url><loc>x</loc></url>" * 50_001 + b"</urlset>", "more than 50000 entries"),
        (b"<a>" * 40 + b"</a>" * 40, "32 levels"),
    ],
    ids=range(10),
)
def test_what_is_no_list_or_too_much_is_refused_in_a_sentence(body: bytes, said: str) -> None:
    began = time.process_time()

    with pytest.raises(UnreadableListError, match=said):
        read_list(body, max_bytes=1_000_000)

    assert time.process_time() - began < 3


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    for raw in (body, b"<rss>" + body, gzip.compress(body)):
        try:
            read_list(raw, max_bytes=1000)
        except UnreadableListError:
            continue
